"""Owns the Posts table: posts under their content hash, and each source's window of seen entries."""

from datetime import datetime
from typing import TYPE_CHECKING

from wellspring import identity, schedule
from wellspring.aws import items
from wellspring.aws.faults import told_as_unavailable
from wellspring.aws.writes import put_if
from wellspring.model import Post, Window

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

WINDOW = "window"


class DynamoPosts:
    """The posts of a stack."""

    def __init__(self, client: "DynamoDBClient", table: str, *, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards

    def put(self, post: Post) -> bool:
        condition = "attribute_not_exists(#content_hash)"
        return put_if(self._client, self._table, self._item(post), condition, what="Storing a post")

    def hash_like(self, source_id: str, prefix: str) -> str | None:
        condition = "#source_id = :source AND begins_with(#content_hash, :prefix)"
        with told_as_unavailable("Looking for a post"):
            page = self._client.query(
                TableName=self._table,
                KeyConditionExpression=condition,
                ProjectionExpression="#content_hash",
                ExpressionAttributeNames=items.names(condition),
                ExpressionAttributeValues=items.encode({":source": source_id, ":prefix": prefix}),
                Limit=1,
            )
        return next((str(items.decode(row)["content_hash"]) for row in page["Items"]), None)

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

    def _item(self, post: Post) -> items.Item:
        entry = post.entry
        expires = int(post.expires_at.timestamp()) if post.expires_at else None
        return items.encode(
            {
                "source_id": post.source_id,
                "content_hash": post.content_hash,
                "title": entry.title or None,
                "url": entry.url,
                "body": entry.body or None,
                "author": entry.author,
                "published_at": entry.published_at,
                "fetched_at": post.fetched_at,
                "posted_at": post.posted_at,
                "guid": entry.entry_id,
                "revision_of": post.revision_of,
                "truncated": post.truncated or None,
                "expires_at": expires,
                "pending_shard": str(schedule.shard_of(post.source_id, self._shards)),
            }
        )


def _window_key(source_id: str) -> dict[str, object]:
    return {"source_id": source_id, "content_hash": WINDOW}
