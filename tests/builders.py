"""Builders with defaults, so that a test names only what it is about."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from wellspring import config, memory
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply, Request
from wellspring.message import FetchMessage
from wellspring.model import Cursor, Entry, FetchLog, Health, Pace, Post, Source, Status
from wellspring.ports import DueRef, World
from wellspring.settings import Defaults, Settings
from wellspring.timestamps import to_text

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
DEFAULTS = Defaults()
SETTINGS = Settings()
URL = "https://example.org/feed.xml"


def at(minutes: float = 0, *, seconds: float = 0) -> datetime:
    """Return a time relative to noon."""
    return NOON + timedelta(minutes=minutes, seconds=seconds)


def a_source(source_id: str = "a", *, failures: int = 0, **fields: Any) -> Source:
    cadence = fields.pop("cadence", None)
    raw = fields.pop("config", {}) | ({"cadence": cadence} if cadence else {})
    health = {name: fields.pop(name) for name in Health.__dataclass_fields__ if name in fields}
    pace = {name: fields.pop(name) for name in Pace.__dataclass_fields__ if name in fields}
    cursor = {name: fields.pop(name) for name in Cursor.__dataclass_fields__ if name in fields}
    return Source(
        source_id=source_id,
        url=fields.pop("url", URL if source_id == "a" else f"https://{source_id}.example.org/feed.xml"),
        created_at=fields.pop("created_at", at(-60)),
        config=config.parse(raw),
        cursor=Cursor(**cursor),
        health=Health(
            failures=failures, **{"error_class": ErrorClass.TIMEOUT if failures else None} | health
        ),
        pace=Pace(**pace),
        **fields,
    )


def every(minutes: float) -> dict[str, Any]:
    return {"mode": "interval", "every_minutes": minutes}


def an_entry(number: int = 1, **fields: Any) -> Entry:
    return Entry(
        **{
            "entry_id": f"id-{number}",
            "title": f"Title {number}",
            "url": f"https://example.org/{number}",
            "body": f"Body {number}. " + "Long enough to tell one entry from another one. " * 2,
            "published_at": at(-10),
        }
        | fields
    )


def a_post(source_id: str = "a", content_hash: str = "ab" * 32, **fields: Any) -> Post:
    entry = fields.pop("entry", an_entry())
    return Post(source_id=source_id, content_hash=content_hash, entry=entry, fetched_at=NOON, **fields)


def a_log(minutes: float = 0, source_id: str = "a", *, seconds: float = 1, **fields: Any) -> FetchLog:
    return FetchLog(
        **{
            "source_id": source_id,
            "started_at": at(minutes),
            "finished_at": at(minutes, seconds=seconds),
            "status": Status.OK,
            "url": URL,
            "attempt_id": "t",
            "message_id": "m",
            "manual": False,
            "expires_at": NOON + timedelta(days=90),
        }
        | fields
    )


def a_ref(source_id: str = "a", due_at: datetime = NOON) -> DueRef:
    return DueRef(source_id, due_at, to_text(due_at))


def a_message(source_id: str = "a", due_at: datetime = NOON) -> FetchMessage:
    return FetchMessage(source_id=source_id, due_at=due_at, window_end=NOON)


def by_hand(source_id: str = "a") -> FetchMessage:
    return FetchMessage(source_id=source_id, manual=True)


def rss(*numbers: int, build: str = "", **changes: str) -> bytes:
    """Return a feed with these entries; `changes` maps e.g. body_2 to another text of entry 2."""
    items = "".join(
        f'<item><guid isPermaLink="false">id-{n}</guid><title>Title {n}</title><link>https://example.org/{n}</link>'
        f"<pubDate>Wed, 18 Nov 2026 11:{n % 60:02d}:00 GMT</pubDate>"
        f"<description>{changes.get(f'body_{n}', f'Body of entry number {n}, with words of its own. ' * 3)}"
        "</description></item>"
        for n in numbers
    )
    head = f"<title>A feed</title><lastBuildDate>{build}</lastBuildDate>"
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def wait(self, span: timedelta) -> None:
        self.now += span


@dataclass
class ScriptedHttp:
    """Answers requests in order; the last answer is repeated."""

    answers: Sequence[bytes | int | FetchError | Reply | Exception]
    asked: list[Request] = field(default_factory=list)

    def get(self, request: Request) -> Reply:
        self.asked.append(request)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        match answer:
            case Exception():
                raise answer
            case Reply():
                return answer
            case int():
                return Reply(url=request.url, status=answer, headers={})
            case _:
                headers = {"etag": f'"{len(self.asked)}"', "content-type": "application/rss+xml"}
                return Reply(url=request.url, status=200, headers=headers, body=answer)


def a_world(
    *answers: bytes | int | FetchError | Reply | Exception, clock: Callable[[], datetime] | None = None
) -> World:
    """Return a world in memory in which publishers answer like this."""
    clock = clock or Clock()
    pause = clock.wait if isinstance(clock, Clock) else lambda span: None
    return memory.world(ScriptedHttp(answers or (rss(1),)), clock, pause)
