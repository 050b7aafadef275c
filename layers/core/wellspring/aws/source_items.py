"""Owns a source's item: written whole by us, read with patience, since people write items by hand."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from wellspring import config, timestamps
from wellspring.aws import items
from wellspring.errors import ErrorClass
from wellspring.model import Cursor, Health, Lease, Source


def item_of(source: Source) -> items.Item:
    return items.encode(
        {
            "source_id": source.source_id,
            "url": source.url,
            "type": source.type,
            "title": source.title,
            "owner_id": source.owner_id,
            "enabled": source.enabled,
            "created_at": source.created_at,
            "config": source.config.model_dump(exclude_defaults=True),
            "cursor": cursor_fields(source.cursor),
            "health": health_fields(source.health),
            "pace": pace_fields(source),
            "lease": lease_fields(source.lease) if source.lease else None,
            "next_fetch_at": source.next_fetch_at,
            "due_shard": source.due_shard,
        }
    )


def cursor_fields(cursor: Cursor) -> dict[str, object]:
    return {
        "last_fetch_at": cursor.last_fetch_at,
        "last_polled_at": cursor.last_polled_at,
        "due_at": cursor.due_at,
        "etag": cursor.etag,
        "last_modified": cursor.last_modified,
        "signature": cursor.signature,
    }


def health_fields(health: Health) -> dict[str, object]:
    return {"failures": health.failures or None, "error_class": health.error_class}


def pace_fields(source: Source) -> dict[str, object]:
    return {"reasons": list(source.reasons)}


def lease_fields(lease: Lease) -> dict[str, object]:
    return {
        "started_at": lease.started_at,
        "token": lease.token,
        "until": lease.until,
        "free_at": lease.free_at,
    }


def source_of(item: Mapping[str, Any]) -> Source:
    """Read a source; whatever cannot be read is left at its default and named in the warnings."""
    reader = _Reader(items.decode(item))
    cursor, health = reader.below("cursor"), reader.below("health")
    pace, lease = reader.below("pace"), reader.below("lease")
    read_config, config_warnings = config.read(reader.fields.get("config"))
    started_at = lease.moment("started_at")
    return Source(
        source_id=reader.text("source_id") or "",
        url=reader.text("url") or "",
        type=reader.text("type") or "rss",
        title=reader.text("title"),
        owner_id=reader.text("owner_id"),
        enabled=reader.fields.get("enabled") is not False,
        created_at=reader.moment("created_at"),
        config=read_config,
        cursor=Cursor(
            last_fetch_at=cursor.moment("last_fetch_at"),
            last_polled_at=cursor.moment("last_polled_at"),
            due_at=cursor.moment("due_at"),
            etag=cursor.text("etag"),
            last_modified=cursor.text("last_modified"),
            signature=cursor.text("signature"),
        ),
        health=Health(failures=health.count("failures"), error_class=_error_class(health)),
        lease=Lease(
            started_at=started_at,
            token=lease.text("token"),
            until=lease.moment("until"),
            free_at=lease.moment("free_at"),
        )
        if started_at
        else None,
        reasons=tuple(str(reason) for reason in pace.fields.get("reasons") or ()),
        next_fetch_at=reader.moment("next_fetch_at"),
        due_shard=reader.text("due_shard"),
        warnings=(*reader.warnings, *config_warnings),
    )


class _Reader:
    """Reads fields of a map and collects what is wrong with them."""

    def __init__(self, fields: Mapping[str, Any], path: str = "", warnings: list[str] | None = None) -> None:
        self.fields = fields
        self.path = path
        self.warnings: list[str] = [] if warnings is None else warnings

    def below(self, name: str) -> "_Reader":
        found = self.fields.get(name)
        if found is not None and not isinstance(found, Mapping):
            self._warn(name, "a map", found)
        return _Reader(found if isinstance(found, Mapping) else {}, f"{self.path}{name}.", self.warnings)

    def text(self, name: str) -> str | None:
        found = self.fields.get(name)
        if found is None or isinstance(found, str):
            return found or None
        self._warn(name, "text", found)
        return None

    def moment(self, name: str) -> datetime | None:
        text = self.text(name)
        try:
            return timestamps.from_text(text) if text else None
        except ValueError:
            self._warn(name, "a time like 2026-01-31T12:00:00Z", text)
            return None

    def count(self, name: str) -> int:
        found = self.fields.get(name, 0)
        if isinstance(found, int) and found >= 0:
            return found
        self._warn(name, "a whole number", found)
        return 0

    def _warn(self, name: str, expected: str, found: object) -> None:
        self.warnings.append(f"{self.path}{name}: expected {expected}, found {str(found)[:60]!r}")


def _error_class(health: _Reader) -> ErrorClass | None:
    text = health.text("error_class")
    return ErrorClass(text) if text in set(ErrorClass) else None
