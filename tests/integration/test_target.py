"""Which stack a command talks to, and what is said when there is none."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

ANY = ("sources", "list")


def test_without_anything_it_is_said_what_to_start(typed):
    told = typed(*ANY)
    assert (told.code, told.out) == (4, "")
    assert "No AWS region is configured" in told.err and "wellspring local up" in told.err


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
