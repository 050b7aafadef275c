"""Makes the documents of the demo's feeds: pure functions of the time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import sha256
from html import escape

WHO = (
    "The baker",
    "A night porter",
    "The harbour pilot",
    "Our neighbour",
    "The clockmaker",
    "A beekeeper",
    "The postwoman",
)
WHAT = ("finds", "mends", "paints", "counts", "forgets", "waters", "names", "repairs", "draws")
WHICH = ("a blue door", "the old bridge", "forty lanterns", "a lost umbrella", "the town well")
AUTHORS = ("Ada Brook", "Ben Marsh", "Clara Spring")


@dataclass(frozen=True)
class Feed:
    """One feed: a new post each `every` seconds, the last `listed` of them shown."""

    name: str
    title: str
    every: int
    listed: int


@dataclass(frozen=True)
class DemoPost:
    """One post of a feed; its number says everything about it."""

    guid: str
    title: str
    path: str
    body: str
    author: str
    published_at: datetime


NEWS = Feed("news", "The Wellspring Courier", every=20, listed=20)
BLOG = Feed("blog", "Notes from the Well", every=60, listed=10)
PODCAST = Feed("podcast", "Water Talk, the podcast", every=900, listed=5)
NEW_HOME = Feed("new-home", "The Journal that moved", every=120, listed=5)


def posts(feed: Feed, now: datetime) -> list[DemoPost]:
    """Return the posts that the feed lists at this time, newest first."""
    newest = int(now.timestamp()) // feed.every
    return [_post(feed, number) for number in range(newest, newest - feed.listed, -1)]


def rss(feed: Feed, now: datetime, home: str) -> bytes:
    """Return the feed as RSS 2.0."""
    listed = posts(feed, now)
    items = "".join(
        f"<item><title>{escape(post.title)}</title><link>{home}{post.path}</link>"
        f'<guid isPermaLink="false">{post.guid}</guid>'
        f"<pubDate>{format_datetime(post.published_at, usegmt=True)}</pubDate>"
        f"<dc:creator>{escape(post.author)}</dc:creator>"
        f"<description>{escape(post.body)}</description></item>\n"
        for post in listed
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>'
        f"<title>{escape(feed.title)}</title><link>{home}/</link>"
        "<description>A living feed for trying things out.</description>"
        f"<lastBuildDate>{format_datetime(listed[0].published_at, usegmt=True)}</lastBuildDate>\n"
        f"{items}</channel></rss>\n"
    ).encode()


def atom(feed: Feed, now: datetime, home: str) -> bytes:
    """Return the feed as Atom 1.0."""
    listed = posts(feed, now)
    entries = "".join(
        f"<entry><title>{escape(post.title)}</title><id>{post.guid}</id>"
        f'<link href="{home}{post.path}"/>'
        f"<published>{post.published_at.isoformat()}</published>"
        f"<updated>{post.published_at.isoformat()}</updated>"
        f"<author><name>{escape(post.author)}</name></author>"
        f'<content type="html">{escape(f"<p>{escape(post.body)}</p>")}</content></entry>\n'
        for post in listed
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>{escape(feed.title)}</title>'
        f'<id>urn:wellspring:demo:{feed.name}</id><link href="{home}/"/>'
        f"<updated>{listed[0].published_at.isoformat()}</updated>\n{entries}</feed>\n"
    ).encode()


def html_page() -> bytes:
    """Return a page that somebody took for a feed."""
    return (
        b"<!doctype html><html><head><title>Our feeds</title></head>"
        b"<body><h1>Our feeds</h1><p>This is a page for people, not a feed.</p></body></html>\n"
    )


def etag(document: bytes) -> str:
    """Return the strong validator of a document: it changes when a byte does."""
    return f'"{sha256(document).hexdigest()[:16]}"'


def _post(feed: Feed, number: int) -> DemoPost:
    who, what, which = WHO[number % len(WHO)], WHAT[number % len(WHAT)], WHICH[number % len(WHICH)]
    published_at = datetime.fromtimestamp(number * feed.every, UTC)
    return DemoPost(
        guid=f"urn:wellspring:demo:{feed.name}:{number}",
        title=f"{who} {what} {which} (no. {number})",
        path=f"/{feed.name}/{number}",
        body=(
            f"It was {published_at:%H:%M:%S} on {published_at:%d %B %Y} when it happened. "
            f"{who} {what} {which}, and nobody asked why. "
            f"This is number {number} of {feed.title}; the next one comes in {feed.every} seconds."
        ),
        author=AUTHORS[number % len(AUTHORS)],
        published_at=published_at,
    )
