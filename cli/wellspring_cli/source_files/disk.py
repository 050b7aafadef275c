"""Owns the bytes of such files: read up to a limit, written in one piece or not at all."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import nullcontext
from pathlib import Path

from wellspring_cli.errors import CliError, WrongUse

STANDARD = "-"
LARGEST = 50_000_000
LONGEST_NAME = 255
PRIVATE, USUAL = 0o600, 0o666


def called(name: str) -> str:
    """Return what a file is called in a sentence."""
    return "standard input" if name == STANDARD else name


def read(name: str) -> bytes:
    """Return what is in a file, or what comes in. Raises WrongUse."""
    try:
        with nullcontext(sys.stdin.buffer) if name == STANDARD else Path(name).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise WrongUse(told(error, name)) from None
    if len(data) > LARGEST:
        raise WrongUse(
            f"{called(name)} is larger than {LARGEST // 1_000_000} MB. "
            "Split it, and import one part after the other."
        )
    return data


def check_writable(path: Path, *, force: bool) -> None:
    """Say at once what stands against writing there. Raises WrongUse."""
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise WrongUse("The name of the file is too long.")
    if not path.parent.is_dir():
        raise WrongUse(f"There is no folder {str(path.parent)!r}.")
    if path.is_dir():
        raise WrongUse(f"{str(path)!r} is a folder. Name a file in it.")
    if path.exists() and not path.is_file():
        raise WrongUse(f"{str(path)!r} is no file. To write to what comes next in a pipe, name {STANDARD}")
    if path.exists() and not force:
        raise WrongUse(f"{str(path)!r} is there already. Name another file, or overwrite it: --force")


def write(path: Path, data: bytes, *, private: bool) -> None:
    """Put a file in its place when all of it is written; a private one is its owner's alone."""
    path = path.resolve()
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE if private else USUAL)
        try:
            with os.fdopen(made, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(made)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CliError(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def write_out(data: bytes) -> None:
    """Write to standard output, whatever the terminal's own encoding is."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CliError(f"It could not be written out: {error.strerror}.") from None


def told(error: OSError, name: str) -> str:
    """Return why a file cannot be read, in a sentence."""
    match error:
        case FileNotFoundError():
            return f"There is no file {name!r}."
        case IsADirectoryError():
            return f"{name!r} is a folder. Name a file in it."
        case PermissionError():
            return f"You may not read {name!r}."
    return f"{name!r} cannot be read: {error.strerror}."
