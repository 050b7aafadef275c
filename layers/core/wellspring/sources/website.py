"""Owns pages: the main text of an HTML document as one entry, through trafilatura."""

import json
import logging
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, islice
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
EDGES = ("nav", "header", "footer", "aside")
FURNITURE = text.HIDDEN | {*EDGES, "form"}
SHORTEST = 250
BLOCKS = frozenset({"main", "div", "section", "td", "body"})
FILES = (b"%PDF-", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"ID3", b"PK\x03\x04", b"\x1f\x8b")
"""How files begin that some servers send as pages."""
HEAD = 4_096
MOST_DATES = 20
MOST_DOORS = 10
WELCOME = 700
"""A page that asks for a password and has less text than this is but the door."""
DEEPEST = 20
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
logging.getLogger("htmldate").setLevel(logging.CRITICAL)


def parse(reply: Reply) -> Document:
    """Return the page's main text. Raises FetchError when there is none."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and not any(part in kind for part in PAGES):
        raise _refusal(ErrorClass.PARSE, f"The document is no page but {kind[:60]}.", reply)
    found = decoded(reply.body, reply.headers.get("content-type", ""))
    if reply.body.startswith(FILES) or _is_binary(found[:HEAD]):
        raise _refusal(ErrorClass.PARSE, "The document is no page but a file of another kind.", reply)
    document = text.clean(found)
    if not document.strip():
        raise _refusal(ErrorClass.EMPTY, "The document is empty.", reply)
    if discovery.is_feed(document):
        raise _refusal(
            ErrorClass.PARSE, "The document is a feed, not a page: give the source the type rss.", reply
        )
    tree, whole = text.parsed(document)
    if tree is None:
        raise _refusal(ErrorClass.EMPTY, "The page has no text.", reply)
    title = _title(tree)
    body = _without_title(_main_text(tree) if whole else text.plain(document), title)
    if _is_door(tree) and len(body) < WELCOME:
        raise _refusal(ErrorClass.AUTHENTICATION, "The server sent a page to log in.", reply)
    if not body:
        why = "; it may be one that scripts would have to fill" if tree.find(".//script") is not None else ""
        raise _refusal(ErrorClass.EMPTY, f"The page has no text of its own{why}.", reply)
    entry = Entry(title=title, url=reply.url, body=body, author=_author(tree), published_at=_published(tree))
    return Document(entries=(entry,), parser=f"trafilatura {trafilatura.__version__}", title=title or None)


def _is_binary(start: str) -> bool:
    """Say whether more than a twentieth of a text is what no text has; a few strays make no file."""
    return len(_BINARY.findall(start)) * 20 > max(len(start), 200)


def _main_text(tree: Any) -> str:
    """Return the article; where no article is to be found, the largest block of text, else all of it."""
    small = sum(1 for _ in islice(tree.iter(), LARGEST + 1)) <= LARGEST
    found = small and trafilatura.extract(tree, fast=True, include_comments=False, with_metadata=False)
    if found and len(found) >= SHORTEST and not all(one.startswith("|") for one in found.splitlines()):
        return _paragraphs(found)
    # What is shorter trafilatura took from anywhere; what is all table is a page laid out with one.
    articles = list(islice(tree.iter("article"), 2))
    block = articles[0] if len(articles) == 1 else _largest(tree)
    return text.text_of(block, hidden=FURNITURE) or text.text_of(tree)


def _largest(tree: Any) -> Any:
    """Return the block that holds most of the text, by itself or in what is no block; else the page.

    A page of many small blocks, as a list of states is, has no text that would be its main one.
    """
    largest, most, total, sizes = tree, 0, 0, [0]
    walk = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        starts, is_block = event == "start", element.tag in BLOCKS
        if starts and element.tag in FURNITURE:
            walk.skip_subtree()
            continue
        if starts and is_block:
            sizes.append(0)
        elif is_block and (size := sizes.pop()) > most:
            largest, most = element, size
        length = len(((element.text if starts else element.tail) or "").strip())
        sizes[-1] += length
        total += length
    return largest if most * 2 > total else tree


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
    headings = (text.text_of(one) for one in tree.iter("h1"))
    # A drawing has a title too.
    titles = (one.text_content() for one in tree.iterfind(".//title") if one.getparent().tag != "svg")
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
    found = islice(chain(_meta(tree, DATES), _linked_data(tree), times), MOST_DATES)
    return next(filter(None, map(dates.moment, found)), None)


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
    """Say whether the page itself asks for a password; many ask for one at their edge."""
    asked = (one for one in tree.iter("input") if (one.get("type") or "").lower() == "password")
    return any(next(one.iterancestors(*EDGES), None) is None for one in islice(asked, MOST_DOORS))


def _refusal(kind: ErrorClass, told: str, reply: Reply) -> FetchError:
    return FetchError(kind, told, http_status=reply.status)
