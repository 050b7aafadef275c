"""Owns the ports in memory: for tests and trials, and as strict as the real ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from wellspring.asking import Http
from wellspring.errors import ErrorClass, FetchError
from wellspring.memory import sizes
from wellspring.memory.gates import MemoryGates
from wellspring.memory.posts import MemoryFetchLogs, MemoryPosts
from wellspring.memory.sources import MemorySources
from wellspring.ports import Outgoing, QueueDepth, World
from wellspring.sources import KINDS

__all__ = [
    "MemoryFetchLogs",
    "MemoryGates",
    "MemoryPosts",
    "MemoryQueue",
    "MemoryRobots",
    "MemorySecrets",
    "MemorySources",
    "world",
]

BATCH_LIMIT = 10
LONGEST_DELAY = 900


@dataclass
class MemoryQueue:
    sent: list[Outgoing] = field(default_factory=list)
    buried: list[tuple[str, str]] = field(default_factory=list)

    def send(self, batch: Sequence[Outgoing]) -> list[bool]:
        if not 1 <= len(batch) <= BATCH_LIMIT:
            raise ValueError(f"1 to {BATCH_LIMIT} messages are sent at once")
        if any(not 0 <= outgoing.delay_seconds <= LONGEST_DELAY for outgoing in batch):
            raise ValueError(f"a delay is 0 to {LONGEST_DELAY} seconds")
        if sum(sizes.size_of(outgoing.message.to_text()) for outgoing in batch) > sizes.LARGEST_BATCH:
            raise ValueError(f"at most {sizes.LARGEST_BATCH} bytes are sent at once")
        self.sent += batch
        return [True] * len(batch)

    def bury(self, body: str, reason: str) -> None:
        self.buried.append((body, reason))

    def depth(self) -> QueueDepth:
        delayed = sum(outgoing.delay_seconds > 0 for outgoing in self.sent)
        return QueueDepth(waiting=len(self.sent) - delayed, delayed=delayed, in_flight=0)


@dataclass
class MemoryRobots:
    """Sites that welcome robots, but for the URLs that are named."""

    closed: set[str] = field(default_factory=set)

    def knows(self, url: str) -> bool:
        return True

    def check(self, url: str) -> None:
        if url in self.closed:
            raise FetchError(ErrorClass.ROBOTS, "The site's robots.txt does not allow this page.")

    def delay(self, url: str) -> timedelta | None:
        return None


@dataclass
class MemorySecrets:
    """Keys by owner."""

    keys: dict[str, str] = field(default_factory=dict)

    def x_api_key(self, owner_id: str) -> str | None:
        return self.keys.get(owner_id)


def world(
    http: Http, clock: Callable[[], datetime], pause: Callable[[timedelta], None] = lambda span: None
) -> World:
    """Return a world in memory; ids count up."""
    numbers = count(1)
    return World(
        sources=MemorySources(),
        posts=MemoryPosts(),
        logs=MemoryFetchLogs(),
        queue=MemoryQueue(),
        gates=MemoryGates(),
        http=http,
        robots=MemoryRobots(),
        secrets=MemorySecrets(),
        parse=lambda kind, reply: KINDS[kind].parse(reply),
        clock=clock,
        pause=pause,
        new_id=lambda: f"id-{next(numbers)}",
    )
