"""Owns sources in memory: as strict as the table."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from wellspring import schedule, timestamps
from wellspring.memory import sizes
from wellspring.model import Lease, Source
from wellspring.ports import (
    DuePage,
    DueRef,
    Refused,
    SourcePage,
    Started,
    Viewed,
)

READ_LIMIT = 100
WRITTEN = (
    "cursor",
    "health",
    "pace",
    "lease",
    "moved",
    "url",
    "previous_url",
    "title",
    "enabled",
)
EDITABLE = (*(name for name in WRITTEN if name != "lease"), "type", "owner_id", "config")


@dataclass
class MemorySources:
    """Sources in a dictionary; a source is in the due index while it has a shard and a next time."""

    shards: int = 4
    rows: dict[str, Source] = field(default_factory=dict)

    def add(self, source: Source) -> bool:
        if source.source_id in self.rows:
            return False
        if source.enabled or source.next_fetch_at:
            shard = source.due_shard or str(schedule.shard_of(source.source_id, self.shards))
            next_at = source.next_fetch_at or source.created_at or timestamps.now()
            source = replace(source, due_shard=shard, next_fetch_at=next_at)
        else:
            source = replace(source, due_shard=None)
        sizes.fit(source, what="Adding a source")
        self.rows[source.source_id] = _marked(source)
        return True

    def due(self, shard: int, until: datetime, *, after: str | None = None, limit: int = 100) -> DuePage:
        listed = sorted(
            (timestamps.to_text(row.next_fetch_at), row.source_id)
            for row in self.rows.values()
            if row.next_fetch_at and row.due_shard == str(shard) and row.next_fetch_at <= until
        )
        rest = [(mark, name) for mark, name in listed if after is None or f"{mark} {name}" > after]
        page = rest[:limit]
        refs = tuple(DueRef(name, timestamps.from_text(mark), mark) for mark, name in page)
        return DuePage(refs, f"{page[-1][0]} {page[-1][1]}" if len(rest) > limit else None)

    def count_due(self, shard: int, until: datetime) -> int:
        return len(self.due(shard, until, limit=len(self.rows)).refs)

    def read(self, source_ids: Sequence[str]) -> list[Source]:
        if not 1 <= len(source_ids) <= READ_LIMIT or len(set(source_ids)) < len(source_ids):
            raise ValueError(f"1 to {READ_LIMIT} sources are read at once, none of them twice")
        return [self.rows[name] for name in source_ids if name in self.rows]

    def move(self, ref: DueRef, to: datetime) -> bool:
        return self._change(ref, next_fetch_at=to)

    def unlist(self, ref: DueRef, *, if_disabled: bool = False, viewed_at: datetime | None = None) -> bool:
        found = self.rows.get(ref.source_id)
        if found and if_disabled and found.enabled:
            return False
        if (
            found
            and not if_disabled
            and found.viewed_at
            and (viewed_at is None or found.viewed_at > viewed_at)
        ):
            return False
        return self._change(ref, next_fetch_at=None, due_shard=None)

    def start(
        self,
        source_id: str,
        lease: Lease,
        *,
        due_at: datetime | None = None,
        window_end: datetime | None = None,
    ) -> Started | Refused:
        found = self.rows.get(source_id)
        now = lease.started_at
        if found is None or schedule.refusal(found, due_at=due_at, window_end=window_end, now=now):
            ours = found and found.lease and found.lease.token == lease.token
            return Started(replace(found, lease=None)) if found and ours else Refused(found)
        self.rows[source_id] = replace(found, lease=lease)
        return Started(found)

    def release(
        self, source_id: str, token: str, lease: Lease | None, *, next_fetch_at: datetime | None = None
    ) -> bool:
        if not self._holds(source_id, token):
            return False
        found = self.rows[source_id]
        self.rows[source_id] = _marked(
            replace(found, lease=lease, next_fetch_at=next_fetch_at or found.next_fetch_at)
        )
        return True

    def finish(self, before: Source, after: Source, token: str) -> bool:
        if not self._holds(after.source_id, token):
            return False
        changed = {
            name: getattr(after, name) for name in WRITTEN if getattr(before, name) != getattr(after, name)
        }
        listed = {
            "next_fetch_at": after.next_fetch_at,
            "due_shard": after.due_shard if after.next_fetch_at else None,
        }
        self.rows[after.source_id] = _marked(replace(self.rows[after.source_id], **changed | listed))
        return True

    def heal(self, source: Source) -> None:
        if source.source_id in self.rows:
            found = self.rows[source.source_id]
            self.rows[source.source_id] = replace(found, cursor=source.cursor, lease=source.lease)

    def view(self, source_id: str, viewed_at: datetime, *, unless_since: datetime) -> Viewed:
        found = self.rows.get(source_id)
        if found is None or (found.viewed_at and unless_since < found.viewed_at <= viewed_at):
            return Viewed(False, found)
        self.rows[source_id] = replace(found, viewed_at=viewed_at)
        return Viewed(True, self.rows[source_id])

    def relist(self, source: Source, *, to: datetime) -> bool:
        found = self.rows.get(source.source_id)
        if found is None or found.mark != source.mark:
            return False
        shard = str(schedule.shard_of(source.source_id, self.shards))
        self.rows[source.source_id] = _marked(replace(found, due_shard=shard, next_fetch_at=to))
        return True

    def edit(self, before: Source, after: Source, *, now: datetime) -> bool:
        found = self.rows.get(before.source_id)
        if found is None or found.mark != before.mark or _is_fetched(found, now):
            return False
        changed = {
            name: getattr(after, name) for name in EDITABLE if getattr(before, name) != getattr(after, name)
        }
        listed = {
            "next_fetch_at": after.next_fetch_at,
            "due_shard": str(schedule.shard_of(after.source_id, self.shards))
            if after.next_fetch_at
            else None,
        }
        self.rows[before.source_id] = _marked(replace(found, **changed | listed))
        return True

    def remove(self, source_id: str) -> bool:
        return self.rows.pop(source_id, None) is not None

    def scan(self, *, after: str | None = None, limit: int = 100) -> SourcePage:
        rest = [name for name in sorted(self.rows) if after is None or name > after]
        page = rest[:limit]
        return SourcePage(tuple(self.rows[name] for name in page), page[-1] if len(rest) > limit else None)

    def _holds(self, source_id: str, token: str) -> bool:
        found = self.rows.get(source_id)
        return bool(found and found.lease and found.lease.token == token)

    def _change(self, ref: DueRef, **fields: object) -> bool:
        found = self.rows.get(ref.source_id)
        if found is None or found.next_fetch_at is None:
            return False
        if timestamps.to_text(found.next_fetch_at) != ref.mark:
            return False
        self.rows[ref.source_id] = _marked(replace(found, **fields))  # type: ignore[arg-type]
        return True


def _is_fetched(source: Source, now: datetime) -> bool:
    return bool(source.lease and source.lease.until and now < source.lease.until)


def _marked(source: Source) -> Source:
    mark = timestamps.to_text(source.next_fetch_at) if source.next_fetch_at else None
    return replace(source, mark=mark)
