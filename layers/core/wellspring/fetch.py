"""Owns fetching: one message in, one source polled, every new post stored, the attempt recorded.

The order of writes is the promise: posts, then the window, then the log, then the source.
Whatever crashes in between, validators and window never run ahead of the posts they cover.
"""

import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from math import ceil

from wellspring import filters, identity, schedule
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply, Request
from wellspring.identity import Novelty, Sighting
from wellspring.message import FetchMessage
from wellspring.model import Entry, FetchLog, Lease, Post, Source, Status, Window
from wellspring.ports import Outgoing, Refused, World
from wellspring.schedule import Refusal
from wellspring.settings import Settings
from wellspring.sources import PARSERS, Document

LONGEST_DELAY = 900
LOOK_AGAIN = timedelta(seconds=20)
BODY_LIMIT = 300_000
FIELD_LIMIT = 4_000
CUT = " […]"
NEW_LIMIT = 1_000
ERRORS_LISTED = 10
BACKTRACE_LINES = 20
KEPT_HEADERS = ("etag", "last-modified", "content-type", "cache-control", "retry-after", "date")
EXPIRY_MARGIN = timedelta(days=2)


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


@dataclass(slots=True, kw_only=True)
class Poll:
    """What an attempt has found and done so far."""

    reply: Reply | None = None
    document: Document | None = None
    signature: str | None = None
    error: FetchError | None = None
    backtrace: str | None = None
    seen: Window = field(default_factory=dict)
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    left_over: int = 0
    filtered: Counter[str] = field(default_factory=Counter)
    entry_errors: list[dict[str, str]] = field(default_factory=list)

    @property
    def status(self) -> Status:
        if self.error:
            return Status.FAILED
        if self.document is None:
            return Status.NOT_MODIFIED
        return Status.PARTIAL if self.failed or self.left_over else Status.OK


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

    poll = request(source, world)
    if poll.document:
        store(poll, source, world, settings, started_at=started_at)
    after = _after(poll, source, message, settings, started_at=started_at)
    log = _log(
        poll, after, message, world, settings, token=token, started_at=started_at, message_id=message_id
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


def request(source: Source, world: World) -> Poll:
    """Ask the publisher; whatever it does wrong becomes a value."""
    poll = Poll()
    cursor = source.cursor
    try:
        parser = PARSERS.get(source.type)
        if parser is None:
            known = ", ".join(sorted(PARSERS))
            raise FetchError(
                ErrorClass.INTERNAL, f'The type "{source.type}" is not known; use one of: {known}.'
            )
        poll.reply = world.http.get(
            Request(
                url=source.url,
                etag=cursor.etag,
                last_modified=cursor.last_modified,
                headers=source.config.headers,
            )
        )
        if poll.reply.status == 304:
            return poll
        poll.signature = sha256(poll.reply.body).hexdigest()
        if poll.signature != cursor.signature:
            poll.document = parser(poll.reply)
    except FetchError as error:
        poll.error = error
    except Exception as error:
        poll.error = FetchError(
            ErrorClass.INTERNAL, f"Wellspring failed on this document: {type(error).__name__}."
        )
        poll.backtrace = "".join(traceback.format_exc().splitlines(keepends=True)[-BACKTRACE_LINES:])
    return poll


def store(poll: Poll, source: Source, world: World, settings: Settings, *, started_at: datetime) -> None:
    """Put what is new, then the window. One entry's failure never stops the others."""
    assert poll.document
    window = world.posts.window(source.source_id)
    seen: dict[bytes, bytes] = {}
    for sighting in identity.sightings(poll.document.entries, window):
        if sighting.novelty is not Novelty.KNOWN and poll.created + poll.updated >= NEW_LIMIT:
            poll.left_over += 1
            continue
        try:
            _store_one(sighting, poll, source, world, settings, started_at=started_at)
        except ValueError as error:
            _entry_failed(sighting.entry, error, poll)
            if sighting.previous_print:
                seen[sighting.id_print] = sighting.previous_print
            continue
        seen[sighting.id_print] = sighting.content_print
    poll.seen = seen
    if seen != window:
        world.posts.put_window(source.source_id, seen, started_at=started_at)


def _store_one(
    sighting: Sighting, poll: Poll, source: Source, world: World, settings: Settings, *, started_at: datetime
) -> None:
    if sighting.novelty is Novelty.KNOWN:
        poll.unchanged += 1
        return
    entry = sighting.entry
    skip = filters.reason_to_skip(entry, source, now=started_at, defaults=settings.defaults)
    if skip:
        poll.filtered[skip] += 1
        return
    follows = None
    if sighting.novelty is Novelty.CHANGED and sighting.previous_print:
        follows = world.posts.hash_like(source.source_id, sighting.previous_print.hex())
    if not world.posts.put(_post(sighting, follows, source, settings, started_at=started_at)):
        poll.unchanged += 1
    elif sighting.novelty is Novelty.CHANGED:
        poll.updated += 1
    else:
        poll.created += 1


def _post(
    sighting: Sighting, follows: str | None, source: Source, settings: Settings, *, started_at: datetime
) -> Post:
    published = filters.dated(sighting.entry, now=started_at)
    own = source.config.max_age_days
    age = settings.defaults.max_age if own is None else timedelta(days=own)
    return Post(
        source_id=source.source_id,
        content_hash=sighting.content_hash,
        entry=_storable(sighting.entry, published),
        fetched_at=started_at,
        expires_at=published + age + EXPIRY_MARGIN if published else None,
        revision_of=follows,
    )


def _storable(entry: Entry, published_at: datetime | None) -> Entry:
    """Return the entry within a row's limits, in text that can be stored."""
    return replace(
        entry,
        entry_id=_cut(entry.entry_id, FIELD_LIMIT) if entry.entry_id else None,
        title=_cut(entry.title, FIELD_LIMIT),
        url=_cut(entry.url, FIELD_LIMIT) if entry.url else None,
        body=_cut(entry.body, BODY_LIMIT),
        author=_cut(entry.author, FIELD_LIMIT) if entry.author else None,
        published_at=published_at,
    )


def _cut(text: str, limit: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    return data[:limit].decode("utf-8", "ignore") + CUT


def _entry_failed(entry: Entry, error: Exception, poll: Poll) -> None:
    poll.failed += 1
    if len(poll.entry_errors) < ERRORS_LISTED:
        poll.entry_errors.append(
            {"guid": (entry.entry_id or "")[:60], "title": entry.title[:60], "error": str(error)[:120]}
        )


def _after(
    poll: Poll, source: Source, message: FetchMessage, settings: Settings, *, started_at: datetime
) -> Source:
    """Return the source as this attempt leaves it; validators only move over complete documents."""
    error_class = poll.error.error_class if poll.error else None
    due_at = None if message.manual else message.due_at
    after = schedule.after_poll(source, error_class, now=message.base(started_at), due_at=due_at)
    if poll.reply and poll.reply.status == 200 and poll.status in (Status.OK, Status.NOT_MODIFIED):
        after = replace(
            after,
            cursor=replace(after.cursor, signature=poll.signature, **_validators(poll.reply, source)),
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


def _validators(reply: Reply, source: Source) -> dict[str, str | None]:
    """Return the validators to send next time; they belong to the very URL that issued them."""
    issued = reply.headers if reply.url == source.url else {}
    return {"etag": issued.get("etag"), "last_modified": issued.get("last-modified")}


def _log(
    poll: Poll,
    after: Source,
    message: FetchMessage,
    world: World,
    settings: Settings,
    *,
    token: str,
    started_at: datetime,
    message_id: str,
) -> FetchLog:
    reply, error = poll.reply, poll.error
    headers = reply.headers if reply else {}
    return FetchLog(
        source_id=after.source_id,
        started_at=started_at,
        finished_at=world.clock(),
        status=poll.status,
        url=after.shown_url[:200],
        attempt_id=token,
        message_id=message_id,
        manual=message.manual,
        expires_at=started_at + timedelta(days=settings.fetch_log_days),
        http_status=reply.status if reply else error.http_status if error else None,
        headers={name: headers[name][:100] for name in KEPT_HEADERS if name in headers},
        bytes=len(reply.body) if reply else 0,
        entries=len(poll.document.entries) if poll.document else 0,
        created=poll.created,
        updated=poll.updated,
        unchanged=poll.unchanged,
        failed=poll.failed,
        filtered=dict(poll.filtered) | ({"over_limit": poll.left_over} if poll.left_over else {}),
        entry_errors=tuple(poll.entry_errors),
        parser=poll.document.parser if poll.document else None,
        signature=poll.signature,
        error_class=error.error_class if error else None,
        error_message=str(error)[:200] if error else None,
        next_fetch_at=after.next_fetch_at,
        reasons=after.reasons,
    )


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
    world.queue.send([Outgoing(message, delay)])
    return Run(
        source_id=source.source_id,
        status=Status.DEFERRED,
        reason=why,
        url=source.shown_url,
        delay_seconds=delay,
    )
