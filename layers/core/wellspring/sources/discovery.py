"""Owns finding out what a document is, whatever its content type says, and a page's feeds. Pure."""

import re
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from wellspring import urls
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.sources import text
from wellspring.sources.decoding import decoded

HEAD = 8_192
FEED_TYPES = {
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/feed+json",
    "application/x.atom+xml",
    "application/x-atom+xml",
    "text/rss+xml",
    "text/atom+xml",
    "application/xml",
    "text/xml",
}
TIMELINES = {"x.com", "www.x.com", "mobile.x.com", "twitter.com", "www.twitter.com", "mobile.twitter.com"}
MOST_LINKS = 10
_PROLOGUE = re.compile(
    r"\s*(?:<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*(?:\[.*?\])?\s*>)", re.DOTALL | re.IGNORECASE
)
_ROOT = re.compile(r"\s*<(?:[\w.-]+:)?([\w.-]+)")
_ANYWHERE = re.compile(r"<(?:rss\s[^>]*version|feed\s[^>]*xmlns|rdf:RDF\s)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FeedLink:
    """A feed that a page offers."""

    url: str
    title: str


def kind_of_url(url: str) -> str | None:
    """Return the type that a URL tells by itself: timelines, whose pages are of no use to a reader."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    name = parts.path.strip("/")
    return "twitter" if parts.hostname in TIMELINES and re.fullmatch(r"@?\w{1,15}", name) else None


def kind_of(reply: Reply) -> str:
    """Return the type of source that a document makes: a feed or a page."""
    return "rss" if is_feed(_text(reply)) else "website"


def is_feed(document: str) -> bool:
    """Say whether a document is a feed, by how it begins."""
    start = document[:HEAD].lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return re.search(r'"version"\s*:\s*"https?:\\?/\\?/(?:www\.)?jsonfeed\.org', document) is not None
    while found := _PROLOGUE.match(start):
        start = start[found.end() :]
    root = _ROOT.match(start)
    if root and root[1].lower() in ("rss", "feed", "rdf"):
        return True
    return not (root and root[1].lower() == "html") and _ANYWHERE.search(start) is not None


def feeds_of(reply: Reply) -> list[FeedLink]:
    """Return the feeds that a page links to, in its own order."""
    return _feeds(_text(reply), reply.url)


def no_feed(document: str, reply: Reply) -> FetchError:
    """Return the error for a document that should have been a feed: it names the feed to take instead."""
    offered = _feeds(document, reply.url)
    if offered:
        shown = urls.shown(offered[0].url) if reply.url else offered[0].url
        told = f"The document is a page, not a feed. It links to a feed: {shown}"
    else:
        told = (
            "The document is not a feed; open the URL in a browser and take the address of its feed instead."
        )
    return FetchError(ErrorClass.NOT_FEED, told, http_status=reply.status)


def _feeds(document: str, base: str) -> list[FeedLink]:
    tree, _ = text.parsed(text.clean(document))
    if tree is None:
        return []
    base = (
        next((_joined(base, one.get("href")) for one in tree.iter("base") if one.get("href")), base) or base
    )
    found: dict[str, FeedLink] = {}
    for link in tree.iter("link"):
        relation = (link.get("rel") or "").lower().split()
        kind = (link.get("type") or "").partition(";")[0].strip().lower()
        if "alternate" in relation and kind in FEED_TYPES and link.get("href"):
            url = _joined(base, link.get("href"))
            # A file that says not where it comes from has links as they are written.
            if url and (url.startswith(("http://", "https://")) or not base):
                found.setdefault(url, FeedLink(url, text.line(link.get("title") or "")))
    return [*found.values()][:MOST_LINKS]


def _joined(base: str, href: str) -> str | None:
    try:
        return urljoin(base, text.clean(href).strip())
    except ValueError:
        return None


def _text(reply: Reply) -> str:
    return decoded(reply.body, reply.headers.get("content-type", ""))
