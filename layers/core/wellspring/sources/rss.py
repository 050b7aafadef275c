"""Owns feeds: RSS, RDF and Atom bytes to entries, through feedparser; JSON Feed has a module of its own."""

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
from wellspring.sources import Document, dates, discovery, jsonfeed, mending, text
from wellspring.sources.decoding import decoded

HEAD = 20_000
"""Where the channel's own elements are looked for."""
FILE_TEXT = "media:wellspring"
"""What describes an attached file: feedparser takes it for the entry's own description."""
# An id is no address: completed with the feed's own, it would change whenever that does.
feedparser.mixin._FeedParserMixin.can_be_relative_uri -= {"id"}
HTTP = ("http://", "https://")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DECLARATION = re.compile(r"<\?xml\b[^>]*>", re.IGNORECASE)
_FILE_TEXT = re.compile(r"(</?)media:description\b")
_END = re.compile(r"</\s*(?:[\w.-]+:)?(?:rss|feed|rdf)\s*>", re.IGNORECASE)
_ENTRY = re.compile(r"<(/?)(?:[\w.-]+:)?(?:item|entry)\b(?![^<>]*/>)", re.IGNORECASE)


def parse(reply: Reply) -> Document:
    """Return the feed's entries. Raises FetchError when the body is no feed."""
    found = decoded(reply.body, reply.headers.get("content-type", "")).lstrip("\ufeff \t\r\n")
    if not found:
        raise FetchError(ErrorClass.EMPTY, "The document is empty.", http_status=reply.status)
    if found.startswith("{"):
        return jsonfeed.parse(found, reply)
    document = _DECLARATION.sub("", found, count=1)
    strict = mending.is_well_formed(document)
    if not strict:
        document = mending.mended(document)
    feed = _parsed(document, reply)
    if not feed.get("version") and not feed.entries:
        raise discovery.no_feed(found, reply)
    raw, cut = feed.entries, not strict and _is_cut(document)
    if cut and _is_open(document):
        raw = raw[:-1]
    if cut and not raw:
        told = "The document breaks off before the end of its first entry."
        raise FetchError(ErrorClass.TRUNCATED, told, http_status=reply.status)
    return Document(
        entries=tuple(_entry(one, reply.url) for one in raw),
        parser=f"feedparser {feedparser.__version__} {feed.get('version') or 'unknown'}",
        title=_title(feed.feed) or None,
        hints=_hints(feed.feed, document[:HEAD]),
        cut=cut,
    )


def _parsed(document: str, reply: Reply) -> Any:
    headers = {"content-location": reply.url, "content-type": "application/xml; charset=utf-8"}
    try:
        # A stream, never bytes: feedparser opens a local file when bytes name one.
        return feedparser.parse(
            io.BytesIO(_FILE_TEXT.sub(rf"\1{FILE_TEXT}", document).encode("utf-8", "replace")),
            response_headers=headers,
            sanitize_html=False,
            resolve_relative_uris=False,
        )
    except Exception as error:
        raise FetchError(
            ErrorClass.PARSE, f"The feed parser gave up: {type(error).__name__}.", http_status=reply.status
        ) from error


def _is_cut(document: str) -> bool:
    return not _END.search(document, max(0, document.rfind("<item"), document.rfind("<entry")))


def _is_open(document: str) -> bool:
    """Say whether a document ends within an entry."""
    tags = [found[1] for found in _ENTRY.finditer(document)]
    return bool(tags) and not tags[-1]


def _hints(channel: Any, head: str) -> DocumentHints:
    """Read the channel's own rhythm; of several hours and days feedparser keeps only the last."""
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
    return Entry(
        entry_id=text.line(raw.get("id") or "") or None,
        title=_title(raw),
        url=_url(raw, base),
        body=_body(raw),
        author=_author(raw),
        published_at=_moment(raw, "published") or _moment(raw, "updated"),
    )


def _title(raw: Any) -> str:
    return _one_line(raw.get("title") or "", raw.get("title_detail") or {})


def _one_line(value: str, detail: Any) -> str:
    return text.line(value if detail.get("type") == "text/plain" else text.plain(value))


def _body(raw: Any) -> str:
    """Return the full content, else the summary; an entry may have several of both."""
    summary = raw.get("summary_detail") or {"value": raw.get("summary")}
    found = [*raw.get("content", ()), summary, {"value": raw.get(FILE_TEXT.replace(":", "_"))}]
    chosen = next((one for one in found if one.get("value") and _is_text(one.get("type"))), {"value": ""})
    literal = chosen.get("type") == "text/plain"
    return text.paragraphs(chosen["value"]) if literal else text.plain(chosen["value"])


def _is_text(kind: str | None) -> bool:
    return kind is None or kind.startswith("text/") or "html" in kind or "xml" in kind


def _author(raw: Any) -> str | None:
    details = (*raw.get("authors", ()), raw.get("author_detail") or {})
    names = (
        text.line(name) for name in (*(one.get("name") or "" for one in details), raw.get("author") or "")
    )
    return next((name for name in names if name), None)


def _url(raw: Any, base: str) -> str | None:
    """Return the entry's link; an episode that has none is where its file is."""
    links = raw.get("links", ())
    pages = (link.get("href") for link in links if link.get("rel") == "alternate")
    plain = None if raw.get("guidislink") else raw.get("link")
    named = raw.get("id") if raw.get("guidislink") and str(raw.get("id")).startswith(HTTP) else None
    files = (link.get("href") for link in links if link.get("rel") == "enclosure")
    found = (text.clean(link).strip() for link in (*pages, plain, named, *files) if link)
    return next((absolute(base, link) for link in found if link), None)


def _moment(raw: Any, name: str) -> datetime | None:
    # Not `get` of the entry itself: it answers with another date where this one is missing.
    parsed = dict.get(raw, f"{name}_parsed")
    try:
        found = dates.sensible(EPOCH + timedelta(seconds=timegm(parsed))) if parsed else None
    except (ValueError, OverflowError):
        found = None
    return found or dates.moment(dict.get(raw, name))


def absolute(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return link
