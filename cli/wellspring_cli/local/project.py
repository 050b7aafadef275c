"""Where the project and its tools lie on this computer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from wellspring_cli.errors import CliError

ROOT = Path(__file__).resolve().parents[3]
STATE_DIR = ROOT / ".wellspring"
TOOLS = ROOT / ".tools"
DEFAULT_PORT = 4566
REGION = "us-east-1"
LOOPBACK = "127.0.0.1"


def tool(folder: Path, name: str, command: str) -> Path:
    """Return the command of an installed tool, or say how to install it."""
    path = folder / name / "bin" / command
    if not path.exists():
        raise CliError(f"The tool {name} is not installed in this project. Run: make setup")
    return path


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without anything that leads to a real AWS account.

    A profile or an endpoint of the user's own would send the local stack there.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SAM_"))}
    return {
        **kept,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": f"{LOOPBACK},localhost",
        "no_proxy": f"{LOOPBACK},localhost",
        **extra,
    }


def last_lines(log: Path, count: int = 8) -> str:
    """Return the last lines of a log that say something."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join([line for line in text.splitlines() if line.strip()][-count:])
