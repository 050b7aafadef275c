"""Owns the arithmetic of time: when a source is due, what a poll's outcome changes, who may start. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from zlib import crc32

from wellspring import cadences, hints, timestamps
from wellspring.cadences import Due
from wellspring.config import Activity, Adaptive
from wellspring.errors import ErrorClass
from wellspring.hints import DocumentHints
from wellspring.model import Health, Pace, Source
from wellspring.retries import retry
from wellspring.settings import Defaults

GONE_PROBES = 3
GONE_PROBE_EVERY = timedelta(days=7)
PROBE_SLACK = timedelta(hours=1)
HEALTHY = Health()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a poll means for the schedule."""

    error_class: ErrorClass | None = None
    changed: bool = False
    """The set of entry ids is another one than last time."""
    charged: bool = True
    """False when our own outage or the whole host is to blame for the failure."""
    answered: bool = False
    """There was a response, whose headers say what `cache` and `retry_at` are."""
    cache: timedelta | None = None
    retry_at: datetime | None = None
    document: DocumentHints | None = None
    """None when there was no new document: then the last one's hints still hold."""


UNCHANGED = Outcome()
"""What most polls come to. The planner predicts with it, so that the finish writes the same index keys."""


def due(source: Source, *, now: datetime, defaults: Defaults) -> Due | None:
    """Return when the source is due by what is stored on it; None when the schedule leaves it out."""
    if not source.enabled:
        return None
    if source.health.gone:
        base = source.cursor.last_polled_at or now
        return Due(base + GONE_PROBE_EVERY, ("gone: probed once a week",))
    if source.health.quarantined_at:
        return _probe(source, now=now, defaults=defaults)
    found = cadences.due(source, now=now, defaults=defaults)
    return None if found is None else _with_the_servers_word(source, found, defaults=defaults)


def after_poll(
    source: Source,
    outcome: Outcome,
    *,
    now: datetime,
    due_at: datetime | None = None,
    defaults: Defaults,
) -> Source:
    """Return the source as an attempt leaves it. `now` is the window end of the plan that sent it."""
    before = source.cursor
    done = before.due_at if due_at is None or (before.due_at and before.due_at > due_at) else due_at
    # A late message must not set back what a fetch by hand has moved on meanwhile.
    now = max(now, before.last_polled_at or now)
    fetched = now if outcome.error_class is None else before.last_fetch_at
    health = health_after(source, outcome, now=now, defaults=defaults)
    return replace(
        source,
        enabled=source.enabled and health.reason is None,
        cursor=replace(before, last_fetch_at=fetched, last_polled_at=now, due_at=done),
        health=health,
        pace=pace_after(source, outcome, health, defaults=defaults),
    )


def pace_after(source: Source, outcome: Outcome, health: Health, *, defaults: Defaults) -> Pace:
    """Return what a poll teaches about the source's rhythm; without a new document the old hints hold."""
    pace, document = source.pace, outcome.document
    interval = cadences.learned(source, outcome.error_class, health, outcome.changed, defaults=defaults)
    cache = outcome.cache if outcome.answered else pace.cache
    if document is None and (interval, cache, outcome.retry_at) == (pace.interval, pace.cache, pace.retry_at):
        return pace
    return Pace(
        interval=interval,
        cache=cache,
        retry_at=outcome.retry_at,
        document=document.stay_away if document else pace.document,
        skip_hours=document.skip_hours if document else pace.skip_hours,
        skip_days=document.skip_days if document else pace.skip_days,
    )


def health_after(source: Source, outcome: Outcome, *, now: datetime, defaults: Defaults) -> Health:
    """Return what a poll makes of the source's health; a success is a fresh start."""
    if outcome.error_class is None:
        return HEALTHY
    before = replace(source.health, error_class=outcome.error_class, reason=None)
    if outcome.error_class is ErrorClass.GONE:
        return _gone(before, now=now)
    if not outcome.charged:
        return before
    failures, attempt = before.failures + 1, before.attempt + 1
    policy = retry(outcome.error_class)
    spent = attempt >= policy.attempts
    limit = source.config.max_consecutive_failures
    limit = defaults.max_failures if limit is None else limit
    return replace(
        before,
        failures=failures,
        attempt=0 if spent else attempt,
        circuit_until=_circuit(source, policy.circuit if spent else None, now=now),
        quarantined_at=before.quarantined_at or (now if limit and failures >= limit else None),
    )


def _circuit(source: Source, opened_for: timedelta | None, *, now: datetime) -> datetime | None:
    """Return until when the circuit is open; a fetch by hand that fails does not close it."""
    if opened_for and isinstance(source.config.cadence, Adaptive):
        return now + opened_for
    until = source.health.circuit_until
    return until if until and until > now else None


def _gone(before: Health, *, now: datetime) -> Health:
    """Count weekly answers alone: somebody who tries by hand does not make a source more gone."""
    counts = before.gone_at is None or now - before.gone_at >= GONE_PROBE_EVERY - PROBE_SLACK
    gone = before.gone + counts
    gone_at = now if counts else before.gone_at
    after = replace(before, failures=before.failures + 1, gone=gone, gone_at=gone_at)
    if gone <= GONE_PROBES:
        return after
    # The count is forgotten with the source: whoever enables it again begins anew.
    return replace(after, gone=0, gone_at=None, reason="gone: the server said so at three weekly probes")


def first_time(source: Source, *, now: datetime, bulk: bool, defaults: Defaults) -> datetime:
    """Return when a new source is polled first: at once, or spread over its interval when many come."""
    if not bulk:
        return now
    return now + cadences.usual_interval(source, defaults=defaults) * _share(source.source_id, "first")


def _probe(source: Source, *, now: datetime, defaults: Defaults) -> Due | None:
    if not defaults.probe:
        return None
    at = (source.cursor.last_polled_at or now) + defaults.probe
    why = (
        f"quarantined after {source.health.failures} failures: probed every {cadences.shown(defaults.probe)}"
    )
    return Due(timestamps.ceil(at), (why,))


def _with_the_servers_word(source: Source, found: Due, *, defaults: Defaults) -> Due:
    """Move the time behind what the server asked for; an explicit interval obeys Retry-After alone."""
    at, reasons, pace = found.at, list(found.reasons), source.pace
    polled = source.cursor.last_polled_at
    if polled and isinstance(source.config.cadence, Adaptive | Activity):
        at = _hinted(source, at, polled, reasons, defaults=defaults)
    if pace.retry_at and pace.retry_at > at:
        at = pace.retry_at
        reasons.append(f"Retry-After: not before {timestamps.to_text(at)}")
    return Due(timestamps.ceil(at), tuple(reasons))


def _hinted(
    source: Source, at: datetime, polled: datetime, reasons: list[str], *, defaults: Defaults
) -> datetime:
    pace = source.pace
    for span, name in ((pace.cache, "the server's cache headers"), (pace.document, "the feed's own hint")):
        if span and polled + span > at:
            at = polled + span
            reasons.append(f"{name}: {cadences.shown(span)}")
    at = _skip(source, at, reasons)
    jitter = _jitter(source, at, polled, defaults=defaults)
    if jitter:
        at = _skip(source, at + jitter, reasons)
        reasons.append(f"jitter +{cadences.shown(jitter)}")
    return at


def _skip(source: Source, at: datetime, reasons: list[str]) -> datetime:
    pace = source.pace
    moved = hints.after_skipped(at, skip_hours=pace.skip_hours, skip_days=pace.skip_days)
    moved = min(moved, at + hints.LONGEST_HINT)
    if moved != at:
        reasons.append(f"the feed skips this time: not before {timestamps.to_text(moved)}")
    return moved


def _jitter(source: Source, at: datetime, since: datetime, *, defaults: Defaults) -> timedelta:
    """Return a delay that two computations agree on: it comes from the source and the time alone."""
    own = getattr(source.config.cadence, "jitter_percent", None)
    share = defaults.jitter if own is None else own / 100
    seconds = (at - since).total_seconds() * share * _share(source.source_id, timestamps.to_text(at))
    return timedelta(seconds=int(seconds))


def _share(*parts: str) -> float:
    digest = blake2b("\x1f".join(parts).encode(), digest_size=6).digest()
    return int.from_bytes(digest) / 2**48


def min_interval(source: Source, *, defaults: Defaults) -> timedelta:
    own = source.config.min_interval_seconds
    return defaults.min_interval if own is None else timedelta(seconds=own)


def host_delay(source: Source, *, defaults: Defaults) -> timedelta:
    """Return how far apart a host's requests are: by the source, else the host, the type, the stack."""
    own = source.config.host_delay_seconds
    if own is not None:
        return timedelta(seconds=own)
    by_type = defaults.type_delays.get(source.type, defaults.host_delay)
    return defaults.host_delays.get(source.host, by_type)


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
    UNKNOWN_POST = "unknown_post"
    NO_PAGE = "no_page"
    DISABLED = "disabled"
    DONE = "already_done"
    IN_FLIGHT = "in_flight"
    TOO_SOON = "too_soon"
    UNREADABLE = "unreadable"
    HOST_BUSY = "host_busy"
    HOST_BRAKED = "host_braked"


def refusal(
    source: Source | None, *, due_at: datetime | None, window_end: datetime | None = None, now: datetime
) -> Refusal | None:
    """Say why this start is refused, or None. The stores' start condition is this very rule."""
    if source is None:
        return Refusal.UNKNOWN
    if not source.enabled:
        return Refusal.DISABLED
    if due_at and source.cursor.due_at and due_at <= source.cursor.due_at:
        return Refusal.DONE
    if window_end and source.cursor.last_polled_at and window_end <= source.cursor.last_polled_at:
        return Refusal.DONE
    if source.lease and source.lease.until and now < source.lease.until:
        return Refusal.IN_FLIGHT
    if source.lease and source.lease.free_at and now < source.lease.free_at:
        return Refusal.TOO_SOON
    return None
