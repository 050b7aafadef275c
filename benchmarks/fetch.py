"""Measures polls through the real client and parser against feeds on loopback; prints one JSON object.

Ten threads, a new connection for each poll, tables in memory. The kinds of polls are compared as
ratios within one run, because absolute times vary between machines.
"""

import json
import resource
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wellspring import memory, settings, timestamps
from wellspring.fetch import fetch_source
from wellspring.http import HttpClient
from wellspring.message import FetchMessage
from wellspring.model import Config, Source
from wellspring.sandbox import Sandbox
from wellspring.settings import Defaults, Settings

POLLS = 500
THREADS = 10
ENTRIES = 30
BODY = "<p>A paragraph of an entry with <a href='/x'>a link</a> and some words around it.</p>" * 8
SETTINGS = replace(
    Settings(),
    allow_addresses=settings.networks("127.0.0.0/8"),
    defaults=Defaults(min_interval=timedelta(0), host_delay=timedelta(0)),
)


def feed(turn: int) -> bytes:
    items = "".join(
        f"<item><guid>{n}</guid><title>Title {n}</title>"
        f"<description><![CDATA[{n} {BODY}]]></description></item>"
        for n in range(turn, turn + ENTRIES)
    )
    return f'<rss version="2.0"><channel><title>A feed</title>{items}</channel></rss>'.encode()


class Feeds(BaseHTTPRequestHandler):
    """/same answers 304 to its tag, /unchanged ignores it, /changed has a new entry each time."""

    turn = 0
    documents: tuple[bytes, ...] = ()

    def do_GET(self) -> None:
        known = self.path.startswith("/same") and self.headers.get("If-None-Match")
        Feeds.turn += self.path.startswith("/changed")
        body = b"" if known else self.documents[Feeds.turn % len(self.documents)]
        self.send_response(304 if known else 200)
        self.send_header("ETag", '"x"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def children_cpu(sandbox: Sandbox) -> float:
    """Return the CPU seconds of the parsing process, where the system tells."""
    try:
        with open(f"/proc/{sandbox._process.pid}/stat") as file:  # type: ignore[union-attr]  # noqa: PTH123
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100
    except (OSError, AttributeError):
        return 0.0


def measure(home: str, path: str, server_cpu: Callable[[], float]) -> dict[str, float]:
    sandbox = Sandbox(SETTINGS.parse_timeout)
    world = replace(memory.world(HttpClient(SETTINGS), timestamps.now), parse=sandbox.parse)
    names = [f"{path}-{number}" for number in range(THREADS)]
    for name in names:
        source = Source(source_id=name, url=f"{home}{path}?{name}", config=Config(backfill=True))
        world.sources.add(source)
    work = [FetchMessage(source_id=names[turn % THREADS], manual=True) for turn in range(POLLS)]

    def poll(message: FetchMessage) -> str:
        return fetch_source(message, world, SETTINGS, message_id="m").status

    list(map(poll, work[:THREADS]))
    cpu, parser, served, begin = time.process_time(), children_cpu(sandbox), server_cpu(), time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        # One source is never fetched twice at once, so each thread has its own.
        statuses = list(
            pool.map(
                lambda mine: [poll(message) for message in mine], (work[n::THREADS] for n in range(THREADS))
            )
        )
    spent = time.monotonic() - begin
    used = time.process_time() - cpu - (server_cpu() - served) + children_cpu(sandbox) - parser
    sandbox.close()
    flat = [status for part in statuses for status in part]
    return {
        "polls_per_second": round(len(flat) / spent, 1),
        "cpu_ms_per_poll": round(used / len(flat) * 1000, 3),
        "succeeded": sum(status in ("ok", "not_modified") for status in flat) / len(flat),
    }


def main() -> None:
    Feeds.documents = tuple(feed(turn) for turn in range(POLLS))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Feeds)
    served = [0.0]
    lock = threading.Lock()
    process = server.process_request_thread

    def counted(request: object, address: object) -> None:
        process(request, address)  # type: ignore[arg-type]
        with lock:
            served[0] += time.thread_time()

    server.process_request_thread = counted  # type: ignore[method-assign,assignment]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_address[1]}"
    kinds = {"not_modified": "/same", "same_body": "/unchanged", "one_new_of_30": "/changed"}
    rows = {kind: measure(home, path, lambda: served[0]) for kind, path in kinds.items()}
    server.shutdown()
    server.server_close()
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    base = rows["one_new_of_30"]["cpu_ms_per_poll"]
    shares = {kind: round(row["cpu_ms_per_poll"] / base, 4) for kind, row in rows.items()}
    print(
        json.dumps(
            {
                "benchmark": "fetch",
                "polls": POLLS,
                "threads": THREADS,
                "kinds": rows,
                "share_of_one_new": shares,
                "peak_memory_mb": round(peak / 1024, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
