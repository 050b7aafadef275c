"""Owns what a URL must look like before anything is done with it, and how it is shown. Pure."""

import re
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from wellspring.errors import ErrorClass, FetchError

PORTS = {"http": 80, "https": 443}
LONGEST = 8_192
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?", re.ASCII)
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: `path` is sent exactly as the URL has it."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def target_of(url: str) -> Target:
    """Take a URL apart. Raises FetchError for what is no plain http(s) URL."""
    if len(url) > LONGEST:
        raise _refused(f"The URL is longer than {LONGEST} characters.")
    if _FORBIDDEN.search(url):
        raise _refused("The URL has a space, a backslash or a control character in it.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _refused("The URL cannot be read.") from None
    if parts.scheme not in PORTS or not host:
        raise _refused("The URL must begin with http:// or https:// and name a host.")
    if "@" in parts.netloc:
        raise _refused("The URL has a user name or a password in it; send them as a header instead.")
    if port == 0:
        raise _refused("The URL names port 0.")
    path = parts.path or "/"
    if parts.query or url.partition("#")[0].endswith("?"):
        path += "?" + parts.query
    return Target(parts.scheme, _ascii(host), port or PORTS[parts.scheme], _sendable(path))


def join(base: str, location: str) -> str:
    """Return where a redirect leads."""
    try:
        return urljoin(base, _as_meant(location.strip()))
    except ValueError:
        raise _refused("The redirect's URL cannot be read.") from None


def _as_meant(location: str) -> str:
    """Headers are read as Latin-1, but servers write UTF-8."""
    try:
        return location.encode("latin-1").decode()
    except UnicodeError:
        return "".join(c if c.isascii() else f"%{ord(c):02X}" for c in location if ord(c) < 256)


def shown(url: str) -> str:
    """Return the URL as log lines may show it: without user, password and query values."""
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        _ = parts.port  # A password with a slash in it looks like a port that is none.
    except ValueError:
        return "(unreadable url)"
    if parts.scheme not in PORTS:
        return "(unreadable url)"
    return f"{parts.scheme}://{host}{parts.path}" + ("?..." if parts.query else "")


def host_of(url: str) -> str:
    """Return the server of a URL: its name, and its port if that is an unusual one; empty if it has none."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return name if port in (None, *PORTS.values()) else f"{name}:{port}"


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Return where a URL leads, None if it is none that could be fetched."""
    try:
        return target_of(url).origin
    except FetchError:
        return None


def _ascii(host: str) -> str:
    if ":" in host:
        if "%" in host:
            raise _refused("The URL's address has a zone.")
        return host
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        raise _refused("The URL's host name cannot be read.") from None
    if not _HOST.fullmatch(name) or len(name) > 253:
        raise _refused("The URL's host name cannot be read.")
    return name


def _sendable(path: str) -> str:
    """Percent-encode what is not ASCII; everything else is sent as it stands."""
    return "".join(c if c.isascii() else "".join(f"%{byte:02X}" for byte in c.encode()) for c in path)


def _refused(message: str) -> FetchError:
    return FetchError(ErrorClass.BLOCKED_URL, message)
