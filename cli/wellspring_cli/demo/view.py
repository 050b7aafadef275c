"""Renders what the demo shows: one line for each thing that happened. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from rich.table import Table
from rich.text import Text

STYLES = {"ok": "green", "partial": "yellow", "not_modified": "cyan", "failed": "red"}
SOURCE_WIDTH = 15
TICK = timedelta(seconds=2)
"""A source that is due so soon is meant to be in every run of the planner."""


@dataclass(frozen=True)
class Attempt:
    """One row of the fetch logs."""

    source_id: str
    started_at: datetime
    status: str
    http_status: int | None = None
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    filtered: Mapping[str, int] = field(default_factory=dict)
    error_message: str | None = None
    next_fetch_at: datetime | None = None

    @property
    def succeeded(self) -> bool:
        return self.status in ("ok", "not_modified")


@dataclass(frozen=True)
class Planned:
    """One run of the planner, as it logged it."""

    at: datetime
    due: int
    enqueued: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    trouble: str | None = None


@dataclass(frozen=True)
class StoredPost:
    """One row of the posts."""

    source_id: str
    title: str
    fetched_at: datetime
    published_at: datetime | None = None


@dataclass(frozen=True)
class Summary:
    """How a source stands at the end."""

    source_id: str
    posts: int
    newest: StoredPost | None = None
    last: Attempt | None = None


def planned_line(planned: Planned, zone: tzinfo | None = None) -> Text:
    """Return what the planner did: how many sources were due, and that they were sent."""
    sources = "source" if planned.due == 1 else "sources"
    told = [
        f"{planned.due} {sources} due, {planned.enqueued} put on the queue",
        *(f"{count} left out ({why})" for why, count in sorted(planned.skipped.items())),
        planned.trouble or "",
    ]
    return Text.assemble(
        (_clock(planned.at, zone), "dim"),
        (f"  {'planner':<{SOURCE_WIDTH}} ", "magenta"),
        ", ".join(filter(None, told)),
    )


def attempt_line(attempt: Attempt, zone: tzinfo | None = None) -> Text:
    """Return what a fetcher did: when, which source, how it ended, when it comes again."""
    return Text.assemble(
        (_clock(attempt.started_at, zone), "dim"),
        f"  {attempt.source_id:<{SOURCE_WIDTH}} ",
        (f"{attempt.status:<13}", STYLES.get(attempt.status, "")),
        f"HTTP {attempt.http_status}  " if attempt.http_status else "",
        _outcome(attempt),
        (_next(attempt, zone), "dim"),
    )


def post_line(post: StoredPost, zone: tzinfo | None = None) -> Text:
    """Return a stored post: its source, its title, when it was published."""
    return Text.assemble(
        " " * len("00:00:00"),
        f"  {post.source_id:<{SOURCE_WIDTH}} ",
        ("+ ", "green"),
        (post.title or "(no title)", "bold"),
        (f", published {_clock(post.published_at, zone)}", "dim") if post.published_at else "",
    )


def summary_table(summaries: Sequence[Summary], zone: tzinfo | None = None) -> Table:
    """Return the table of what is stored, one row for each source."""
    total = sum(summary.posts for summary in summaries)
    table = Table(show_footer=True)
    table.add_column("Source", footer="All", no_wrap=True)
    table.add_column("Posts", footer=str(total), justify="right")
    table.add_column("Newest post")
    table.add_column("Last fetch")
    for summary in summaries:
        newest, last = summary.newest, summary.last
        table.add_row(
            Text(summary.source_id),
            str(summary.posts),
            Text(newest.title if newest else "-"),
            Text(_short(last), STYLES.get(last.status, "")) if last else Text("not due yet", "dim"),
        )
    return table


def _outcome(attempt: Attempt) -> str:
    if attempt.error_message:
        return attempt.error_message.rstrip(".")
    if attempt.status == "not_modified":
        return "nothing new"
    counted = [
        f"{attempt.created} new {'post' if attempt.created == 1 else 'posts'}",
        f"{attempt.updated} changed" if attempt.updated else "",
        f"{attempt.unchanged} known" if attempt.unchanged else "",
        *(f"{count} left out ({why})" for why, count in sorted(attempt.filtered.items())),
    ]
    return ", ".join(filter(None, counted))


def _next(attempt: Attempt, zone: tzinfo | None) -> str:
    if attempt.next_fetch_at is None:
        return ""
    soon = attempt.next_fetch_at <= attempt.started_at + TICK
    return "; next at the planner's next run" if soon else f"; next {_clock(attempt.next_fetch_at, zone)}"


def _short(attempt: Attempt) -> str:
    return f"{attempt.status}, HTTP {attempt.http_status}" if attempt.http_status else attempt.status


def _clock(moment: datetime, zone: tzinfo | None) -> str:
    """Return the time of day, in the computer's own zone unless another is named."""
    return f"{moment.astimezone(zone):%H:%M:%S}"
