"""Owns sources as the command shows them: fields for programs, rows for people. No secret is in either."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from wellspring import cadences, urls
from wellspring.model import Source
from wellspring.ports import Posts
from wellspring.settings import Defaults
from wellspring.standing import State, is_fetched, state_of
from wellspring_cli import cadence, output

SIDE_BY_SIDE = 10
STYLES = {
    State.OK: "green",
    State.NEW: "cyan",
    State.IDLE: "dim",
    State.DISABLED: "dim",
    State.UNLISTED: "yellow",
    State.FAILING: "yellow",
    State.QUARANTINED: "red",
    State.GONE: "red",
    State.UNREADABLE: "red",
}


def counts(sources: Sequence[Source], posts: Posts) -> list[int]:
    """Return how many posts each source has."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return list(pool.map(lambda source: posts.count(source.source_id), sources))


def fields(source: Source, *, now: datetime, defaults: Defaults, posts: int | None = None) -> dict[str, Any]:
    """Return a source for programs; query strings and headers' values, where secrets lie, are left out."""
    config = source.config.model_dump(exclude_defaults=True)
    config["cadence"] = source.config.cadence.model_dump(exclude_none=True)
    if "headers" in config:
        config["headers"] = dict.fromkeys(config["headers"], "(hidden)")
    cursor, health, pace = source.cursor, source.health, source.pace
    return {
        "source_id": source.source_id,
        "url": source.shown_url,
        "type": source.type,
        "title": source.title,
        "owner_id": source.owner_id,
        "enabled": source.enabled,
        "state": state_of(source, now=now, defaults=defaults),
        "is_fetched_now": is_fetched(source, now=now),
        "created_at": output.moment(source.created_at),
        "viewed_at": output.moment(source.viewed_at),
        "previous_url": urls.shown(source.previous_url or "") or None,
        "config": config,
        "next_fetch_at": output.moment(source.next_fetch_at),
        "reasons": list(pace.reasons),
        "last_fetch_at": output.moment(cursor.last_fetch_at),
        "last_polled_at": output.moment(cursor.last_polled_at),
        "last_result": _result(source),
        "failures": health.failures,
        "circuit_until": output.moment(health.circuit_until),
        "quarantined_at": output.moment(health.quarantined_at),
        "reason": health.reason,
        "interval_minutes": round(pace.interval.total_seconds() / 60, 1) if pace.interval else None,
        "posts": posts,
        "warnings": list(source.warnings),
    }


def table(
    sources: Sequence[Source], numbers: Sequence[int] | None, *, now: datetime, defaults: Defaults
) -> Table:
    """Return a row for each source."""
    made = output.table("Id", "URL", "Cadence", "State", "Last result", "Next", ("Posts", "right"))
    for place, source in enumerate(sources):
        state = state_of(source, now=now, defaults=defaults)
        made.add_row(
            Text(output.printable(source.source_id)),
            Text(source.shown_url),
            cadence.told(source.config),
            Text(state, STYLES[state]),
            last(source, now=now),
            next_time(source, now=now),
            str(numbers[place]) if numbers is not None else "-",
        )
    return made


def details(source: Source, posts: int, *, now: datetime, defaults: Defaults) -> list[tuple[str, str | Text]]:
    """Return what is worth knowing of a source, in pairs."""
    state = state_of(source, now=now, defaults=defaults)
    config = source.config.model_dump(exclude_defaults=True, exclude={"cadence", "headers"})
    pace = source.pace
    pairs: list[tuple[str, str | Text | None]] = [
        ("id", output.printable(source.source_id)),
        ("url", source.shown_url),
        ("moved from", urls.shown(source.previous_url or "")),
        ("title", output.printable(source.title or "")),
        ("type", source.type),
        ("owner", source.owner_id),
        ("state", Text(state, STYLES[state])),
        ("cadence", cadence.told(source.config)),
        ("learned interval", cadences.shown(pace.interval) if pace.interval else None),
        ("last result", last(source, now=now)),
        ("next", next_time(source, now=now)),
        ("because", "; ".join(pace.reasons)),
        ("posts", f"{posts:,}"),
        ("headers", ", ".join(source.config.headers)),
        ("settings", ", ".join(f"{name}={value}" for name, value in config.items())),
        ("added", output.clock(source.created_at, "")),
        ("viewed", output.clock(source.viewed_at, "")),
        ("warnings", "; ".join(source.warnings)),
    ]
    return [(name, value) for name, value in pairs if value]


def last(source: Source, *, now: datetime) -> str:
    """Return how the last poll ended, and when it was."""
    result = _result(source)
    if result is None:
        return "-"
    times = f" x{source.health.failures}" if source.health.failures > 1 else ""
    return f"{result}{times}, {output.relative(source.cursor.last_polled_at, now=now)}"


def next_time(source: Source, *, now: datetime) -> str:
    if is_fetched(source, now=now):
        return "fetching"
    if source.next_fetch_at is None:
        return "-"
    return output.relative(source.next_fetch_at, now=now) if source.next_fetch_at > now else "due"


def _result(source: Source) -> str | None:
    if source.health.error_class:
        return str(source.health.error_class)
    return "ok" if source.cursor.last_polled_at else None
