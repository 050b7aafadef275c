"""Owns storing what a document brought: each new post once, and what the window of seen entries becomes."""

from dataclasses import replace
from datetime import datetime, timedelta

from wellspring import filters, identity, urls
from wellspring.identity import Novelty, Sighting
from wellspring.model import Entry, FullText, Post, Source, Window
from wellspring.poll import CREATED, FAILED, OVER_LIMIT, TOO_MANY, UNCHANGED, UPDATED, Poll
from wellspring.ports import Posts
from wellspring.settings import Settings
from wellspring.sources import KINDS, Document

BODY_LIMIT = 300_000
FIELD_LIMIT = 4_000
CUT = " […]"
NEW_LIMIT = 1_000
LISTED_LIMIT = 20_000
EXPIRY_MARGIN = timedelta(days=2)


def store(
    poll: Poll, document: Document, source: Source, posts: Posts, settings: Settings, *, started_at: datetime
) -> Window | None:
    """Put what is new, and return the window to keep; None when it is the one that is kept.

    One entry's failure never stops the others.
    """
    window = posts.window(source.source_id)
    seen: dict[bytes, bytes] = {}
    poll.counts[TOO_MANY] = max(0, len(document.entries) - LISTED_LIMIT)
    for sighting in identity.sightings(document.entries[:LISTED_LIMIT], window):
        outcome = _outcome(sighting, poll, source, posts, settings, started_at=started_at)
        poll.count(sighting, outcome)
        if outcome in (FAILED, OVER_LIMIT):
            if sighting.previous_print:
                seen[sighting.id_print] = sighting.previous_print
        elif sighting.novelty is not Novelty.DUPLICATE:
            seen[sighting.id_print] = sighting.content_print
    other_ids = poll.left_over > 0 or seen.keys() != identity.listed(window)
    new_text = any(window.get(name) != content for name, content in seen.items())
    poll.changed = bool(seen) and (other_ids or (KINDS[source.type].is_page and new_text))
    # A document that lists nothing, as some servers send now and then, tells nothing about the entries.
    return identity.remembered(seen, window) if seen and (other_ids or new_text) else None


def _outcome(
    sighting: Sighting, poll: Poll, source: Source, posts: Posts, settings: Settings, *, started_at: datetime
) -> str:
    """Do with an entry what is right, and say what that was."""
    skip = filters.reason_to_skip(sighting, source, now=started_at, defaults=settings.defaults)
    if skip:
        return skip
    if sighting.novelty is Novelty.KNOWN:
        return UNCHANGED
    if poll.created + poll.updated >= NEW_LIMIT:
        return OVER_LIMIT
    try:
        return _store_one(sighting, poll, source, posts, settings, started_at=started_at)
    except ValueError as error:
        poll.note_error(sighting.entry, error)
        return FAILED


def _store_one(
    sighting: Sighting, poll: Poll, source: Source, posts: Posts, settings: Settings, *, started_at: datetime
) -> str:
    follows = None
    if sighting.novelty is Novelty.CHANGED and sighting.previous_print:
        follows = posts.hash_like(source.source_id, sighting.previous_print.hex())
    post = _post(sighting, follows, source, settings, started_at=started_at)
    stored = posts.put(post)
    if post.full_text_status is FullText.WANTED and (stored or _still_wants(post, posts)):
        poll.wanted.append(post.content_hash)
    if not stored:
        return UNCHANGED
    return UPDATED if sighting.novelty is Novelty.CHANGED else CREATED


def _still_wants(post: Post, posts: Posts) -> bool:
    """Say whether an earlier attempt stored the post but ended before it could ask for the full text."""
    return any(found.full_text_status is FullText.WANTED for found in posts.read([post.key]))


def _first_status(entry: Entry) -> FullText:
    """A link that leads to no page, of a magnet or a mail, is not waited for."""
    return FullText.WANTED if entry.url and urls.origin_of(entry.url) else FullText.SKIPPED


def _post(
    sighting: Sighting, follows: str | None, source: Source, settings: Settings, *, started_at: datetime
) -> Post:
    published = filters.dated(sighting.entry, now=started_at)
    kind = KINDS[source.type]
    age = filters.max_age(source, defaults=settings.defaults)
    return Post(
        source_id=source.source_id,
        content_hash=sighting.content_hash,
        entry=storable(sighting.entry, published),
        fetched_at=started_at,
        expires_at=published + age + EXPIRY_MARGIN if published and not kind.is_page else None,
        revision_of=follows,
        truncated=len(sighting.entry.body.encode("utf-8", "replace")) > BODY_LIMIT,
        full_text_status=_first_status(sighting.entry)
        if source.config.full_text and kind.has_pages
        else None,
    )


def storable(entry: Entry, published_at: datetime | None) -> Entry:
    """Return the entry within a row's limits, in text that can be stored."""
    return replace(
        entry,
        entry_id=cut(entry.entry_id, FIELD_LIMIT) if entry.entry_id else None,
        title=cut(entry.title, FIELD_LIMIT),
        url=cut(entry.url, FIELD_LIMIT) if entry.url else None,
        body=cut(entry.body, BODY_LIMIT),
        author=cut(entry.author, FIELD_LIMIT) if entry.author else None,
        published_at=published_at,
    )


def cut(text: str, limit: int) -> str:
    """Return text within a number of bytes, marked where it is cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    return data[:limit].decode("utf-8", "ignore") + CUT
