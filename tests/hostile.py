"""A server on loopback that says exactly the bytes a test wants, as slowly or as brokenly as it wants."""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from select import select

LOOPBACK = "127.0.0.1"
RESET = object()
"""Yielded by a script: break the connection off with a reset, losing what was not yet read."""
FOR_EVER = 3_600.0
PATIENCE = 10.0


@dataclass(frozen=True)
class Asked:
    """One request as it arrived: every byte up to the end of its head."""

    raw: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> str:
        words = self.raw.split(b"\r\n", 1)[0].split(b" ")
        return words[1].decode("latin-1") if len(words) == 3 else ""

    @property
    def headers(self) -> dict[str, str]:
        lines = self.raw.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines) if name}


Script = Callable[[Asked], Iterable[object]]
"""Yields bytes to send, seconds to wait, or RESET; when it ends, the connection is closed."""


class Hostile:
    """Plays `scripts` by path (`*`: any other) and remembers what was `asked`; use it as a context manager.

    A script ends when it is over, when the client closes, and when the server stops, whichever is first.
    With `at_once`, that script is played without waiting for a request. With `everywhere`, the server
    listens on every address of this machine.
    """

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, at_once: Script | None = None, everywhere: bool = False
    ) -> None:
        self.scripts: dict[str, Script] = {}
        self.asked: list[Asked] = []
        self.reached: list[str] = []
        """The address of ours that each accepted connection came in by."""
        self._tls = tls
        self._at_once = at_once
        if everywhere and socket.has_dualstack_ipv6():
            self._listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        else:
            self._listener = socket.create_server(("0.0.0.0" if everywhere else LOOPBACK, 0))
        self._lock = threading.Lock()
        self._stopped = False
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, name="hostile", daemon=True)]

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def url(self, path: str, scheme: str = "http") -> str:
        return f"{scheme}://{LOOPBACK}:{self.port}{path}"

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def __enter__(self) -> "Hostile":
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._stopped = True
            for sock in self._open:
                _shut(sock)
        _shut(self._listener)
        for thread in self._threads:
            thread.join(PATIENCE)
        self._listener.close()
        left = [thread.name for thread in self._threads if thread.is_alive()]
        assert not left, f"threads left behind: {left}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(sock,), name="hostile", daemon=True)
                with self._lock:
                    if self._stopped:
                        sock.close()
                        return
                    self.reached.append(sock.getsockname()[0].removeprefix("::ffff:"))
                    self._open.add(sock)
                    self._threads.append(thread)
                thread.start()

    def _serve(self, raw: socket.socket) -> None:
        sock = raw
        try:
            with suppress(OSError, ValueError):
                if self._tls:
                    # A wrapped socket takes the place of the raw one, so that stopping reaches it.
                    sock = self._tls.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
                    with self._lock:
                        self._open.add(sock)
                        if self._stopped:
                            return
                    sock.do_handshake()
                self._converse(sock)
        finally:
            with self._lock:
                self._open -= {raw, sock}
            sock.close()
            raw.close()

    def _converse(self, sock: socket.socket) -> None:
        if self._at_once:
            _play(sock, self._at_once(Asked(b"")))
            return
        raw = b""
        while b"\r\n\r\n" not in raw:
            more = sock.recv(65_536)
            if not more:
                return
            raw += more
        asked = Asked(raw)
        self.asked.append(asked)
        script = self.scripts.get(asked.path, self.scripts.get("*"))
        if script:
            _play(sock, script(asked))


def _play(sock: socket.socket, script: Iterable[object]) -> None:
    for step in script:
        if step is RESET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        if isinstance(step, bytes):
            sock.sendall(step)
        if _hung_up(sock, step if isinstance(step, float) else 0.0):
            return


def _hung_up(sock: socket.socket, seconds: float) -> bool:
    """Wait; say whether the client closed or the server stops meanwhile. What the client says is ignored."""
    until = time.monotonic() + seconds
    while True:
        readable, _, _ = select([sock], [], [], max(0.0, until - time.monotonic()))
        if not readable:
            return False
        if not sock.recv(65_536):
            return True


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def says(*steps: object) -> Script:
    """Return a script that says the same to everyone."""
    return lambda asked: steps


def drips(data: bytes, *, pause: float = 0.05, first: bytes = b"", for_ever: bytes = b"") -> Script:
    """Return a script that sends one byte at a time, and then one piece at a time until nobody listens."""

    def script(asked: Asked) -> Iterable[object]:
        yield first
        for byte in data:
            yield bytes([byte])
            yield pause
        while for_ever:
            yield for_ever
            yield pause

    return script


def endless(piece: bytes, *, first: bytes = b"") -> Script:
    """Return a script that sends a piece again and again, as fast as it is taken."""

    def script(asked: Asked) -> Iterable[object]:
        yield first
        while True:
            yield piece

    return script
