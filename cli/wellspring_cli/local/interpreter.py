"""Owns what the functions of a local cloud run on, for which their layer must be built."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wellspring_cli.local import project

IN_CONTAINERS = "python3.13"
"""Emulators that run functions in containers of their own know this one, and most of them no newer one."""


@dataclass(frozen=True)
class Interpreter:
    """A Python and a processor, as Lambda names them."""

    runtime: str
    architecture: str
    wheels: Mapping[str, str] = field(default_factory=dict)
    """How wheels are chosen where that does not follow from the processor."""


def of_ministack(tools: Path = project.TOOLS) -> Interpreter:
    """Return MiniStack's own interpreter: it runs the functions there, on this very system."""
    python = project.tool(tools, "ministack", "python")
    version = "import sys; print('python%d.%d' % sys.version_info[:2])"
    runtime = subprocess.run([python, "-c", version], capture_output=True, text=True, check=True)
    return Interpreter(runtime.stdout.strip(), _architecture(), _wheels())


def of_containers() -> Interpreter:
    """Return what runs in containers of this computer, which are Linux whatever the computer is."""
    return Interpreter(IN_CONTAINERS, _architecture())


def _architecture() -> str:
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def _wheels() -> dict[str, str]:
    """Choose wheels for this system where it is no Linux."""
    if platform.system() != "Darwin":
        return {}
    arm = _architecture() == "arm64"
    return {"LAMBDA_PLATFORM": "aarch64-apple-darwin" if arm else "x86_64-apple-darwin"}
