"""Owns how a publisher is asked: what most types do, and what all of them have at hand."""

from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from wellspring.http import Reply, Request
from wellspring.model import Source
from wellspring.settings import Settings


class Http(Protocol):
    def get(self, request: Request) -> Reply:
        """Fetch a URL, following redirects. Raises FetchError."""


class Robots(Protocol):
    def knows(self, url: str) -> bool:
        """Say whether the site's wishes are known, so that asking for them sends no request."""

    def check(self, url: str) -> None:
        """Raise FetchError when the site does not want the URL fetched."""

    def delay(self, url: str) -> timedelta | None:
        """Return how far apart the site wants its requests."""


class Secrets(Protocol):
    def x_api_key(self, owner_id: str) -> str | None:
        """Return the owner's key of the X API; None when there is none."""


class Tools(Protocol):
    """What a type may use to ask its publisher."""

    @property
    def http(self) -> Http: ...
    @property
    def robots(self) -> Robots: ...
    @property
    def secrets(self) -> Secrets: ...
    @property
    def clock(self) -> Callable[[], datetime]: ...


def plainly(source: Source, tools: Tools, settings: Settings) -> Reply:
    """Ask for the source's URL."""
    return tools.http.get(question(source))


def politely(source: Source, tools: Tools, settings: Settings) -> Reply:
    """Ask for the source's URL, as far as robots may have it: a redirect's target is looked up too."""
    return tools.http.get(question(source, robots=tools.robots))


def question(source: Source, *, robots: Robots | None = None) -> Request:
    """Return what to ask; validators go only to the URL that issued them."""
    cursor = source.cursor
    known = cursor.issuer is None or cursor.issuer == issuer(source.url)
    return Request(
        url=source.url,
        etag=cursor.etag if known else None,
        last_modified=cursor.last_modified if known else None,
        headers=source.config.headers,
        check=robots.check if robots else None,
    )


def issuer(url: str) -> str:
    """Return the mark of a URL that is kept beside its validators."""
    return sha256(url.encode("utf-8", "replace")).hexdigest()[:8]
