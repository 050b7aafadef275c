"""Owns the walk over one source's attempts, back in time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from wellspring.model import FetchLog
from wellspring.ports import FetchLogs
from wellspring_cli.log_rows import SUCCESSES

ROWS = 500
ROUNDS = 20


@dataclass(frozen=True, slots=True)
class LogPage:
    """Attempts, the newest first."""

    logs: tuple[FetchLog, ...]
    before: datetime | None = None
    """There may be more that began before this; None when there are none."""


def of_source(
    source_id: str,
    logs: FetchLogs,
    *,
    limit: int,
    before: datetime | None = None,
    since: datetime | None = None,
    failed: bool = False,
    now: datetime,
) -> LogPage:
    """Return the newest attempts of a stretch of time, or only those that failed.

    It looks at a bounded number of rows: a page may be short, even empty, and still not be the last.
    """
    found: list[FetchLog] = []
    rows = ROWS if failed else limit + 1
    for _ in range(ROUNDS):
        read = logs.newest(source_id, before=before, limit=rows)
        for log in read:
            if since and log.started_at < since:
                return LogPage(tuple(found))
            if log.expires_at <= now or (failed and log.status in SUCCESSES):
                continue
            if len(found) == limit:
                return LogPage(tuple(found), found[-1].started_at)
            found.append(log)
        if len(read) < rows:
            return LogPage(tuple(found))
        before = read[-1].started_at
    return LogPage(tuple(found), before)
