"""Owns fetching: one message in, one source polled, every new post stored, the attempt recorded.

The order of writes is the promise: posts, then the window, then the log, then the source.
Whatever crashes in between, validators and window never run ahead of the posts they cover.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from wellspring import aftermath, articles, blame, deferral, record, schedule, timestamps, turns
from wellspring.errors import ErrorClass, FetchError, Unavailable
from wellspring.intake import store
from wellspring.message import FetchMessage
from wellspring.model import Lease, Source, Status
from wellspring.poll import Poll, backtrace_of, request
from wellspring.ports import Refused, Slot, World
from wellspring.record import Run
from wellspring.schedule import Outcome, Refusal
from wellspring.settings import Settings
from wellspring.sources import KINDS, Document


def fetch_source(message: FetchMessage, world: World, settings: Settings, *, message_id: str) -> Run:
    """Work off one message. Raises Unavailable when AWS fails us: then the message must come back."""
    started_at = world.clock()
    token = world.new_id()
    lease = Lease(started_at=started_at, token=token, until=started_at + settings.fetch_lease)
    planned = not message.manual
    start = world.sources.start(
        message.source_id,
        lease,
        due_at=message.due_at if planned else None,
        window_end=message.window_end if planned else None,
    )
    if isinstance(start, Refused):
        return deferral.refused(message, start.source, world, settings, now=started_at)
    source = start.source
    try:
        return _attempt(message, source, lease, world, settings, message_id=message_id)
    except Unavailable:
        # Trouble of our own must not look as if the source had ended its fetcher.
        given_back = replace(source.lease, token=None, until=None) if source.lease else None
        with suppress(Unavailable):
            world.sources.release(source.source_id, token, given_back)
        raise


def _attempt(
    message: FetchMessage, source: Source, lease: Lease, world: World, settings: Settings, *, message_id: str
) -> Run:
    token, started_at = lease.token or "", lease.started_at
    if not source.url:
        world.sources.release(source.source_id, token, source.lease)
        reason = 'The source has no "url": write one to its item in the Sources table.'
        return Run(source_id=source.source_id, status=Status.SKIPPED, reason=reason, warnings=source.warnings)
    free = schedule.free_at(source, defaults=settings.defaults)
    if free and free > started_at:
        world.sources.release(source.source_id, token, source.lease)
        return deferral.put_off(message, source, Refusal.TOO_SOON, free - started_at, world)
    slot = _turn(source, world, settings)
    if not slot.taken:
        return deferral.wait_for_host(message, source, slot, world, token=token, now=world.clock())

    source = _count_crash(source, lease, message, world, settings)
    poll = request(source, world, settings)
    if poll.document:
        _store(poll, poll.document, source, world, settings, started_at=started_at)
    elif poll.error is None:
        articles.enlist(source, (), world, settings, now=started_at)
    charged = blame.settle(poll, source, slot.state, message, world, settings, now=started_at)
    after = aftermath.after_attempt(poll, source, message, settings, started_at=started_at, charged=charged)
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
        news=aftermath.news(source, after) if kept else (),
        warnings=source.warnings,
        backtrace=poll.backtrace,
    )


def _turn(source: Source, world: World, settings: Settings) -> Slot:
    delay = schedule.host_delay(source, defaults=settings.defaults)
    if source.type in KINDS and KINDS[source.type].obeys_robots:
        return turns.take_politely(source.url, delay, world)
    return turns.take(source.host, delay, world)


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
        window = store(poll, document, source, world.posts, settings, started_at=started_at)
        # Before the window: what it lists is not looked at again.
        articles.enlist(source, poll.wanted, world, settings, now=started_at)
        if window is not None:
            world.posts.put_window(source.source_id, window, started_at=started_at)
    except Unavailable:
        raise
    except Exception as error:
        poll.error = FetchError(ErrorClass.INTERNAL, f"Storing the document failed: {type(error).__name__}.")
        poll.backtrace = backtrace_of(error)


def _count_crash(
    source: Source, lease: Lease, message: FetchMessage, world: World, settings: Settings
) -> Source:
    """Count an earlier attempt that never ended, before this one can end the same way.

    A lease that is still held long after its time is what a crashed fetcher leaves behind.
    """
    ours = replace(source, lease=lease)
    old = source.lease
    if (
        old is None
        or old.token is None
        or old.until is None
        or lease.started_at < old.until + timestamps.SKEW
    ):
        return ours
    crashed = schedule.after_poll(
        source,
        Outcome(error_class=ErrorClass.CRASHED),
        now=message.base(lease.started_at),
        defaults=settings.defaults,
    )
    counted = replace(aftermath.scheduled(crashed, settings, now=lease.started_at), lease=lease)
    world.logs.put(record.crash_log(counted, old, kept=timedelta(days=settings.fetch_log_days)))
    world.sources.finish(ours, counted, lease.token or "")
    return counted
