"""A real HTTP server on loopback whose answers a test chooses."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOOPBACK = "127.0.0.1"


@dataclass
class Page:
    """What a path answers. With an `etag`, a matching If-None-Match gets a 304."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    etag: str | None = None
    stream: Callable[[], Iterable[bytes]] | None = None
    """Raw chunks instead of a body; the connection is closed after them."""


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    at: float = field(default_factory=time.monotonic)


class Publisher:
    """Serves `pages` and remembers what was `asked`; use it as a context manager."""

    def __init__(self, address: str = LOOPBACK) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[Asked] = []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.asked.append(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}))
                page = publisher.pages.get(self.path, Page(status=404))
                if page.stream:
                    self._stream(page)
                    return
                known = page.etag is not None and self.headers.get("If-None-Match") == page.etag
                self.send_response(304 if known else page.status)
                headers = page.headers | ({"ETag": page.etag} if page.etag else {})
                for name, value in headers.items():
                    self.send_header(name, value)
                body = b"" if known else page.body
                if not known:
                    self.send_header("Content-Length", headers.get("Content-Length", str(len(body))))
                self.end_headers()
                self.wfile.write(body)

            def _stream(self, page: Page) -> None:
                self.close_connection = True
                try:
                    for chunk in page.stream():
                        self.wfile.write(chunk)
                        self.wfile.flush()
                except OSError:
                    pass

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer((address, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def url(self, path: str) -> str:
        return f"http://{self._server.server_address[0]}:{self._server.server_address[1]}{path}"

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def __enter__(self) -> "Publisher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
