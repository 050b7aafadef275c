"""Owns the four cadences: each says when a source is due by itself, before the server is asked. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from wellspring.config import Activity, Adaptive, Always, Interval
from wellspring.errors import ErrorClass
from wellspring.model import Health, Source
from wellspring.retries import retry
from wellspring.settings import Adaption, Defaults

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
TICK = timedelta(seconds=1)
MAX_EXPONENT = 30


@dataclass(frozen=True, slots=True)
class Due:
    """When a source is due, and the reasons that led there."""

    at: datetime
    reasons: tuple[str, ...]


def due(source: Source, *, now: datetime, defaults: Defaults) -> Due | None:
    """Return when the cadence is due; None when it leaves the source out."""
    return _DUE[type(source.config.cadence)](source, now, defaults)


def _always(source: Source, now: datetime, defaults: Defaults) -> Due:
    polled = source.cursor.last_polled_at
    return Due(polled + TICK if polled else BEGINNING, ("always: due at every planner run",))


def _interval(source: Source, now: datetime, defaults: Defaults) -> Due:
    return _spaced(source, usual_interval(source, defaults=defaults), "interval", defaults)


def _activity(source: Source, now: datetime, defaults: Defaults) -> Due | None:
    interval, idle = activity_interval(source, now=now, defaults=defaults)
    if interval is None:
        return None
    return _spaced(source, interval, f"activity, idle for {shown(idle)}:", defaults)


def _spaced(source: Source, interval: timedelta, name: str, defaults: Defaults) -> Due:
    """Due an interval after the last success, or after the last poll and longer while it fails."""
    cursor, health = source.cursor, source.health
    why = f"{name} {shown(interval)}"
    if health.error_class and cursor.last_polled_at:
        wait = backoff(source, interval, defaults=defaults)
        return Due(cursor.last_polled_at + wait, (why, _failing(health, wait)))
    if cursor.last_fetch_at is None:
        return Due(BEGINNING, (why, "never fetched"))
    return Due(cursor.last_fetch_at + interval, (f"{why} since the last success",))


def _failing(health: Health, wait: timedelta) -> str:
    if not health.failures:
        return f"the last poll failed through no fault of its own: waits {shown(wait)}"
    plural = "failure" if health.failures == 1 else "failures"
    return f"{health.failures} {plural} in a row: waits {shown(wait)} since the last poll"


def backoff(source: Source, interval: timedelta, *, defaults: Defaults) -> timedelta:
    """Return how long a failing source waits: doubled with each failure, capped, never under its interval."""
    own = source.config.max_backoff_hours
    cap = defaults.max_backoff if own is None else timedelta(hours=own)
    minutes = interval.total_seconds() / 60 * 2 ** min(source.health.failures, MAX_EXPONENT)
    return max(interval, min(cap, timedelta(minutes=min(minutes, cap.total_seconds() / 60 + 1))))


def _adaptive(source: Source, now: datetime, defaults: Defaults) -> Due:
    health, polled = source.health, source.cursor.last_polled_at
    if polled is None:
        return Due(BEGINNING, ("adaptive", "never polled"))
    if health.circuit_until and health.circuit_until > polled:
        return Due(health.circuit_until, (f"circuit open after {health.error_class}",))
    interval = source.pace.interval or usual_interval(source, defaults=defaults)
    why = f"adaptive {shown(interval)}"
    if health.attempt and health.error_class:
        policy = retry(health.error_class)
        left = policy.attempts - health.attempt
        wait = min(interval, policy.wait)
        return Due(
            polled + wait, (why, f"{health.error_class}: again in {shown(wait)}, {left} attempts left")
        )
    return Due(polled + interval, (why,))


def adaption(source: Source, *, defaults: Defaults) -> Adaption:
    """Return the numbers of an adaptive source: its own where it has them, else the stack's."""
    own, stack = source.config.cadence, defaults.adaption
    if not isinstance(own, Adaptive):
        return stack

    def span(minutes: float | None, default: timedelta) -> timedelta:
        return default if minutes is None else timedelta(minutes=minutes)

    floor = span(own.floor_minutes, stack.floor)
    return Adaption(
        start=span(own.every_minutes, stack.start),
        changed=stack.changed if own.changed_factor is None else own.changed_factor,
        unchanged=stack.unchanged if own.unchanged_factor is None else own.unchanged_factor,
        failed=stack.failed if own.failed_factor is None else own.failed_factor,
        floor=floor,
        ceiling=max(floor, span(own.ceiling_minutes, stack.ceiling)),
    )


def learned(
    source: Source,
    error_class: ErrorClass | None,
    health: Health,
    changed: bool,
    *,
    defaults: Defaults,
) -> timedelta | None:
    """Return the interval that an adaptive source has learned from a poll.

    Only the first failure of a row of attempts makes it longer: the retries are about
    the failure, not about how often the source publishes.
    """
    if not isinstance(source.config.cadence, Adaptive):
        return None
    numbers = adaption(source, defaults=defaults)
    interval = source.pace.interval or numbers.start
    if error_class is None:
        factor = numbers.changed if changed else numbers.unchanged
    elif health.failures > source.health.failures and source.health.attempt == 0:
        factor = numbers.failed
    else:
        factor = 1.0
    seconds = min(max(interval * factor, numbers.floor), numbers.ceiling).total_seconds()
    return timedelta(seconds=round(seconds))


def activity_interval(
    source: Source, *, now: datetime, defaults: Defaults
) -> tuple[timedelta | None, timedelta]:
    """Return how often an activity source is polled, None if not at all, and how long nobody has looked."""
    cadence = source.config.cadence
    steps = defaults.activity
    if isinstance(cadence, Activity) and cadence.steps:
        own = ((timedelta(days=step.idle_days), timedelta(hours=step.every_hours)) for step in cadence.steps)
        steps = tuple(sorted(own))
    since = source.viewed_at or source.created_at or now
    idle = max(now - since, timedelta(0))
    return next((every for limit, every in steps if idle <= limit), None), idle


def usual_interval(source: Source, *, defaults: Defaults) -> timedelta:
    """Return how far apart polls are when nothing has been learned yet."""
    match source.config.cadence:
        case Interval(every_minutes=minutes):
            return timedelta(minutes=minutes)
        case Adaptive():
            return adaption(source, defaults=defaults).start
        case Activity():
            return activity_interval(source, now=source.created_at or BEGINNING, defaults=defaults)[0] or TICK
    return timedelta(0)


@lru_cache(1024)
def shown(span: timedelta) -> str:
    """Write a span as people say it."""
    seconds = round(span.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or (seconds >= size and seconds % size == 0):
            return f"{round(seconds / size, 1):g} {unit}"
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60, 1):g} min"


_DUE: dict[type, Callable[[Source, datetime, Defaults], Due | None]] = {
    Always: _always,
    Interval: _interval,
    Adaptive: _adaptive,
    Activity: _activity,
}
