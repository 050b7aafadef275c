"""Owns name resolution, in bounded time: the system's own resolver knows no deadline."""

import socket
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong

from wellspring import addresses
from wellspring.addresses import Address
from wellspring.errors import ErrorClass, FetchError

AT_ONCE = 16


class Resolver:
    """Resolves names in threads of its own, which a slow server can hold up but not the fetch."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, "resolver")

    def addresses(self, host: str, port: int, *, timeout: float) -> list[Address]:
        """Return all addresses of a host. Raises FetchError."""
        literal = addresses.read(host)
        if literal is not None:
            return [literal]
        asked: Future[list[str]] = self._threads.submit(_ask, host, port)
        try:
            found = [addresses.read(text) for text in asked.result(timeout)]
        except TookTooLong:
            asked.cancel()
            raise FetchError(ErrorClass.TIMEOUT, f"The name {host} could not be resolved in time.") from None
        except (OSError, UnicodeError):
            raise FetchError(ErrorClass.DNS, f"The name {host} could not be resolved.") from None
        readable = [address for address in found if address is not None]
        if not readable or len(readable) != len(found):
            raise FetchError(ErrorClass.DNS, f"The name {host} has no address that can be used.")
        return list(dict.fromkeys(readable))


def _ask(host: str, port: int) -> list[str]:
    return [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
