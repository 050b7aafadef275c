"""Owns whether the stack is deployed as it stands in the project now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from wellspring_cli.local import project
from wellspring_cli.local.folder import deployed_file
from wellspring_cli.local.interpreter import Interpreter

BUILT_FROM = ("template.yaml", "samconfig.toml", "functions", "layers/core")
"""All that is read by a build and a deployment."""
LEFT_OUT = ("__pycache__", ".egg-info")


def of(interpreter: Interpreter, parameters: Mapping[str, str], where: str) -> str:
    """Return what tells this deployment from any other: where it is, for what, and each file of it."""
    digest = hashlib.sha256(json.dumps([asdict(interpreter), dict(parameters), where]).encode())
    for path in _files():
        digest.update(f"\0{path.relative_to(project.ROOT)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_deployed(state_dir: Path, fingerprint: str) -> bool:
    try:
        return deployed_file(state_dir).read_text(encoding="utf-8") == fingerprint
    except (OSError, ValueError):
        return False


def remember(state_dir: Path, fingerprint: str) -> None:
    deployed_file(state_dir).write_text(fingerprint, encoding="utf-8")


def remembered_at(state_dir: Path) -> datetime:
    """Return when the last deployment ended."""
    return datetime.fromtimestamp(deployed_file(state_dir).stat().st_mtime, UTC)


def forget(state_dir: Path) -> None:
    """Say that nobody knows: a deployment that breaks off leaves neither the old nor the new."""
    deployed_file(state_dir).unlink(missing_ok=True)


def _files() -> Iterator[Path]:
    for name in BUILT_FROM:
        found = project.ROOT / name
        for path in [found] if found.is_file() else sorted(found.rglob("*")):
            if path.is_file() and not any(part.endswith(LEFT_OUT) for part in path.parts):
                yield path
