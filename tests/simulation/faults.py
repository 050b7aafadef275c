"""Owns what can go wrong at a call of a port, and where in a run it does."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Kind(StrEnum):
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    THROTTLED = "throttled"
    LOST = "answer lost, called again"
    PAUSED = "paused past the lease"
    FROZEN = "paused past the visibility timeout"


SPANS = {Kind.PAUSED: timedelta(seconds=170), Kind.FROZEN: timedelta(seconds=765)}
"""Longer than a fetch's lease and the planner's; longer than all that, and the queue's patience too."""

READS = frozenset(
    {
        *("sources.due", "sources.read", "sources.scan", "gates.checkpoint", "gates.host"),
        *("posts.window", "posts.hash_like", "posts.read", "posts.pending", "posts.backlog"),
        *("robots.knows", "robots.check", "robots.delay"),
    }
)
"""What changes nothing: to crash before and after it is the same, and so is to ask twice."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """What goes wrong at the call with this number, counted over the whole run."""

    call: int
    kind: Kind

    def __str__(self):
        return f"call {self.call}: {self.kind}"


class Crash(BaseException):
    """The function's process died. No handler of the product may see to that."""


def kinds(call):
    """Return the faults that differ from each other at a call."""
    return [kind for kind in Kind if call not in READS or kind not in (Kind.CRASH_AFTER, Kind.LOST)]
