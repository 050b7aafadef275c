"""Owns messages that cannot be worked off now: dropped as doubles, or put back for a while."""

from datetime import datetime, timedelta
from math import ceil

from wellspring import schedule, turns
from wellspring.errors import Unavailable
from wellspring.message import FetchMessage
from wellspring.model import Source, Status
from wellspring.ports import Outgoing, Slot, World
from wellspring.record import Run
from wellspring.schedule import Refusal
from wellspring.settings import Settings

LONGEST_DELAY = timedelta(seconds=900)
LOOK_AGAIN = timedelta(seconds=20)


def refused(
    message: FetchMessage, source: Source | None, world: World, settings: Settings, *, now: datetime
) -> Run:
    """A double is dropped; a fetch that comes too soon, or by hand into a running one, is put back."""
    due_at = None if message.manual else message.due_at
    window_end = None if message.manual else message.window_end
    why = schedule.refusal(source, due_at=due_at, window_end=window_end, now=now)
    if source and why is None:
        # What the table compares cannot be read: somebody wrote it by hand, and nobody could ever start.
        world.sources.heal(source)
        return _defer(message, source, Refusal.UNREADABLE, timedelta(seconds=1), world)
    if source and why is Refusal.TOO_SOON:
        free = schedule.free_at(source, defaults=settings.defaults) or now
        return put_off(message, source, why, free - now, world)
    if source and why is Refusal.IN_FLIGHT and message.manual:
        return _defer(message, source, why, LOOK_AGAIN, world)
    return _skipped(message.source_id, source, why or Refusal.IN_FLIGHT)


def wait_for_host(
    message: FetchMessage, source: Source, slot: Slot, world: World, *, token: str, now: datetime
) -> Run:
    """Give the lease back and come again when the host is free.

    A planned source that meets a brake is parked until its end, and the planner spaces those
    that are parked together; messages that waited on the queue would all come at once.
    """
    braked = slot.state.brake_until is not None and slot.state.brake_until > now
    opens_at = turns.opens_at(slot, now)
    if message.manual or not braked:
        world.sources.release(source.source_id, token, source.lease)
        why = Refusal.HOST_BRAKED if braked else Refusal.HOST_BUSY
        return put_off(message, source, why, opens_at - now, world)
    world.sources.release(source.source_id, token, source.lease, next_fetch_at=opens_at)
    return _skipped(source.source_id, source, Refusal.HOST_BRAKED)


def put_off(message: FetchMessage, source: Source, why: Refusal, wait: timedelta, world: World) -> Run:
    """Put the message back for a while; the planner takes care of planned ones that must wait for long."""
    if wait > LONGEST_DELAY and not message.manual:
        return _skipped(source.source_id, source, why)
    return _defer(message, source, why, wait, world)


def _skipped(source_id: str, source: Source | None, why: Refusal) -> Run:
    url = source.shown_url if source else ""
    return Run(source_id=source_id, status=Status.SKIPPED, reason=why, url=url)


def _defer(message: FetchMessage, source: Source, why: Refusal, wait: timedelta, world: World) -> Run:
    delay = ceil(max(min(wait, LONGEST_DELAY), timedelta(0)).total_seconds())
    if world.queue.send([Outgoing(message, delay)]) != [True]:
        raise Unavailable("Putting a message back on the queue failed.")
    return Run(
        source_id=source.source_id,
        status=Status.DEFERRED,
        reason=why,
        url=source.shown_url,
        delay_seconds=delay,
    )
