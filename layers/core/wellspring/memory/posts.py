"""Owns posts and fetch logs in memory: as strict as the tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from wellspring import schedule, timestamps
from wellspring.backlog import Backlog, pack
from wellspring.errors import Unavailable
from wellspring.memory import sizes
from wellspring.model import FetchLog, FullText, Post, PostKey, Window
from wellspring.ports import (
    Marking,
    PendingPage,
    PendingRef,
    PostPage,
)

K = TypeVar("K")
V = TypeVar("V")
READ_LIMIT = 100


@dataclass
class MemoryPosts:
    """Posts by source and content hash, windows by source."""

    rows: dict[tuple[str, str], Post] = field(default_factory=dict)
    windows: dict[str, tuple[datetime, Window]] = field(default_factory=dict)
    backlogs: dict[str, Backlog] = field(default_factory=dict)
    shards: int = 4

    def put(self, post: Post) -> bool:
        sizes.fit(post, what="Storing a post")
        return _put_once(self.rows, (post.source_id, post.content_hash), post)

    def hash_like(self, source_id: str, prefix: str, *, after: str | None = None) -> str | None:
        hashes = (name for owner, name in sorted(self.rows) if owner == source_id)
        likely = (name for name in hashes if name.startswith(prefix))
        return next((name for name in likely if after is None or name > after), None)

    def window(self, source_id: str) -> Window:
        return dict(self.windows[source_id][1]) if source_id in self.windows else {}

    def put_window(self, source_id: str, window: Window, *, started_at: datetime) -> bool:
        sizes.fit(window, what="Storing the window of seen entries")
        if source_id in self.windows and self.windows[source_id][0] > started_at:
            return False
        self.windows[source_id] = (started_at, dict(window))
        return True

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
        first = self._order(after) if after else None
        rest = [ref for ref in self._index(shard, since, until) if first is None or self._order(ref) > first]
        seen = rest[:limit]
        fit = (ref for ref in seen if not expires_by or (ref.expires_at and ref.expires_at <= expires_by))
        return PendingPage(tuple(fit), seen[-1] if len(rest) >= limit else None, len(seen))

    def read(self, keys: Sequence[PostKey]) -> list[Post]:
        if not 1 <= len(keys) <= READ_LIMIT or len(set(keys)) < len(keys):
            raise ValueError(f"1 to {READ_LIMIT} posts are read at once, none of them twice")
        found = (self.rows.get((key.source_id, key.content_hash)) for key in keys)
        return [post for post in found if post]

    def mark_processed(self, key: PostKey, at: datetime) -> Marking:
        found = self.rows.get((key.source_id, key.content_hash))
        if found is None:
            return Marking.UNKNOWN
        if found.processed_at:
            return Marking.ALREADY
        self.rows[key.source_id, key.content_hash] = replace(found, processed_at=at, expires_at=None)
        return Marking.DONE

    def delete_unprocessed(self, key: PostKey, *, expires_by: datetime) -> bool:
        found = self.rows.get((key.source_id, key.content_hash))
        if not (found and found.expires_at) or found.processed_at or found.expires_at > expires_by:
            return False
        del self.rows[key.source_id, key.content_hash]
        return True

    def _index(self, shard: int, since: datetime | None, until: datetime | None) -> list[PendingRef]:
        refs = (
            PendingRef(post.key, timestamps.to_text(post.posted_at), post.expires_at)
            for post in self.rows.values()
            if not post.processed_at
            and (since is None or timestamps.floor(post.posted_at) >= since)
            and (until is None or timestamps.floor(post.posted_at) <= until)
            and schedule.shard_of(post.source_id, self.shards) == shard
        )
        return sorted(refs, key=self._order)

    @staticmethod
    def _order(ref: PendingRef) -> tuple[str, ...]:
        return ref.mark, ref.key.source_id, ref.key.content_hash

    def put_article(self, key: PostKey, status: FullText, text: str | None) -> bool:
        found = self.rows.get((key.source_id, key.content_hash))
        if found is None or found.full_text_status is FullText.OK:
            return False
        after = replace(found, full_text_status=status, full_text=text or found.full_text)
        if sizes.size_of(after) > sizes.LARGEST_ITEM:
            raise Unavailable("Storing a full text failed: the row is too large.")
        self.rows[(key.source_id, key.content_hash)] = after
        return True

    def newest(self, source_id: str, *, after: str | None = None, limit: int = 100) -> PostPage:
        listed = sorted(
            (f"{timestamps.to_text(post.posted_at)} {post.content_hash}", post.key)
            for post in self.rows.values()
            if post.source_id == source_id
        )
        rest = [(mark, key) for mark, key in reversed(listed) if after is None or mark < after]
        page = rest[:limit]
        return PostPage(tuple(key for _, key in page), page[-1][0] if len(rest) > limit else None)

    def count(self, source_id: str) -> int:
        return sum(owner == source_id for owner, _ in self.rows)

    def erase(self, source_id: str) -> int:
        gone = [key for key in self.rows if key[0] == source_id]
        for key in gone:
            del self.rows[key]
        self.windows.pop(source_id, None)
        self.backlogs.pop(source_id, None)
        return len(gone)

    def backlog(self, source_id: str) -> Backlog:
        return self.backlogs.get(source_id, Backlog())

    def put_backlog(self, source_id: str, backlog: Backlog, *, over: int) -> bool:
        line = (pack(backlog.waiting), pack(backlog.queued))
        sizes.fit(line, what="Storing the line for full texts")
        if self.backlog(source_id).version != over:
            return False
        self.backlogs[source_id] = backlog
        return True


@dataclass
class MemoryFetchLogs:
    rows: dict[tuple[str, datetime], FetchLog] = field(default_factory=dict)

    def put(self, log: FetchLog) -> bool:
        sizes.fit(log, what="Writing a fetch log")
        return _put_once(self.rows, (log.source_id, log.started_at), log)

    def newest(self, source_id: str, *, before: datetime | None = None, limit: int = 20) -> list[FetchLog]:
        if limit < 1:
            raise ValueError("at least one row is read")
        found = (
            log
            for (owner, started_at), log in self.rows.items()
            if owner == source_id and (before is None or started_at < before)
        )
        return sorted(found, key=lambda log: log.started_at, reverse=True)[:limit]


def _put_once(rows: dict[K, V], key: K, row: V) -> bool:
    if key in rows:
        return False
    rows[key] = row
    return True
