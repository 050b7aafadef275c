"""Owns what CloudWatch says of a stack's last day: runs of the planner, polls and posts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from wellspring.aws.faults import told_as_unavailable

DAY, HOUR, LATELY = timedelta(days=1), timedelta(hours=1), timedelta(minutes=10)
WORKED_OFF_BY_NOW = timedelta(minutes=3)
"""What was put on the queue so long ago, without a delay, has reached a fetcher."""
MINUTE, COARSE = 60, 300
PLANNER, FETCHER, FUNCTION = "planner", "fetcher", "function"

QUERIES = {
    "runs": (PLANNER, "SourcesDue", "SampleCount", MINUTE),
    "sent": (PLANNER, "SourcesEnqueued", "Sum", MINUTE),
    "delayed": (PLANNER, "SourcesDelayed", "Sum", MINUTE),
    "ok": (FETCHER, "PollsOk", "Sum", COARSE),
    "partial": (FETCHER, "PollsPartial", "Sum", COARSE),
    "unchanged": (FETCHER, "PollsNotModified", "Sum", COARSE),
    "failed": (FETCHER, "PollsFailed", "Sum", COARSE),
    "deferred": (FETCHER, "PollsDeferred", "Sum", COARSE),
    "skipped": (FETCHER, "PollsSkipped", "Sum", COARSE),
    "posts": (FETCHER, "PostsCreated", "Sum", COARSE),
    "crashes": (FUNCTION, "Errors", "Sum", MINUTE),
}
"""Of whom, which metric, how it is added up, and over how many seconds."""
WORKED_OFF = ("ok", "partial", "unchanged", "failed", "deferred", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """How polls ended in a span of time, and how many posts they brought."""

    good: int = 0
    failed: int = 0
    posts: int = 0

    @property
    def total(self) -> int:
        return self.good + self.failed

    @property
    def failed_share(self) -> float:
        return self.failed / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """What happened lately. CloudWatch itself is a minute or two late."""

    planned_at: datetime | None = None
    """The minute of the planner's last run; None when there was none for a day."""
    runs: int = 0
    """Of the planner, within ten minutes."""
    sent: int = 0
    """Sources that were put on the queue within ten minutes, and early enough to be worked off by now."""
    worked_off: int = 0
    """Messages that the fetchers told about within ten minutes, or a little longer."""
    crashes: int = 0
    """Runs of the fetcher within ten minutes that ended without a word."""
    hour: Polls = Polls()
    day: Polls = Polls()


def recent(cloudwatch: Any, *, namespace: str, fetcher: str, now: datetime) -> Recent:
    """Ask CloudWatch for all of it in one call."""
    series: dict[str, dict[datetime, float]] = {name: {} for name in QUERIES}
    with told_as_unavailable("Reading the metrics"):
        pages = cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=[_query(name, namespace, fetcher) for name in QUERIES],
            StartTime=_aligned(now - DAY),
            EndTime=now + timedelta(seconds=MINUTE),
        )
        for page in pages:
            for found in page["MetricDataResults"]:
                series[found["Id"]].update(zip(found["Timestamps"], found["Values"], strict=True))

    def total(name: str, within: Callable[[datetime], bool]) -> int:
        return round(sum(number for moment, number in series[name].items() if within(moment)))

    def polls(span: timedelta) -> Polls:
        def within(moment: datetime) -> bool:
            return moment > now - span

        return Polls(
            good=sum(total(name, within) for name in ("ok", "partial", "unchanged")),
            failed=total("failed", within),
            posts=total("posts", within),
        )

    def lately(moment: datetime) -> bool:
        return moment > now - LATELY

    def lately_begun(moment: datetime) -> bool:
        return moment > now - LATELY - timedelta(seconds=COARSE)

    def early(moment: datetime) -> bool:
        return lately(moment) and moment < now - WORKED_OFF_BY_NOW

    return Recent(
        planned_at=max(series["runs"], default=None),
        runs=total("runs", lately),
        sent=total("sent", early) - total("delayed", early),
        worked_off=sum(total(name, lately_begun) for name in WORKED_OFF),
        crashes=total("crashes", lately),
        hour=polls(HOUR),
        day=polls(DAY),
    )


def _aligned(moment: datetime) -> datetime:
    """Return when the period of a moment began, so that no point is for a part of one."""
    return moment - timedelta(seconds=moment.timestamp() % COARSE)


def _query(name: str, namespace: str, fetcher: str) -> dict[str, Any]:
    whose, metric, statistic, period = QUERIES[name]
    of_lambda = whose == FUNCTION
    dimension = ("FunctionName", fetcher) if of_lambda else ("service", whose)
    return {
        "Id": name,
        "MetricStat": {
            "Metric": {
                "Namespace": "AWS/Lambda" if of_lambda else namespace,
                "MetricName": metric,
                "Dimensions": [dict(zip(("Name", "Value"), dimension, strict=True))],
            },
            "Period": period,
            "Stat": statistic,
        },
    }
