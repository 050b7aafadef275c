"""Owns full texts: the page of each new post, fetched through the same queue, stored on the post."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from wellspring import aftermath, blame, hosts, line, record, schedule, turns, urls
from wellspring.backlog import Again
from wellspring.config import Config
from wellspring.errors import ErrorClass
from wellspring.intake import cut
from wellspring.message import FetchMessage
from wellspring.model import FullText, Lease, Post, PostKey, Source, Status
from wellspring.poll import Poll, request
from wellspring.ports import Refused, World
from wellspring.record import Run
from wellspring.retries import HOST_WIDE, retry
from wellspring.schedule import Refusal
from wellspring.settings import Settings

ROW_LIMIT = 380_000
"""What body and full text may come to together: a row holds 400 KB."""
LOOK_AGAIN = timedelta(seconds=10)
DONE = {FullText.OK, FullText.FAILED, FullText.SKIPPED}
REFUSED = {Refusal.UNKNOWN, Refusal.DISABLED}
NOBODY_ASKED = {ErrorClass.ROBOTS, ErrorClass.BLOCKED_URL}


def enlist(source: Source, wanted: Sequence[str], world: World, settings: Settings, *, now: datetime) -> None:
    """Queue the posts that want their full text, as far as there is room; the others wait in line.

    Without new posts it sees to those whose message was lost, and to those that wait.
    """
    if source.config.full_text or wanted:
        line.move_on(source, world, settings, now=now, wanted=wanted)


def fetch_article(message: FetchMessage, world: World, settings: Settings, *, message_id: str) -> Run:
    """Work off one message that names a post. Raises Unavailable when AWS fails us.

    A start is noted on the source, so that its pause counts for polls and pages together, but no
    lease is held: pages neither keep polls waiting nor each other.
    """
    key = PostKey(message.source_id, message.content_hash or "")
    post = next(iter(world.posts.read([key])), None)
    now, token = world.clock(), world.new_id()
    done = DONE if not message.manual else {FullText.OK}
    if post is None or post.full_text_status in done:
        return _drop(key, Refusal.UNKNOWN_POST if post is None else Refusal.DONE, world, settings, now=now)
    if urls.origin_of(post.entry.url or "") is None:
        world.posts.put_article(key, FullText.SKIPPED, None)
        return _drop(key, Refusal.NO_PAGE, world, settings, now=now)
    noted = Lease(started_at=now, token=token)
    start = world.sources.start(key.source_id, noted)
    if isinstance(start, Refused):
        return _refused(post, start.source, world, settings, now=now)
    return _attempt(post, start.source, token, message, world, settings, now=now, message_id=message_id)


def _refused(post: Post, source: Source | None, world: World, settings: Settings, *, now: datetime) -> Run:
    why = schedule.refusal(source, due_at=None, now=now) or Refusal.IN_FLIGHT
    if source is None or why in REFUSED:
        world.posts.put_article(post.key, FullText.SKIPPED, None)
        return _drop(post.key, why, world, settings, now=now)
    free = schedule.free_at(source, defaults=settings.defaults) or now
    until = free if why is Refusal.TOO_SOON else now + LOOK_AGAIN
    return _put_off(post, source, why, world, settings, line_waits=until)


def _attempt(
    post: Post,
    source: Source,
    token: str,
    message: FetchMessage,
    world: World,
    settings: Settings,
    *,
    now: datetime,
    message_id: str,
) -> Run:
    page = _page(post, source)
    free = schedule.free_at(source, defaults=settings.defaults)
    if free and free > now:
        world.sources.release(source.source_id, token, source.lease)
        return _put_off(post, source, Refusal.TOO_SOON, world, settings, line_waits=free)
    delay = turns.known_delay(page.url, schedule.host_delay(page, defaults=settings.defaults), world)
    slot = turns.take_politely(page.url, delay, world)
    if not slot.taken:
        world.sources.release(source.source_id, token, source.lease)
        return _wait_for_host(post, source, slot.state, delay, world, settings)
    if source.lease and source.lease.token and source.lease.until:
        # A poll that ended its fetcher left this: the next poll must find it, and count it.
        world.sources.release(source.source_id, token, source.lease)

    poll = request(page, world, settings)
    # What the answer says about the page's host; the source itself pays for none of it.
    blame.settle(poll, page, slot.state, message, world, settings, now=now)
    log = record.article_log(
        poll,
        page,
        post.content_hash,
        attempt_id=token,
        message_id=message_id,
        started_at=now,
        finished_at=world.clock(),
        kept=timedelta(days=settings.fetch_log_days),
    )
    world.logs.put(log)
    _pause_source(poll, page, source, token, world, now=now)
    _keep(poll, post, source, delay, message, world, settings, started_at=now)
    return Run(
        source_id=source.source_id,
        status=log.status,
        url=page.shown_url,
        content_hash=post.content_hash,
        log=log,
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


def _pause_source(
    poll: Poll, page: Source, source: Source, token: str, world: World, *, now: datetime
) -> None:
    """Where many publish, a limit brakes no host: then the source itself waits, its other pages too."""
    limited = poll.error is not None and poll.error.error_class is ErrorClass.RATE_LIMITED
    if limited and page.host == source.host and hosts.serves_many(page.host):
        wait = aftermath.retry_at(poll, now=now) or now + retry(ErrorClass.RATE_LIMITED).wait
        world.sources.release(source.source_id, token, Lease(started_at=now, free_at=wait))


def _keep(
    poll: Poll,
    post: Post,
    source: Source,
    delay: timedelta,
    message: FetchMessage,
    world: World,
    settings: Settings,
    *,
    started_at: datetime,
) -> None:
    """Store the text, or that there is none; what may pass is tried again."""
    now, name = world.clock(), post.content_hash
    free = started_at + schedule.min_interval(source, defaults=settings.defaults)
    error = poll.error
    if error is None:
        world.posts.put_article(post.key, FullText.OK, _text(poll, post))
    elif error.error_class not in HOST_WIDE or message.manual:
        skipped = error.error_class in NOBODY_ASKED
        world.posts.put_article(post.key, FullText.SKIPPED if skipped else FullText.FAILED, None)
    else:
        wait = aftermath.retry_at(poll, now=now) or now + retry(error.error_class).wait
        line.move_on(
            source, world, settings, now=now, again=[Again(name, wait, failed=True)], not_before=free
        )
        return
    line.move_on(source, world, settings, now=now, done=name, delay=delay, not_before=free)


def _text(poll: Poll, post: Post) -> str:
    text = "\n\n".join(entry.body for entry in poll.document.entries) if poll.document else ""
    return cut(text, ROW_LIMIT - len(post.entry.body.encode("utf-8", "replace")))


def _wait_for_host(
    post: Post, source: Source, state: hosts.HostState, delay: timedelta, world: World, settings: Settings
) -> Run:
    """A host that is busy paces the whole line, since most pages of a feed lie on one; a brake does not."""
    now = world.clock()
    if state.brake_until and state.brake_until > now:
        again = [Again(post.content_hash, state.brake_until)]
        return _put_off(post, source, Refusal.HOST_BRAKED, world, settings, again=again)
    opens_at = max(state.next_slot or now, now)
    return _put_off(post, source, Refusal.HOST_BUSY, world, settings, line_waits=opens_at, delay=delay)


def _put_off(
    post: Post,
    source: Source,
    why: Refusal,
    world: World,
    settings: Settings,
    *,
    again: Sequence[Again] = (),
    line_waits: datetime | None = None,
    delay: timedelta = timedelta(0),
) -> Run:
    """Put the post back at the head of the line: its mark is gone, and it gets a place of its own again."""
    name = post.content_hash
    places = line.move_on(
        source,
        world,
        settings,
        now=world.clock(),
        again=again or [Again(name)],
        not_before=line_waits,
        delay=delay,
    )
    return Run(
        source_id=source.source_id,
        status=Status.DEFERRED,
        reason=why,
        url=urls.shown(post.entry.url or ""),
        content_hash=name,
        delay_seconds=next((one.delay_seconds for one in places if one.content_hash == name), None),
    )


def _drop(key: PostKey, why: Refusal, world: World, settings: Settings, *, now: datetime) -> Run:
    """Take a post out of the line."""
    line.move_on(Source(source_id=key.source_id, url=""), world, settings, now=now, done=key.content_hash)
    return Run(source_id=key.source_id, status=Status.SKIPPED, reason=why, content_hash=key.content_hash)
