"""Owns the ports in memory: for tests and trials, and as strict as the real ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import TypeVar

from wellspring import schedule, timestamps
from wellspring.asking import Http
from wellspring.backlog import Backlog
from wellspring.errors import ErrorClass, FetchError
from wellspring.hosts import HostState
from wellspring.model import FetchLog, FullText, Lease, Post, PostKey, Source, Window
from wellspring.outage import is_outage
from wellspring.ports import (
    Checkpoint,
    DuePage,
    DueRef,
    Marking,
    Outgoing,
    PendingPage,
    PendingRef,
    Refused,
    Slot,
    SourcePage,
    Started,
    Viewed,
    World,
)
from wellspring.sources import KINDS

K = TypeVar("K")
V = TypeVar("V")
BATCH_LIMIT = 10
READ_LIMIT = 100
LONGEST_DELAY = 900
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


@dataclass
class MemorySources:
    """Sources in a dictionary; a source is in the due index while it has a shard and a next time."""

    shards: int = 4
    rows: dict[str, Source] = field(default_factory=dict)

    def add(self, source: Source) -> bool:
        if source.source_id in self.rows:
            return False
        shard = source.due_shard or str(schedule.shard_of(source.source_id, self.shards))
        next_at = source.next_fetch_at or source.created_at or timestamps.now()
        self.rows[source.source_id] = _marked(replace(source, due_shard=shard, next_fetch_at=next_at))
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

    def read(self, source_ids: Sequence[str]) -> list[Source]:
        if len(source_ids) > READ_LIMIT:
            raise ValueError(f"at most {READ_LIMIT} sources are read at once")
        return [self.rows[name] for name in source_ids if name in self.rows]

    def move(self, ref: DueRef, to: datetime) -> bool:
        return self._change(ref, next_fetch_at=to)

    def unlist(self, ref: DueRef, *, if_disabled: bool = False) -> bool:
        if if_disabled and ref.source_id in self.rows and self.rows[ref.source_id].enabled:
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
        if found and found.lease and found.lease.token == lease.token:
            return Started(replace(found, lease=None))
        if found is None or schedule.refusal(found, due_at=due_at, window_end=window_end, now=now):
            return Refused(found)
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


def _put_once(rows: dict[K, V], key: K, row: V) -> bool:
    if key in rows:
        return False
    rows[key] = row
    return True


def _marked(source: Source) -> Source:
    mark = timestamps.to_text(source.next_fetch_at) if source.next_fetch_at else None
    return replace(source, mark=mark)


@dataclass
class MemoryPosts:
    """Posts by source and content hash, windows by source."""

    rows: dict[tuple[str, str], Post] = field(default_factory=dict)
    windows: dict[str, tuple[datetime, Window]] = field(default_factory=dict)
    backlogs: dict[str, Backlog] = field(default_factory=dict)
    shards: int = 4

    def put(self, post: Post) -> bool:
        return _put_once(self.rows, (post.source_id, post.content_hash), post)

    def hash_like(self, source_id: str, prefix: str) -> str | None:
        hashes = (name for owner, name in sorted(self.rows) if owner == source_id)
        return next((name for name in hashes if name.startswith(prefix)), None)

    def window(self, source_id: str) -> Window:
        return dict(self.windows[source_id][1]) if source_id in self.windows else {}

    def put_window(self, source_id: str, window: Window, *, started_at: datetime) -> bool:
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
        self.rows[(key.source_id, key.content_hash)] = replace(found, full_text_status=status, full_text=text)
        return True

    def backlog(self, source_id: str) -> Backlog:
        return self.backlogs.get(source_id, Backlog())

    def put_backlog(self, source_id: str, backlog: Backlog, *, over: int) -> bool:
        if self.backlog(source_id).version != over:
            return False
        self.backlogs[source_id] = backlog
        return True


@dataclass
class MemoryFetchLogs:
    rows: dict[tuple[str, datetime], FetchLog] = field(default_factory=dict)

    def put(self, log: FetchLog) -> bool:
        return _put_once(self.rows, (log.source_id, log.started_at), log)


@dataclass
class MemoryQueue:
    sent: list[Outgoing] = field(default_factory=list)
    buried: list[tuple[str, str]] = field(default_factory=list)

    def send(self, batch: Sequence[Outgoing]) -> list[bool]:
        if not 1 <= len(batch) <= BATCH_LIMIT:
            raise ValueError(f"1 to {BATCH_LIMIT} messages are sent at once")
        if any(not 0 <= outgoing.delay_seconds <= LONGEST_DELAY for outgoing in batch):
            raise ValueError(f"a delay is 0 to {LONGEST_DELAY} seconds")
        self.sent += batch
        return [True] * len(batch)

    def bury(self, body: str, reason: str) -> None:
        self.buried.append((body, reason))


@dataclass
class MemoryGates:
    held: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    hosts: dict[str, HostState] = field(default_factory=dict)
    windows: dict[datetime, tuple[int, int]] = field(default_factory=dict)
    """Planner windows: how many hosts they have, and how many are down."""
    frozen: bool = False
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)

    def acquire(self, gate: str, owner: str, *, now: datetime, until: datetime) -> bool:
        holder, ends = self.held.get(gate, (owner, now))
        if holder != owner and ends > now:
            return False
        self.held[gate] = (owner, until)
        return True

    def release(self, gate: str, owner: str) -> bool:
        if self.held.get(gate, ("", None))[0] != owner:
            return False
        del self.held[gate]
        return True

    def take_slot(self, host: str, *, now: datetime, until: datetime) -> Slot:
        state = self.hosts.get(host, HostState())
        closed = (state.next_slot and state.next_slot > now) or (
            state.brake_until and state.brake_until > now
        )
        if closed:
            return Slot(False, state)
        self.hosts[host] = replace(state, next_slot=until)
        return Slot(True, state)

    def reserve_slot(self, host: str, *, at: datetime, until: datetime) -> Slot:
        state = self.hosts.get(host, HostState())
        if state.next_slot != at or (state.brake_until and state.brake_until > at):
            return Slot(False, state)
        self.hosts[host] = replace(state, next_slot=until)
        return Slot(True, state)

    def host_failed(self, host: str, source_id: str, *, window: datetime | None) -> HostState:
        before = self.hosts.get(host, HostState())
        self.hosts[host] = replace(
            before, failing=before.failing or source_id, failed_window=window or before.failed_window
        )
        return before

    def brake(self, host: str, *, until: datetime, brakes: int, others: bool) -> None:
        before = self.hosts.get(host, HostState())
        self.hosts[host] = replace(before, brake_until=until, brakes=brakes, others=others)

    def host_recovered(self, host: str) -> None:
        self.hosts[host] = HostState(next_slot=self.hosts.get(host, HostState()).next_slot)

    def open_window(self, window_end: datetime, hosts: int) -> bool:
        self.windows[window_end] = (hosts, self.windows.get(window_end, (0, 0))[1])
        return self.frozen

    def report_down(self, window_end: datetime) -> bool:
        hosts, down = self.windows.get(window_end, (0, 0))
        self.windows[window_end] = (hosts, down + 1)
        if not is_outage(down=down + 1, hosts=hosts):
            return False
        self.frozen = True
        return True

    def thaw(self) -> None:
        self.frozen = False

    def checkpoint(self, gate: str) -> Checkpoint:
        return self.checkpoints.get(gate, Checkpoint())

    def put_checkpoint(self, gate: str, checkpoint: Checkpoint) -> None:
        self.checkpoints[gate] = checkpoint


@dataclass
class MemoryRobots:
    """Sites that welcome robots, but for the URLs that are named."""

    closed: set[str] = field(default_factory=set)

    def knows(self, url: str) -> bool:
        return True

    def check(self, url: str) -> None:
        if url in self.closed:
            raise FetchError(ErrorClass.ROBOTS, "The site's robots.txt does not allow this page.")

    def delay(self, url: str) -> timedelta | None:
        return None


@dataclass
class MemorySecrets:
    """Keys by owner."""

    keys: dict[str, str] = field(default_factory=dict)

    def x_api_key(self, owner_id: str) -> str | None:
        return self.keys.get(owner_id)


def world(
    http: Http, clock: Callable[[], datetime], pause: Callable[[timedelta], None] = lambda span: None
) -> World:
    """Return a world in memory; ids count up."""
    numbers = count(1)
    return World(
        sources=MemorySources(),
        posts=MemoryPosts(),
        logs=MemoryFetchLogs(),
        queue=MemoryQueue(),
        gates=MemoryGates(),
        http=http,
        robots=MemoryRobots(),
        secrets=MemorySecrets(),
        parse=lambda kind, reply: KINDS[kind].parse(reply),
        clock=clock,
        pause=pause,
        new_id=lambda: f"id-{next(numbers)}",
    )
