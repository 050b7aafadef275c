"""Owns every error that Wellspring raises itself.

WellspringError
├── InvalidInput        a person's mistake: the text says what is wrong and what to do
├── FetchError          what a publisher did; recorded on the source, never raised past a fetch
└── Unavailable         AWS did not do its part: the message goes back, no source is blamed
    ├── Denied          because these credentials may not do it
    └── NotSignedIn     because there are no credentials, or they are not valid
"""

from collections.abc import Mapping
from enum import StrEnum


class ErrorClass(StrEnum):
    """Why an attempt failed: a closed list, the same in rows, log lines and metrics."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    REDIRECTS = "redirects"
    BAD_HTTP = "bad_http"
    TRUNCATED = "truncated"
    BLOCKED_ADDRESS = "blocked_address"
    BLOCKED_URL = "blocked_url"
    BLOCKED = "blocked"
    ROBOTS = "robots"
    RATE_LIMITED = "rate_limited"
    GONE = "gone"
    AUTHENTICATION = "authentication"
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    NOT_FEED = "not_feed"
    EMPTY = "empty"
    PARSE = "parse"
    PARSE_TIMEOUT = "parse_timeout"
    CRASHED = "crashed"
    INTERNAL = "internal"


class WellspringError(Exception):
    """The root of the tree."""


class InvalidInput(WellspringError):
    """Something a person wrote cannot be used."""


class FetchError(WellspringError):
    """A publisher did not give us what we asked for."""

    def __init__(
        self,
        error_class: ErrorClass,
        message: str,
        *,
        http_status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.http_status = http_status
        self.headers = headers or {}


class Unavailable(WellspringError):
    """A table or queue was throttled, refused or could not be reached."""


class Denied(Unavailable):
    """The credentials are good, and may not do this."""


class NotSignedIn(Unavailable):
    """There are no credentials, or AWS does not know them, or their time is over."""
