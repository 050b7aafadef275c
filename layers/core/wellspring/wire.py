"""Owns one HTTP exchange on a socket: a checked address, one wall-clock deadline, a bounded head and body.

The standard library's parser is used below its own connection handling. Only so is the address that
was checked the one that is dialled, every single read bounded by one deadline, a head that was cut told
from an empty answer, and the path sent as it stands.
"""

import email.errors
import http.client
import io
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wellspring import addresses
from wellspring.addresses import Address, Network
from wellspring.errors import ErrorClass, FetchError
from wellspring.resolver import Resolver
from wellspring.urls import Target

CHUNK = 65_536
MOST_HEAD_BYTES = 65_536
HIDING = (email.errors.MissingHeaderBodySeparatorDefect, email.errors.FirstHeaderLineIsContinuationDefect)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock by which everything must be over."""

    at: float

    def left(self) -> float:
        left = self.at - time.monotonic()
        if left <= 0:
            raise FetchError(ErrorClass.TIMEOUT, "The fetch took too long.")
        return left

    def sooner(self, seconds: float) -> "Deadline":
        return Deadline(min(self.at, time.monotonic() + seconds))


@dataclass(frozen=True, slots=True)
class Dialler:
    """Opens connections to public addresses alone."""

    resolver: Resolver
    tls: ssl.SSLContext
    allowed: tuple[Network, ...]
    connect_seconds: float

    def dial(self, target: Target, deadline: Deadline) -> socket.socket:
        """Resolve once, check every address, connect to a checked one."""
        soon = deadline.sooner(self.connect_seconds)
        found = self.resolver.addresses(target.host, target.port, timeout=soon.left())
        for address in found:
            if not addresses.is_open(address, self.allowed):
                raise FetchError(
                    ErrorClass.BLOCKED_ADDRESS, f"The host {target.host} has an address that is not public."
                )
        sock = _connect(found, target.port, soon)
        try:
            peer = addresses.read(sock.getpeername()[0])
            if peer is None or not addresses.is_open(peer, self.allowed):
                raise FetchError(ErrorClass.BLOCKED_ADDRESS, f"The host {target.host} is not public.")
            return self._secured(sock, target, soon) if target.scheme == "https" else sock
        except OSError:
            sock.close()
            raise FetchError(ErrorClass.CONNECT, "The server broke off at once.") from None
        except BaseException:
            sock.close()
            raise

    def _secured(self, sock: socket.socket, target: Target, deadline: Deadline) -> socket.socket:
        sock.settimeout(deadline.left())
        try:
            return self.tls.wrap_socket(sock, server_hostname=target.host)
        except ssl.SSLCertVerificationError as error:
            raise FetchError(
                ErrorClass.TLS, f"The certificate is not valid: {error.verify_message}."
            ) from None
        except ssl.SSLError as error:
            raise FetchError(ErrorClass.TLS, f"TLS failed: {error.reason or 'no reason given'}.") from None
        except TimeoutError:
            raise FetchError(ErrorClass.TIMEOUT, "TLS was not agreed on in time.") from None
        except (OSError, ValueError):
            raise FetchError(ErrorClass.TLS, "The server broke off while TLS was agreed on.") from None


def _connect(found: list[Address], port: int, deadline: Deadline) -> socket.socket:
    refused: OSError | None = None
    for tried, address in enumerate(found):
        # A dead address must leave time for the others.
        share = deadline.left() / (len(found) - tried)
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(share)
            sock.connect((str(address), port))
            return sock
        except OSError as error:
            sock.close()
            refused = error
    if isinstance(refused, TimeoutError):
        raise FetchError(ErrorClass.TIMEOUT, "The server could not be reached in time.")
    raise FetchError(ErrorClass.CONNECT, "The server could not be reached.")


class Exchange:
    """One request and its response; use it as a context manager."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self._reader = _Reader(sock, deadline)
        self._response = http.client.HTTPResponse(_Made(self._reader), method="GET")  # type: ignore[arg-type]

    def __enter__(self) -> "Exchange":
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()
        self._sock.close()

    def send(self, target: Target, headers: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        """Send the request; return the response's status and headers, names in lower case."""
        lines = [f"GET {target.path} HTTP/1.1", f"Host: {target.host_header}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        with _told():
            self._sock.settimeout(self._deadline.left())
            self._sock.sendall(("\r\n".join(lines) + "\r\nConnection: close\r\n\r\n").encode("latin-1"))
            self._response.begin()
            while 100 <= self._response.status < 200 and self._response.status != 101:
                self._response.headers = self._response.msg = None  # type: ignore[assignment]
                self._response.begin()
            _check_framing(self._response.headers)
        self._reader.head_is_read()
        return self._response.status, _joined(self._response.getheaders())

    def body(self) -> Iterator[bytes]:
        """Yield the body as it comes. A body that ends too early is told."""
        with _told():
            while chunk := self._response.read1(CHUNK):
                yield chunk
            if self._response.length:
                raise http.client.IncompleteRead(b"", self._response.length)


class _told:
    """Turns what the socket and the parser raise into errors of ours; their texts are not ours to show."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        match error:
            case None | FetchError():
                return
            case TimeoutError():
                raise FetchError(ErrorClass.TIMEOUT, "The server did not answer in time.") from None
            case http.client.IncompleteRead():
                raise FetchError(ErrorClass.TRUNCATED, "The body was cut off.") from None
            case http.client.RemoteDisconnected() | ConnectionError() | ssl.SSLError():
                raise FetchError(ErrorClass.BAD_HTTP, "The server broke off.") from None
            case http.client.HTTPException() | ValueError() | OSError():
                raise FetchError(ErrorClass.BAD_HTTP, f"This is not HTTP: {type(error).__name__}.") from None


def _check_framing(headers: http.client.HTTPMessage) -> None:
    """Refuse a head that does not say for certain where the body ends."""
    if any(isinstance(defect, HIDING) for defect in headers.defects):
        raise http.client.HTTPException("a line of the head is no header")
    codings = [value.strip().lower() for value in headers.get_all("transfer-encoding", [])]
    if codings not in ([], ["chunked"], ["identity"]):
        raise http.client.HTTPException("an unknown transfer coding")
    lengths = {part.strip() for value in headers.get_all("content-length", []) for part in value.split(",")}
    if len(lengths) > 1 or not all(re.fullmatch(r"[0-9]+", length) for length in lengths):
        raise http.client.HTTPException("an unusable length")


def _joined(pairs: list[tuple[str, str]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in pairs:
        key, value = name.lower(), re.sub(r"[\r\n]+[ \t]*", " ", value)
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


class _Made:
    """Lets the standard library's response read from our reader."""

    def __init__(self, reader: "_Reader") -> None:
        self._reader = reader

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self._reader, CHUNK)


class _Reader(io.RawIOBase):
    """Reads from a socket, each time with what is left of the deadline, and watches over the head."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self._head_bytes: int | None = 0

    def readable(self) -> bool:
        return True

    def head_is_read(self) -> None:
        self._head_bytes = None

    def readinto(self, buffer: object) -> int:
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)  # type: ignore[arg-type]
        if self._head_bytes is not None:
            self._head_bytes += count
            if not count:
                raise http.client.RemoteDisconnected("the head was cut")
            if self._head_bytes > MOST_HEAD_BYTES + CHUNK:
                raise http.client.HTTPException("the head is too long")
        return count
