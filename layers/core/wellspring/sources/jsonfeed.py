"""Owns JSON Feed, versions 1.0 and 1.1: text to entries."""

import json
from typing import Any
from urllib.parse import urljoin

from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.model import Entry
from wellspring.sources import Document, dates, text

VERSION = "jsonfeed.org/version/"


def parse(document: str, reply: Reply) -> Document:
    """Return the feed's entries; whatever has another shape than it should is left out, not guessed."""
    feed = _loaded(document, reply)
    version = feed.get("version") if isinstance(feed, dict) else None
    if not isinstance(feed, dict) or not (isinstance(version, str) and VERSION in version):
        raise FetchError(
            ErrorClass.NOT_FEED,
            'The document is JSON, but no JSON Feed: it names no "version" of it.',
            http_status=reply.status,
        )
    items = feed.get("items")
    return Document(
        entries=tuple(
            _entry(item, reply.url)
            for item in (items if isinstance(items, list) else ())
            if isinstance(item, dict)
        ),
        parser=f"json feed {text.line(version.rpartition('/')[2])[:10]}",
        title=text.line(_text(feed, "title")) or None,
    )


def _loaded(document: str, reply: Reply) -> Any:
    try:
        # NaN and Infinity are no JSON, but some programs write them: they are nothing to us.
        return json.loads(document, parse_constant=lambda name: None, strict=False)
    except RecursionError:
        told = "The JSON document is nested too deeply."
    except ValueError as error:
        where = getattr(error, "lineno", None)
        told = (
            f"The JSON document cannot be read (line {where}): it may be cut."
            if where
            else "The JSON document cannot be read."
        )
    raise FetchError(ErrorClass.PARSE, told, http_status=reply.status)


def _entry(item: dict[str, Any], base: str) -> Entry:
    markup, plain = _text(item, "content_html"), _text(item, "content_text")
    return Entry(
        entry_id=text.line(_id(item)) or None,
        title=text.line(_text(item, "title")),
        url=_url(item, base),
        body=text.plain(markup) or text.paragraphs(plain) or text.paragraphs(_text(item, "summary")),
        author=_author(item),
        published_at=dates.moment(item.get("date_published")) or dates.moment(item.get("date_modified")),
    )


def _text(fields: dict[str, Any], name: str) -> str:
    found = fields.get(name)
    return found if isinstance(found, str) else ""


def _id(item: dict[str, Any]) -> str:
    """Return the item's id, which is often written as a number."""
    found = item.get("id")
    return str(found) if isinstance(found, str | int | float) and not isinstance(found, bool) else ""


def _author(item: dict[str, Any]) -> str | None:
    listed = item.get("authors")
    people = [*(listed if isinstance(listed, list) else ()), item.get("author")]
    names = (text.line(_text(one, "name")) for one in people if isinstance(one, dict))
    return next((name for name in names if name), None)


def _url(item: dict[str, Any], base: str) -> str | None:
    attached = item.get("attachments")
    files = [
        _text(one, "url") for one in (attached if isinstance(attached, list) else ()) if isinstance(one, dict)
    ]
    links = (text.line(link) for link in (_text(item, "url"), _text(item, "external_url"), *files))
    link = next((link for link in links if link), None)
    try:
        return urljoin(base, link) if link else None
    except ValueError:
        return link
