"""Owns attempts as the command shows them."""

from __future__ import annotations

from typing import Any

from wellspring.model import FetchLog, Status
from wellspring_cli import output

SUCCESSES = {Status.OK, Status.PARTIAL, Status.NOT_MODIFIED}


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
