"""Owns pages: the main text of an HTML document as one entry, through trafilatura."""

import json
import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import trafilatura
from lxml import etree

from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.model import Entry
from wellspring.sources import Document, dates, discovery, text
from wellspring.sources.decoding import decoded

TITLES = ("og:title", "twitter:title")
AUTHORS = ("author", "article:author")
DATES = (
    *("article:published_time", "datepublished", "date", "dc.date", "dc.date.issued", "dcterms.created"),
    *("pubdate", "publishdate", "publish-date", "parsely-pub-date", "sailthru.date", "og:published_time"),
)
PAGES = ("text/", "html", "xml")
LARGEST = 25_000
"""So many elements trafilatura looks at well within the time that a parser has; it takes many looks."""
BLOCKS = ("main", "div", "section", "td", "body")
WELCOME = 700
"""A page that asks for a password and has less text than this is but the door."""
DEEPEST = 20
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
logging.getLogger("htmldate").setLevel(logging.CRITICAL)


def parse(reply: Reply) -> Document:
    """Return the page's main text. Raises FetchError when there is none."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and not any(part in kind for part in PAGES):
        raise _refusal(ErrorClass.PARSE, f"The document is no page but {kind[:60]}.", reply)
    document = text.clean(decoded(reply.body, reply.headers.get("content-type", "")))
    if not document.strip():
        raise _refusal(ErrorClass.EMPTY, "The server sent an empty document.", reply)
    if discovery.is_feed(document):
        raise _refusal(
            ErrorClass.PARSE, "The document is a feed, not a page: give the source the type rss.", reply
        )
    tree, whole = text.parsed(document)
    if tree is None:
        raise _refusal(ErrorClass.EMPTY, "The page has no text.", reply)
    # Read first: looking for the text takes the tree apart.
    title, author, published_at = _title(tree), _author(tree), _published(tree)
    scripts, door = tree.find(".//script") is not None, _is_door(tree)
    body = _without_title(_main_text(tree, document), title)
    if door and len(body) < WELCOME:
        raise _refusal(ErrorClass.AUTHENTICATION, "The server sent a page to log in.", reply)
    if not body:
        why = "; it may be one that scripts would have to fill" if scripts else ""
        raise _refusal(ErrorClass.EMPTY, f"The page has no text of its own{why}.", reply)
    entry = Entry(title=title, url=reply.url, body=body, author=author, published_at=published_at)
    return Document(entries=(entry,), parser=f"trafilatura {trafilatura.__version__}", title=title or None)


def _main_text(tree: Any, document: str) -> str:
    """Return the article; where no article is to be found, the largest block of text, else all of it."""
    found = trafilatura.extract(tree, fast=True, include_comments=False, with_metadata=False)
    if found:
        return _paragraphs(found)
    for hidden in list(tree.iter(*text.HIDDEN, "nav", "header", "footer", "aside", "form")):
        if hidden.getparent() is not None:
            hidden.drop_tree()
    article = next(tree.iter("article"), None)
    block = article if article is not None else max(tree.iter(*BLOCKS), key=_own_text, default=None)
    return (text.text_of(block) if block is not None else "") or text.plain(document)


def _own_text(element: Any) -> int:
    """Return how much text lies in an element itself, or in what is no block of its own."""
    parts = [element.text or ""]
    for child in element:
        parts.append(child.tail or "")
        if child.tag not in BLOCKS:
            parts.append(child.text_content() if isinstance(child.tag, str) else "")
    return sum(len(part.strip()) for part in parts)


def _paragraphs(found: str) -> str:
    """Keep paragraphs apart; the lines of a list or a table stay close together."""
    lines = [text.line(one) for one in found.splitlines()]
    kept: list[str] = []
    for line in filter(None, lines):
        if kept:
            close = line.startswith(("- ", "| ")) and kept[-1].startswith(("- ", "| "))
            kept.append("\n" if close else "\n\n")
        kept.append(line)
    return "".join(kept)


def _without_title(body: str, title: str) -> str:
    first, _, rest = body.partition("\n\n")
    return rest if title and rest and text.line(first) == title else body


def _title(tree: Any) -> str:
    headings = (one.text_content() for one in tree.iter("h1"))
    titles = (one.text_content() for one in tree.iter("title"))
    found = (text.line(one) for one in (*_meta(tree, TITLES), *titles, *headings))
    return next((one for one in found if one), "")


def _author(tree: Any) -> str | None:
    # Some sites write the address of a profile there, which names nobody.
    names = (text.line(one) for one in _meta(tree, AUTHORS))
    return next((name for name in names if name and not name.startswith(("http://", "https://"))), None)


def _published(tree: Any) -> datetime | None:
    times = (
        one.get("datetime")
        for one in tree.iter("time")
        if one.get("pubdate") is not None or one.get("itemprop") == "datePublished"
    )
    found = (dates.moment(one) for one in (*_meta(tree, DATES), *_linked_data(tree), *times))
    return next((one for one in found if one), None)


def _meta(tree: Any, names: Iterable[str]) -> Iterator[str]:
    """Yield what the page says of itself, the first name first."""
    said: dict[str, list[str]] = {}
    for one in tree.iter("meta"):
        for key in ("name", "property", "itemprop"):
            said.setdefault((one.get(key) or "").strip().lower(), []).append(one.get("content") or "")
    for name in names:
        yield from said.get(name, ())


def _linked_data(tree: Any) -> Iterator[str]:
    for one in tree.iter("script"):
        if (one.get("type") or "").strip().lower() == "application/ld+json":
            try:
                yield from _dates_in(json.loads(one.text_content(), strict=False))
            except (ValueError, RecursionError):
                continue


def _dates_in(found: Any, depth: int = 0) -> Iterator[str]:
    if depth > DEEPEST:
        return
    if isinstance(found, dict):
        if isinstance(found.get("datePublished"), str):
            yield found["datePublished"]
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from _dates_in(one, depth + 1)


def _is_door(tree: Any) -> bool:
    return any((one.get("type") or "").lower() == "password" for one in tree.iter("input"))


def _refusal(kind: ErrorClass, told: str, reply: Reply) -> FetchError:
    return FetchError(kind, told, http_status=reply.status)
