"""Owns the types of sources: each module turns bytes into entries, and is one line in the registry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wellspring.hints import DocumentHints
from wellspring.http import Reply
from wellspring.model import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a parser found."""

    entries: tuple[Entry, ...]
    parser: str
    title: str | None = None
    hints: DocumentHints = field(default_factory=DocumentHints)


Parser = Callable[[Reply], Document]


def _rss(reply: Reply) -> Document:
    from wellspring.sources import rss  # feedparser is slow to import, and a 304 needs none of it

    return rss.parse(reply)


PARSERS: Mapping[str, Parser] = {"rss": _rss}
