"""Owns the shape of a stored post: to a DynamoDB item and back."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from wellspring import timestamps
from wellspring.aws import items
from wellspring.backlog import Backlog, pack, unpack
from wellspring.model import Entry, FullText, Post, PostKey
from wellspring.ports import PendingRef

UNKNOWN_TIME = datetime(timestamps.EARLIEST, 1, 1, tzinfo=UTC)
LATEST_EXPIRY = datetime(timestamps.LATEST, 1, 1, tzinfo=UTC).timestamp()


def item_of(post: Post, *, shard: int) -> items.Item:
    """Return the item of a post; one that is not processed has the key of the pending index."""
    entry = post.entry
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
            "expires_at": seconds(post.expires_at) if post.expires_at else None,
            "processed_at": post.processed_at,
            "full_text_status": post.full_text_status,
            "full_text": post.full_text,
            "pending_shard": None if post.processed_at else str(shard),
        }
    )


def post_of(item: items.Item) -> Post:
    """Return the post of an item; what a person spoilt in it is left out, since one row must stop no list."""
    row = items.decode(item)
    fetched_at = _moment(row, "fetched_at") or _moment(row, "posted_at") or UNKNOWN_TIME
    return Post(
        source_id=row["source_id"],
        content_hash=row["content_hash"],
        entry=Entry(
            entry_id=_text(row, "guid"),
            title=_text(row, "title") or "",
            url=_text(row, "url"),
            body=_text(row, "body") or "",
            author=_text(row, "author"),
            published_at=_moment(row, "published_at"),
        ),
        fetched_at=fetched_at,
        expires_at=_expiry(row),
        revision_of=_text(row, "revision_of"),
        truncated=row.get("truncated") is True,
        full_text_status=_full_text_status(row),
        full_text=_text(row, "full_text"),
        processed_at=_moment(row, "processed_at") or (fetched_at if "processed_at" in row else None),
    )


def backlog_fields(backlog: Backlog) -> dict[str, object]:
    return {
        "version": backlog.version,
        "writer": backlog.writer,
        "waiting": pack(backlog.waiting) or None,
        "queued": pack(backlog.queued) or None,
        "next_at": backlog.next_at,
    }


def backlog_of(item: Mapping[str, Any]) -> Backlog:
    row = items.decode(item)
    return Backlog(
        version=row.get("version", 0),
        writer=_text(row, "writer") or "",
        waiting=unpack(row.get("waiting", b"")),
        queued=unpack(row.get("queued", b"")),
        next_at=_moment(row, "next_at"),
    )


def ref_of(item: items.Item) -> PendingRef:
    """Return a row of the pending index, or a position in it."""
    row = items.decode(item)
    return PendingRef(PostKey(row["source_id"], row["content_hash"]), row["posted_at"], _expiry(row))


def position_of(ref: PendingRef, shard: int) -> items.Item:
    """Return the key of a row of the pending index."""
    return items.encode(key_fields(ref.key) | {"pending_shard": str(shard), "posted_at": ref.mark})


def key_fields(key: PostKey) -> dict[str, str]:
    return {"source_id": key.source_id, "content_hash": key.content_hash}


def seconds(moment: datetime) -> int:
    """Return a time as DynamoDB's expiry takes it."""
    return int(moment.timestamp())


def _text(row: Mapping[str, Any], name: str) -> str | None:
    found = row.get(name)
    return found if isinstance(found, str) and found else None


def _full_text_status(row: Mapping[str, Any]) -> FullText | None:
    found = row.get("full_text_status")
    return FullText(found) if found in set(FullText) else None


def _moment(row: Mapping[str, Any], name: str) -> datetime | None:
    try:
        return timestamps.from_text(row[name]) if isinstance(row.get(name), str) else None
    except ValueError:
        return None


def _expiry(row: Mapping[str, Any]) -> datetime | None:
    found = row.get("expires_at")
    sensible = isinstance(found, int | float) and 0 <= found <= LATEST_EXPIRY
    return datetime.fromtimestamp(found, UTC) if sensible and found is not None else None
