"""Owns the numbers of a stack at one moment, gathered side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from wellspring import settings
from wellspring.aws import metrics
from wellspring.aws.dead_letters import Depth
from wellspring.aws.faults import told_as_unavailable
from wellspring.aws.metrics import Recent
from wellspring.catalog import PAGE
from wellspring.errors import ErrorClass, Unavailable
from wellspring.ports import Gates, QueueDepth, Sources
from wellspring.settings import Defaults
from wellspring.standing import State, state_of
from wellspring_cli.stack import Stack

MOST_SOURCES = 20_000
"""More than these are not looked at: the shares of so many are those of all."""
MOST_HOSTS = 5
SIDE_BY_SIDE = 10
PARTS = ("census", "due", "recent", "queue", "dead_letters", "is_frozen")
FAILING = {State.FAILING, State.QUARANTINED, State.GONE}
OLDER = "An older Wellspring deployed the stack, and does not say where its metrics are. Deploy it again."


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingHost:
    """A host of which sources fail."""

    host: str
    sources: int
    error_class: ErrorClass | None
    """The most frequent one."""
    braked_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """How the sources stand."""

    states: Mapping[State, int] = field(default_factory=dict)
    hosts: tuple[FailingHost, ...] = ()
    """Those with the most failing sources first."""
    total: int | None = None
    """About how many sources there are, when not all of them were looked at."""

    @property
    def seen(self) -> int:
        return sum(self.states.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What the schedule has not sent yet."""

    number: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A stack at one moment. A part is None when nobody asked for it, or when `unread` says why it is."""

    stack: str
    at: datetime
    period: timedelta | None
    """The time between two runs of the planner, if the schedule says it."""
    deployed_at: datetime | None
    census: Census | None
    due: Due | None
    recent: Recent | None
    queue: QueueDepth | None
    dead_letters: Depth | None
    is_frozen: bool | None
    """Whether failures are not counted, because most hosts were down at once."""
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def lag(self) -> timedelta | None:
        """How late the oldest due source is."""
        return self.at - self.due.oldest if self.due and self.due.oldest else None


def gather(stack: Stack, *, now: datetime, parts: Collection[str] = PARTS) -> Overview:
    """Ask for the parts that are wanted, side by side.

    On AWS all of them are so many calls: a Query for each shard (two where more than 100 sources are due),
    a Scan for each 1,000 sources or megabyte of them, GetMetricData, GetQueueAttributes twice,
    GetItem once and once for each failing host that is shown; DescribeTable if there are too many sources.
    """
    sources, gates, defaults = stack.sources, stack.gates, stack.settings.defaults
    # What is called has its client already: in threads, a session may not make two at once.
    questions: dict[str, Callable[[], Any]] = {
        "census": lambda: census(sources, gates, lambda: _about(stack), now=now, defaults=defaults),
        "due": lambda: due(sources, shards=stack.settings.shards, now=now),
        "recent": partial(_recent, stack.cloudwatch, stack.outputs, now=now),
        "queue": stack.queue.depth,
        "dead_letters": stack.dead_letters.depth,
        "is_frozen": gates.is_frozen,
    }
    found: dict[str, Any] = dict.fromkeys(PARTS)
    unread: dict[str, str] = {}
    pool = ThreadPoolExecutor(len(PARTS))
    try:
        asked = {name: pool.submit(questions[name]) for name in parts}
        for name, answer in asked.items():
            try:
                found[name] = answer.result()
            except Unavailable as error:
                unread[name] = str(error)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return Overview(
        stack=stack.name,
        at=now,
        period=settings.period(stack.found.schedule),
        deployed_at=stack.found.changed_at,
        unread=unread,
        **found,
    )


def census(
    sources: Sources,
    gates: Gates,
    about: Callable[[], int],
    *,
    now: datetime,
    defaults: Defaults,
    most: int = MOST_SOURCES,
) -> Census:
    """Count how the sources stand, and find the hosts that fail most; `about` counts those beyond `most`."""
    states: Counter[State] = Counter()
    failing: defaultdict[str, Counter[ErrorClass | None]] = defaultdict(Counter)
    seen, after = 0, None
    while seen < most:
        page = sources.scan(after=after, limit=min(PAGE, most - seen))
        for source in page.sources:
            state = state_of(source, now=now, defaults=defaults)
            states[state] += 1
            if state in FAILING:
                failing[source.host][source.health.error_class] += 1
        seen, after = seen + len(page.sources), page.after
        if after is None:
            break
    worst = sorted(failing, key=lambda host: (-failing[host].total(), host))[:MOST_HOSTS]
    return Census(
        states=states,
        hosts=tuple(
            FailingHost(
                host=host,
                sources=failing[host].total(),
                error_class=failing[host].most_common(1)[0][0],
                braked_until=gates.host(host).brake_until,
            )
            for host in worst
        ),
        total=about() if after else None,
    )


def due(sources: Sources, *, shards: int, now: datetime) -> Due:
    """Count what is due in the index, and find the oldest."""

    def in_shard(shard: int) -> Due:
        page = sources.due(shard, now)
        number = sources.count_due(shard, now) if page.after else len(page.refs)
        return Due(number=number, oldest=page.refs[0].due_at if page.refs else None)

    with ThreadPoolExecutor(min(SIDE_BY_SIDE, shards)) as pool:
        found = list(pool.map(in_shard, range(shards)))
    return Due(
        number=sum(one.number for one in found),
        oldest=min((one.oldest for one in found if one.oldest), default=None),
    )


def _recent(cloudwatch: Any, outputs: Mapping[str, str], *, now: datetime) -> Recent:
    """Ask CloudWatch what happened lately."""
    namespace = outputs.get("MetricsNamespace")
    if namespace is None:
        raise Unavailable(OLDER)
    return metrics.recent(cloudwatch, namespace=namespace, fetcher=outputs["FetcherFunction"], now=now)


def _about(stack: Stack) -> int:
    """Return how many sources there are, as AWS counted them within the last six hours."""
    with told_as_unavailable("Counting the sources"):
        table = stack.dynamodb.describe_table(TableName=stack.settings.sources_table)["Table"]
    return int(table.get("ItemCount", 0))
