"""Owns what concerns all sources of a host: spacing, brakes, and who is to blame for a failure. Pure."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from wellspring.cadences import MAX_EXPONENT
from wellspring.errors import ErrorClass
from wellspring.retries import HOST_WIDE, retry

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
    "wordpress.com",
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
        self._taken[host] = at + delay

    @property
    def hosts(self) -> int:
        return len(self._taken)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who is to blame for a failure, and what is written down about the host."""

    state: HostState
    source_is_charged: bool
    reports_outage: bool
    """The first failure of this host in this window."""


def serves_many(host: str) -> bool:
    return any(host == name or host.endswith("." + name) for name in MANY_TENANTS)


def judge(
    state: HostState,
    source_id: str,
    error_class: ErrorClass,
    *,
    host: str,
    now: datetime,
    window: datetime | None,
    retry_at: datetime | None,
    longest: timedelta,
) -> Verdict | None:
    """Judge a failure; None when it concerns the source alone.

    The first source to fail may be at fault itself, so it is charged. When another one of the
    same host fails too and none succeeded in between, it is the host, which is braked for longer
    each time; its sources are not charged any more.
    """
    if error_class not in HOST_WIDE or serves_many(host):
        return None
    others = state.others or state.failing not in (None, source_id)
    limited = error_class is ErrorClass.RATE_LIMITED
    brake = state.brake_until
    if limited and retry_at:
        brake = retry_at
    elif limited or others:
        wait = retry(error_class).wait * 2 ** min(state.brakes, MAX_EXPONENT)
        brake = now + min(wait, longest)
    return Verdict(
        HostState(
            brake_until=brake,
            brakes=state.brakes + (limited or others),
            failing=state.failing or source_id,
            others=others,
            failed_window=window or state.failed_window,
        ),
        source_is_charged=not others,
        reports_outage=window is not None and state.failed_window != window,
    )
