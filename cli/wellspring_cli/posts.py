"""Owns posts as the command shows and processes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rich.text import Text

from wellspring.client import Client, Page, Post, PostKey, Tally
from wellspring.timestamps import to_text
from wellspring_cli.errors import WrongUse


def process(client: Client, names: Iterable[str], *, everything: bool) -> Tally:
    """Mark the named posts, or all that are listed."""
    keys = [PostKey.from_text(name) for name in names]
    if keys and everything:
        raise WrongUse("Name the posts to process, or say --all, but not both.")
    if not keys and not everything:
        raise WrongUse("Name the posts to process, as SOURCE_ID/CONTENT_HASH, or say --all.")
    return client.mark_processed(keys) if keys else _process_all(client)


def _process_all(client: Client) -> Tally:
    done = already = unknown = 0
    cursor: str | None = None
    while True:
        page = client.pending(limit=100, cursor=cursor)
        tally = client.mark_processed(page.posts)
        done, already, unknown = done + tally.done, already + tally.already, unknown + tally.unknown
        cursor = page.cursor
        if cursor is None:
            return Tally(done, already, unknown)


def told(tally: Tally) -> str:
    """Return what became of the posts, in a sentence."""
    parts = [
        f"{_posts(tally.done)} marked as processed",
        f"{tally.already} had been before" if tally.already else "",
        f"{tally.unknown} not found" if tally.unknown else "",
    ]
    return ", ".join(filter(None, parts)) + "."


def lines(page: Page) -> list[Text]:
    """Return two lines for each post: when and what, and the name that it is processed by."""
    if not page.posts and not page.cursor:
        return [Text("No posts wait to be processed.")]
    found = [
        Text.assemble((to_text(post.posted_at)[:16].replace("T", " "), "dim"), "  ", (_title(post), "bold"))
        + Text(f"\n                  {_printable(str(post.key))}")
        for post in page.posts
    ]
    return [*found, Text(f"More: wellspring posts list --cursor {page.cursor}")] if page.cursor else found


def as_json(page: Page) -> str:
    return json.dumps({"posts": [_fields(post) for post in page.posts], "cursor": page.cursor}, indent=2)


def _fields(post: Post) -> dict[str, Any]:
    entry = post.entry
    return {
        "source_id": post.source_id,
        "content_hash": post.content_hash,
        "title": entry.title,
        "url": entry.url,
        "author": entry.author,
        "body": entry.body,
        "full_text": post.full_text,
        "full_text_status": post.full_text_status,
        "truncated": post.truncated,
        "id": entry.entry_id,
        "posted_at": to_text(post.posted_at),
        "published_at": to_text(entry.published_at) if entry.published_at else None,
        "fetched_at": to_text(post.fetched_at),
        "revision_of": post.revision_of,
    }


def _title(post: Post) -> str:
    return _printable(post.entry.title) or "(no title)"


def _printable(text: str) -> str:
    """Return text that a publisher wrote without what would steer the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _posts(number: int) -> str:
    return f"{number} {'post' if number == 1 else 'posts'}"
