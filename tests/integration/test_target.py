"""Which stack a command talks to, and what is said when there is none."""

import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from wellspring_cli.errors import NoStack
from wellspring_cli.local import project
from wellspring_cli.target import Target

ANY = ("sources", "list")
WELLSPRING = Path(sys.executable).with_name("wellspring")


def test_without_anything_it_is_said_what_to_start(typed):
    told = typed(*ANY)
    assert (told.code, told.out) == (4, "")
    assert "No local cloud runs in" in told.err and "wellspring local up --state-dir" in told.err


def test_a_local_cloud_that_is_named_and_does_not_run_is_never_mistaken_for_aws(typed, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    told = typed("sources", "remove", "a", "--yes")
    assert told.code == 4
    assert "To talk to AWS, say --region NAME." in told.err


def test_a_local_cloud_that_broke_off_is_never_mistaken_for_aws(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(project, "STATE_DIR", tmp_path)
    (tmp_path / "local.json").write_text('{"pid": 4194304, "port": 4566}')
    with pytest.raises(NoStack, match=r"^The local cloud broke off\. Start it: wellspring local up\."):
        Target(state_dir=tmp_path).reach()


def test_a_profile_without_a_region_is_told(typed, tmp_path, monkeypatch):
    config = tmp_path / "config"
    config.write_text("[profile work]\noutput = json\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    told = typed(*ANY, "--profile", "work")
    assert told.code == 4
    assert "no AWS region is configured" in told.err and "wellspring local up" in told.err


def test_without_credentials_it_is_said_so(typed):
    told = typed(*ANY, "--region", "eu-west-1")
    assert told.code == 4
    assert "No local cloud is running, and there are no AWS credentials" in told.err


def test_a_profile_that_is_not_there_is_named_with_those_that_are(typed, tmp_path, monkeypatch):
    config = tmp_path / "config"
    config.write_text("[profile work]\nregion = eu-west-1\n[profile home]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    told = typed(*ANY, "--profile", "wrok")
    assert told.code == 4
    assert told.err.strip() == "There is no AWS profile 'wrok'. There are: home, work."
    monkeypatch.setenv("AWS_PROFILE", "wrok")
    assert "There is no AWS profile 'wrok'." in typed(*ANY).err


def test_a_region_that_cannot_be_is_told(typed, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    told = typed(*ANY, "--region", "not a region")
    assert told.code in (2, 4, 5)
    assert "Traceback" not in told.err and len(told.err.splitlines()) == 1


@pytest.mark.parametrize("option", [("--endpoint-url", "http://127.0.0.1:1"), ()])
def test_an_endpoint_that_does_not_answer_is_named(typed, monkeypatch, option):
    if not option:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    told = typed(*ANY, *option)
    assert told.code == 5
    assert "http://127.0.0.1:1" in told.err and "cannot be reached" in told.err


class Refusing(BaseHTTPRequestHandler):
    """An AWS that refuses whatever it is asked."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        code = self.server.code
        self.send_response(400)
        self.end_headers()
        denied = "User: arn:aws:iam::1:user/x is not authorized to perform: cloudformation:DescribeStacks"
        error = f"<Error><Code>{code}</Code><Message>{denied} on resource: y</Message></Error>"
        self.wfile.write(f"<ErrorResponse>{error}</ErrorResponse>".encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def refusing():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("code", "exit_code", "told"),
    [
        pytest.param("AccessDenied", 5, "cloudformation:DescribeStacks is not allowed", id="a missing right"),
        pytest.param("ExpiredToken", 4, "Sign in to AWS", id="a session that is over"),
        pytest.param("InvalidClientTokenId", 4, "Sign in to AWS", id="a key that is none"),
        pytest.param("ValidationError", 4, "There is no stack 'wellspring'", id="no stack here"),
    ],
)
def test_a_refusal_is_told_with_what_to_do(typed, refusing, code, exit_code, told):
    refusing.code = code
    said = typed(*ANY, "--endpoint-url", f"http://127.0.0.1:{refusing.server_port}", "--region", "eu-west-1")
    assert (said.code, said.out) == (exit_code, "")
    assert told in said.err
    assert len(said.err.splitlines()) == 1 and "Traceback" not in said.err


def test_another_stack_is_looked_for_by_its_name(typed, refusing, monkeypatch):
    refusing.code = "ValidationError"
    endpoint = ("--endpoint-url", f"http://127.0.0.1:{refusing.server_port}")
    assert "There is no stack 'prod' in us-east-1" in typed(*ANY, *endpoint, "--stack", "prod").err
    monkeypatch.setenv("WELLSPRING_STACK", "other")
    assert "There is no stack 'other'" in typed(*ANY, *endpoint).err


def test_a_mistake_of_our_own_is_told_without_a_traceback(typed, monkeypatch):
    monkeypatch.setattr("wellspring_cli.target.cloud", None)
    told = typed(*ANY)
    assert told.code == 70
    assert "mistake of Wellspring's own" in told.err and "Traceback" not in told.err


@pytest.mark.parametrize("option", ["--stack", "--profile", "--region", "--endpoint-url"])
def test_an_empty_name_leads_to_no_other_stack(typed, option):
    told = typed(*ANY, option, "")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"{option} is empty.")


@pytest.mark.parametrize("url", ["http://me:canary@127.0.0.1:4566", "http://127.0.0.1:4566?key=canary"])
def test_an_endpoint_with_a_secret_in_it_is_refused_without_repeating_it(typed, url):
    told = typed(*ANY, "--endpoint-url", url)
    assert (told.code, told.out) == (2, "")
    assert "canary" not in told.err


def test_what_does_not_speak_as_aws_does_is_told(typed, publisher):
    told = typed(*ANY, "--endpoint-url", publisher.url(""), "--region", "eu-west-1")
    assert (told.code, told.out) == (5, "")
    assert "does not speak as AWS does" in told.err


@pytest.mark.parametrize(
    ("closed", "command", "told"),
    [
        pytest.param(">&-", "local status --state-dir .", (1, ""), id="nobody listens"),
        pytest.param(
            "<&-",
            "sources import - --format json",
            (2, "standard input: there is nothing in it.\n"),
            id="nobody speaks",
        ),
    ],
)
def test_a_command_works_with_a_stream_that_is_closed(closed, command, told, tmp_path):
    shell = ["sh", "-c", f"exec {WELLSPRING} {command} {closed}"]
    ended = subprocess.run(shell, capture_output=True, text=True, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == told


def test_ctrl_c_is_no_traceback_before_the_command_has_begun(tmp_path):
    # The module that the command imports first holds it there.
    (tmp_path / "typer.py").write_text(
        "import sys, time\nsys.stderr.write('here')\nsys.stderr.flush()\ntime.sleep(30)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", "from wellspring_cli.start import main; main()"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    ) as begun:
        assert begun.stderr.read(4) == "here"
        begun.send_signal(signal.SIGINT)
        assert (begun.stderr.read(), begun.wait(10)) == ("", 130)
