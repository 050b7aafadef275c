"""Owns the Posts table: posts under their content hash, and each source's window of seen entries."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wellspring import identity, schedule
from wellspring.aws import items
from wellspring.aws import post_items as stored
from wellspring.aws.faults import told_as_unavailable
from wellspring.aws.writes import delete_if, put_if, update_and_tell, update_if
from wellspring.backlog import Backlog
from wellspring.errors import Unavailable
from wellspring.model import FullText, Post, PostKey, Window
from wellspring.ports import Marking, PendingPage, PendingRef, PostPage

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

WINDOW = "window"
BACKLOG = "waiting"
OTHER_ROWS = (WINDOW, BACKLOG)
"""What lies among a source's posts and is none. Hashes are hexadecimal: these come behind all of them."""
INDEX = "pending"
BY_TIME = "by_time"
DELETE_LIMIT = 25
READ_ROUNDS = 8


class DynamoPosts:
    """The posts of a stack."""

    def __init__(self, client: "DynamoDBClient", table: str, *, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards

    def put(self, post: Post) -> bool:
        condition = "attribute_not_exists(#content_hash)"
        item = stored.item_of(post, shard=schedule.shard_of(post.source_id, self._shards))
        return put_if(self._client, self._table, item, condition, what="Storing a post")

    def hash_like(self, source_id: str, prefix: str, *, after: str | None = None) -> str | None:
        condition = "#source_id = :source AND begins_with(#content_hash, :prefix)"
        start: dict[str, Any] = {}
        if after:
            start["ExclusiveStartKey"] = items.encode(stored.key_fields(PostKey(source_id, after)))
        with told_as_unavailable("Looking for a post"):
            page = self._client.query(
                TableName=self._table,
                KeyConditionExpression=condition,
                ProjectionExpression="#content_hash",
                ExpressionAttributeNames=items.names(condition),
                ExpressionAttributeValues=items.encode({":source": source_id, ":prefix": prefix}),
                Limit=1,
                **start,
            )
        found = (str(items.decode(row)["content_hash"]) for row in page["Items"])
        return next((name for name in found if name not in OTHER_ROWS), None)

    def window(self, source_id: str) -> Window:
        with told_as_unavailable("Reading the window of seen entries"):
            answer = self._client.get_item(
                TableName=self._table, Key=items.encode(_window_key(source_id)), ConsistentRead=True
            )
        packed = items.decode(answer.get("Item", {})).get("packed")
        return identity.unpack(packed) if isinstance(packed, bytes) else {}

    def put_window(self, source_id: str, window: Window, *, started_at: datetime) -> bool:
        item = items.encode(
            _window_key(source_id) | {"packed": identity.pack(window), "started_at": started_at}
        )
        condition = "attribute_not_exists(#started_at) OR #started_at <= :started_at"
        values = {":started_at": started_at}
        what = "Storing the window of seen entries"
        return put_if(self._client, self._table, item, condition, values, what=what)

    def pending(
        self,
        shard: int,
        *,
        after: PendingRef | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        expires_by: datetime | None = None,
        limit: int = 100,
    ) -> PendingPage:
        condition, values = _stretch(since, until)
        given: dict[str, Any] = {}
        if after:
            given["ExclusiveStartKey"] = stored.position_of(after, shard)
        if expires_by:
            given["FilterExpression"] = "#expires_at <= :expires_by"
            values[":expires_by"] = stored.seconds(expires_by)
        with told_as_unavailable("Reading the pending index"):
            page = self._client.query(
                TableName=self._table,
                IndexName=INDEX,
                KeyConditionExpression=condition,
                ExpressionAttributeNames=items.names(condition, given.get("FilterExpression", "")),
                ExpressionAttributeValues=items.encode({":shard": str(shard)} | values),
                Limit=limit,
                **given,
            )
        last = page.get("LastEvaluatedKey")
        refs = tuple(stored.ref_of(row) for row in page["Items"])
        return PendingPage(refs, stored.ref_of(last) if last else None, page["ScannedCount"])

    def read(self, keys: Sequence[PostKey]) -> list[Post]:
        wanted: Any = {
            self._table: {
                "Keys": [items.encode(stored.key_fields(key)) for key in keys],
                # The index lags behind: only the row itself knows whether it is processed.
                "ConsistentRead": True,
            }
        }
        found: list[Post] = []
        with told_as_unavailable("Reading posts"):
            for _ in range(READ_ROUNDS):
                answer = self._client.batch_get_item(RequestItems=wanted)
                found += [stored.post_of(item) for item in answer["Responses"].get(self._table, ())]
                wanted = answer.get("UnprocessedKeys")
                if not wanted:
                    return found
        raise Unavailable("Reading posts failed: the table is throttled.")

    def mark_processed(self, key: PostKey, at: datetime) -> Marking:
        answer = update_and_tell(
            self._client,
            self._table,
            stored.key_fields(key),
            "SET #processed_at = :at REMOVE #pending_shard, #expires_at",
            # Only posts have this time; the window of seen entries lies in the same table.
            "attribute_exists(#posted_at) AND attribute_not_exists(#processed_at)",
            {":at": at},
            what="Marking a post as processed",
        )
        if answer.done:
            return Marking.DONE
        return Marking.ALREADY if answer.item and "processed_at" in answer.item else Marking.UNKNOWN

    def delete_unprocessed(self, key: PostKey, *, expires_by: datetime) -> bool:
        return delete_if(
            self._client,
            self._table,
            stored.key_fields(key),
            "attribute_exists(#posted_at) AND attribute_not_exists(#processed_at)"
            " AND #expires_at <= :expires_by",
            {":expires_by": stored.seconds(expires_by)},
            what="Deleting an old post",
        )

    def put_article(self, key: PostKey, status: FullText, text: str | None) -> bool:
        update = "SET #full_text_status = :status" + (", #full_text = :text" if text else "")
        condition = (
            "attribute_exists(#posted_at)"
            " AND (attribute_not_exists(#full_text_status) OR #full_text_status <> :ok)"
        )
        values = {":status": status, ":ok": FullText.OK} | ({":text": text} if text else {})
        what = "Storing a full text"
        return update_if(
            self._client, self._table, stored.key_fields(key), update, condition, values, what=what
        )

    def newest(self, source_id: str, *, after: str | None = None, limit: int = 100) -> PostPage:
        start: dict[str, Any] = {"ExclusiveStartKey": json.loads(after)} if after else {}
        page = self._by_time(source_id, ScanIndexForward=False, Limit=limit, **start)
        last = page.get("LastEvaluatedKey")
        keys = tuple(PostKey(source_id, items.decode(row)["content_hash"]) for row in page["Items"])
        return PostPage(keys, json.dumps(last) if last else None)

    def count(self, source_id: str) -> int:
        found = 0
        start: dict[str, Any] = {}
        while True:
            page = self._by_time(source_id, Select="COUNT", **start)
            found += int(page["Count"])
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def erase(self, source_id: str) -> int:
        erased = 0
        condition = "#source_id = :source"
        while True:
            with told_as_unavailable("Looking for what is stored of a source"):
                page = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression=condition,
                    ProjectionExpression="#source_id, #content_hash",
                    ExpressionAttributeNames=items.names(condition, "#content_hash"),
                    ExpressionAttributeValues=items.encode({":source": source_id}),
                    ConsistentRead=True,
                    Limit=DELETE_LIMIT,
                )
            if not page["Items"]:
                return erased
            self._delete(page["Items"])
            names = (items.decode(row)["content_hash"] for row in page["Items"])
            erased += sum(name not in OTHER_ROWS for name in names)

    def _delete(self, keys: Sequence[items.Item]) -> None:
        wanted: Any = {self._table: [{"DeleteRequest": {"Key": key}} for key in keys]}
        with told_as_unavailable("Deleting posts"):
            for _ in range(READ_ROUNDS):
                wanted = self._client.batch_write_item(RequestItems=wanted).get("UnprocessedItems")
                if not wanted:
                    return
        raise Unavailable("Deleting posts failed: the table is throttled.")

    def _by_time(self, source_id: str, **given: Any) -> Any:
        condition = "#source_id = :source"
        with told_as_unavailable("Reading a source's posts"):
            return self._client.query(
                TableName=self._table,
                IndexName=BY_TIME,
                KeyConditionExpression=condition,
                ExpressionAttributeNames=items.names(condition),
                ExpressionAttributeValues=items.encode({":source": source_id}),
                **given,
            )

    def backlog(self, source_id: str) -> Backlog:
        with told_as_unavailable("Reading the line for full texts"):
            answer = self._client.get_item(
                TableName=self._table,
                Key=items.encode(stored.key_fields(PostKey(source_id, BACKLOG))),
                ConsistentRead=True,
            )
        return stored.backlog_of(answer.get("Item", {}))

    def put_backlog(self, source_id: str, backlog: Backlog, *, over: int) -> bool:
        item = items.encode(stored.key_fields(PostKey(source_id, BACKLOG)) | stored.backlog_fields(backlog))
        condition = "#version = :over" if over else "attribute_not_exists(#version)"
        values = {":over": over} if over else None
        return put_if(
            self._client, self._table, item, condition, values, what="Storing the line for full texts"
        )


def _stretch(since: datetime | None, until: datetime | None) -> tuple[str, dict[str, object]]:
    """Return the key condition of a stretch of time, and its values."""
    shard = "#pending_shard = :shard"
    if since and until:
        return f"{shard} AND #posted_at BETWEEN :since AND :until", {":since": since, ":until": until}
    if since:
        return f"{shard} AND #posted_at >= :since", {":since": since}
    if until:
        return f"{shard} AND #posted_at <= :until", {":until": until}
    return shard, {}


def _window_key(source_id: str) -> dict[str, object]:
    return {"source_id": source_id, "content_hash": WINDOW}
