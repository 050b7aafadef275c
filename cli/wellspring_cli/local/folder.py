"""Owns what lies in the state folder of a local cloud, and that one command at a time changes it."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wellspring_cli.errors import CliError


def record_file(state_dir: Path) -> Path:
    """Where the process id and the port are remembered."""
    return state_dir / "local.json"


def work_dir(state_dir: Path) -> Path:
    """Where the local cloud unpacks the functions; emptied at each start."""
    return state_dir / "tmp"


def log_file(state_dir: Path) -> Path:
    """Where the local cloud writes its log."""
    return state_dir / "ministack.log"


def saved_state(state_dir: Path) -> Path:
    """Where the local cloud saves what it knows."""
    return state_dir / "ministack"


def saved_objects(state_dir: Path) -> Path:
    """Where the local cloud keeps what is put into buckets."""
    return state_dir / "s3"


def deployed_file(state_dir: Path) -> Path:
    """Where it is remembered what was deployed last."""
    return state_dir / "deployed"


def has_state(state_dir: Path) -> bool:
    """Say whether anything is kept, of this run or of an earlier one."""
    return saved_state(state_dir).exists() or saved_objects(state_dir).exists()


def forget_state(state_dir: Path) -> None:
    """Delete all that a stopped local cloud has kept, and nothing else: the folder may be anybody's."""
    deployed_file(state_dir).unlink(missing_ok=True)
    for kept in (saved_state(state_dir), saved_objects(state_dir), work_dir(state_dir)):
        shutil.rmtree(kept, ignore_errors=True)


@contextmanager
def alone(state_dir: Path) -> Iterator[None]:
    """Keep other commands from changing the same local cloud meanwhile. Raises CliError."""
    state_dir.mkdir(parents=True, exist_ok=True)
    with (state_dir / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CliError(
                f"Another command is at work on the local cloud in {state_dir}. Try again when it has ended."
            ) from None
        yield
