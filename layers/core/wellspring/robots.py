"""Owns robots.txt: what a site asks of robots, remembered for a day by each fetcher.

Feeds that a person named are fetched without asking; pages are not.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from protego import Protego

from wellspring import urls
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply, Request

NAME = "Wellspring"
KEPT = timedelta(hours=24)
KEPT_WHEN_DOWN = timedelta(minutes=10)
MOST_BYTES = 500_000
MOST_SITES = 1_000
LONGEST_DELAY = timedelta(seconds=30)
EVERYTHING, NOTHING = "", "User-agent: *\nDisallow: /"


class Getter(Protocol):
    def get(self, request: Request) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What a site says, and until when we believe it."""

    protego: Protego
    until: datetime

    def allow(self, url: str) -> bool:
        return bool(self.protego.can_fetch(url, NAME))

    @property
    def delay(self) -> timedelta | None:
        seconds = self.protego.crawl_delay(NAME)
        return min(timedelta(seconds=seconds), LONGEST_DELAY) if seconds else None


class Robots:
    """Asks each site once a day what it allows."""

    def __init__(self, http: Getter, clock: Callable[[], datetime]) -> None:
        self._http = http
        self._clock = clock
        self._known: dict[str, Rules] = {}
        self._lock = threading.Lock()

    def check(self, url: str) -> None:
        """Raise FetchError when the site does not want the URL fetched."""
        if not self._rules(url).allow(url):
            raise FetchError(ErrorClass.ROBOTS, "The site's robots.txt does not allow this page.")

    def delay(self, url: str) -> timedelta | None:
        """Return how far apart the site wants its requests, at most half a minute."""
        return self._rules(url).delay

    def _rules(self, url: str) -> Rules:
        target, now = urls.target_of(url), self._clock()
        site = f"{target.scheme}://{target.host_header}/robots.txt"
        known = self._known.get(site)
        if known is None or known.until <= now:
            text, kept = self._ask(site)
            known = Rules(Protego.parse(text), now + kept)
            with self._lock:
                if len(self._known) >= MOST_SITES:
                    self._known.clear()
                self._known[site] = known
        return known

    def _ask(self, site: str) -> tuple[str, timedelta]:
        """Return the file's text: none means that all is allowed, a server that is down that nothing is."""
        try:
            reply = self._http.get(Request(url=site))
        except FetchError as error:
            status = error.http_status or 0
            if 400 <= status < 500 and error.error_class is not ErrorClass.RATE_LIMITED:
                return EVERYTHING, KEPT
            return NOTHING, KEPT_WHEN_DOWN
        return reply.body[:MOST_BYTES].decode("utf-8", "replace"), KEPT
