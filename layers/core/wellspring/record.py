"""Owns what is told about a message: the fetch log of its attempt, and how it ended."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from wellspring.errors import ErrorClass
from wellspring.model import FetchLog, Lease, Source, Status
from wellspring.poll import Poll

KEPT_HEADERS = ("etag", "last-modified", "content-type", "cache-control", "retry-after", "date")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How one message ended, for the report."""

    source_id: str
    status: Status
    url: str = ""
    reason: str | None = None
    delay_seconds: int | None = None
    content_hash: str | None = None
    """The post whose page was asked for."""
    log: FetchLog | None = None
    kept_lease: bool = True
    news: tuple[str, ...] = ()
    """What an operator wants to hear of: quarantined, recovered, moved, gone."""
    warnings: tuple[str, ...] = ()
    backtrace: str | None = None


def log_of(
    poll: Poll,
    after: Source,
    *,
    manual: bool,
    attempt_id: str,
    message_id: str,
    started_at: datetime,
    finished_at: datetime,
    kept: timedelta,
) -> FetchLog:
    """Return the row of an attempt; `after` is the source as the attempt leaves it."""
    reply, error = poll.reply, poll.error
    headers = poll.headers
    return FetchLog(
        source_id=after.source_id,
        started_at=started_at,
        finished_at=finished_at,
        status=poll.status,
        url=after.shown_url[:200],
        attempt_id=attempt_id,
        message_id=message_id,
        manual=manual,
        expires_at=started_at + kept,
        http_status=poll.http_status,
        headers={name: headers[name][:100] for name in KEPT_HEADERS if name in headers},
        bytes=len(reply.body) if reply else 0,
        entries=len(poll.document.entries) if poll.document else 0,
        created=poll.created,
        updated=poll.updated,
        unchanged=poll.unchanged,
        failed=poll.failed,
        filtered=poll.filtered | ({"cut": 1} if poll.document and poll.document.cut else {}),
        entry_errors=tuple(poll.entry_errors),
        parser=poll.document.parser if poll.document else None,
        signature=poll.signature,
        error_class=error.error_class if error else None,
        error_message=str(error)[:200] if error else None,
        next_fetch_at=after.next_fetch_at,
        reasons=after.pace.reasons,
    )


def article_log(
    poll: Poll,
    page: Source,
    content_hash: str,
    *,
    attempt_id: str,
    message_id: str,
    started_at: datetime,
    finished_at: datetime,
    kept: timedelta,
) -> FetchLog:
    """Return the row of an attempt at a post's page."""
    row = log_of(
        poll,
        page,
        manual=False,
        attempt_id=attempt_id,
        message_id=message_id,
        started_at=started_at,
        finished_at=finished_at,
        kept=kept,
    )
    return replace(row, content_hash=content_hash)


def crash_log(counted: Source, lease: Lease, *, kept: timedelta) -> FetchLog:
    """Return the row of an attempt that could not write one: its function died."""
    return FetchLog(
        source_id=counted.source_id,
        started_at=lease.started_at,
        finished_at=lease.until or lease.started_at,
        status=Status.FAILED,
        url=counted.shown_url[:200],
        attempt_id=lease.token or "",
        message_id="",
        manual=False,
        expires_at=lease.started_at + kept,
        error_class=ErrorClass.CRASHED,
        error_message="The function died during this attempt.",
        next_fetch_at=counted.next_fetch_at,
        reasons=counted.pace.reasons,
    )
