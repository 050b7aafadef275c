"""`wellspring local` where nothing is deployed: what is said of bad input and of what is in the way."""

import io
import json
import re
import socket
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rich.console import Console

from builders import NOON
from command import Command
from wellspring_cli.errors import CliError
from wellspring_cli.local import (
    cloud,
    deployment,
    elsewhere,
    emulator,
    fingerprint,
    folder,
    function_logs,
    interpreter,
    project,
)
from wellspring_cli.local.interpreter import Interpreter
from wellspring_cli.local.progress import Timed

LOOPBACK = project.LOOPBACK


@pytest.fixture
def state_dir(tmp_path):
    yield tmp_path / "state"
    cloud.stop(tmp_path / "state")


@pytest.fixture
def local(monkeypatch, capsys, state_dir):
    """Type `wellspring local ...` for a state folder of this test's own."""
    command = Command(monkeypatch, capsys, "--state-dir", str(state_dir))
    return lambda *arguments, **given: command("local", *arguments, **given)


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


def in_a_sentence(told, code, *parts):
    assert (told.code, len(told.err.splitlines())) == (code, 1), told.err
    assert all(part in told.err for part in parts), told.err


def test_what_does_not_run_says_how_to_start_it_to_people_and_programs(local, state_dir):
    told = local("status")
    assert told.code == 1
    assert "wellspring local up" in told.out and "make run" in told.out and "kept" not in told.out
    found = local("status", "--json")
    assert found.code == 1
    assert (found.data["runs"], found.data["is_good"], found.data["outputs"]) == (False, False, {})
    assert found.data["state_dir"] == str(state_dir)


def test_what_was_stopped_says_that_its_state_is_kept(local, state_dir, port):
    emulator.start(state_dir, port)
    assert "its state is kept" in local("down").out
    assert f"What an earlier one stored is kept in {state_dir}" in local("status").out


def test_a_cloud_without_a_stack_is_told_with_where_it_lies_and_is_not_good(local, state_dir, port):
    running = emulator.start(state_dir, port)
    told = local("status")
    assert told.code == 1
    for part in (
        running.endpoint_url,
        str(running.pid),
        str(state_dir / "ministack.log"),
        "No finished stack",
    ):
        assert part in told.out
    assert "since 20" in told.out
    found = local("status", "--json").data
    assert (found["runs"], found["is_ours"], found["pid"], found["is_good"]) == (
        True,
        True,
        running.pid,
        False,
    )
    in_a_sentence(local("logs"), 4, "No finished stack", "wellspring local up --state-dir")


@pytest.mark.parametrize("given", ["abc", "0", "65536", "-1"])
def test_a_bad_port_is_told(local, given):
    in_a_sentence(local("up", f"--port={given}"), 2, f"{given!r} is not a port")


def test_a_taken_port_is_told_with_one_that_is_free(local):
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        taken = other.getsockname()[1]
        told = local("up", "--port", taken)
    assert told.code == 1
    assert f"Port {taken} is used by another program" in told.err
    (offered,) = re.findall(r"wellspring local up --port (\d+)", told.err)
    assert offered != str(taken) and not emulator.port_is_taken(int(offered))


@pytest.mark.parametrize("missing", ["sam", "ministack"])
def test_a_missing_tool_says_how_to_install_it(local, tmp_path, monkeypatch, missing):
    other = {"sam": "ministack", "ministack": "sam"}[missing]
    there = tmp_path / "tools" / other / "bin" / other
    there.parent.mkdir(parents=True)
    there.touch()
    monkeypatch.setattr(project, "TOOLS", tmp_path / "tools")
    in_a_sentence(local("up"), 1, f"The tool {missing} is not installed", "make setup")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "'' is no URL of an emulator"),
        ("abc", "'abc' is no URL of an emulator"),
        ("127.0.0.1:4566", "'127.0.0.1:4566' is no URL of an emulator"),
        ("ftp://127.0.0.1", "That is no URL of an emulator"),
        ("http://", "That is no URL"),
        ("http://127.0.0.1:99999", "That is no URL"),
        ("http://127.0.0.1/path", "That is no URL"),
        ("http://127.0.0.1?x=1", "That is no URL"),
        ("http://me:canary@127.0.0.1", "That is no URL"),
        ("https://sqs.eu-west-1.amazonaws.com", "is AWS itself"),
    ],
)
def test_an_endpoint_that_cannot_be_is_told(local, state_dir, given, told):
    said = local("up", "--endpoint", given)
    in_a_sentence(said, 2, told)
    assert "canary" not in said.err
    assert not state_dir.exists()


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://localhost:4566", "http://127.0.0.1:4566"),
        ("http://127.0.0.1:4566/", "http://127.0.0.1:4566"),
        (" http://emulator.example ", "http://emulator.example:80"),
        ("https://[::1]:4566", "https://[::1]:4566"),
    ],
)
def test_an_endpoint_is_used_by_its_plainest_name(given, used):
    assert elsewhere.checked(given) == used


class NoAws(BaseHTTPRequestHandler):
    """A web server that is no AWS."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"<html>Hello</html>")

    def log_message(self, *args):
        pass


@contextmanager
def web_server(status):
    with ThreadingHTTPServer((LOOPBACK, 0), NoAws) as server:
        server.status = status
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [200, 404, 501])
def test_an_endpoint_that_is_no_aws_is_told_and_not_remembered(local, state_dir, status):
    with web_server(status) as url:
        said = local("up", "--endpoint", url)
    in_a_sentence(said, 4, f"What answers at {url} is no AWS emulator.")
    assert elsewhere.bound(state_dir) is None


def test_an_endpoint_that_does_not_answer_is_told_and_not_remembered(local, state_dir, port):
    url = f"http://{LOOPBACK}:{port}"
    in_a_sentence(local("up", "--endpoint", url), 4, f"No emulator answers at {url}", "wellspring local up")
    assert elsewhere.bound(state_dir) is None


def test_a_port_and_an_endpoint_are_too_much(local):
    in_a_sentence(local("up", "--port", "4577", "--endpoint", "http://localhost:4566"), 2, "Say one of them")


def test_an_emulator_elsewhere_is_forgotten_and_goes_on(local, state_dir, tmp_path, port):
    other = tmp_path / "other"
    try:
        there = emulator.start(other, port)
        elsewhere.bind(state_dir, there.endpoint_url, now=NOON)
        told = local("status")
        assert told.code == 1
        for part in (
            there.endpoint_url,
            "not started by Wellspring",
            "No finished stack",
            "2026-11-18 12:00:00Z",
        ):
            assert part in told.out
        assert local("status", "--json").data["is_ours"] is False
        in_a_sentence(local("reset", "--yes"), 1, there.endpoint_url, "nothing was done")
        in_a_sentence(local("logs", "--emulator"), 3, "its log is not here")
        in_a_sentence(local("up", "--port", "4577"), 1, there.endpoint_url, "wellspring local down")
        assert "It is only forgotten here" in local("down").out
        assert cloud.running(state_dir) is None
        assert emulator.is_healthy(there)
    finally:
        cloud.down(other)


def test_a_folder_with_a_cloud_of_its_own_is_not_bound_elsewhere(local, state_dir, port):
    emulator.start(state_dir, port)
    in_a_sentence(local("up", "--endpoint", "http://127.0.0.1:1"), 1, "runs already", "wellspring local down")


def test_an_emulator_elsewhere_that_has_ended_is_told(local, state_dir, port):
    elsewhere.bind(state_dir, f"http://{LOOPBACK}:{port}", now=NOON)
    told = local("status")
    assert told.code == 1 and "does not answer" in told.out
    in_a_sentence(local("up"), 4, "No emulator answers", "wellspring local down")


@pytest.mark.parametrize("record", ["{", "[]", "{}", '{"endpoint_url": "abc", "since": "2026-11-18"}'])
def test_a_spoilt_memory_of_an_emulator_is_none(state_dir, record):
    state_dir.mkdir()
    elsewhere.record_file(state_dir).write_text(record)
    assert cloud.running(state_dir) is None


def test_with_nothing_stored_there_is_nothing_to_reset(local, state_dir):
    told = local("reset")
    assert (told.code, told.out) == (0, f"Nothing is stored in {state_dir}.\n")


def test_a_reset_is_done_only_after_a_yes_and_leaves_what_is_not_ours(local, state_dir, port):
    emulator.start(state_dir, port)
    cloud.stop(state_dir)
    mine = state_dir / "mine.txt"
    mine.touch()
    in_a_sentence(local("reset"), 2, str(state_dir), "say --yes")
    assert local("reset", answers="n\n").code == 1
    assert folder.has_state(state_dir)
    told = local("reset", answers="y\n")
    assert told.code == 0 and f"Forgot all that was stored in {state_dir}." in told.out
    assert not folder.has_state(state_dir)
    assert mine.exists()
    assert cloud.running(state_dir) is None, "what did not run is not started"


@pytest.mark.parametrize("command", [("up",), ("reset", "--yes")])
def test_two_commands_do_not_change_one_cloud_at_once(local, state_dir, command):
    folder.saved_state(state_dir).mkdir(parents=True)
    with folder.alone(state_dir):
        in_a_sentence(local(*command), 1, "Another command is at work", str(state_dir))
    assert folder.has_state(state_dir)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        pytest.param([], 4, "No local cloud is running. Start it: wellspring local up", id="nothing runs"),
        pytest.param(["--since", "soon"], 2, "'soon' is no span of time", id="no span"),
        pytest.param(
            ["planner", "--emulator"], 2, "goes with nothing else", id="the emulator and a function"
        ),
        pytest.param(["--emulator"], 3, "There is no log", id="no emulator has run"),
    ],
)
def test_logs_that_cannot_be_shown_are_told(local, arguments, code, told):
    in_a_sentence(local("logs", *arguments), code, told)


def test_a_function_that_there_is_not_is_told(local):
    told = local("logs", "gardener")
    assert told.code == 2 and "'gardener'" in told.err and "planner" in told.err


def test_the_end_of_the_emulators_log_outlives_it(local, state_dir, port):
    emulator.start(state_dir, port)
    cloud.stop(state_dir)
    told = local("logs", "--emulator")
    assert told.code == 0 and "MiniStack" in told.out + folder.log_file(state_dir).read_text()
    assert 1 <= len(told.out.splitlines()) <= 50


class MotoStack:
    """A stack of which only the logs exist, as moto plays them."""

    outputs = function_logs.GROUPS | {group: group for group in function_logs.GROUPS.values()}

    def __init__(self, session):
        self.logs = session.client("logs")
        for group in function_logs.GROUPS.values():
            self.logs.create_log_group(logGroupName=group)

    def client(self, service):
        return self.logs

    def put(self, group, stream, *events):
        if not self.logs.describe_log_streams(logGroupName=group, logStreamNamePrefix=stream)["logStreams"]:
            self.logs.create_log_stream(logGroupName=group, logStreamName=stream)
        self.logs.put_log_events(
            logGroupName=group,
            logStreamName=stream,
            logEvents=[{"timestamp": at, "message": json.dumps({"message": text})} for at, text in events],
        )


def test_each_line_is_seen_once_even_when_it_comes_late(aws):
    stack = MotoStack(aws)
    now = int(time.time() * 1000)
    log = function_logs.FunctionLogs(
        stack, ("planner", "fetcher"), datetime.fromtimestamp((now - 60_000) / 1000, UTC)
    )
    stack.put("FetcherLogGroup", "one", (now - 90_000, "too old"), (now - 2_000, "first"), (now, "third"))
    stack.put("PlannerLogGroup", "one", (now - 1_000, "second"))
    assert [line.message for line in log.look()] == ["first", "second", "third"]
    assert log.look() == []
    stack.put("FetcherLogGroup", "two", (now - 5_000, "late"), (now, "third"))
    assert [line.message for line in log.look()] == ["late", "third"], "of another instance"
    assert log.look() == []


def test_the_planners_last_run_is_the_last_that_came_to_its_end(aws):
    stack = MotoStack(aws)
    now = int(time.time() * 1000)
    since = datetime.fromtimestamp((now - 60_000) / 1000, UTC)
    assert function_logs.last_planned(stack, since=since) is None
    stack.put("PlannerLogGroup", "one", (now - 3_000, "planned"), (now - 2_000, "planned"), (now, "failed"))
    assert function_logs.last_planned(stack, since=since) == datetime.fromtimestamp((now - 2_000) / 1000, UTC)


def test_a_planner_that_is_not_woken_is_told_with_where_to_look(aws, tmp_path, monkeypatch):
    monkeypatch.setattr(cloud, "PATIENCE", timedelta())
    fingerprint.remember(tmp_path, "one")
    with pytest.raises(CliError, match=r"brought the planner to no end.*wellspring local logs --emulator"):
        cloud.wait_for_planner(tmp_path, MotoStack(aws))


def test_only_ministack_is_taken_for_one(tmp_path, port):
    with web_server(200) as url:
        assert not elsewhere.is_ministack(url)
    try:
        assert elsewhere.is_ministack(emulator.start(tmp_path, port).endpoint_url)
    finally:
        cloud.down(tmp_path)


@pytest.fixture
def tools(tmp_path):
    """A sam that does nothing and tells what it was asked."""
    sam = tmp_path / "sam" / "bin" / "sam"
    sam.parent.mkdir(parents=True)
    sam.write_text('#!/bin/sh\necho "$@" "RUNTIME=$LAMBDA_RUNTIME" "WHEELS=$LAMBDA_PLATFORM"\n')
    sam.chmod(0o755)
    return tmp_path


def test_for_containers_linux_is_built_for_whatever_this_computer_is(tools, monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    log = tools / "log"
    deployment.build(tools / "build", log=log, interpreter=interpreter.of_containers(), tools=tools)
    told = log.read_text()
    assert "LambdaRuntime=python3.13 LambdaArchitecture=arm64 RUNTIME=python3.13 WHEELS=\n" in told


def test_gaps_of_ministack_are_filled_nowhere_else(tools, monkeypatch, port):
    filled = []
    for name in ("expire_items", "limit_fetchers"):
        monkeypatch.setattr(deployment.emulator_gaps, name, lambda *given: filled.append(given))
    monkeypatch.setattr(deployment, "read_outputs", lambda endpoint_url: {})
    monkeypatch.setattr(deployment, "clear_unfinished", lambda *given, say: None)
    for has_gaps, expected in ((False, 0), (True, 2)):
        deployment.deploy(
            tools / "build",
            f"http://{LOOPBACK}:{port}",
            log=tools / "log",
            say=pytest.fail,
            interpreter=PYTHON,
            has_gaps=has_gaps,
            tools=tools,
        )
        assert len(filled) == expected


PYTHON = Interpreter("python3.13", "x86_64")


def test_a_deployment_is_another_one_when_anything_of_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(project, "ROOT", tmp_path)
    for name in ("template.yaml", "functions/planner/app.py", "layers/core/wellspring/plan.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    first = fingerprint.of(PYTHON, {}, "here")
    cache = tmp_path / "functions" / "planner" / "__pycache__"
    cache.mkdir()
    (cache / "app.pyc").write_text("2")
    assert fingerprint.of(PYTHON, {}, "here") == first
    others = [
        fingerprint.of(Interpreter("python3.14", "x86_64"), {}, "here"),
        fingerprint.of(PYTHON, {"MaxAgeDays": "3"}, "here"),
        fingerprint.of(PYTHON, {}, "there"),
    ]
    (tmp_path / "layers" / "core" / "wellspring" / "plan.py").write_text("2")
    others.append(fingerprint.of(PYTHON, {}, "here"))
    (tmp_path / "functions" / "planner" / "app.py").rename(tmp_path / "functions" / "planner" / "other.py")
    others.append(fingerprint.of(PYTHON, {}, "here"))
    assert len({first, *others}) == 6


def test_what_was_deployed_is_remembered_until_it_is_forgotten(tmp_path):
    assert not fingerprint.is_deployed(tmp_path, "one")
    fingerprint.remember(tmp_path, "one")
    assert fingerprint.is_deployed(tmp_path, "one")
    assert not fingerprint.is_deployed(tmp_path, "two")
    fingerprint.forget(tmp_path)
    assert not fingerprint.is_deployed(tmp_path, "one")


def test_in_a_pipe_each_step_is_a_line_with_its_time_at_the_end():
    shown = Console(file=io.StringIO(), width=80)
    progress = Timed(shown)
    with progress.step("First"):
        assert shown.file.getvalue() == "First ... ", "it is told before it is done"
    with progress.step("Second"):
        progress.say("A word meanwhile.")
    with pytest.raises(CliError), progress.step("Third"):
        raise CliError
    told = re.sub(r"\d+\.\d s", "# s", shown.file.getvalue())
    assert told == "First ... # s\nSecond ... \nA word meanwhile.\nSecond: # s\nThird ... \n"


def test_on_a_terminal_a_step_leaves_a_line_with_its_time():
    shown = Console(file=io.StringIO(), width=80, force_terminal=True, highlight=False)
    with Timed(shown).step("First"):
        pass
    assert re.search(r"First: \d+\.\d s\n$", shown.file.getvalue())
