"""Owns fetching: one message in, one source polled, every new post stored, the attempt recorded.

The order of writes is the promise: posts, then the window, then the log, then the source.
Whatever crashes in between, validators and window never run ahead of the posts they cover.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from wellspring import hints, hosts, moves, record, schedule
from wellspring.errors import ErrorClass, FetchError, Unavailable
from wellspring.hosts import HostState
from wellspring.http import Reply
from wellspring.intake import store
from wellspring.message import FetchMessage
from wellspring.model import FetchLog, Lease, Source, Status
from wellspring.poll import Poll, backtrace_of, issuer, request
from wellspring.ports import Outgoing, Refused, Slot, World
from wellspring.retries import NETWORK
from wellspring.schedule import Outcome, Refusal
from wellspring.settings import Settings
from wellspring.sources import Document

LONGEST_DELAY = timedelta(seconds=900)
LOOK_AGAIN = timedelta(seconds=20)
SLACK = timedelta(milliseconds=100)
PATIENCE = timedelta(seconds=5)
LONGEST_VALIDATORS = 1_000
LONGEST_TITLE = 200
SPEAKS_OF_RETRY = {429, 503}


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
    news: tuple[str, ...] = ()
    """What an operator wants to hear of: quarantined, recovered, moved, gone."""
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
    if not source.url:
        world.sources.release(source.source_id, token, source.lease)
        reason = 'The source has no "url": write one to its item in the Sources table.'
        return Run(source_id=source.source_id, status=Status.SKIPPED, reason=reason, warnings=source.warnings)
    free = schedule.free_at(source, defaults=settings.defaults)
    if free and free > started_at:
        world.sources.release(source.source_id, token, source.lease)
        return _defer(message, source, Refusal.TOO_SOON, free - started_at, world)
    slot = _take_slot(source, world, settings)
    if not slot.taken:
        return _wait_for_host(message, source, slot.state, world, token=token, now=world.clock())

    source = _count_crash(source, lease, world, settings)
    poll = request(source, world.http, world.parse)
    if poll.document:
        _store(poll, poll.document, source, world, settings, started_at=started_at)
    charged = _judge(poll, source, slot.state, message, world, settings, now=started_at)
    after = _after(poll, source, message, settings, started_at=started_at, charged=charged)
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
    kept = world.sources.finish(source, after, token)
    return Run(
        source_id=source.source_id,
        status=poll.status,
        url=source.shown_url,
        log=log,
        kept_lease=kept,
        news=_news(source, after) if kept else (),
        warnings=source.warnings,
        backtrace=poll.backtrace,
    )


def _store(
    poll: Poll,
    document: Document,
    source: Source,
    world: World,
    settings: Settings,
    *,
    started_at: datetime,
) -> None:
    """Store what the document brought; one that we cannot cope with is a failed poll like any other."""
    try:
        store(poll, document, source, world.posts, settings, started_at=started_at)
    except Unavailable:
        raise
    except Exception as error:
        poll.error = FetchError(ErrorClass.INTERNAL, f"Storing the document failed: {type(error).__name__}.")
        poll.backtrace = backtrace_of(error)


def _take_slot(source: Source, world: World, settings: Settings) -> Slot:
    """Take the host's next place, and wait for it here if that is soon: the queue would cost more.

    It is kept a little longer than the delay, because the request leaves a little later.
    """
    delay = schedule.host_delay(source, defaults=settings.defaults)
    patience = world.clock() + PATIENCE
    while True:
        now = world.clock()
        slot = world.gates.take_slot(source.host, now=now, until=now + delay + SLACK if delay else now)
        free_at = max(slot.state.next_slot or now, slot.state.brake_until or now)
        if slot.taken or free_at > patience:
            return slot
        world.pause(free_at - now)


def _count_crash(source: Source, lease: Lease, world: World, settings: Settings) -> Source:
    """Count an earlier attempt that never ended, before this one can end the same way.

    A lease that is still held after its time is what a crashed fetcher leaves behind.
    """
    if source.lease is None or source.lease.token is None:
        return replace(source, lease=lease)
    crashed = schedule.after_poll(
        source,
        Outcome(error_class=ErrorClass.CRASHED),
        now=source.lease.started_at,
        defaults=settings.defaults,
    )
    counted = replace(_scheduled(crashed, settings, now=lease.started_at), lease=lease)
    before = replace(source, lease=lease)
    world.sources.finish(before, counted, lease.token or "")
    return counted


def _judge(
    poll: Poll,
    source: Source,
    state: HostState,
    message: FetchMessage,
    world: World,
    settings: Settings,
    *,
    now: datetime,
) -> bool:
    """Write down what the poll says about the host and our network; return whether the source is charged."""
    if poll.error is None:
        if state.failing or state.brakes:
            world.gates.put_host(source.host, HostState())
        if message.frozen:
            world.gates.thaw()
        return True
    error_class = poll.error.error_class
    window = None if message.manual else message.window_end
    verdict = hosts.judge(
        state,
        source.source_id,
        error_class,
        host=source.host,
        now=now,
        window=window,
        retry_at=_retry_at(poll, now=now),
        longest=settings.defaults.max_backoff,
    )
    if verdict:
        world.gates.put_host(source.host, verdict.state)
    if error_class not in NETWORK:
        return verdict is None or verdict.source_is_charged
    if message.frozen:
        return False
    if window and verdict and verdict.reports_outage and world.gates.report_down(window):
        return False
    return verdict is None or verdict.source_is_charged


def _after(
    poll: Poll,
    source: Source,
    message: FetchMessage,
    settings: Settings,
    *,
    started_at: datetime,
    charged: bool,
) -> Source:
    """Return the source as this attempt leaves it; validators only move over complete documents."""
    base = message.base(started_at)
    reply = poll.reply
    after = source
    if reply and poll.status in (Status.OK, Status.NOT_MODIFIED):
        after = moves.after_reply(source, reply, now=base)
        if reply.status == 200:
            etag, last_modified = _validators(reply, after)
            after = replace(
                after,
                cursor=replace(
                    after.cursor,
                    signature=poll.signature,
                    etag=etag,
                    last_modified=last_modified,
                    issuer=issuer(after.url) if etag or last_modified else None,
                ),
                title=after.title or _title(poll),
            )
    after = schedule.after_poll(
        after,
        _outcome(poll, charged=charged, now=started_at),
        now=base,
        due_at=None if message.manual else message.due_at,
        defaults=settings.defaults,
    )
    free = started_at + schedule.min_interval(after, defaults=settings.defaults)
    if after.pace.retry_at:
        free = max(free, after.pace.retry_at)
    return replace(_scheduled(after, settings, now=base), lease=Lease(started_at=started_at, free_at=free))


def _scheduled(source: Source, settings: Settings, *, now: datetime) -> Source:
    due = schedule.due(source, now=now, defaults=settings.defaults)
    return replace(
        source,
        next_fetch_at=due.at if due else None,
        pace=replace(source.pace, reasons=due.reasons if due else ("left out of the schedule",)),
        due_shard=str(schedule.shard_of(source.source_id, settings.shards)),
    )


def _outcome(poll: Poll, *, charged: bool, now: datetime) -> Outcome:
    headers = poll.headers
    kept = poll.http_status == 304 and not hints.speaks_of_caching(headers)
    return Outcome(
        error_class=poll.error.error_class if poll.error else None,
        changed=poll.changed,
        charged=charged,
        answered=poll.http_status is not None and not kept,
        cache=hints.cache_span(headers, now=now),
        retry_at=_retry_at(poll, now=now),
        document=poll.document.hints if poll.document else None,
    )


def _retry_at(poll: Poll, *, now: datetime) -> datetime | None:
    return hints.retry_at(poll.headers, now=now) if poll.http_status in SPEAKS_OF_RETRY else None


def _validators(reply: Reply, source: Source) -> tuple[str | None, str | None]:
    """Return the validators to send next time; they belong to the very URL that issued them."""
    issued = reply.headers if reply.url == source.url else {}
    etag, last_modified = issued.get("etag", ""), issued.get("last-modified", "")
    if len(etag) + len(last_modified) > LONGEST_VALIDATORS:
        return None, None
    return etag or None, last_modified or None


def _title(poll: Poll) -> str | None:
    title = poll.document.title if poll.document else None
    return title[:LONGEST_TITLE] if title else None


def _news(before: Source, after: Source) -> tuple[str, ...]:
    told = {
        "quarantined": bool(after.health.quarantined_at and not before.health.quarantined_at),
        "recovered": bool(before.health.quarantined_at and not after.health.quarantined_at),
        "moved": before.url != after.url,
        "gone": before.enabled and not after.enabled,
    }
    return tuple(name for name, happened in told.items() if happened)


def _refused(
    message: FetchMessage, source: Source | None, world: World, settings: Settings, *, now: datetime
) -> Run:
    """A double is dropped; a fetch that comes too soon, or by hand into a running one, is put back."""
    due_at = None if message.manual else message.due_at
    why = schedule.refusal(source, due_at=due_at, now=now)
    if source and why is None:
        # What the table compares cannot be read: somebody wrote it by hand, and nobody could ever start.
        world.sources.heal(source)
        return _defer(message, source, Refusal.UNREADABLE, timedelta(seconds=1), world)
    if source and why is Refusal.TOO_SOON:
        free = schedule.free_at(source, defaults=settings.defaults) or now
        return _defer(message, source, why, free - now, world)
    if source and why is Refusal.IN_FLIGHT and message.manual:
        return _defer(message, source, why, LOOK_AGAIN, world)
    return _skipped(message.source_id, source, why or Refusal.IN_FLIGHT)


def _wait_for_host(
    message: FetchMessage, source: Source, state: HostState, world: World, *, token: str, now: datetime
) -> Run:
    """Give the lease back and come again when the host is free; a long brake moves the next time instead."""
    busy = max((state.next_slot or now) - now, timedelta(0))
    braked = max((state.brake_until or now) - now, timedelta(0))
    wait, why = max((busy, Refusal.HOST_BUSY), (braked, Refusal.HOST_BRAKED), key=lambda pair: pair[0])
    if wait > LONGEST_DELAY and not message.manual:
        world.sources.release(source.source_id, token, source.lease, next_fetch_at=now + wait)
        return _skipped(source.source_id, source, why)
    world.sources.release(source.source_id, token, source.lease)
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
