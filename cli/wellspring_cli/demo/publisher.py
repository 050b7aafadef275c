"""Serves the demo's feeds over HTTP on loopback, good ones and bad ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from wellspring_cli.demo import feeds
from wellspring_cli.errors import CliError
from wellspring_cli.local.project import LOOPBACK

RSS = "application/rss+xml; charset=utf-8"
ATOM = "application/atom+xml; charset=utf-8"
HTML = "text/html; charset=utf-8"
MOVED = {"/moved.rss": "/new-home.rss"}
# Below the ports that systems lend to outgoing connections: a lent one may be taken at the next run.
PORTS = range(8420, 8440)


@dataclass(frozen=True)
class Answer:
    """What a request gets."""

    status: HTTPStatus
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def respond(path: str, if_none_match: str | None, now: datetime, home: str) -> Answer:
    """Return the answer to a request at this time."""
    if path in MOVED:
        return Answer(HTTPStatus.MOVED_PERMANENTLY, headers={"Location": home + MOVED[path]})
    if path == "/broken.rss":
        body = b"The demo's broken feed is always broken.\n"
        return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, body, {"Content-Type": "text/plain"})
    document = _document(path, now, home)
    if document is None:
        return Answer(HTTPStatus.NOT_FOUND, b"There is no such feed.\n", {"Content-Type": "text/plain"})
    body, content_type = document
    tag = feeds.etag(body)
    if if_none_match and tag in (known.strip() for known in if_none_match.split(",")):
        return Answer(HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    return Answer(HTTPStatus.OK, body, {"Content-Type": content_type, "ETag": tag})


def _document(path: str, now: datetime, home: str) -> tuple[bytes, str] | None:
    match path:
        case "/news.rss":
            return feeds.rss(feeds.NEWS, now, home), RSS
        case "/blog.atom":
            return feeds.atom(feeds.BLOG, now, home), ATOM
        case "/podcast.rss":
            return feeds.rss(feeds.PODCAST, now, home), RSS
        case "/new-home.rss":
            return feeds.rss(feeds.NEW_HOME, now, home), RSS
        case "/not-a-feed.rss":
            return feeds.html_page(), HTML
        case _:
            return None


class _Server(ThreadingHTTPServer):
    # Some versions of Python share the port with another program by default.
    allow_reuse_port = False


class Publisher:
    """The running server; use it as a context manager."""

    def __init__(self, port: int = 0, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            server_version = "WellspringDemo"

            def do_GET(self) -> None:
                answer = respond(self.path, self.headers.get("If-None-Match"), clock(), publisher.home)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:
                """Stay quiet: the terminal belongs to what the stack does."""

        self._server = _Server((LOOPBACK, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def home(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def __enter__(self) -> Publisher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def open_publisher(state_dir: Path) -> Publisher:
    """Return the publisher on the port of the last run: the stored sources point at it."""
    memory = state_dir / "publisher-port"
    try:
        ports: Iterable[int] = [int(memory.read_text(encoding="utf-8"))]
    except (FileNotFoundError, ValueError):
        ports = PORTS
    publisher = _first_free(ports)
    state_dir.mkdir(parents=True, exist_ok=True)
    memory.write_text(str(publisher.port), encoding="utf-8")
    return publisher


def _first_free(ports: Iterable[int]) -> Publisher:
    for port in ports:
        with suppress(OSError):
            return Publisher(port)
    raise CliError(
        f"Port {port}, where the demo's feeds live, is used by another program, perhaps by another "
        "make run. Stop it, or forget the local state and begin anew: make clean && make run"
    )
