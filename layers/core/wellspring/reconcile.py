"""Owns the daily pass over all sources: what was written to the table by hand is entered in the schedule."""

from datetime import datetime, timedelta

from wellspring import schedule
from wellspring.model import Source
from wellspring.ports import Checkpoint, World
from wellspring.schedule import UNCHANGED
from wellspring.settings import Defaults, Settings

GATE = "reconcile"
EVERY = timedelta(days=1)
PAGE = 100
PAGES_PER_RUN = 10
SLACK = timedelta(minutes=5)
"""A next time that is later than it should be by less than this is left alone."""


def go_on(world: World, settings: Settings, *, now: datetime, deadline: datetime) -> int:
    """Go on with the pass, a little in each planner run; return how many sources were repaired."""
    so_far = world.gates.checkpoint(GATE)
    if so_far.after is None and so_far.began_at and now < so_far.began_at + EVERY:
        return 0
    began_at = now if so_far.after is None or so_far.began_at is None else so_far.began_at
    after, repaired = so_far.after, 0
    for _ in range(PAGES_PER_RUN):
        page = world.sources.scan(after=after, limit=PAGE)
        repaired += sum(_repair(source, world, settings, now=now) for source in page.sources)
        after = page.after
        if after is None or world.clock() >= deadline:
            break
    world.gates.put_checkpoint(GATE, Checkpoint(began_at, after))
    return repaired


def right_time(source: Source, *, now: datetime, shards: int, defaults: Defaults) -> datetime | None:
    """Return when a source should be listed, None when it is listed well or rightly not at all."""
    due = schedule.due(source, now=now, defaults=defaults)
    if due is None or not source.url:
        return None
    listed = source.next_fetch_at
    if listed is None:
        bulk = source.cursor.last_polled_at is None
        first = schedule.first_time(source, now=now, bulk=bulk, defaults=defaults)
        return max(due.at, first)
    if source.due_shard != str(schedule.shard_of(source.source_id, shards)):
        return listed
    return max(due.at, now) if listed > _latest(source, due.at, now=now, defaults=defaults) + SLACK else None


def _latest(source: Source, due_at: datetime, *, now: datetime, defaults: Defaults) -> datetime:
    """Return the latest time that the source may be listed at.

    One that is due may have been sent a moment ago, and then it is listed at its next turn already,
    with a jitter that came from another moment.
    """
    free = schedule.free_at(source, defaults=defaults) or due_at
    if due_at > now:
        return max(due_at, free)
    after = schedule.after_poll(source, UNCHANGED, now=now, defaults=defaults)
    predicted = schedule.due(after, now=now, defaults=defaults)
    next_turn = predicted.at if predicted else due_at
    first = schedule.first_time(source, now=now, bulk=True, defaults=defaults)
    return max(free, first, next_turn + (next_turn - now) * defaults.jitter)


def _repair(source: Source, world: World, settings: Settings, *, now: datetime) -> bool:
    to = right_time(source, now=now, shards=settings.shards, defaults=settings.defaults)
    return to is not None and world.sources.relist(source, to=to)
