"""Owns what can be told of a local cloud: whether it runs, since when, and what is deployed there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from wellspring_cli.errors import CliError
from wellspring_cli.local import cloud, deployment, elsewhere, emulator, folder
from wellspring_cli.local.emulator import Running


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How the local cloud of a state folder stands."""

    state_dir: str
    keeps_state: bool
    runs: bool = False
    """Whether it answers."""
    is_ours: bool = True
    endpoint_url: str | None = None
    pid: int | None = None
    since: datetime | None = None
    """When it was started, or when the folder was bound to it."""
    log_file: str | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Of the stack; none when it is not finished."""

    @property
    def is_good(self) -> bool:
        return self.runs and bool(self.outputs)


def of(state_dir: Path) -> Standing:
    """Find out how the local cloud stands."""
    state_dir = state_dir.resolve()
    found = cloud.running(state_dir)
    here = str(state_dir)
    keeps_state = folder.has_state(state_dir)
    if found is None:
        return Standing(state_dir=here, keeps_state=keeps_state)
    is_ours = isinstance(found, Running)
    runs = emulator.is_healthy(found) if isinstance(found, Running) else _answers(found.endpoint_url)
    return Standing(
        state_dir=here,
        keeps_state=keeps_state,
        runs=runs,
        is_ours=is_ours,
        endpoint_url=found.endpoint_url,
        pid=found.pid if isinstance(found, Running) else None,
        since=found.started_at if isinstance(found, Running) else found.since,
        log_file=str(folder.log_file(state_dir)) if is_ours else None,
        outputs=(deployment.read_outputs(found.endpoint_url) or {}) if runs else {},
    )


def _answers(endpoint_url: str) -> bool:
    try:
        elsewhere.check(endpoint_url)
    except CliError:
        return False
    return True
