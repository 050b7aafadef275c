"""Owns the one HTTP client: bounded in time, size and redirects, and kept off private addresses."""

import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Network, ip_address
from urllib.parse import urljoin, urlsplit

import requests
import urllib3.exceptions

from wellspring import __version__
from wellspring.errors import ErrorClass, FetchError
from wellspring.settings import Settings

REDIRECTS = {301, 302, 303, 307, 308}
CHUNK = 16_384
STATUS_CLASSES = {
    401: ErrorClass.AUTHENTICATION,
    403: ErrorClass.AUTHENTICATION,
    407: ErrorClass.AUTHENTICATION,
    410: ErrorClass.GONE,
    429: ErrorClass.RATE_LIMITED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to ask for; validators go back to the server byte for byte."""

    url: str
    etag: str | None = None
    last_modified: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A 200 with its whole body, or a 304 without one. Header names are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    hops: tuple[int, ...] = ()
    """The status codes of the redirects that led here."""


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:
        """Never let requests look at a redirect: it would read its body without any limit."""


class HttpClient:
    """Fetches with a wall-clock deadline, a limit on decoded bytes and a checked address on each hop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        contact = f" (+{settings.contact_url})" if settings.contact_url else ""
        self._user_agent = f"Wellspring/{__version__}{contact}"

    def get(self, request: Request) -> Reply:
        deadline = time.monotonic() + self._settings.fetch_timeout.total_seconds()
        with _Session() as session:
            session.trust_env = False
            session.headers.clear()
            return self._follow(session, request, deadline)

    def _follow(self, session: requests.Session, request: Request, deadline: float) -> Reply:
        url = request.url
        hops: tuple[int, ...] = ()
        for _ in range(self._settings.max_redirects + 1):
            check_url(url)
            check_address(url, self._settings.allow_addresses)
            with self._send(session, url, self._headers(request, url), deadline) as response:
                target = response.headers.get("location")
                if response.status_code in REDIRECTS and target:
                    url, hops = urljoin(url, target), (*hops, response.status_code)
                    continue
                return replace(self._read(url, response, deadline), hops=hops)
        raise FetchError(ErrorClass.REDIRECTS, f"More than {self._settings.max_redirects} redirects.")

    def _headers(self, request: Request, url: str) -> dict[str, str]:
        headers = {"User-Agent": self._user_agent, "Accept-Encoding": "gzip, deflate", "Accept": "*/*"}
        if _origin(url) == _origin(request.url):
            headers |= request.headers
        if url == request.url:
            if request.etag:
                headers["If-None-Match"] = request.etag
            if request.last_modified:
                headers["If-Modified-Since"] = request.last_modified
        return headers

    def _send(
        self, session: requests.Session, url: str, headers: dict[str, str], deadline: float
    ) -> requests.Response:
        left = _left(deadline)
        timeout = (min(left, self._settings.connect_timeout.total_seconds()), left)
        prepared = requests.Request("GET", url, headers=headers).prepare()
        try:
            return session.send(prepared, stream=True, allow_redirects=False, timeout=timeout)
        except requests.exceptions.SSLError as error:
            raise FetchError(ErrorClass.TLS, _told(error)) from error
        except requests.exceptions.Timeout as error:
            raise FetchError(ErrorClass.TIMEOUT, "The server did not answer in time.") from error
        except requests.exceptions.ConnectionError as error:
            if "BadStatusLine" in repr(error) or "RemoteDisconnected" in repr(error):
                raise FetchError(ErrorClass.BAD_HTTP, "The server broke off without an answer.") from error
            raise FetchError(ErrorClass.CONNECT, "The server could not be reached.") from error
        except (requests.exceptions.RequestException, ValueError) as error:
            raise FetchError(ErrorClass.BAD_HTTP, _told(error)) from error

    def _read(self, url: str, response: requests.Response, deadline: float) -> Reply:
        status = response.status_code
        headers = {name.lower(): value for name, value in response.headers.items()}
        if status == 304:
            return Reply(url=url, status=status, headers=headers)
        if status != 200:
            raise FetchError(
                _class_of(status), f"The server answered {status}.", http_status=status, headers=headers
            )
        body = bytearray()
        try:
            for chunk in response.iter_content(CHUNK):
                body += chunk
                if len(body) > self._settings.max_bytes:
                    limit = self._settings.max_bytes
                    raise FetchError(
                        ErrorClass.TOO_LARGE, f"The document is over {limit} bytes.", http_status=200
                    )
                _left(deadline)
        except requests.exceptions.ConnectionError as error:
            slow = isinstance(error.args[0] if error.args else None, urllib3.exceptions.ReadTimeoutError)
            kind = ErrorClass.TIMEOUT if slow else ErrorClass.BAD_HTTP
            raise FetchError(kind, "The body was cut off.", http_status=200) from error
        except requests.exceptions.RequestException as error:
            raise FetchError(ErrorClass.BAD_HTTP, _told(error), http_status=200) from error
        return Reply(url=url, status=status, headers=headers, body=bytes(body))


def check_url(url: str) -> None:
    """Refuse what is no plain http(s) URL."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise FetchError(ErrorClass.BLOCKED_URL, "The URL cannot be read.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise FetchError(
            ErrorClass.BLOCKED_URL, "The URL must begin with http:// or https:// and name a host."
        )
    if "@" in parts.netloc or "\\" in url or any(ord(c) < 33 or ord(c) == 127 for c in url):
        raise FetchError(
            ErrorClass.BLOCKED_URL, "The URL has a user name, a backslash or a control character."
        )


def check_address(url: str, allowed: tuple[IPv4Network | IPv6Network, ...]) -> None:
    """Refuse a host any of whose addresses is not public, unless the stack allows it."""
    parts = urlsplit(url)
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchError(ErrorClass.DNS, f"The name {parts.hostname} could not be resolved.") from error
    for *_, address in found:
        ip = ip_address(str(address[0]).partition("%")[0])
        ip = getattr(ip, "ipv4_mapped", None) or ip
        if any(ip in network for network in allowed if network.version == ip.version):
            continue
        if not ip.is_global or ip.is_multicast:
            raise FetchError(
                ErrorClass.BLOCKED_ADDRESS, f"The host {parts.hostname} has an address that is not public."
            )


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise FetchError(ErrorClass.TIMEOUT, "The fetch took too long.")
    return left


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _class_of(status: int) -> ErrorClass:
    if status in STATUS_CLASSES:
        return STATUS_CLASSES[status]
    return ErrorClass.HTTP_5XX if status >= 500 else ErrorClass.HTTP_4XX


def _told(error: Exception) -> str:
    """Name the library's error by its kind alone: its text may hold the URL with its secrets."""
    cause = error.args[0] if error.args else error
    reason = getattr(cause, "reason", cause)
    if isinstance(reason, ssl.SSLError):
        return f"TLS failed: {reason.reason or type(reason).__name__}."
    return f"The exchange failed: {type(reason).__name__}."
