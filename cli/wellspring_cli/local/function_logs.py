"""Owns what the functions of a stack have logged: read further at each look, as it comes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from wellspring.aws.faults import told_as_unavailable
from wellspring_cli.local.deployment import LocalStack

GROUPS = {"planner": "PlannerLogGroup", "fetcher": "FetcherLogGroup"}
LATE = timedelta(seconds=10)
"""Lines of one function instance may be listed that much after those of another."""
NOISE = ("START ", "END ", "REPORT ", "INIT_START ", "EXTENSION ", '{"_aws"')
PLANNED = "planned"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that a function told."""

    at: datetime
    function: str
    level: str
    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_error(self) -> bool:
        return self.level in ("ERROR", "CRITICAL") or self.fields.get("status") == "failed"


class FunctionLogs:
    """The logs of some functions since a moment."""

    def __init__(self, stack: LocalStack, functions: tuple[str, ...], since: datetime) -> None:
        self._client = stack.client("logs")
        self._groups = {name: stack.outputs[GROUPS[name]] for name in functions}
        self._since = dict.fromkeys(functions, since)
        self._seen: dict[tuple[Any, ...], datetime] = {}

    def look(self) -> list[Line]:
        """Return what was not seen yet, in the order of time."""
        found = [line for function in self._groups for line in self._look(function)]
        return sorted(found, key=lambda line: line.at)

    def _look(self, function: str) -> list[Line]:
        since, found = self._since[function], []
        pages = self._client.get_paginator("filter_log_events").paginate(
            logGroupName=self._groups[function], startTime=_milliseconds(since)
        )
        with told_as_unavailable(f"Reading the log of the {function}"):
            events = [event for page in pages for event in page["events"]]
        self._seen = {key: at for key, at in self._seen.items() if key[0] != function or at >= since}
        for event in events:
            at = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
            key = (function, event["logStreamName"], event["timestamp"], event["message"])
            self._since[function] = max(self._since[function], at - LATE)
            if key not in self._seen:
                self._seen[key] = at
                if line := read(event["message"], function, at):
                    found.append(line)
        return found


def last_planned(stack: LocalStack, *, since: datetime) -> datetime | None:
    """Return when the planner last ran to its end, if it did since a moment."""
    lines = FunctionLogs(stack, ("planner",), since).look()
    return max((line.at for line in lines if line.message == PLANNED), default=None)


def read(text: str, function: str, at: datetime) -> Line | None:
    """Return the line that a logged text is; None for what says nothing to a person."""
    text = text.strip()
    if not text or text.startswith(NOISE):
        return None
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        # Our functions log objects alone: this is the runtime's word on one that failed.
        return Line(at=at, function=function, level="ERROR", message=text)
    if "_aws" in told:
        return None
    level, message = str(told.pop("level", "INFO")), str(told.pop("message", ""))
    for name in ("location", "timestamp", "service", "xray_trace_id"):
        told.pop(name, None)
    return Line(at=at, function=function, level=level, message=message, fields=told)


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
