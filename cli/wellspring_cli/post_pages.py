"""Owns the walks over posts: one source's, the newest first, processed or not; and marking page by page."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256

from wellspring import expiry
from wellspring.client import Client, Page, Tally
from wellspring.errors import InvalidInput
from wellspring.model import Post, PostKey
from wellspring.ports import Posts

ROWS = 100
ROUNDS = 50
SEAL = 6


def of_source(
    source_id: str,
    posts: Posts,
    *,
    limit: int,
    cursor: str | None = None,
    pending: bool = False,
    now: datetime,
) -> Page:
    """Return a source's posts behind the cursor, or only those that are not processed.

    It looks at a bounded number of posts: a page may be short, even empty, and still have a cursor.
    """
    after = read_cursor(cursor, source_id) if cursor else None
    found: list[Post] = []
    for _ in range(ROUNDS):
        rows = ROWS if pending else min(ROWS, limit - len(found))
        names = posts.newest(source_id, after=after, limit=rows)
        shown = [post for post in _read(names.keys, posts) if _is_shown(post, pending=pending, now=now)]
        room = limit - len(found)
        if len(shown) > room:
            # The store knows no position but the end of a page: it is asked for one that ends here.
            last = names.keys.index(shown[room - 1].key)
            after = posts.newest(source_id, after=after, limit=last + 1).after
            return Page((*found, *shown[:room]), write_cursor(after, source_id))
        found += shown
        after = names.after
        if after is None or len(found) == limit:
            break
    return Page(tuple(found), write_cursor(after, source_id))


def one(key: PostKey, posts: Posts, *, now: datetime) -> Post | None:
    """Return a post; None when there is none, or when its time is over."""
    return next((post for post in posts.read([key]) if not is_over(post, now=now)), None)


def mark_all(client: Client, page_after: Callable[[str | None], Page]) -> Tally:
    """Mark the posts of all pages as processed."""
    done = already = 0
    cursor: str | None = None
    while True:
        page = page_after(cursor)
        tally = client.mark_processed(page.posts)
        # What is unknown was deleted since it was listed: nobody asked for it by its name.
        done, already = done + tally.done, already + tally.already
        cursor = page.cursor
        if cursor is None:
            return Tally(done, already)


def is_over(post: Post, *, now: datetime) -> bool:
    """Say whether a post has had its time without being processed: it is as good as deleted."""
    return bool(post.expires_at and not post.processed_at and post.expires_at <= expiry.horizon(now))


def write_cursor(after: str | None, source_id: str) -> str | None:
    """Return a position as text without a character that a shell would take for its own."""
    if after is None:
        return None
    return urlsafe_b64encode(_seal(after, source_id) + after.encode()).decode().rstrip("=")


def read_cursor(cursor: str, source_id: str) -> str:
    """Return the position of a cursor, if it was written for this source."""
    try:
        both = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        after = both[SEAL:].decode()
        if both[:SEAL] != _seal(after, source_id):
            raise ValueError("another source's, or cut")
    except ValueError:
        raise InvalidInput(
            "The cursor cannot be read. Pass on the one that this source's last page came with, "
            "or none to begin anew."
        ) from None
    return after


def _seal(after: str, source_id: str) -> bytes:
    return sha256(f"{source_id} {after}".encode()).digest()[:SEAL]


def _read(keys: tuple[PostKey, ...], posts: Posts) -> list[Post]:
    """Read posts in the order of their names; one that was deleted meanwhile is left out."""
    found = {post.key: post for post in posts.read(keys)} if keys else {}
    return [found[key] for key in keys if key in found]


def _is_shown(post: Post, *, pending: bool, now: datetime) -> bool:
    return not is_over(post, now=now) and not (pending and post.processed_at)
