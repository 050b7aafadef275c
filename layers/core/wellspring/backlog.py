"""Owns the line in which a source's posts wait for their full text. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import ceil
from struct import Struct

LONGEST_DELAY = timedelta(seconds=900)
MOST_AT_ONCE = 100
MOST_WAITING = 5_000
MOST_TRIES = 3
LOST_AFTER = timedelta(minutes=90)
"""A message that has not been heard of for so long, all its deliveries over, is sent again."""
NOTHING = timedelta(0)
_TURN = Struct(">32sQB")


@dataclass(frozen=True, slots=True)
class Turn:
    """Of one that waits: not before when; of one on the queue: until when we believe that it is there."""

    at: datetime | None = None
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Who waits, who is on the queue, and where the next place in time is."""

    version: int = 0
    writer: str = ""
    """Whose step it was, so that one whose answer was lost knows its own."""
    waiting: Mapping[str, Turn] = field(default_factory=dict)
    queued: Mapping[str, Turn] = field(default_factory=dict)
    next_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """A post that could not be had now. One that failed is tried a few times only."""

    content_hash: str
    not_before: datetime | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A post whose message goes to the queue now, and for how many seconds it is hidden there."""

    content_hash: str
    delay_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The line after a step, and what is to be done about it."""

    after: Backlog
    places: tuple[Place, ...] = ()
    given_up: tuple[str, ...] = ()
    """Tried often enough."""
    surplus: tuple[str, ...] = ()
    """More than the line holds."""


def admitted(
    before: Backlog,
    *,
    wanted: Iterable[str] = (),
    done: str | None = None,
    again: Iterable[Again] = (),
    now: datetime,
    not_before: datetime,
    interval: timedelta,
    room: int,
    writer: str = "",
) -> Step:
    """Take one step: who is sent to the queue, and when.

    Each place lies an interval behind the one before it, also across steps, so that messages that
    were put off together do not come back together.
    """
    tried = {**before.waiting, **before.queued}
    back = {
        one.content_hash: Turn(one.not_before, tried.get(one.content_hash, Turn()).tries + one.failed)
        for one in again
    }
    queued = {name: turn for name, turn in before.queued.items() if name != done and name not in back}
    for name, turn in [*queued.items()]:
        if turn.at is None or turn.at <= now:
            back[name] = Turn(None, queued.pop(name).tries + 1)
    given_up = tuple(name for name, turn in back.items() if turn.tries >= MOST_TRIES)
    line = {**back, **{n: t for n, t in before.waiting.items() if n not in back}}
    line |= {name: Turn() for name in wanted if name not in line}
    waiting = {n: t for n, t in line.items() if n not in queued and n != done and n not in given_up}
    surplus = tuple(waiting)[MOST_WAITING:]
    for name in surplus:
        del waiting[name]
    places, next_at = _places(
        waiting, queued, max(not_before, before.next_at or not_before), now, interval, room
    )
    if (waiting, queued) == (dict(before.waiting), dict(before.queued)):
        return Step(after=before)
    after = Backlog(
        version=before.version + 1,
        writer=writer,
        waiting=waiting,
        queued=queued,
        next_at=next_at if next_at > now else None,
    )
    return Step(after=after, places=tuple(places), given_up=given_up, surplus=surplus)


def _places(
    waiting: dict[str, Turn],
    queued: dict[str, Turn],
    at: datetime,
    now: datetime,
    interval: timedelta,
    room: int,
) -> tuple[list[Place], datetime]:
    """Move those that may go from the line to the queue; return them, and where the next place is."""
    latest, places = now + LONGEST_DELAY, []

    def send(name: str, start: datetime) -> None:
        queued[name] = Turn(start + LOST_AFTER, waiting.pop(name).tries)
        places.append(Place(name, ceil(max(start - now, NOTHING).total_seconds())))

    for name, turn in [*waiting.items()]:
        if len(queued) >= room or len(places) >= MOST_AT_ONCE or at > latest:
            break
        if turn.at and turn.at > at:
            # It waits for reasons of its own, and leaves the places before it to the others.
            if turn.at <= latest:
                send(name, turn.at)
            continue
        send(name, at)
        at += interval
    ready = [name for name, turn in waiting.items() if turn.at is None or turn.at <= at]
    if at > latest and ready and not queued:
        # A pause that is longer than the queue can hide a message: one is sent as far as it goes.
        send(ready[0], latest)
    return places, at


def pack(turns: Mapping[str, Turn]) -> bytes:
    """Return turns in a few bytes each: the line is billed by its length."""
    return b"".join(
        _TURN.pack(bytes.fromhex(name), int(turn.at.timestamp() * 1000) if turn.at else 0, turn.tries)
        for name, turn in turns.items()
    )


def unpack(packed: bytes) -> dict[str, Turn]:
    whole = len(packed) // _TURN.size * _TURN.size
    return {
        name.hex(): Turn(datetime.fromtimestamp(at / 1000, UTC) if at else None, tries)
        for name, at, tries in _TURN.iter_unpack(packed[:whole])
    }
