"""Owns a source's item: written whole by us, read with patience, since people write items by hand."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from wellspring import config, timestamps
from wellspring.aws import items
from wellspring.errors import ErrorClass
from wellspring.model import Config, Cursor, Health, Lease, Moved, Pace, Source

KINDS: dict[type, str] = {str: "another text", dict: "a map", list: "a list", bytes: "bytes"}


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
            "viewed_at": source.viewed_at,
            "previous_url": source.previous_url,
            "moved": moved_fields(source.moved) if source.moved else None,
            "config": config_fields(source.config),
            "cursor": cursor_fields(source.cursor),
            "health": health_fields(source.health),
            "pace": pace_fields(source.pace),
            "lease": lease_fields(source.lease) if source.lease else None,
            "next_fetch_at": source.next_fetch_at,
            "due_shard": source.due_shard,
        }
    )


def config_fields(given: Config) -> dict[str, object]:
    return given.model_dump(exclude_defaults=True)


def cursor_fields(cursor: Cursor) -> dict[str, object]:
    return {
        "last_fetch_at": cursor.last_fetch_at,
        "last_polled_at": cursor.last_polled_at,
        "due_at": cursor.due_at,
        "etag": cursor.etag,
        "last_modified": cursor.last_modified,
        "issuer": cursor.issuer,
        "signature": cursor.signature,
        "bookmark": dict(cursor.bookmark),
    }


def health_fields(health: Health) -> dict[str, object]:
    return {
        "failures": health.failures or None,
        "attempt": health.attempt or None,
        "error_class": health.error_class,
        "circuit_until": health.circuit_until,
        "quarantined_at": health.quarantined_at,
        "gone": health.gone or None,
        "gone_at": health.gone_at,
        "reason": health.reason,
    }


def pace_fields(pace: Pace) -> dict[str, object]:
    """Spans are whole seconds, sets of hours and days one number each: the item is billed by its size."""
    return {
        "interval": _whole_seconds(pace.interval),
        "cache": _whole_seconds(pace.cache),
        "document": _whole_seconds(pace.document),
        "skip_hours": pace.skip_hours or None,
        "skip_days": pace.skip_days or None,
        "retry_at": pace.retry_at,
        "reasons": list(pace.reasons),
    }


def moved_fields(moved: Moved) -> dict[str, object]:
    return {"url": moved.url, "since": moved.since}


def lease_fields(lease: Lease) -> dict[str, object]:
    return {
        "started_at": lease.started_at,
        "token": lease.token,
        "until": lease.until,
        "free_at": lease.free_at,
    }


def source_of(item: Mapping[str, Any]) -> Source:
    """Read a source; one that cannot be read at all must not stop the others."""
    try:
        return _source_of(item)
    except Exception as error:
        name = str(item.get("source_id", {}).get("S", ""))
        return Source(source_id=name, url="", warnings=(f"the item cannot be read: {type(error).__name__}",))


def _source_of(item: Mapping[str, Any]) -> Source:
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
        enabled=reader.flag("enabled", default=True),
        created_at=reader.moment("created_at"),
        viewed_at=reader.moment("viewed_at"),
        previous_url=reader.text("previous_url"),
        moved=_moved(reader.below("moved")),
        config=read_config,
        cursor=Cursor(
            last_fetch_at=cursor.moment("last_fetch_at"),
            last_polled_at=cursor.moment("last_polled_at"),
            due_at=cursor.moment("due_at"),
            etag=cursor.text("etag"),
            last_modified=cursor.text("last_modified"),
            issuer=cursor.text("issuer"),
            signature=cursor.text("signature"),
            bookmark=cursor.map("bookmark"),
        ),
        health=Health(
            failures=health.count("failures"),
            attempt=health.count("attempt"),
            error_class=_error_class(health),
            circuit_until=health.moment("circuit_until"),
            quarantined_at=health.moment("quarantined_at"),
            gone=health.count("gone"),
            gone_at=health.moment("gone_at"),
            reason=health.text("reason"),
        ),
        lease=Lease(
            started_at=started_at,
            token=lease.text("token"),
            until=lease.moment("until"),
            free_at=lease.moment("free_at"),
        )
        if started_at
        else None,
        pace=Pace(
            interval=pace.span("interval"),
            cache=pace.span("cache"),
            document=pace.span("document"),
            skip_hours=pace.count("skip_hours"),
            skip_days=pace.count("skip_days"),
            retry_at=pace.moment("retry_at"),
            reasons=pace.texts("reasons"),
        ),
        next_fetch_at=reader.moment("next_fetch_at"),
        due_shard=reader.text("due_shard"),
        mark=reader.text("next_fetch_at"),
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

    def flag(self, name: str, *, default: bool) -> bool:
        found = self.fields.get(name)
        if isinstance(found, bool):
            return found
        if found is not None:
            self._warn(name, "true or false", found)
        return default

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.fields.get(name)
        return tuple(str(text) for text in found) if isinstance(found, list) else ()

    def map(self, name: str) -> Mapping[str, str]:
        found = self.below(name).fields
        return {key: text for key, text in found.items() if isinstance(text, str)}

    def span(self, name: str) -> timedelta | None:
        seconds = self.count(name)
        return timedelta(seconds=seconds) if seconds else None

    def _warn(self, name: str, expected: str, found: object) -> None:
        # Never the value itself: a secret may have been written to the wrong place.
        shown = str(found) if isinstance(found, int | float) else KINDS.get(type(found), "something else")
        self.warnings.append(f"{self.path}{name}: expected {expected}, found {shown}")


def _moved(reader: _Reader) -> Moved | None:
    url, since = reader.text("url"), reader.moment("since")
    return Moved(url=url, since=since) if url and since else None


def _whole_seconds(span: timedelta | None) -> int | None:
    return round(span.total_seconds()) if span else None


def _error_class(health: _Reader) -> ErrorClass | None:
    text = health.text("error_class")
    return ErrorClass(text) if text in set(ErrorClass) else None
