"""Owns the one HTTP client: bounded in time, size and redirects, and kept off private addresses."""

import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from wellspring import __version__, encodings, urls
from wellspring.errors import ErrorClass, FetchError
from wellspring.resolver import Resolver
from wellspring.settings import Settings
from wellspring.wire import Deadline, Dialler, Exchange

REDIRECTS = {301, 302, 303, 307, 308}
STATUS_CLASSES = {
    401: ErrorClass.AUTHENTICATION,
    403: ErrorClass.AUTHENTICATION,
    407: ErrorClass.AUTHENTICATION,
    410: ErrorClass.GONE,
    429: ErrorClass.RATE_LIMITED,
}
CHALLENGES = (b"cf-chl", b"challenge-platform", b"captcha", b"Just a moment", b"_Incapsula_", b"ddos-guard")
CHALLENGE_BYTES = 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to ask for; validators go back to the server byte for byte."""

    url: str
    etag: str | None = None
    last_modified: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[str], None] | None = None
    """Called with each URL before it is asked for; it raises FetchError to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A 200 with its whole body, or a 304 without one. Header names are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    hops: tuple[int, ...] = ()
    """The status codes of the redirects that led here."""


class HttpClient:
    """Fetches with a wall-clock deadline, a limit on unpacked bytes and a checked address on each hop."""

    def __init__(self, settings: Settings, *, tls: ssl.SSLContext | None = None) -> None:
        self._settings = settings
        # One context for all connections: loading the certificates is most of what TLS costs.
        self._dialler = Dialler(
            Resolver(),
            tls or ssl.create_default_context(),
            settings.allow_addresses,
            settings.connect_timeout.total_seconds(),
        )
        contact = f" (+{settings.contact_url})" if settings.contact_url else ""
        self._user_agent = f"Wellspring/{__version__}{contact}"

    def get(self, request: Request) -> Reply:
        """Fetch a URL, following redirects. Raises FetchError."""
        deadline = Deadline(time.monotonic() + self._settings.fetch_timeout.total_seconds())
        url = request.url
        hops: tuple[int, ...] = ()
        for _ in range(self._settings.max_redirects + 1):
            target = urls.target_of(url)
            if request.check:
                request.check(url)
            headers = self._headers(request, url)
            with Exchange(self._dialler.dial(target, deadline), deadline) as exchange:
                status, answered = exchange.send(target, headers)
                location = answered.get("location")
                if status in REDIRECTS and location:
                    url, hops = urls.join(url, location), (*hops, status)
                    continue
                asked_for_news = "If-None-Match" in headers or "If-Modified-Since" in headers
                if status == 304 and asked_for_news:
                    return Reply(url=url, status=status, headers=answered, hops=hops)
                if status != 200:
                    raise _refusal(exchange, status, answered)
                body = self._body(exchange, answered)
                return Reply(url=url, status=status, headers=answered, body=body, hops=hops)
        raise FetchError(ErrorClass.REDIRECTS, f"More than {self._settings.max_redirects} redirects.")

    def _headers(self, request: Request, url: str) -> dict[str, str]:
        headers = {"User-Agent": self._user_agent, "Accept": "*/*", "Accept-Encoding": encodings.ACCEPTED}
        if urls.target_of(url).origin == urls.target_of(request.url).origin:
            headers |= request.headers
        if url == request.url:
            if request.etag:
                headers["If-None-Match"] = request.etag
            if request.last_modified:
                headers["If-Modified-Since"] = request.last_modified
        return headers

    def _body(self, exchange: Exchange, headers: dict[str, str]) -> bytes:
        body, limit = bytearray(), self._settings.max_bytes
        try:
            for piece in encodings.unpacked(exchange.body(), headers.get("content-encoding", "")):
                body += piece
                if len(body) > limit:
                    raise FetchError(ErrorClass.TOO_LARGE, f"The document is over {limit} bytes.")
        except FetchError as error:
            error.http_status, error.headers = 200, headers
            raise
        return bytes(body)


def _refusal(exchange: Exchange, status: int, headers: dict[str, str]) -> FetchError:
    kind, told = _class_of(status), f"The server answered {status}."
    if status in (403, 503) and _is_challenge(exchange, headers):
        kind, told = ErrorClass.BLOCKED, f"The server answered {status} with a test for people."
    return FetchError(kind, told, http_status=status, headers=headers)


def _is_challenge(exchange: Exchange, headers: dict[str, str]) -> bool:
    """Say whether a refusal is a page that wants to see a person."""
    if headers.get("cf-mitigated") == "challenge":
        return True
    start = bytearray()
    with suppress(FetchError):
        for piece in encodings.unpacked(exchange.body(), headers.get("content-encoding", "")):
            start += piece
            if len(start) > CHALLENGE_BYTES:
                break
    return any(mark in start for mark in CHALLENGES)


def _class_of(status: int) -> ErrorClass:
    if status in STATUS_CLASSES:
        return STATUS_CLASSES[status]
    if status >= 500:
        return ErrorClass.HTTP_5XX
    return ErrorClass.HTTP_4XX if status >= 400 else ErrorClass.BAD_HTTP
