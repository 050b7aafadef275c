"""Owns what an attempt leaves on its source. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from wellspring import hints, moves, schedule
from wellspring.asking import issuer
from wellspring.http import Reply
from wellspring.message import FetchMessage
from wellspring.model import Lease, Source, Status
from wellspring.poll import Poll
from wellspring.schedule import Outcome
from wellspring.settings import Settings

SPEAKS_OF_RETRY = {429, 503}
LONGEST_VALIDATORS = 1_000
LONGEST_TITLE = 200


def after_attempt(
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
                    bookmark=_bookmark(poll, after),
                ),
                title=after.title or _title(poll),
            )
    elif poll.document and poll.document.cut and not (poll.error or poll.failed or poll.left_over):
        # A type that keeps its place goes on there; all others read the whole document again.
        after = replace(source, cursor=replace(source.cursor, bookmark=_bookmark(poll, source)))
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
    return replace(scheduled(after, settings, now=base), lease=Lease(started_at=started_at, free_at=free))


def scheduled(source: Source, settings: Settings, *, now: datetime) -> Source:
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
        retry_at=retry_at(poll, now=now),
        document=poll.document.hints if poll.document else None,
    )


def retry_at(poll: Poll, *, now: datetime) -> datetime | None:
    """Return the server's word on when to come again: after a refusal, or where no request is left to us."""
    speaks = poll.http_status in SPEAKS_OF_RETRY or poll.headers.get("x-rate-limit-remaining") == "0"
    return hints.retry_at(poll.headers, now=now) if speaks else None


def _validators(reply: Reply, source: Source) -> tuple[str | None, str | None]:
    """Return the validators to send next time; they belong to the very URL that issued them."""
    issued = reply.headers if reply.url == source.url else {}
    etag, last_modified = issued.get("etag", ""), issued.get("last-modified", "")
    if len(etag) + len(last_modified) > LONGEST_VALIDATORS:
        return None, None
    return etag or None, last_modified or None


def _bookmark(poll: Poll, source: Source) -> Mapping[str, str]:
    """Keep what the type asked to keep and drop what it emptied; without a document nothing changes."""
    merged = {**source.cursor.bookmark, **(poll.document.bookmark if poll.document else {})}
    return {name: value for name, value in merged.items() if value}


def _title(poll: Poll) -> str | None:
    title = poll.document.title if poll.document else None
    return title[:LONGEST_TITLE] if title else None


def news(before: Source, after: Source) -> tuple[str, ...]:
    told = {
        "quarantined": bool(after.health.quarantined_at and not before.health.quarantined_at),
        "recovered": bool(before.health.quarantined_at and not after.health.quarantined_at),
        "moved": before.url != after.url,
        "gone": before.enabled and not after.enabled,
    }
    return tuple(name for name, happened in told.items() if happened)
