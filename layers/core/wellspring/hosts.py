"""Owns what concerns all sources of a host: spacing, brakes, and who is to blame for a failure. Pure."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from wellspring.cadences import MAX_EXPONENT
from wellspring.errors import ErrorClass
from wellspring.retries import retry

SLACK = timedelta(milliseconds=100)
MANY_TENANTS = (
    "blogspot.com",
    "feedburner.com",
    "feeds.feedburner.com",
    "ghost.io",
    "github.io",
    "medium.com",
    "reddit.com",
    "substack.com",
    "tumblr.com",
    "twitter.com",
    "wordpress.com",
    "x.com",
    "youtube.com",
)
"""Hosts that serve many publishers: one that is limited there says nothing about the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """What is known of a host."""

    next_slot: datetime | None = None
    """No request before this."""
    brake_until: datetime | None = None
    brakes: int = 0
    """How often in a row it was braked."""
    failing: str | None = None
    """The first source that failed since the last success."""
    others: bool = False
    """Whether another one failed since, too."""
    failed_window: datetime | None = None
    """The last planner window in which it was found down."""


@dataclass(slots=True)
class Spacing:
    """Gives the sources of a host their places within one run of the planner."""

    span: timedelta
    _taken: dict[str, timedelta] = field(default_factory=dict)

    def free(self, host: str) -> timedelta:
        """Return how far into the run the host's next place is."""
        return self._taken.get(host, timedelta(0))

    def take(self, host: str, at: timedelta, delay: timedelta) -> None:
        """Take a place. One that waits for reasons of its own leaves the places before it to others."""
        free = self.free(host)
        self._taken[host] = free if at > free else at + spaced(delay)

    @property
    def hosts(self) -> int:
        return len(self._taken)


def spaced(delay: timedelta) -> timedelta:
    """Return how long a place is kept: longer than the delay, since a request leaves a little later."""
    return delay + SLACK if delay else delay


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who is to blame for a failure, and for how long the host is left alone."""

    source_is_charged: bool
    brake_until: datetime | None


def serves_many(host: str) -> bool:
    name = host.partition(":")[0]
    return any(name == shared or name.endswith("." + shared) for shared in MANY_TENANTS)


def judge(
    before: HostState,
    source_id: str,
    error_class: ErrorClass,
    *,
    host: str,
    now: datetime,
    retry_at: datetime | None,
    longest: timedelta,
) -> Verdict:
    """Judge a failure that a whole host may share; `before` is the host as this failure found it.

    The first source to fail may be at fault itself, so it is charged. When another one of the
    same host fails too and none succeeded in between, it is the host, which is braked for longer
    each time; its sources are not charged any more.
    """
    others = before.others or before.failing not in (None, source_id)
    limited = error_class is ErrorClass.RATE_LIMITED
    if limited and serves_many(host):
        return Verdict(True, None)
    if not (limited or others):
        return Verdict(True, None)
    wait = min(retry(error_class).wait * 2 ** min(before.brakes, MAX_EXPONENT), longest)
    return Verdict(not others, retry_at if limited and retry_at else now + wait)
