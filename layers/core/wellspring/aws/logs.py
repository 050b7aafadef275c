"""Owns the FetchLogs table: one row for each attempt."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from wellspring import timestamps
from wellspring.aws import items
from wellspring.aws.faults import told_as_unavailable
from wellspring.aws.writes import put_if
from wellspring.errors import ErrorClass
from wellspring.model import FetchLog, Status

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

    def newest(self, source_id: str, *, before: datetime | None = None, limit: int = 20) -> list[FetchLog]:
        condition = "#source_id = :source" + (" AND #started_at < :before" if before else "")
        values = {":source": source_id, ":before": before}
        found: list[FetchLog] = []
        start: dict[str, Any] = {}
        while True:
            with told_as_unavailable("Reading fetch logs"):
                page = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression=condition,
                    ExpressionAttributeNames=items.names(condition),
                    ExpressionAttributeValues=items.encode(values),
                    ScanIndexForward=False,
                    Limit=limit - len(found),
                    **start,
                )
            found += [log_of(row) for row in page["Items"]]
            if len(found) >= limit or "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


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


def log_of(item: Mapping[str, Any]) -> FetchLog:
    """Return the attempt of a row."""
    row = items.decode(item)
    started_at = timestamps.from_text(row["started_at"])
    next_fetch_at = row.get("next_fetch_at")
    return FetchLog(
        source_id=row["source_id"],
        started_at=started_at,
        finished_at=timestamps.from_text(row["finished_at"]),
        status=Status(row["status"]),
        url=row.get("url", ""),
        attempt_id=row.get("attempt_id", ""),
        message_id=row.get("message_id", ""),
        manual=row.get("manual", False),
        expires_at=datetime.fromtimestamp(row["expires_at"], UTC),
        http_status=row.get("http_status"),
        headers=row.get("headers", {}),
        bytes=row.get("bytes", 0),
        entries=row.get("entries", 0),
        created=row.get("created", 0),
        updated=row.get("updated", 0),
        unchanged=row.get("unchanged", 0),
        failed=row.get("failed", 0),
        filtered=row.get("filtered", {}),
        entry_errors=tuple(row.get("entry_errors", ())),
        parser=row.get("parser"),
        signature=row.get("signature"),
        error_class=ErrorClass(row["error_class"]) if "error_class" in row else None,
        error_message=row.get("error_message"),
        content_hash=row.get("content_hash"),
        next_fetch_at=timestamps.from_text(next_fetch_at) if next_fetch_at else None,
        reasons=tuple(row.get("reasons", ())),
    )
