"""Owns the types of sources: each module turns bytes into entries, and is one line in the registry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from wellspring import asking
from wellspring.asking import Tools
from wellspring.hints import DocumentHints
from wellspring.http import Reply
from wellspring.model import Entry, Source
from wellspring.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a parser found."""

    entries: tuple[Entry, ...]
    parser: str
    title: str | None = None
    hints: DocumentHints = field(default_factory=DocumentHints)
    cut: bool = False
    """The document breaks off; what it broke off in is not among the entries."""
    bookmark: Mapping[str, str] = field(default_factory=dict)
    """What the type wants to know again at the next poll."""


Asker = Callable[[Source, Tools, Settings], Reply]
"""Asks the publisher of a source. Raises FetchError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of source. The parser is imported when it is needed: a 304 needs none."""

    module: str
    ask: Asker = asking.plainly
    obeys_robots: bool = False
    is_page: bool = False
    """It is one text that changes: never too old, and a new text is a change although no entry joins."""
    has_pages: bool = False
    """Its posts have pages of their own, from which full texts can be had."""

    def parse(self, reply: Reply) -> Document:
        """Return what the document holds. Raises FetchError."""
        found: Document = import_module(f"wellspring.sources.{self.module}").parse(reply)
        return found


def _ask_x(source: Source, tools: Tools, settings: Settings) -> Reply:
    from wellspring.sources import x_api

    return x_api.ask(source, tools, settings)


KINDS: Mapping[str, Kind] = {
    "rss": Kind(module="rss", has_pages=True),
    "website": Kind(module="website", ask=asking.politely, obeys_robots=True, is_page=True),
    "twitter": Kind(module="twitter", ask=_ask_x),
}
