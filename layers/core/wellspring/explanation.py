"""Owns why a source was or was not fetched, and when it will be, in words. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from wellspring import schedule, timestamps
from wellspring.cadences import shown
from wellspring.hosts import HostState
from wellspring.model import FetchLog, Source
from wellspring.settings import Defaults
from wellspring.standing import State, is_fetched, state_of

LATE = timedelta(minutes=2)
"""A source that is due for longer is late: the planner should have sent it."""


TOLD = {
    State.OK: "the last poll succeeded",
    State.NEW: "never polled",
    State.IDLE: "left out of the schedule: nobody has looked at it for so long; a view brings it back",
    State.DISABLED: "out of the schedule; wellspring sources enable brings it back",
    State.UNLISTED: "not in the schedule yet; a fetch by hand or the planner's daily pass enters it",
    State.FAILING: "the last poll failed",
    State.QUARANTINED: "failed too often in a row: only probed now; a fetch that succeeds brings it back",
    State.GONE: "the server says that it is gone: probed once a week, disabled after three times",
    State.UNREADABLE: "its item in the Sources table has no url, or cannot be read",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a source was or was not fetched, and when it will be."""

    state: State
    why: str
    last: str
    next: str
    reasons: tuple[str, ...]
    obstacles: tuple[str, ...]
    by_hand: str


def explain(
    source: Source, *, last: FetchLog | None, host: HostState, now: datetime, defaults: Defaults
) -> Explanation:
    """Explain a source from what is stored; `last` is its newest attempt."""
    state = state_of(source, now=now, defaults=defaults)
    return Explanation(
        state=state,
        why=_why(source, state),
        last=_last(source, last, now=now),
        next=_next(source, state, now=now, defaults=defaults),
        reasons=source.pace.reasons if source.next_fetch_at else (),
        obstacles=tuple(_obstacles(source, host, now=now, defaults=defaults)),
        by_hand=_by_hand(source, host, now=now, defaults=defaults),
    )


def _why(source: Source, state: State) -> str:
    health = source.health
    if state is State.DISABLED and health.reason:
        return f"disabled: {health.reason}; wellspring sources enable begins anew"
    if state is State.QUARANTINED and health.quarantined_at:
        return f"{TOLD[state]} ({health.failures} failures, since {_clock(health.quarantined_at)})"
    if state is State.FAILING:
        times = f"{health.failures} times in a row" if health.failures > 1 else "once"
        charged = times if health.failures else "through no fault of its own"
        return f"{TOLD[state]} ({health.error_class}, {charged})"
    return TOLD[state]


def _last(source: Source, last: FetchLog | None, *, now: datetime) -> str:
    if last is None:
        return "never fetched, or so long ago that its fetch log is gone"
    how = "by hand" if last.manual else "planned"
    told = f"{_ago(last.started_at, now)}, {how}: {outcome(last)}"
    if source.cursor.last_fetch_at and last.error_class:
        told += f"; the last success counts for {_ago(source.cursor.last_fetch_at, now)}"
    return told


def outcome(log: FetchLog) -> str:
    """Return how an attempt ended, in a few words."""
    status = f"{log.status}, HTTP {log.http_status}" if log.http_status else str(log.status)
    if log.error_message:
        return f"{status}, {log.error_class}: {log.error_message}"
    if log.content_hash:
        return f"{status}, the page of a post"
    if log.status == "not_modified":
        return f"{status}, nothing new"
    parts = [
        f"{log.created} new",
        f"{log.updated} changed" if log.updated else "",
        f"{log.unchanged} known" if log.unchanged else "",
        f"{log.failed} failed" if log.failed else "",
        *(f"{number} left out ({why})" for why, number in sorted(log.filtered.items())),
    ]
    return f"{status}, " + ", ".join(filter(None, parts))


def _next(source: Source, state: State, *, now: datetime, defaults: Defaults) -> str:
    listed = source.next_fetch_at
    if listed is None or not source.enabled:
        return "not planned"
    if listed <= now:
        late = now - listed
        if late > LATE:
            return (
                f"due since {_clock(listed)}, {shown(late)} ago, and the planner has not sent it: "
                "is the schedule on? wellspring doctor"
            )
        return f"due since {_clock(listed)}; the planner sends it at its next run"
    due = schedule.due(source, now=now, defaults=defaults)
    planned = f"{_clock(listed)}, in {shown(listed - now)}"
    if due and due.at <= now and source.cursor.last_polled_at and not is_fetched(source, now=now):
        return f"it is due now: its message is on the queue, or was put off; the turn after that: {planned}"
    return planned


def _obstacles(source: Source, host: HostState, *, now: datetime, defaults: Defaults) -> Iterator[str]:
    if is_fetched(source, now=now) and source.lease:
        yield f"it is being fetched, since {_clock(source.lease.started_at)}"
    circuit, retry_at = source.health.circuit_until, source.pace.retry_at
    if circuit and circuit > now:
        failure = source.health.error_class
        yield f"its circuit is open until {_clock(circuit)} ({failure}): only a fetch by hand gets through"
    if retry_at and retry_at > now:
        yield f"the server asked to stay away until {_clock(retry_at)} (Retry-After), by hand too"
    elif (free := schedule.free_at(source, defaults=defaults)) and free > now:
        yield f"its min-interval keeps it until {_clock(free)}"
    if host.brake_until and host.brake_until > now:
        why = "several of its sources failed" if host.others else "the server asked for it"
        yield f"its host {source.host} is left alone until {_clock(host.brake_until)}: {why}"
    yield from (f"of its item in the Sources table: {warning}" for warning in source.warnings)


def _by_hand(source: Source, host: HostState, *, now: datetime, defaults: Defaults) -> str:
    if not source.enabled or not source.url:
        return "refused: enable it first" if source.url else "refused: it has no url"
    if is_fetched(source, now=now):
        return "waits for the fetch that runs now"
    free = max(schedule.free_at(source, defaults=defaults) or now, host.brake_until or now)
    return f"waits until {_clock(free)}" if free > now else "at once"


def _clock(moment: datetime) -> str:
    return timestamps.to_text(moment)[:19].replace("T", " ") + "Z"


def _ago(moment: datetime, now: datetime) -> str:
    return f"{_clock(moment)}, {shown(now - moment)} ago" if moment <= now else _clock(moment)
