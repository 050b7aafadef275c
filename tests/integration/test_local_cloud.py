"""The local cloud's process and what can be in its way; nothing is deployed here."""

import json
import os
import signal
import socket
import sys
import time
import urllib.request
from dataclasses import replace
from typing import ClassVar

import boto3
import pytest
from botocore.stub import Stubber

from builders import NOON, URL, a_post, an_entry, at
from wellspring.aws.logs import DynamoFetchLogs
from wellspring.aws.posts import DynamoPosts
from wellspring.model import FetchLog, Status
from wellspring_cli import main
from wellspring_cli.demo import publisher
from wellspring_cli.demo.publisher import Publisher, open_publisher
from wellspring_cli.demo.watch import Watch
from wellspring_cli.errors import CliError
from wellspring_cli.local import cloud, deployment, emulator, emulator_gaps, project
from wellspring_cli.local.deployment import clear_unfinished

LOOPBACK = project.LOOPBACK


@pytest.fixture
def port():
    return free_port()


def free_port():
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


@pytest.fixture
def state_dir(tmp_path):
    folder = tmp_path / "state"
    yield folder
    cloud.down(folder)


def sqs(running):
    return deployment.LocalStack(running.endpoint_url, project.REGION, {}).client("sqs")


def until(happened):
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline, "it did not happen within 20 s"
        time.sleep(0.05)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_stopped_cloud_leaves_no_process_and_no_open_port(state_dir, port):
    running = emulator.start(state_dir, port)
    assert cloud.running(state_dir) == running
    assert emulator.port_is_taken(port)
    assert cloud.down(state_dir)
    assert not alive(running.pid)
    assert not emulator.port_is_taken(port)
    assert not emulator.record_file(state_dir).exists()
    assert not cloud.down(state_dir)


def test_a_second_start_finds_the_running_cloud(state_dir, port):
    running = emulator.start(state_dir, port)
    assert emulator.start(state_dir, port) == running


def test_a_running_cloud_is_not_moved_to_another_port(state_dir, port):
    running = emulator.start(state_dir, port)
    with pytest.raises(CliError, match=f"runs already on port {port}.*make down"):
        emulator.start(state_dir, free_port())
    assert cloud.running(state_dir) == running


def test_a_cloud_without_a_stack_has_none_to_find(state_dir, port):
    assert cloud.find(state_dir) is None
    emulator.start(state_dir, port)
    assert cloud.find(state_dir) is None


def test_the_state_is_kept_and_moves_with_the_port(state_dir, port):
    sqs(emulator.start(state_dir, port)).create_queue(QueueName="kept")
    cloud.down(state_dir)
    other = free_port()
    (kept,) = sqs(emulator.start(state_dir, other)).list_queues()["QueueUrls"]
    assert kept.endswith("/kept")
    saved = (emulator.saved_state(state_dir) / "sqs.json").read_text(encoding="utf-8")
    assert f"localhost:{other}/" in saved
    assert f"localhost:{port}/" not in saved


def test_a_kill_loses_only_the_last_seconds(state_dir, port):
    running = emulator.start(state_dir, port)
    sqs(running).create_queue(QueueName="kept")
    saved = emulator.saved_state(state_dir) / "sqs.json"
    until(lambda: saved.exists() and b"/kept" in saved.read_bytes())
    os.kill(running.pid, signal.SIGKILL)
    until(lambda: not emulator.port_is_taken(port))
    assert len(sqs(emulator.start(state_dir, port)).list_queues()["QueueUrls"]) == 1


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(json.dumps({"pid": os.getpid(), "port": 4566}), id="the process is another program"),
        pytest.param(json.dumps({"pid": 2**22 - 1, "port": 4566}), id="the process is gone"),
        pytest.param('{"pid": 1', id="half written"),
        pytest.param("[]", id="something else"),
    ],
)
def test_a_stale_record_is_replaced(state_dir, port, record):
    state_dir.mkdir()
    emulator.record_file(state_dir).write_text(record, encoding="utf-8")
    assert cloud.running(state_dir) is None
    running = emulator.start(state_dir, port)
    assert json.loads(emulator.record_file(state_dir).read_text())["pid"] == running.pid


def test_a_taken_port_is_told_and_nothing_is_left(state_dir):
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CliError, match=f"Port {port} is used by another program.*make run PORT="):
            emulator.start(state_dir, port)
    assert not state_dir.exists()


def test_a_missing_tool_says_how_to_install_it(state_dir, port, tmp_path):
    with pytest.raises(CliError, match=r"ministack is not installed.*make setup"):
        emulator.start(state_dir, port, tools=tmp_path)
    with pytest.raises(CliError, match=r"sam is not installed.*make setup"):
        (tmp_path / "ministack" / "bin").mkdir(parents=True)
        (tmp_path / "ministack" / "bin" / "python").symlink_to(sys.executable)
        deployment.build(tmp_path / "build", log=tmp_path / "log", tools=tmp_path)


def test_a_failing_tool_shows_the_end_of_its_log(tmp_path, port):
    for tool, command, script in (
        ("ministack", "python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'),
        ("sam", "sam", "#!/bin/sh\necho the reason\nexit 3\n"),
    ):
        path = tmp_path / tool / "bin" / command
        path.parent.mkdir(parents=True)
        path.write_text(script)
        path.chmod(0o755)
    with pytest.raises(CliError, match=r"sam build failed.*\nthe reason"):
        deployment.build(tmp_path / "build", log=tmp_path / "log", tools=tmp_path)


@pytest.fixture
def cloudformation():
    client = boto3.client(
        "cloudformation",
        region_name=project.REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    with Stubber(client) as stub:
        client.stub = stub
        yield client
        stub.assert_no_pending_responses()


def a_stack(status):
    stack = {"StackName": "wellspring", "StackStatus": status, "CreationTime": "2026-11-18T12:00:00Z"}
    return {"Stacks": [stack]}


@pytest.mark.parametrize("status", ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"])
def test_a_finished_stack_is_left_alone(cloudformation, status):
    cloudformation.stub.add_response("describe_stacks", a_stack(status))
    clear_unfinished(cloudformation, "wellspring", say=pytest.fail)


def test_a_missing_stack_is_no_obstacle(cloudformation):
    cloudformation.stub.add_client_error("describe_stacks", "ValidationError", "Stack does not exist")
    clear_unfinished(cloudformation, "wellspring", say=pytest.fail)


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "CREATE_FAILED", "REVIEW_IN_PROGRESS"])
def test_a_stack_that_was_never_finished_is_made_anew(cloudformation, status):
    stub, said = cloudformation.stub, []
    stub.add_response("describe_stacks", a_stack(status))
    stub.add_response("delete_stack", {}, {"StackName": "wellspring"})
    stub.add_client_error("describe_stacks", "ValidationError", "Stack does not exist")
    clear_unfinished(cloudformation, "wellspring", say=said.append)
    assert len(said) == 1
    assert status in said[0]


@pytest.mark.parametrize("status", ["UPDATE_ROLLBACK_FAILED", "DELETE_FAILED", "UPDATE_IN_PROGRESS"])
def test_a_broken_stack_with_data_is_not_deleted_behind_the_users_back(cloudformation, status):
    cloudformation.stub.add_response("describe_stacks", a_stack(status))
    with pytest.raises(CliError, match=f"{status}.*make clean && make run"):
        clear_unfinished(cloudformation, "wellspring", say=pytest.fail)


def test_a_half_made_stack_that_cannot_be_deleted_is_told(cloudformation):
    stub = cloudformation.stub
    stub.add_response("describe_stacks", a_stack("ROLLBACK_COMPLETE"))
    stub.add_response("delete_stack", {})
    stub.add_response("describe_stacks", a_stack("DELETE_FAILED"))
    with pytest.raises(CliError, match=r"could not be deleted.*make clean"):
        clear_unfinished(cloudformation, "wellspring", say=lambda text: None)


def test_only_the_addresses_of_queues_are_moved(tmp_path):
    text = '"http://localhost:4566/000000000000/q" "http://localhost:4566/elsewhere" "http://localhost:9/x"'
    (tmp_path / "sqs.json").write_text(text)
    emulator_gaps.move_queues(tmp_path, 4577)
    assert (tmp_path / "sqs.json").read_text() == text.replace("4566/0", "4577/0")
    assert [path.name for path in tmp_path.iterdir()] == ["sqs.json"]


class MotoStack:
    """A stack of which only the tables and the logs exist, as moto plays them."""

    outputs: ClassVar = {
        name: name for name in ("SourcesTable", "PostsTable", "FetchLogsTable", "PlannerLogGroup")
    }

    def __init__(self, session):
        self.client = session.client


def a_log(source_id, started_at, **fields):
    return FetchLog(
        source_id=source_id,
        started_at=started_at,
        finished_at=started_at,
        status=Status.OK,
        url=URL,
        attempt_id="1",
        message_id="1",
        manual=False,
        expires_at=at(60),
        **fields,
    )


def test_each_attempt_is_seen_once_with_the_posts_that_it_stored(aws):
    dynamodb = aws.client("dynamodb")
    logs = DynamoFetchLogs(dynamodb, "FetchLogsTable")
    posts = DynamoPosts(dynamodb, "PostsTable", shards=4)
    watch = Watch(MotoStack(aws), ["a", "b"], since=at(-1))
    posts.put_window("a", {}, started_at=NOON)
    assert not watch.has_posts()

    posts.put(replace(a_post("a", "old", entry=an_entry(title="Old")), fetched_at=at(-5)))
    posts.put(a_post("a", "new", entry=an_entry(title="New", published_at=at(-3))))
    for log in (a_log("a", at(-5)), a_log("a", NOON, created=1), a_log("b", at(1), error_message="No.")):
        logs.put(log)
    seen = watch.look()

    assert watch.has_posts()
    assert [(attempt.source_id, [post.title for post in stored]) for attempt, stored in seen] == [
        ("a", ["New"]),
        ("b", []),
    ]
    assert watch.look() == []
    assert [(found.source_id, found.posts, found.last) for found in watch.summaries()] == [
        ("a", 2, seen[0][0]),
        ("b", 0, seen[1][0]),
    ]


def test_the_publisher_keeps_its_port(state_dir):
    with open_publisher(state_dir) as first:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{first.home}/news.rss") as answer:
            assert answer.headers["Content-Type"].startswith("application/rss+xml")
        with pytest.raises(CliError, match=f"Port {first.port}.*make clean"):
            open_publisher(state_dir)
    with open_publisher(state_dir) as second:
        assert second.port == first.port


def test_a_new_publisher_takes_the_first_free_port(state_dir, port, monkeypatch):
    with Publisher() as other:
        monkeypatch.setattr(publisher, "PORTS", (other.port, port))
        with open_publisher(state_dir) as opened:
            assert opened.port == port


@pytest.mark.parametrize("given", ["abc", "", "0", "65536", "-1", "4566.5", "٤٥٦٦"])
def test_a_bad_port_is_told_in_a_sentence(given, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["wellspring", "demo", f"--port={given}"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"{given!r} is not a port. Name a number")
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["local", "status"], 1, "No local cloud is running. Start it: wellspring local up"),
        (["local", "down"], 0, "No local cloud was running."),
    ],
)
def test_a_cloud_that_does_not_run_is_said_so(arguments, code, told, state_dir, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["wellspring", *arguments, "--state-dir", str(state_dir)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == code
    assert capsys.readouterr().out.startswith(told)
