"""Owns attempts as the command shows them: fields for programs, rows for people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from rich.table import Table
from rich.text import Text

from wellspring.model import FetchLog, Status
from wellspring_cli import output, post_names

SUCCESSES = {Status.OK, Status.PARTIAL, Status.NOT_MODIFIED}
STYLES = {Status.OK: "green", Status.PARTIAL: "yellow", Status.NOT_MODIFIED: "cyan"}
BAD = "red"
LONGEST_ERROR = 300


def fields(log: FetchLog) -> dict[str, Any]:
    """Return an attempt for programs."""
    took = log.finished_at - log.started_at
    return {
        "source_id": log.source_id,
        "started_at": output.moment(log.started_at),
        "duration_ms": round(took.total_seconds() * 1000),
        "status": log.status,
        "manual": log.manual,
        "url": log.url,
        "http_status": log.http_status,
        "headers": dict(log.headers),
        "bytes": log.bytes,
        "entries": log.entries,
        "created": log.created,
        "updated": log.updated,
        "unchanged": log.unchanged,
        "failed": log.failed,
        "filtered": dict(log.filtered),
        "entry_errors": [dict(error) for error in log.entry_errors],
        "error_class": log.error_class,
        "error": log.error_message,
        "content_hash": log.content_hash,
        "parser": log.parser,
        "signature": log.signature,
        "next_fetch_at": output.moment(log.next_fetch_at),
        "reasons": list(log.reasons),
        "attempt_id": log.attempt_id,
        "message_id": log.message_id,
    }


def table(logs: Iterable[FetchLog]) -> Table:
    """Return a row for each attempt, in their order."""
    made = output.table("Started (UTC)", ("Took", "right"), "How", "Status", "HTTP", "Next", "Outcome")
    for column in made.columns[:-1]:
        column.no_wrap = True
    for log in logs:
        style = STYLES.get(log.status, BAD)
        made.add_row(
            _short(log.started_at, seconds=True),
            span(log.finished_at - log.started_at),
            how(log),
            Text(log.status, style),
            str(log.http_status or "-"),
            _short(log.next_fetch_at),
            Text(what(log), BAD if style == BAD else ""),
        )
    return made


def how(log: FetchLog) -> str:
    """Say who asked for an attempt."""
    if log.content_hash:
        return "page"
    return "by hand" if log.manual else "planned"


def what(log: FetchLog) -> str:
    """Return what an attempt brought, or why it failed."""
    page = f"page of post {log.content_hash[: post_names.SHORT]}" if log.content_hash else ""
    if log.error_class or log.error_message:
        told = ": ".join(filter(None, (page, log.error_class, log.error_message)))
    elif page:
        told = page
    elif log.status is Status.NOT_MODIFIED:
        told = "nothing new"
    else:
        told = _counts(log)
    return output.one_line(told, LONGEST_ERROR)


def span(took: timedelta) -> str:
    """Write how long an attempt took."""
    seconds = max(took.total_seconds(), 0)
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _counts(log: FetchLog) -> str:
    error = next((found.get("error", "") for found in log.entry_errors), "")
    parts = [
        f"{log.created:,} new",
        f"{log.updated:,} changed" if log.updated else "",
        f"{log.unchanged:,} known" if log.unchanged else "",
        *(f"{number:,} left out ({why})" for why, number in sorted(log.filtered.items())),
        f"{log.failed:,} failed{': ' if error else ''}{error}" if log.failed else "",
    ]
    return ", ".join(filter(None, parts))


def _short(moment: datetime | None, *, seconds: bool = False) -> str:
    """Write a moment without its year: fetch logs are not kept for one."""
    return output.clock(moment)[5 : 19 if seconds else 16] if moment else "-"
