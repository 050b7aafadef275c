"""Owns feeds: RSS and Atom bytes to entries, through feedparser."""

import io
import re
from calendar import timegm
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import feedparser

from wellspring.errors import ErrorClass, FetchError
from wellspring.hints import DocumentHints, document_hints
from wellspring.http import Reply
from wellspring.model import Entry
from wellspring.sources import Document
from wellspring.sources.text import plain

HEAD = 20_000
"""Where the channel's own elements are looked for."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse(reply: Reply) -> Document:
    """Return the feed's entries. Raises FetchError when the body is no feed."""
    if not reply.body.strip():
        raise FetchError(ErrorClass.EMPTY, "The server sent an empty document.", http_status=reply.status)
    headers = {"content-location": reply.url, "content-type": reply.headers.get("content-type", "")}
    try:
        # A stream, never bytes: feedparser opens a local file when bytes name one.
        feed = feedparser.parse(
            io.BytesIO(reply.body),
            response_headers=headers,
            sanitize_html=False,
            resolve_relative_uris=False,
        )
    except Exception as error:
        raise FetchError(
            ErrorClass.PARSE, f"The feed parser gave up: {type(error).__name__}.", http_status=reply.status
        ) from error
    if not feed.get("version") and not feed.entries:
        raise FetchError(
            ErrorClass.NOT_FEED,
            "The document is not a feed; open the URL in a browser and take the address of its feed instead.",
            http_status=reply.status,
        )
    return Document(
        entries=tuple(_entry(raw, reply.url) for raw in feed.entries),
        parser=f"feedparser {feedparser.__version__} {feed.get('version') or 'unknown'}",
        title=plain(feed.feed.get("title", "")) or None,
        hints=_hints(feed.feed, reply.body),
    )


def _hints(channel: Any, body: bytes) -> DocumentHints:
    """Read the channel's own rhythm; of several hours and days feedparser keeps only the last."""
    head = body[:HEAD].decode("latin-1")
    return document_hints(
        ttl=channel.get("ttl"),
        period=channel.get("sy_updateperiod"),
        frequency=channel.get("sy_updatefrequency"),
        hours=_listed(head, "skipHours", "hour"),
        days=_listed(head, "skipDays", "day"),
    )


def _listed(head: str, name: str, item: str) -> list[str]:
    found = re.search(rf"<{name}>(.*?)</{name}>", head, re.DOTALL)
    return re.findall(rf"<{item}>\s*(\w+)\s*</{item}>", found[1]) if found else []


def _entry(raw: Any, base: str) -> Entry:
    link = raw.get("link")
    return Entry(
        entry_id=raw.get("id") or None,
        title=plain(raw.get("title", "")),
        url=_absolute(base, link) if link else None,
        body=plain(_body(raw)),
        author=_author(raw),
        published_at=_moment(raw.get("published_parsed") or raw.get("updated_parsed")),
    )


def _body(raw: Any) -> str:
    contents = [c.get("value") for c in raw.get("content", ()) if c.get("value")]
    return str(contents[0] if contents else raw.get("summary") or "")


def _author(raw: Any) -> str | None:
    names = (raw.get("author"), *(author.get("name") for author in raw.get("authors", ())))
    return next((name.strip() for name in names if name and name.strip()), None)


def _moment(parsed: Any) -> datetime | None:
    try:
        return EPOCH + timedelta(seconds=timegm(parsed)) if parsed else None
    except (ValueError, OverflowError):
        return None


def _absolute(base: str, link: str) -> str:
    try:
        return urljoin(base, link.strip())
    except ValueError:
        return link
