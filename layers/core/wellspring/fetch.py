"""Owns fetching: one message in, one source polled, every new post stored, the attempt recorded.

The order of writes is the promise: posts, then the window, then the log, then the source.
Whatever crashes in between, validators and window never run ahead of the posts they cover.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from wellspring import record, schedule
from wellspring.errors import Unavailable
from wellspring.http import Reply
from wellspring.intake import store
from wellspring.message import FetchMessage
from wellspring.model import FetchLog, Lease, Source, Status
from wellspring.poll import Poll, request
from wellspring.ports import Outgoing, Refused, World
from wellspring.schedule import Refusal
from wellspring.settings import Settings

LONGEST_DELAY = 900
LOOK_AGAIN = timedelta(seconds=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How one message ended, for the report."""

    source_id: str
    status: Status
    url: str = ""
    reason: str | None = None
    delay_seconds: int | None = None
    log: FetchLog | None = None
    kept_lease: bool = True
    warnings: tuple[str, ...] = ()
    backtrace: str | None = None


def fetch_source(message: FetchMessage, world: World, settings: Settings, *, message_id: str) -> Run:
    """Work off one message. Raises Unavailable when AWS fails us: then the message must come back."""
    started_at = world.clock()
    token = world.new_id()
    lease = Lease(started_at=started_at, token=token, until=started_at + settings.fetch_lease)
    due_at = None if message.manual else message.due_at
    start = world.sources.start(message.source_id, lease, due_at=due_at)
    if isinstance(start, Refused):
        return _refused(message, start.source, world, settings, now=started_at)
    source = start.source
    free = schedule.free_at(source, defaults=settings.defaults)
    if free and free > started_at:
        world.sources.release(source.source_id, token, source.lease)
        return _defer(message, source, Refusal.TOO_SOON, free - started_at, world)
    if not source.url:
        world.sources.release(source.source_id, token, source.lease)
        reason = 'The source has no "url": write one to its item in the Sources table.'
        return Run(source_id=source.source_id, status=Status.SKIPPED, reason=reason)

    poll = request(source, world.http)
    if poll.document:
        store(poll, poll.document, source, world.posts, settings, started_at=started_at)
    after = _after(poll, source, message, settings, started_at=started_at)
    log = record.log_of(
        poll,
        after,
        manual=message.manual,
        attempt_id=token,
        message_id=message_id,
        started_at=started_at,
        finished_at=world.clock(),
        kept=timedelta(days=settings.fetch_log_days),
    )
    world.logs.put(log)
    kept = world.sources.finish(after, token)
    return Run(
        source_id=source.source_id,
        status=poll.status,
        url=source.shown_url,
        log=log,
        kept_lease=kept,
        warnings=source.warnings,
        backtrace=poll.backtrace,
    )


def _after(
    poll: Poll, source: Source, message: FetchMessage, settings: Settings, *, started_at: datetime
) -> Source:
    """Return the source as this attempt leaves it; validators only move over complete documents."""
    error_class = poll.error.error_class if poll.error else None
    due_at = None if message.manual else message.due_at
    after = schedule.after_poll(source, error_class, now=message.base(started_at), due_at=due_at)
    if poll.reply and poll.reply.status == 200 and poll.status in (Status.OK, Status.NOT_MODIFIED):
        etag, last_modified = _validators(poll.reply, source)
        after = replace(
            after,
            cursor=replace(after.cursor, signature=poll.signature, etag=etag, last_modified=last_modified),
            title=after.title or (poll.document.title if poll.document else None),
        )
    due = schedule.due(after, defaults=settings.defaults)
    free = started_at + schedule.min_interval(after, defaults=settings.defaults)
    return replace(
        after,
        next_fetch_at=due.at,
        reasons=due.reasons,
        lease=Lease(started_at=started_at, free_at=free),
        due_shard=source.due_shard or str(schedule.shard_of(source.source_id, settings.shards)),
    )


def _validators(reply: Reply, source: Source) -> tuple[str | None, str | None]:
    """Return the validators to send next time; they belong to the very URL that issued them."""
    issued = reply.headers if reply.url == source.url else {}
    return issued.get("etag"), issued.get("last-modified")


def _refused(
    message: FetchMessage, source: Source | None, world: World, settings: Settings, *, now: datetime
) -> Run:
    """A double is dropped; a fetch that comes too soon, or by hand into a running one, is put back."""
    due_at = None if message.manual else message.due_at
    why = schedule.refusal(source, due_at=due_at, now=now) or Refusal.IN_FLIGHT
    if source and why is Refusal.TOO_SOON:
        free = schedule.free_at(source, defaults=settings.defaults) or now
        return _defer(message, source, why, free - now, world)
    if source and why is Refusal.IN_FLIGHT and message.manual:
        return _defer(message, source, why, LOOK_AGAIN, world)
    url = source.shown_url if source else ""
    return Run(source_id=message.source_id, status=Status.SKIPPED, reason=why, url=url)


def _defer(message: FetchMessage, source: Source, why: Refusal, wait: timedelta, world: World) -> Run:
    delay = min(max(ceil(wait.total_seconds()), 0), LONGEST_DELAY)
    if world.queue.send([Outgoing(message, delay)]) != [True]:
        raise Unavailable("Putting a message back on the queue failed.")
    return Run(
        source_id=source.source_id,
        status=Status.DEFERRED,
        reason=why,
        url=source.shown_url,
        delay_seconds=delay,
    )
