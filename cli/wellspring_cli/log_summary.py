"""Owns what a row of attempts amounts to: how long they took, how they ended, in marks and in words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from math import ceil
from statistics import median_low

from rich.text import Text

from wellspring.model import FetchLog, Status
from wellspring_cli import log_rows, output
from wellspring_cli.output import plural

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "_.-:=+*#"
"""For terminals that know no other characters."""
LABEL = 8


class Mark(StrEnum):
    """How an attempt ended, in one character."""

    NEW = "+"
    NOTHING = "."
    PARTIAL = "~"
    FAILED = "x"


STYLES = {Mark.NEW: "green", Mark.NOTHING: "cyan", Mark.PARTIAL: "yellow", Mark.FAILED: "bold red"}
LEGEND = {
    Mark.NEW: "something new",
    Mark.NOTHING: "nothing new",
    Mark.PARTIAL: "some entries failed",
    Mark.FAILED: "failed",
}


def durations(logs: Sequence[FetchLog], *, room: int, blocks: str = BLOCKS) -> Text:
    """Return how long the attempts took: a bar for each of the newest, and all of them in words."""
    spans = sorted(log.finished_at - log.started_at for log in logs)
    lowest, middle, highest = map(log_rows.span, (spans[0], median_low(spans), spans[-1]))
    bars = sparkline([(log.finished_at - log.started_at).total_seconds() for log in logs[-room:]], blocks)
    words = f"{lowest} at least, {middle} in the middle, {highest} at most" if len(spans) > 1 else middle
    return Text.assemble((f"{'took':<{LABEL}}", "dim"), (bars, "cyan"), f"  {words}")


def results(logs: Sequence[FetchLog], *, room: int) -> Text:
    """Return how the newest attempts ended, a mark for each, and what the marks mean."""
    marks = [mark(log) for log in logs[-room:]]
    legend = [Text.assemble("  ", (one, STYLES[one]), f" {LEGEND[one]}") for one in Mark if one in marks]
    row = [(str(one), STYLES[one]) for one in marks]
    return Text.assemble((f"{'ended':<{LABEL}}", "dim"), *row, *legend)


def sparkline(values: Sequence[float], blocks: str = BLOCKS) -> str:
    """Return a bar for each value; the highest one is full, and nothing at all is as high as the lowest."""
    top = max((*values, 0))
    levels = (ceil(max(value, 0) / top * len(blocks)) if top else 1 for value in values)
    return "".join(blocks[max(level, 1) - 1] for level in levels)


def mark(log: FetchLog) -> Mark:
    if log.status not in log_rows.SUCCESSES:
        return Mark.FAILED
    if log.status is Status.PARTIAL:
        return Mark.PARTIAL
    brought = log.created or log.updated or (log.content_hash and log.status is Status.OK)
    return Mark.NEW if brought else Mark.NOTHING


def told(logs: Sequence[FetchLog], *, now: datetime) -> str:
    """Return what the attempts, the newest last, amount to, in a sentence."""
    failures = [log for log in logs if mark(log) is Mark.FAILED]
    updated = sum(log.updated for log in logs)
    parts = [
        f"{len(logs) - len(failures):,} of {len(logs):,} succeeded",
        plural(sum(log.created for log in logs), "new post"),
        f"{updated:,} changed" if updated else "",
    ]
    if failures:
        parts.append(
            f"last failure {output.relative(failures[-1].started_at, now=now)}, {_why(failures[-1])}"
        )
    return "; ".join(filter(None, parts)) + "."


def told_of_failures(logs: Sequence[FetchLog]) -> str:
    """Return why attempts failed, in a sentence."""
    classes = Counter(str(log.error_class or "unknown") for log in logs).most_common()
    return (
        f"{plural(len(logs), 'failure')}: "
        + ", ".join(f"{number:,} {name}" for name, number in classes)
        + "."
    )


def _why(log: FetchLog) -> str:
    return log_rows.what(log).rstrip(".")
