"""Owns full texts: the page of each new post, fetched through the same queue, stored on the post."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from wellspring import aftermath, backlog, blame, record, schedule, turns, urls
from wellspring.config import Config
from wellspring.errors import ErrorClass, Unavailable
from wellspring.intake import cut
from wellspring.leases import given_back_on_outage
from wellspring.message import FetchMessage
from wellspring.model import FullText, Lease, Post, PostKey, Source, Status
from wellspring.poll import Poll, request
from wellspring.ports import Outgoing, Refused, World
from wellspring.record import Run
from wellspring.schedule import Refusal
from wellspring.settings import Settings

ROW_LIMIT = 380_000
"""What body and full text may come to together: a row holds 400 KB."""
TRIES = 8
SEND_LIMIT = 10
LOOK_AGAIN = timedelta(seconds=20)
DONE = {FullText.OK, FullText.FAILED, FullText.SKIPPED}
REFUSED = {Refusal.UNKNOWN, Refusal.DISABLED}


def enlist(source: Source, wanted: Sequence[str], world: World, settings: Settings, *, now: datetime) -> None:
    """Queue the posts that want their full text, as far as there is room; the others wait in line.

    Without new posts it sees to those whose message was lost, and to those that wait.
    """
    if source.config.full_text or wanted:
        _step(source, world, settings, now=now, wanted=wanted)


def fetch_article(message: FetchMessage, world: World, settings: Settings, *, message_id: str) -> Run:
    """Work off one message that names a post. Raises Unavailable when AWS fails us."""
    key = PostKey(message.source_id, message.content_hash or "")
    post = next(iter(world.posts.read([key])), None)
    started_at, token = world.clock(), world.new_id()
    if post is None or post.full_text_status in DONE:
        return _drop(key, Refusal.UNKNOWN_POST if post is None else Refusal.DONE, world, now=started_at)
    if urls.origin_of(post.entry.url or "") is None:
        world.posts.put_article(key, FullText.SKIPPED, None)
        return _drop(key, Refusal.NO_PAGE, world, now=started_at)
    lease = Lease(started_at=started_at, token=token, until=started_at + settings.fetch_lease, article=True)
    start = world.sources.start(key.source_id, lease)
    if isinstance(start, Refused):
        return _refused(post, start.source, world, settings, now=started_at)
    source = start.source
    with given_back_on_outage(source, token, world):
        return _attempt(post, source, lease, message, world, settings, message_id=message_id)


def _refused(post: Post, source: Source | None, world: World, settings: Settings, *, now: datetime) -> Run:
    why = schedule.refusal(source, due_at=None, now=now) or Refusal.IN_FLIGHT
    if source is None or why in REFUSED:
        world.posts.put_article(post.key, FullText.SKIPPED, None)
        return _drop(post.key, why, world, now=now)
    free = schedule.free_at(source, defaults=settings.defaults) or now
    return _put_off(post, source, why, free if why is Refusal.TOO_SOON else now + LOOK_AGAIN, world, settings)


def _attempt(
    post: Post,
    source: Source,
    lease: Lease,
    message: FetchMessage,
    world: World,
    settings: Settings,
    *,
    message_id: str,
) -> Run:
    token, started_at = lease.token or "", lease.started_at
    page = _page(post, source)
    free = schedule.free_at(source, defaults=settings.defaults)
    if free and free > started_at:
        world.sources.release(source.source_id, token, source.lease)
        return _put_off(post, source, Refusal.TOO_SOON, free, world, settings)
    slot = turns.take_politely(page.url, schedule.host_delay(page, defaults=settings.defaults), world)
    if not slot.taken:
        world.sources.release(source.source_id, token, source.lease)
        opens_at = turns.opens_at(slot, world.clock())
        return _put_off(post, source, Refusal.HOST_BUSY, opens_at, world, settings)

    poll = request(page, world, settings)
    status, text = _result(poll, post)
    if poll.error is None:
        blame.settle_success(page, slot.state, message, world)
    else:
        retry_at = aftermath.retry_at(poll, now=started_at)
        blame.source_is_charged(
            page, poll.error.error_class, message, world, settings, now=started_at, retry_at=retry_at
        )
    world.posts.put_article(post.key, status, text)
    log = record.article_log(
        poll,
        page,
        post.content_hash,
        attempt_id=token,
        message_id=message_id,
        started_at=started_at,
        finished_at=world.clock(),
        kept=timedelta(days=settings.fetch_log_days),
    )
    world.logs.put(log)
    free = started_at + schedule.min_interval(source, defaults=settings.defaults)
    _step(source, world, settings, now=world.clock(), done=post.content_hash, not_before=free)
    kept = world.sources.release(source.source_id, token, Lease(started_at=started_at, free_at=free))
    return Run(
        source_id=source.source_id,
        status=log.status,
        url=page.shown_url,
        content_hash=post.content_hash,
        log=log,
        kept_lease=kept,
        backtrace=poll.backtrace,
    )


def _page(post: Post, source: Source) -> Source:
    """Return the post's page as a source of its own; secrets go along only to where they are for."""
    url = post.entry.url or ""
    same = urls.origin_of(url) == urls.origin_of(source.url)
    config = Config(
        headers=source.config.headers if same else {}, host_delay_seconds=source.config.host_delay_seconds
    )
    return Source(source_id=source.source_id, url=url, type="website", config=config)


def _result(poll: Poll, post: Post) -> tuple[FullText, str | None]:
    if poll.error:
        skipped = poll.error.error_class in (ErrorClass.ROBOTS, ErrorClass.BLOCKED_URL)
        return (FullText.SKIPPED if skipped else FullText.FAILED), None
    text = "\n\n".join(entry.body for entry in poll.document.entries) if poll.document else ""
    return FullText.OK, cut(text, ROW_LIMIT - len(post.entry.body.encode("utf-8", "replace")))


def _put_off(
    post: Post, source: Source, why: Refusal, until: datetime, world: World, settings: Settings
) -> Run:
    """Put the post back at the head of the line: its mark is gone, and it gets a place of its own again."""
    now = world.clock()
    places = _step(source, world, settings, now=now, again=post.content_hash, not_before=until)
    return Run(
        source_id=source.source_id,
        status=Status.DEFERRED,
        reason=why,
        url=urls.shown(post.entry.url or ""),
        content_hash=post.content_hash,
        delay_seconds=next(
            (one.delay_seconds for one in places if one.content_hash == post.content_hash), None
        ),
    )


def _drop(key: PostKey, why: Refusal, world: World, *, now: datetime) -> Run:
    """Take a post out of the line; nobody is let in for it, since how many may be is not known."""
    for _ in range(TRIES):
        found = world.posts.backlog(key.source_id)
        after, _ = backlog.admitted(
            found, done=key.content_hash, now=now, not_before=now, interval=timedelta(0), room=0
        )
        if after == found or world.posts.put_backlog(key.source_id, after, over=found.version):
            break
    return Run(source_id=key.source_id, status=Status.SKIPPED, reason=why, content_hash=key.content_hash)


def _step(
    source: Source,
    world: World,
    settings: Settings,
    *,
    now: datetime,
    wanted: Sequence[str] = (),
    done: str | None = None,
    again: str | None = None,
    not_before: datetime | None = None,
) -> list[backlog.Place]:
    """Move the source's line on by one step: write it down first, then send."""
    interval = max(
        schedule.min_interval(source, defaults=settings.defaults),
        schedule.host_delay(source, defaults=settings.defaults),
    )
    own = source.config.max_in_flight
    free = schedule.free_at(source, defaults=settings.defaults) or now
    for _ in range(TRIES):
        found = world.posts.backlog(source.source_id)
        after, places = backlog.admitted(
            found,
            wanted=wanted,
            done=done,
            again=again,
            now=now,
            not_before=max(now, free, not_before or now),
            interval=interval,
            room=settings.defaults.max_in_flight if own is None else own,
        )
        if after == found:
            return []
        if world.posts.put_backlog(source.source_id, after, over=found.version):
            _send(source.source_id, places, world)
            return places
    raise Unavailable("The line of posts that wait for their full text is fought over.")


def _send(source_id: str, places: Sequence[backlog.Place], world: World) -> None:
    for first in range(0, len(places), SEND_LIMIT):
        batch = [
            Outgoing(FetchMessage(source_id=source_id, content_hash=one.content_hash), one.delay_seconds)
            for one in places[first : first + SEND_LIMIT]
        ]
        if not all(world.queue.send(batch)):
            raise Unavailable("Queueing full texts failed.")
