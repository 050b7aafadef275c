"""Owns the line in which a source's posts wait for their full text. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil

LONGEST_DELAY = timedelta(seconds=900)
MOST_AT_ONCE = 100
LOST_AFTER = timedelta(minutes=90)
"""A message that has not been heard of for so long, five tries and all, is sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Who waits, who is on the queue and until when we believe that, and where the next place is."""

    version: int = 0
    waiting: tuple[str, ...] = ()
    queued: Mapping[str, datetime] = field(default_factory=dict)
    next_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A post whose message goes to the queue now, and for how many seconds it is hidden there."""

    content_hash: str
    delay_seconds: int


def admitted(
    backlog: Backlog,
    *,
    wanted: Iterable[str] = (),
    done: str | None = None,
    again: str | None = None,
    now: datetime,
    not_before: datetime,
    interval: timedelta,
    room: int,
) -> tuple[Backlog, list[Place]]:
    """Return the line after one step, and who is sent to the queue in it.

    Each place lies an interval behind the one before it, also across steps, so that messages that
    were put off together do not come back together.
    """
    left = {name: until for name, until in backlog.queued.items() if name not in (done, again)}
    queued = {name: until for name, until in left.items() if until > now}
    lost = [name for name in left if name not in queued]
    line = dict.fromkeys([*([again] if again else ()), *lost, *backlog.waiting, *wanted])
    waiting = [name for name in line if name not in queued and name != done]
    at = max(not_before, backlog.next_at or not_before)
    places: list[Place] = []
    while waiting and len(queued) < room and len(places) < MOST_AT_ONCE and at <= now + LONGEST_DELAY:
        name = waiting.pop(0)
        queued[name] = at + LOST_AFTER
        places.append(Place(name, ceil(max(at - now, timedelta(0)).total_seconds())))
        at += interval
    next_at = at if (waiting or queued) and at > now else None
    if (tuple(waiting), queued) == (backlog.waiting, dict(backlog.queued)):
        return backlog, []
    after = Backlog(version=backlog.version + 1, waiting=tuple(waiting), queued=queued, next_at=next_at)
    return after, places
