"""Measures the CPU time of a poll without network and tables, and prints one JSON object.

The kinds of polls are compared as ratios within one run, because absolute times vary between machines.
"""

import json
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from wellspring import memory
from wellspring.fetch import fetch_source
from wellspring.http import Reply, Request
from wellspring.message import FetchMessage
from wellspring.model import Config, Source
from wellspring.settings import Settings

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
ENTRIES = 30
POLLS = 40
SENTENCE = "<p>A paragraph of an entry with <a href='/x'>a link</a> and some words around it.</p>"


def feed(first: int, build: int) -> bytes:
    items = "".join(
        f"<item><guid>{n}</guid><title>Title {n}</title><link>https://example.org/{n}</link>"
        "<pubDate>Wed, 18 Nov 2026 11:00:00 GMT</pubDate>"
        f"<description><![CDATA[{n} {SENTENCE * 12}]]></description></item>"
        for n in range(first, first + ENTRIES)
    )
    return f'<rss version="2.0"><channel><title>A feed {build}</title>{items}</channel></rss>'.encode()


class Answers:
    """A publisher in memory."""

    def __init__(self, answer: Callable[[int], Reply]) -> None:
        self.answer = answer
        self.turn = 0

    def get(self, request: Request) -> Reply:
        self.turn += 1
        return self.answer(self.turn)


def ok(body: bytes) -> Reply:
    return Reply(url="https://example.org/feed", status=200, headers={"etag": "x"}, body=body)


KINDS: dict[str, Callable[[int], Reply]] = {
    "not_modified": lambda turn: Reply(url="", status=304, headers={}) if turn > 1 else ok(feed(0, 0)),
    "same_body": lambda turn: ok(feed(0, 0)),
    "no_entry_changed": lambda turn: ok(feed(0, turn)),
    "one_new": lambda turn: ok(feed(turn, 0)),
    "all_new": lambda turn: ok(feed(turn * ENTRIES, 0)),
}


def cpu_ms(answer: Callable[[int], Reply]) -> float:
    """Return the median CPU time of a poll; the first one, which finds everything new, is not counted."""
    now = NOON
    world = memory.world(Answers(answer), lambda: now)
    source = Source(source_id="a", url="https://example.org/feed", config=Config(backfill=True))
    world.sources.add(source)
    spent = []
    for _ in range(POLLS + 1):
        now += timedelta(minutes=1)
        begin = time.process_time()
        fetch_source(FetchMessage(source_id="a", manual=True), world, Settings(), message_id="m")
        spent.append((time.process_time() - begin) * 1000)
    return statistics.median(spent[1:])


def main() -> None:
    cpu_ms(KINDS["all_new"])
    measured = {kind: cpu_ms(answer) for kind, answer in KINDS.items()}
    base = measured["all_new"]
    print(
        json.dumps(
            {
                "benchmark": "cpu",
                "entries": ENTRIES,
                "cpu_ms_per_poll": {kind: round(spent, 3) for kind, spent in measured.items()},
                "share_of_all_new": {kind: round(spent / base, 4) for kind, spent in measured.items()},
            }
        )
    )


if __name__ == "__main__":
    main()
