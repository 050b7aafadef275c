"""Owns robots.txt: what a site asks of robots, remembered for a day by each fetcher.

Feeds that a person named are fetched without asking; pages are not.
"""

import threading
from collections import defaultdict
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
MOST_SITES = 20_000
LONGEST_DELAY = timedelta(seconds=30)


class Getter(Protocol):
    def get(self, request: Request) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What a site says, and until when we believe it; a site that could not be asked allows nothing."""

    protego: Protego
    until: datetime
    failure: FetchError | None = None

    @property
    def delay(self) -> timedelta | None:
        seconds = self.protego.crawl_delay(NAME)
        # Compared first: a span of any number of seconds would overflow.
        return timedelta(seconds=min(seconds, LONGEST_DELAY.total_seconds())) if seconds else None


class Robots:
    """Asks each site once a day what it allows."""

    def __init__(self, http: Getter, clock: Callable[[], datetime]) -> None:
        self._http = http
        self._clock = clock
        self._known: dict[str, Rules] = {}
        self._lock = threading.Lock()
        self._asking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def knows(self, url: str) -> bool:
        """Say whether the site's wishes are known, so that asking for them sends no request."""
        known = self._known.get(_file_of(url))
        return known is not None and known.until > self._clock()

    def check(self, url: str) -> None:
        """Raise FetchError when the site does not want the URL fetched."""
        rules = self._rules(url)
        if rules.failure:
            # The site's trouble, not its wish: it counts as what it is.
            raise FetchError(
                rules.failure.error_class,
                f"The site's robots.txt could not be read, so no page of it is. {rules.failure}",
                http_status=rules.failure.http_status,
                headers=rules.failure.headers,
            )
        if not rules.protego.can_fetch(url, NAME):
            raise FetchError(ErrorClass.ROBOTS, "The site's robots.txt does not allow this page.")

    def delay(self, url: str) -> timedelta | None:
        """Return how far apart the site wants its requests, at most half a minute."""
        return self._rules(url).delay

    def _rules(self, url: str) -> Rules:
        """Return what the site says; of many that want to know at once one asks."""
        site = _file_of(url)
        with self._lock:
            asking = self._asking[site]
        with asking:
            now = self._clock()
            known = self._known.get(site)
            if known is None or known.until <= now:
                known = self._ask(site, now)
                self._remember(site, known)
        return known

    def _remember(self, site: str, known: Rules) -> None:
        with self._lock:
            self._known.pop(site, None)
            self._known[site] = known
            while len(self._known) > MOST_SITES:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._asking.pop(oldest, None)

    def _ask(self, site: str, now: datetime) -> Rules:
        """Read the site's file: none means that all is allowed, a server in trouble that nothing is."""
        try:
            reply = self._http.get(Request(url=site))
        except FetchError as error:
            status = error.http_status or 0
            refused = 400 <= status < 500 and error.error_class is not ErrorClass.RATE_LIMITED
            if refused or error.error_class is ErrorClass.REDIRECTS:
                return Rules(Protego.parse(""), now + KEPT)
            return Rules(Protego.parse(""), now + KEPT_WHEN_DOWN, error)
        return Rules(Protego.parse(reply.body[:MOST_BYTES].decode("utf-8-sig", "replace")), now + KEPT)


def _file_of(url: str) -> str:
    target = urls.target_of(url)
    return f"{target.scheme}://{target.host_header}/robots.txt"
