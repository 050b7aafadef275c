"""Owns an overview of a stack as the command shows it: fields for programs, rows for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypeVar

from rich.table import Table
from rich.text import Text

from wellspring.aws.dead_letters import Depth
from wellspring.aws.metrics import Polls, Recent
from wellspring.cadences import shown
from wellspring.ports import QueueDepth
from wellspring.standing import State
from wellspring_cli import output, verdict
from wellspring_cli.overview import Census, FailingHost, Overview
from wellspring_cli.source_rows import STYLES

UNREAD = Text("could not be read", "yellow")

Part = TypeVar("Part")


def fields(found: Overview) -> dict[str, Any]:
    """Return an overview for programs; a part that could not be read is null."""
    problems = verdict.problems(found)
    recent, lag = found.recent, found.lag
    return {
        "at": output.moment(found.at),
        "well": not problems and not found.unread,
        "problems": [asdict(finding) for finding in problems],
        "notes": [asdict(finding) for finding in verdict.notes(found)],
        "unread": list(found.unread.values()),
        "sources": found.census
        and {
            "total": found.census.seen if found.census.total is None else found.census.total,
            "seen": found.census.seen,
            "states": {state: found.census.states.get(state, 0) for state in State},
        },
        "failing_hosts": found.census
        and [
            asdict(host) | {"braked_until": output.moment(host.braked_until)} for host in found.census.hosts
        ],
        "due": found.due
        and {
            "number": found.due.number,
            "oldest_due_at": output.moment(found.due.oldest),
            "lag_seconds": round(lag.total_seconds(), 1) if lag else 0,
        },
        "planner": recent
        and {"last_run_at": output.moment(recent.planned_at), "runs_in_ten_minutes": recent.runs},
        "last_hour": recent and _polls_fields(recent.hour),
        "last_day": recent and _polls_fields(recent.day),
        "queue": found.queue and asdict(found.queue),
        "dead_letters": found.dead_letters and asdict(found.dead_letters),
        "failures_frozen": found.is_frozen,
    }


def rows(found: Overview) -> list[tuple[str, str | Text]]:
    """Return the numbers in pairs of a name and what there is."""
    return [
        ("sources", _told(_sources, found.census)),
        ("due now", _told(lambda due: _due(due.number, found), found.due)),
        ("planner", _told(_planner, found.recent)),
        ("polls", _told(lambda recent: _both(_polls(recent.hour), _polls(recent.day)), found.recent)),
        (
            "new posts",
            _told(lambda recent: _both(f"{recent.hour.posts:,}", f"{recent.day.posts:,}"), found.recent),
        ),
        ("queue", _told(_queue, found.queue)),
        ("dead letters", _told(_dead_letters, found.dead_letters)),
        ("outage guard", _told(_guard, found.is_frozen)),
    ]


def hosts(failing: Sequence[FailingHost], *, now: datetime) -> Table:
    """Return a row for each failing host."""
    made = output.table("Failing host", ("Sources", "right"), "Error", "Braked")
    for host in failing:
        until = host.braked_until if host.braked_until and host.braked_until > now else None
        braked = f"for {shown(until - now)}" if until else "no"
        made.add_row(output.printable(host.host) or "-", f"{host.sources:,}", host.error_class or "-", braked)
    return made


def _told(tell: Callable[[Part], str | Text], part: Part | None) -> str | Text:
    return UNREAD if part is None else tell(part)


def _sources(census: Census) -> Text:
    total = census.seen if census.total is None else census.total
    states = [
        (f"{_share(number, census)} {state}", STYLES[state])
        for state in State
        if (number := census.states.get(state, 0))
    ]
    if census.total is None:
        told = Text(f"{total:,}{': ' if states else ''}")
    else:
        told = Text(f"about {total:,}; of the first {census.seen:,} ")
    return told.append_text(Text(", ").join(Text(*state) for state in states))


def _share(number: int, census: Census) -> str:
    return f"{number:,}" if census.total is None else f"{number / census.seen:.1%}"


def _due(number: int, found: Overview) -> str:
    return f"{number:,}, the oldest for {shown(found.lag)}" if found.lag else f"{number:,}"


def _planner(recent: Recent) -> str:
    if recent.planned_at is None:
        return "no run within a day"
    return f"last run at {recent.planned_at:%H:%M}Z, {output.plural(recent.runs, 'run')} within ten minutes"


def _both(hour: str, day: str) -> str:
    return f"{hour} in the last hour, {day} in the last day"


def _polls(polls: Polls) -> str:
    return f"{polls.total:,}" + (f" ({polls.failed_share:.1%} failed)" if polls.total else "")


def _queue(queue: QueueDepth) -> str:
    return f"{queue.waiting:,} waiting, {queue.delayed:,} delayed, {queue.in_flight:,} in flight"


def _dead_letters(letters: Depth) -> str:
    hidden = f", {letters.hidden:,} of them looked at just now" if letters.hidden else ""
    return f"{letters.waiting + letters.hidden:,}{hidden}"


def _guard(is_frozen: bool) -> str:
    return "on: failures do not count" if is_frozen else "off"


def _polls_fields(polls: Polls) -> dict[str, Any]:
    return {
        "polls": polls.total,
        "failed": polls.failed,
        "failed_share": round(polls.failed_share, 4),
        "posts": polls.posts,
    }
