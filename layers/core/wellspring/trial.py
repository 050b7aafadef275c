"""Owns trying a source: the same client, parser, identity and filters as a poll, and nothing stored."""

from dataclasses import dataclass, replace
from datetime import datetime

from wellspring import filters, timestamps
from wellspring.asking import Http
from wellspring.errors import ErrorClass
from wellspring.http import Reply, Request
from wellspring.identity import Sighting
from wellspring.intake import storable, store
from wellspring.model import Source, Status
from wellspring.poll import FAILED, STORED, Poll, request
from wellspring.ports import World
from wellspring.settings import Settings
from wellspring.sources import discovery
from wellspring.sources.discovery import FeedLink


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedPost:
    """An entry, as it would be stored or was left out."""

    id: str | None
    title: str
    url: str | None
    author: str | None
    published_at: datetime | None
    body: str
    content_hash: str
    filtered: str | None

    def fields(self) -> dict[str, object]:
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return found | {"published_at": self.published_at and timestamps.to_text(self.published_at)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a poll of the source would come to."""

    status: Status
    type: str
    url: str = ""
    title: str | None = None
    error_class: ErrorClass | None = None
    error: str | None = None
    note: str | None = None
    """What a person should know of a document that could be read in part."""
    feeds: tuple[FeedLink, ...] = ()
    """Feeds that the page links to, if it is one."""
    posts: tuple[TriedPost, ...] = ()


def try_url(source: Source, kind: str | None, world: World, settings: Settings) -> Trial:
    """Try a URL; without a type, find out what it is."""
    kind = kind or discovery.kind_of_url(source.url)
    seen = _Kept(world.http)
    if kind:
        source = replace(source, type=kind)
        trial = _tried(source, request(source, replace(world, http=seen), settings), world, settings)
        return _with_feeds(trial, seen.reply)
    # Asked for once: what it is shows in the answer, and the answer is what is tried.
    found = request(replace(source, type="rss"), replace(world, http=seen), settings)
    if seen.reply is None or discovery.kind_of(seen.reply) == "rss":
        return _tried(replace(source, type="rss"), found, world, settings)
    return try_reply(source, "website", seen.reply, world, settings, by_robots=True)


def try_reply(
    source: Source,
    kind: str | None,
    reply: Reply,
    world: World,
    settings: Settings,
    *,
    by_robots: bool = False,
) -> Trial:
    """Try a document that is at hand."""
    kind = kind or discovery.kind_of(reply)
    source = replace(source, type=kind)

    def ask(*_: object) -> Reply:
        for url in dict.fromkeys((source.url, reply.url)) if by_robots else ():
            world.robots.check(url)
        return reply

    return _with_feeds(_tried(source, request(source, world, settings, ask=ask), world, settings), reply)


def _with_feeds(trial: Trial, reply: Reply | None) -> Trial:
    if reply is None or trial.type != "website":
        return trial
    return replace(trial, feeds=tuple(discovery.feeds_of(reply)))


class _Kept:
    """A client that remembers its last answer."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.reply: Reply | None = None

    def get(self, asked: Request) -> Reply:
        self.reply = self._http.get(asked)
        return self.reply


def _tried(source: Source, poll: Poll, world: World, settings: Settings) -> Trial:
    now = world.clock()
    if poll.document:
        store(poll, poll.document, source, world.posts, settings, started_at=now)
    return Trial(
        status=poll.status,
        type=source.type,
        url=poll.reply.url if poll.reply else source.url,
        title=poll.document.title if poll.document else None,
        error_class=poll.error.error_class if poll.error else None,
        error=str(poll.error) if poll.error else None,
        note=_note(poll),
        posts=tuple(_post(seen, outcome, now=now) for seen, outcome in poll.outcomes),
    )


def _note(poll: Poll) -> str | None:
    if poll.document and poll.document.cut:
        return "The document breaks off: what is whole would be stored, and the next poll reads it again."
    if poll.left_over:
        return f"{poll.left_over} more would be stored by the next polls: one poll stores 1,000 at most."
    return None


def _post(seen: Sighting, outcome: str, *, now: datetime) -> TriedPost:
    entry = storable(seen.entry, filters.dated(seen.entry, now=now))
    return TriedPost(
        id=entry.entry_id or entry.url,
        title=entry.title,
        url=entry.url,
        author=entry.author,
        published_at=entry.published_at,
        body=entry.body,
        content_hash=seen.content_hash,
        filtered=None if outcome in STORED and outcome != FAILED else outcome,
    )
