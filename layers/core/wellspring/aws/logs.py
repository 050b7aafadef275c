"""Owns the FetchLogs table: one row for each attempt."""

from typing import TYPE_CHECKING

from wellspring.aws import items
from wellspring.aws.writes import put_if
from wellspring.model import FetchLog

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoFetchLogs:
    """The fetch logs of a stack."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def put(self, log: FetchLog) -> bool:
        condition = "attribute_not_exists(#started_at)"
        return put_if(self._client, self._table, item_of(log), condition, what="Writing a fetch log")


def item_of(log: FetchLog) -> items.Item:
    """Return the row; counts of zero are left out, because a row is billed by its size."""
    took = log.finished_at - log.started_at
    return items.encode(
        {
            "source_id": log.source_id,
            "started_at": log.started_at,
            "finished_at": log.finished_at,
            "duration_ms": round(took.total_seconds() * 1000),
            "status": log.status,
            "url": log.url,
            "attempt_id": log.attempt_id,
            "message_id": log.message_id,
            "content_hash": log.content_hash,
            "manual": log.manual or None,
            "http_status": log.http_status,
            "headers": log.headers,
            "bytes": log.bytes or None,
            "entries": log.entries or None,
            "created": log.created or None,
            "updated": log.updated or None,
            "unchanged": log.unchanged or None,
            "failed": log.failed or None,
            "filtered": log.filtered,
            "entry_errors": log.entry_errors,
            "parser": log.parser,
            "signature": log.signature,
            "error_class": log.error_class,
            "error_message": log.error_message,
            "next_fetch_at": log.next_fetch_at,
            "reasons": log.reasons,
            "expires_at": int(log.expires_at.timestamp()),
        }
    )
