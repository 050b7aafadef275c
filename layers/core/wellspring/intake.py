"""Owns storing what a document brought: new posts first, then the window of seen entries."""

from dataclasses import replace
from datetime import datetime, timedelta

from wellspring import filters, identity
from wellspring.identity import Novelty, Sighting
from wellspring.model import Entry, Post, Source
from wellspring.poll import Poll
from wellspring.ports import Posts
from wellspring.settings import Settings
from wellspring.sources import KINDS, Document

BODY_LIMIT = 300_000
FIELD_LIMIT = 4_000
CUT = " […]"
NEW_LIMIT = 1_000
LISTED_LIMIT = 5_000
ERRORS_LISTED = 10
EXPIRY_MARGIN = timedelta(days=2)


def store(
    poll: Poll, document: Document, source: Source, posts: Posts, settings: Settings, *, started_at: datetime
) -> None:
    """Put what is new, then the window. One entry's failure never stops the others."""
    window = posts.window(source.source_id)
    seen: dict[bytes, bytes] = {}
    poll.left_over = max(0, len(document.entries) - LISTED_LIMIT)
    for sighting in identity.sightings(document.entries[:LISTED_LIMIT], window):
        skip = filters.reason_to_skip(sighting, source, now=started_at, defaults=settings.defaults)
        if skip:
            poll.filtered[skip] += 1
        elif sighting.novelty is Novelty.KNOWN:
            poll.unchanged += 1
        elif poll.created + poll.updated >= NEW_LIMIT:
            poll.left_over += 1
            continue
        else:
            try:
                _store_one(sighting, poll, source, posts, settings, started_at=started_at)
            except ValueError as error:
                _entry_failed(sighting.entry, error, poll)
                if sighting.previous_print:
                    seen[sighting.id_print] = sighting.previous_print
                continue
        if sighting.novelty is not Novelty.DUPLICATE:
            seen[sighting.id_print] = sighting.content_print
    poll.changed = bool(seen) and (poll.left_over > 0 or seen.keys() != window.keys())
    # A document that lists nothing, as some servers send now and then, tells nothing about the entries.
    if seen and seen != window:
        posts.put_window(source.source_id, seen, started_at=started_at)


def _store_one(
    sighting: Sighting, poll: Poll, source: Source, posts: Posts, settings: Settings, *, started_at: datetime
) -> None:
    follows = None
    if sighting.novelty is Novelty.CHANGED and sighting.previous_print:
        follows = posts.hash_like(source.source_id, sighting.previous_print.hex())
    if not posts.put(_post(sighting, follows, source, settings, started_at=started_at)):
        poll.unchanged += 1
    elif sighting.novelty is Novelty.CHANGED:
        poll.updated += 1
    else:
        poll.created += 1


def _post(
    sighting: Sighting, follows: str | None, source: Source, settings: Settings, *, started_at: datetime
) -> Post:
    published = filters.dated(sighting.entry, now=started_at)
    age = filters.max_age(source, defaults=settings.defaults)
    return Post(
        source_id=source.source_id,
        content_hash=sighting.content_hash,
        entry=_storable(sighting.entry, published),
        fetched_at=started_at,
        expires_at=published + age + EXPIRY_MARGIN if published and KINDS[source.type].ages else None,
        revision_of=follows,
        truncated=len(sighting.entry.body.encode("utf-8", "replace")) > BODY_LIMIT,
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
