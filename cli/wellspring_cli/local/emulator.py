"""Owns the MiniStack process: starts it, finds it again, stops it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from wellspring import timestamps
from wellspring_cli.errors import CliError
from wellspring_cli.local import emulator_gaps, project
from wellspring_cli.local.folder import log_file, record_file, saved_objects, saved_state, work_dir

__all__ = [
    "Running",
    "is_healthy",
    "log_file",
    "port_beside",
    "port_is_taken",
    "record_file",
    "running",
    "saved_state",
    "start",
    "stop",
]

WRAPPER = Path(__file__).with_name("ministack_wrapper.py")
START_SECONDS = 30.0
STOP_SECONDS = 60.0
LAST_PORT = 65_535

# Children of this very process must be reaped by it, or they stay as zombies.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Running:
    """A local cloud that is ours."""

    pid: int
    port: int
    started_at: datetime | None = None

    @property
    def endpoint_url(self) -> str:
        return f"http://{project.LOOPBACK}:{self.port}"


def running(state_dir: Path) -> Running | None:
    """Return the local cloud that owns this state folder, if it is alive."""
    try:
        record = json.loads(record_file(state_dir).read_text(encoding="utf-8"))
        started_at = timestamps.from_text(record["started_at"]) if "started_at" in record else None
        found = Running(int(record["pid"]), int(record["port"]), started_at)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if _is_ours(found, state_dir) else None


def start(state_dir: Path, port: int = project.DEFAULT_PORT, *, tools: Path = project.TOOLS) -> Running:
    """Start the local cloud, or return the one that runs already on this state folder and port."""
    state_dir = state_dir.resolve()
    found = running(state_dir)
    if found and found.port != port:
        raise CliError(
            f"The local cloud runs already on port {found.port}. "
            f"Use it with --port {found.port} (PORT={found.port} with make), "
            "or stop it: wellspring local down, or make down"
        )
    if found:
        _wait_until_healthy(found, state_dir)
        return found
    _reap_ended_children()
    python = project.tool(tools, "ministack", "ministack").with_name("python")
    if port_is_taken(port):
        raise CliError(
            f"Port {port} is used by another program. Stop it, or choose another port: "
            f"wellspring local up --port {port_beside(port)}, or make run PORT={port_beside(port)}"
        )
    state_dir.mkdir(parents=True, exist_ok=True)
    emulator_gaps.move_queues(saved_state(state_dir), port)
    # It leaves the code of every function that it ran behind.
    shutil.rmtree(work_dir(state_dir), ignore_errors=True)
    work_dir(state_dir).mkdir()
    with log_file(state_dir).open("wb") as log:
        process = subprocess.Popen(
            [str(python), "-P", str(WRAPPER), str(port), str(state_dir)],
            env=_environment(state_dir, port),
            cwd=state_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal must not reach it: it is stopped in order, so that it saves.
            start_new_session=True,
        )
    _children[process.pid] = process
    started = Running(process.pid, port, timestamps.now())
    _remember(started, state_dir)
    try:
        _wait_until_healthy(started, state_dir)
    except BaseException:
        stop(state_dir)
        raise
    return started


def stop(state_dir: Path) -> bool:
    """End our local cloud and wait until it saved its state; False when none was running."""
    state_dir = state_dir.resolve()
    found = running(state_dir)
    if found:
        os.kill(found.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while _is_ours(found, state_dir):
            if time.monotonic() > deadline:
                raise CliError(
                    f"The local cloud (process {found.pid}) did not stop within {STOP_SECONDS:.0f} s."
                    f" Its log: {log_file(state_dir)}. To end it at once: kill -9 {found.pid}"
                )
            time.sleep(0.05)
        if child := _children.pop(found.pid, None):
            child.wait()
    record_file(state_dir).unlink(missing_ok=True)
    return found is not None


def port_is_taken(port: int) -> bool:
    """Say whether something listens on the port, on loopback or on every address."""
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex((project.LOOPBACK, port)) == 0:
            return True
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((project.LOOPBACK, port))
        except PermissionError:
            raise CliError(f"Port {port} needs special rights. Choose one above 1023.") from None
        except OSError:
            return True
    return False


def port_beside(port: int) -> int:
    """Return a port that is free, near one that is not."""
    others = (other for other in range(port + 11, port + 1_000, 11) if other <= LAST_PORT)
    return next((other for other in others if not port_is_taken(other)), project.DEFAULT_PORT)


def is_healthy(found: Running) -> bool:
    """Say whether the local cloud answers."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{found.endpoint_url}/_ministack/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _remember(started: Running, state_dir: Path) -> None:
    started_at = timestamps.to_text(started.started_at) if started.started_at else None
    record = {"pid": started.pid, "port": started.port, "started_at": started_at}
    record_file(state_dir).write_text(json.dumps(record), encoding="utf-8")


def _environment(state_dir: Path, port: int) -> dict[str, str]:
    return project.clean_environment(
        {
            "BIND_HOST": project.LOOPBACK,
            "GATEWAY_PORT": str(port),
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "PERSIST_STATE": "1",
            "STATE_DIR": str(saved_state(state_dir)),
            "TMPDIR": str(work_dir(state_dir)),
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(saved_objects(state_dir)),
        }
    )


def _is_ours(found: Running, state_dir: Path) -> bool:
    """Say whether the process is our wrapper: process ids are used again by the system."""
    return f"{WRAPPER} {found.port} {state_dir.resolve()}" in _command_line(found.pid)


def _command_line(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode()
        except (OSError, UnicodeDecodeError):
            return ""
    listing = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listing.stdout.strip()


def _reap_ended_children() -> None:
    for pid in [pid for pid, child in _children.items() if child.poll() is not None]:
        del _children[pid]


def _wait_until_healthy(found: Running, state_dir: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not is_healthy(found):
        child = _children.get(found.pid)
        ended = child is not None and child.poll() is not None
        if ended or time.monotonic() > deadline:
            what = "ended at once" if ended else f"did not answer within {START_SECONDS:.0f} s"
            log = log_file(state_dir)
            raise CliError(f"The local cloud {what}. Its log, {log}, ends with:\n{project.last_lines(log)}")
        time.sleep(0.1)
