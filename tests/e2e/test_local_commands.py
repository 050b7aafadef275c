"""`wellspring local` with the stack deployed by it: started, watched, interrupted, bound elsewhere, reset."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from builders import rss
from command import Command
from publisher import Page
from wellspring_cli.local import cloud, emulator, folder

WELLSPRING = Path(sys.executable).with_name("wellspring")
SECONDS = r"\d+\.\d s"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A state folder, and what the command told when it deployed there and waited for the planner."""
    state_dir = tmp_path_factory.mktemp("here")
    try:
        yield state_dir, wellspring(state_dir, "up", "--port", str(free_port()))
    finally:
        cloud.down(state_dir)


@pytest.fixture
def type_(here, monkeypatch, capsys):
    return Command(monkeypatch, capsys, "--state-dir", str(here[0]))


def wellspring(state_dir, *arguments):
    command = [WELLSPRING, "local", *arguments, "--state-dir", state_dir]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def interrupted(state_dir, *arguments, at):
    """Run a command in a terminal's foreground, and press Ctrl-C when it says something."""
    process = subprocess.Popen(
        [WELLSPRING, "local", *arguments, "--state-dir", state_dir],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    said = b""
    while at.encode() not in said and (more := os.read(process.stdout.fileno(), 10_000)):
        said += more
    os.killpg(process.pid, signal.SIGINT)
    said += process.communicate(timeout=60)[0]
    return said.decode(), process.returncode


def test_up_tells_each_step_with_its_time_and_what_to_do_next(here):
    state_dir, told = here
    steps = (
        "Starting the local cloud",
        "Building the functions",
        "Deploying the stack",
        "Waiting for the schedule",
    )
    for step in steps:
        assert re.search(rf"^{step}.* \.\.\. {SECONDS}$", told, re.MULTILINE), told
    assert "is deployed and works, in the local cloud at http://127.0.0.1:" in told
    for what in ("sources add URL", "status", "local logs --follow", "local down"):
        assert f"  wellspring {what} --state-dir {state_dir} " in told


def test_a_second_up_finds_all_in_place(type_):
    told = type_.well("local", "up")
    assert "deployed already, as it stands in the project" in told.out
    assert "Building" not in told.out and "Deploying" not in told.out
    assert "is deployed and works" in told.out


def test_a_running_cloud_is_not_moved(type_):
    told = type_("local", "up", "--port", free_port())
    assert told.code == 1 and "runs already on port" in told.err


def test_status_tells_what_runs_and_is_good(here, type_):
    state_dir, _ = here
    told = type_.well("local", "status").out
    running = cloud.running(state_dir)
    for part in (running.endpoint_url, f"process {running.pid}", str(state_dir), "SourcesTable", "since 20"):
        assert part in told
    found = type_.well("local", "status", "--json").data
    assert (found["is_good"], found["pid"]) == (True, running.pid)
    assert found["outputs"] == dict(cloud.find(state_dir).outputs)


def test_logs_tell_what_the_functions_did(type_, publisher):
    path = "/feed?key=canary-0b7e"
    publisher.pages[path], url = Page(rss(1, 2)), publisher.url(path)
    type_.well(
        "sources", "add", url, "--type", "rss", "--id", "told", "--backfill", "--set", "max_age_days=30000"
    )
    type_.well("fetch", "told", "--wait")
    lines = type_.well("local", "logs").out.splitlines()
    shown = publisher.url("/feed?...")
    assert any(re.fullmatch(r"\S+ \S+Z  planner  INFO     planned  \d+ due.*", line) for line in lines)
    assert any(f"fetched  ok  {shown}  HTTP 200  2 new" in line for line in lines)
    assert not re.search("START|REPORT|_aws|canary", "\n".join(lines))
    assert all(" fetcher " in line for line in type_.well("local", "logs", "fetcher").out.splitlines())
    found = [json.loads(line) for line in type_.well("local", "logs", "fetcher", "--json").out.splitlines()]
    (fetched,) = [line for line in found if line.get("status") == "ok"]
    assert (fetched["source_id"], fetched["posts_created"]) == ("told", 2)

    publisher.pages[path] = Page(status=500)
    assert type_("fetch", "told", "--wait").code == 1
    (error,) = type_.well("local", "logs", "--errors").out.splitlines()
    assert f"fetched  failed  {shown}  HTTP 500  http_5xx: " in error
    quiet = type_("local", "logs", "--since", "0s")
    assert (quiet.code, quiet.out) == (0, "") and "Nothing was logged in the last 0s" in quiet.err


def test_following_the_logs_ends_well_with_an_interrupt(here):
    told, code = interrupted(here[0], "logs", "planner", "--follow", at="planned")
    assert (code, "Stopped" in told) == (0, False), told


def test_an_interrupt_while_it_waits_leaves_the_cloud_running(here, type_):
    state_dir, _ = here
    folder.deployed_file(state_dir).unlink()
    told, code = interrupted(state_dir, "up", at="Waiting")
    assert code == 130
    assert "The local cloud goes on" in told and f"wellspring local down --state-dir {state_dir}" in told
    assert type_.well("local", "status", "--json").data["is_good"]


def test_a_stack_is_deployed_to_an_emulator_that_runs_elsewhere(tmp_path, monkeypatch, capsys):
    there, bound = tmp_path / "there", tmp_path / "bound"
    running = emulator.start(there, free_port())
    try:
        type_ = Command(monkeypatch, capsys, "--state-dir", str(bound))
        told = type_.well("local", "up", "--endpoint", f"http://localhost:{running.port}/", "--no-wait")
        assert f"Asking the emulator at {running.endpoint_url}" in told.out
        assert "forget this emulator, which goes on" in told.out
        assert "not started by Wellspring" in type_.well("local", "status").out
        added = type_.well("sources", "add", "https://example.org/feed", "--type", "rss")
        assert f"in the local cloud at {running.endpoint_url}" in added.out
        assert "It is only forgotten here" in type_.well("local", "down").out
        assert type_("local", "status").code == 1
        assert emulator.is_healthy(running) and cloud.find(there) is not None
    finally:
        cloud.down(there)


def test_a_reset_forgets_everything_and_deploys_a_fresh_stack(here, type_):
    state_dir, _ = here
    type_("sources", "add", "https://example.org/forgotten", "--type", "rss", "--id", "forgotten")
    before = cloud.running(state_dir)
    told = type_.well("local", "reset", "--yes", "--no-wait")
    assert f"Forgot all that was stored in {state_dir}." in told.out
    assert "The stack is deployed, in the local cloud" in told.out
    after = cloud.running(state_dir)
    assert after.port == before.port and after.pid != before.pid
    assert type_.well("sources", "list", "--json").data["sources"] == []
