"""Owns the arithmetic of time: when a source is due, what a poll's outcome changes, who may start. Pure."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zlib import crc32

from wellspring import timestamps
from wellspring.config import Interval
from wellspring.errors import ErrorClass
from wellspring.model import Source
from wellspring.settings import Defaults

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
TICK = timedelta(seconds=1)
MAX_EXPONENT = 30


@dataclass(frozen=True, slots=True)
class Due:
    """When a source is due, and the reasons that led there."""

    at: datetime
    reasons: tuple[str, ...]


def due(source: Source, *, defaults: Defaults) -> Due:
    """Return when the source is due by what is stored on it."""
    cadence, cursor, failures = source.config.cadence, source.cursor, source.health.failures
    if not isinstance(cadence, Interval):
        polled = cursor.last_polled_at
        return Due(
            timestamps.ceil(polled + TICK) if polled else BEGINNING, ("always: due at every planner run",)
        )
    interval = timedelta(minutes=cadence.every_minutes)
    why = f"interval {_shown(interval)}"
    if failures and cursor.last_polled_at:
        wait = backoff(source, interval, defaults=defaults)
        plural = "failure" if failures == 1 else "failures"
        return Due(
            timestamps.ceil(cursor.last_polled_at + wait),
            (why, f"{failures} {plural} in a row: waits {_shown(wait)} since the last poll"),
        )
    if cursor.last_fetch_at is None:
        return Due(BEGINNING, (why, "never fetched"))
    return Due(timestamps.ceil(cursor.last_fetch_at + interval), (f"{why} since the last success",))


def backoff(source: Source, interval: timedelta, *, defaults: Defaults) -> timedelta:
    """Return how long a failing source waits: doubled with each failure, capped, never under its interval."""
    own = source.config.max_backoff_hours
    cap = defaults.max_backoff if own is None else timedelta(hours=own)
    minutes = interval.total_seconds() / 60 * 2 ** min(source.health.failures, MAX_EXPONENT)
    return max(interval, min(cap, timedelta(minutes=min(minutes, cap.total_seconds() / 60 + 1))))


def after_poll(
    source: Source, error_class: ErrorClass | None, *, now: datetime, due_at: datetime | None = None
) -> Source:
    """Return the source as an attempt leaves it. `now` is the window end of the plan that sent it.

    The planner calls this without an error before the poll, to predict the next time: most
    polls end that way, and then the finish writes the same index keys, which costs nothing.
    """
    done = max(filter(None, (source.cursor.due_at, due_at)), default=None)
    cursor = replace(source.cursor, last_polled_at=now, due_at=done)
    if error_class is None:
        return replace(
            source,
            cursor=replace(cursor, last_fetch_at=now),
            health=replace(source.health, failures=0, error_class=None),
        )
    health = replace(source.health, failures=source.health.failures + 1, error_class=error_class)
    return replace(source, cursor=cursor, health=health)


def min_interval(source: Source, *, defaults: Defaults) -> timedelta:
    own = source.config.min_interval_seconds
    return defaults.min_interval if own is None else timedelta(seconds=own)


def free_at(source: Source, *, defaults: Defaults) -> datetime | None:
    """Return the moment before which no other fetch of the source may start."""
    if source.lease is None:
        return None
    earliest = source.lease.started_at + min_interval(source, defaults=defaults)
    return max(earliest, source.lease.free_at or earliest)


def shard_of(source_id: str, shards: int) -> int:
    """Return the partition of the due index that a source belongs to, for good."""
    return crc32(source_id.encode()) % shards


class Refusal(StrEnum):
    """Why a fetch may not start."""

    UNKNOWN = "unknown_source"
    DISABLED = "disabled"
    DONE = "already_done"
    IN_FLIGHT = "in_flight"
    TOO_SOON = "too_soon"


def refusal(source: Source | None, *, due_at: datetime | None, now: datetime) -> Refusal | None:
    """Say why this start is refused, or None. The stores' start condition is this very rule."""
    if source is None:
        return Refusal.UNKNOWN
    if not source.enabled:
        return Refusal.DISABLED
    if due_at and source.cursor.due_at and due_at <= source.cursor.due_at:
        return Refusal.DONE
    if source.lease and source.lease.until and now < source.lease.until:
        return Refusal.IN_FLIGHT
    if source.lease and source.lease.free_at and now < source.lease.free_at:
        return Refusal.TOO_SOON
    return None


def _shown(span: timedelta) -> str:
    seconds = span.total_seconds()
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"
