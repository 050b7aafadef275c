"""Owns moving a source's line of full texts on: read it, take a step, write it down, send the messages."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from wellspring import hosts, schedule
from wellspring.backlog import Again, Place, Step, admitted
from wellspring.errors import Unavailable
from wellspring.message import FetchMessage
from wellspring.model import FullText, PostKey, Source
from wellspring.ports import Outgoing, World
from wellspring.settings import Settings

STEPS = 12
STEP_BACK = timedelta(milliseconds=40)
SEND_LIMIT = 10


def move_on(
    source: Source,
    world: World,
    settings: Settings,
    *,
    now: datetime,
    wanted: Sequence[str] = (),
    done: str | None = None,
    again: Sequence[Again] = (),
    not_before: datetime | None = None,
    delay: timedelta = timedelta(0),
) -> Sequence[Place]:
    """Move the source's line on by one step: write it down first, then send."""
    defaults, own = settings.defaults, source.config.max_in_flight
    interval = max(
        schedule.min_interval(source, defaults=defaults),
        hosts.spaced(max(delay, schedule.host_delay(source, defaults=defaults))),
    )
    free = schedule.free_at(source, defaults=defaults) or now
    writer, step = world.new_id(), None
    for number in range(STEPS):
        found = world.posts.backlog(source.source_id)
        if step is None or found.writer != writer:
            step = admitted(
                found,
                wanted=wanted,
                done=done,
                again=again,
                now=now,
                not_before=max(now, free, not_before or now),
                interval=interval,
                room=defaults.max_in_flight if own is None else own,
                writer=writer,
            )
            if step.after == found:
                return ()
            if not world.posts.put_backlog(source.source_id, step.after, over=found.version):
                world.pause(STEP_BACK * number)
                continue
        _carry_out(source, step, world, settings, now=now)
        return step.places
    raise Unavailable("The line of posts that wait for their full text is fought over.")


def _carry_out(source: Source, step: Step, world: World, settings: Settings, *, now: datetime) -> None:
    for names, status in ((step.given_up, FullText.FAILED), (step.surplus, FullText.SKIPPED)):
        for name in names:
            world.posts.put_article(PostKey(source.source_id, name), status, None)
    unsent = [*_unsent(source.source_id, step.places, world)]
    if unsent:
        # They are not on the queue after all: the next step sends them.
        found = world.posts.backlog(source.source_id)
        back = admitted(
            found, again=unsent, now=now, not_before=now, interval=timedelta(0), room=0, writer=world.new_id()
        )
        world.posts.put_backlog(source.source_id, back.after, over=found.version)
        raise Unavailable("Queueing full texts failed.")


def _unsent(source_id: str, places: Sequence[Place], world: World) -> Iterable[Again]:
    """Send the messages; yield those that were not taken."""
    for first in range(0, len(places), SEND_LIMIT):
        batch = places[first : first + SEND_LIMIT]
        messages = [
            Outgoing(FetchMessage(source_id=source_id, content_hash=one.content_hash), one.delay_seconds)
            for one in batch
        ]
        try:
            taken = world.queue.send(messages)
        except Unavailable:
            taken = [False] * len(batch)
        yield from (Again(one.content_hash) for one, sent in zip(batch, taken, strict=True) if not sent)
