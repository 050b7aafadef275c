"""Owns what the use cases need of the world: narrow protocols, one method for each remote call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from wellspring.asking import Http, Robots, Secrets
from wellspring.backlog import Backlog
from wellspring.hosts import HostState
from wellspring.http import Reply
from wellspring.message import FetchMessage
from wellspring.model import FetchLog, FullText, Lease, Post, PostKey, Source, Window
from wellspring.sources import Document


@dataclass(frozen=True, slots=True)
class DueRef:
    """A row of the due index. `mark` is the stored time as it stands there, for a conditional move."""

    source_id: str
    due_at: datetime
    mark: str


@dataclass(frozen=True, slots=True)
class DuePage:
    refs: tuple[DueRef, ...]
    after: str | None = None
    """Where the next page begins; None on the last."""


@dataclass(frozen=True, slots=True)
class SourcePage:
    sources: tuple[Source, ...]
    after: str | None = None
    """The id behind which the next page begins; None on the last."""


@dataclass(frozen=True, slots=True)
class Started:
    """The lease was taken. `source` is as it was before, its earlier lease included."""

    source: Source


@dataclass(frozen=True, slots=True)
class Refused:
    """The lease was not taken. `source` is as it is, None if there is none."""

    source: Source | None


@dataclass(frozen=True, slots=True)
class Viewed:
    """Whether a view was written. `source` is as it is now, None if there is none."""

    noted: bool
    source: Source | None


class Sources(Protocol):
    def add(self, source: Source) -> bool:
        """Store a new source; False when its id is taken, and then nothing is written.

        One without a next time is due at once; if it is disabled, it is not in the due index.
        """

    def due(self, shard: int, until: datetime, *, after: str | None = None, limit: int = 100) -> DuePage:
        """Return what the index lists as due in a shard, the longest overdue first."""

    def count_due(self, shard: int, until: datetime) -> int:
        """Say how many sources the index lists as due in a shard."""

    def read(self, source_ids: Sequence[str]) -> list[Source]:
        """Return the sources that exist, at most 100 at once, in any order."""

    def move(self, ref: DueRef, to: datetime) -> bool:
        """Set the next time unless somebody moved it meanwhile."""

    def unlist(self, ref: DueRef, *, if_disabled: bool = False, viewed_at: datetime | None = None) -> bool:
        """Take a source out of the due index unless somebody moved it, or enabled it again, meanwhile.

        One that is not disabled stays, too, when somebody has looked at it since it was read.
        """

    def start(
        self,
        source_id: str,
        lease: Lease,
        *,
        due_at: datetime | None = None,
        window_end: datetime | None = None,
    ) -> Started | Refused:
        """Take the lease, or tell what stands against it, in one conditional write.

        A planned fetch names its due time and its window: it is refused when either is done.
        The same lease may be taken again, because the answer to the first time may be lost.
        """

    def release(
        self, source_id: str, token: str, lease: Lease | None, *, next_fetch_at: datetime | None = None
    ) -> bool:
        """Give a lease back unused: the earlier one is put in its place. The next time may move."""

    def finish(self, before: Source, after: Source, token: str) -> bool:
        """Write what an attempt changed; False when the lease is no longer ours.

        Only what differs is written, so that a person's edit during the fetch survives.
        """

    def heal(self, source: Source) -> None:
        """Write cursor and lease as they could be read, where a person's edit made them unreadable."""

    def view(self, source_id: str, viewed_at: datetime, *, unless_since: datetime) -> Viewed:
        """Note that somebody looked, unless that was noted after `unless_since` already.

        A stored view that lies in the future is none.
        """

    def relist(self, source: Source, *, to: datetime) -> bool:
        """Enter a source in the due index at a time, unless somebody moved it since it was read."""

    def edit(self, before: Source, after: Source, *, now: datetime) -> bool:
        """Write what a person changed, its place in the schedule included.

        False when the source is being fetched, or was moved or removed, since it was read: read it again.
        """

    def remove(self, source_id: str) -> bool:
        """Delete a source; False when there is none."""

    def scan(self, *, after: str | None = None, limit: int = 100) -> SourcePage:
        """Return sources in an order of the store's own, those behind an id, page by page."""


@dataclass(frozen=True, slots=True)
class PendingRef:
    """A row of the pending index. `mark` is the stored time as it stands there: with the key, a position."""

    key: PostKey
    mark: str
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PendingPage:
    refs: tuple[PendingRef, ...]
    after: PendingRef | None = None
    """Where the next page begins; None on the last."""
    seen: int = 0
    """How many rows were looked at, those that did not fit included."""


class Marking(StrEnum):
    """What became of a post that was to be marked as processed."""

    DONE = "done"
    ALREADY = "already"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PostPage:
    keys: tuple[PostKey, ...]
    after: str | None = None
    """Where the next page begins; None on the last."""


class Posts(Protocol):
    def put(self, post: Post) -> bool:
        """Store a post; False when it is there already."""

    def hash_like(self, source_id: str, prefix: str, *, after: str | None = None) -> str | None:
        """Return the first full hash of a stored post that begins so, or the first behind another one."""

    def window(self, source_id: str) -> Window:
        """Return the fingerprints of what the last document listed."""

    def put_window(self, source_id: str, window: Window, *, started_at: datetime) -> bool:
        """Store the window; False when a later attempt has stored its own."""

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
        """Look at so many rows of what is not processed, the oldest first, behind a position.

        Rows of one time come in an order of the store's own, always the same. The index lags a little
        behind the posts. `expires_by` leaves out what expires later, or never.
        """

    def read(self, keys: Sequence[PostKey]) -> list[Post]:
        """Return the posts that exist as they are now, at most 100 at once, in any order."""

    def mark_processed(self, key: PostKey, at: datetime) -> Marking:
        """Mark a post, once; it leaves the pending index and never expires."""

    def delete_unprocessed(self, key: PostKey, *, expires_by: datetime) -> bool:
        """Delete a post if it is still not processed and expires by then."""

    def put_article(self, key: PostKey, status: FullText, text: str | None) -> bool:
        """Store a post's full text, or that there is none; False when it has one or is gone."""

    def newest(self, source_id: str, *, after: str | None = None, limit: int = 100) -> PostPage:
        """Return names of a source's posts, the newest first, page by page."""

    def count(self, source_id: str) -> int:
        """Say how many posts of a source are stored."""

    def erase(self, source_id: str) -> int:
        """Delete all that is stored of a source, and say how many posts that were."""

    def backlog(self, source_id: str) -> Backlog:
        """Return the line of posts that wait for their full text."""

    def put_backlog(self, source_id: str, backlog: Backlog, *, over: int) -> bool:
        """Store the line in place of that version; False when somebody else has moved it on."""


class FetchLogs(Protocol):
    def put(self, log: FetchLog) -> bool:
        """Write the row of an attempt, once: False when it is there already."""

    def newest(self, source_id: str, *, before: datetime | None = None, limit: int = 20) -> list[FetchLog]:
        """Return the rows of a source's attempts that began before a moment, the newest first."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message on its way to the queue."""

    message: FetchMessage
    delay_seconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepth:
    """About how many messages the fetch queue holds."""

    waiting: int
    delayed: int
    in_flight: int


class Queue(Protocol):
    def send(self, batch: Sequence[Outgoing]) -> list[bool]:
        """Send at most ten messages; the answer says for each whether it was taken."""

    def bury(self, body: str, reason: str) -> None:
        """Put a body that nobody can work off on the dead-letter queue."""

    def depth(self) -> QueueDepth:
        """Say how much is on the fetch queue."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Whether a host's next place was taken. `state` is the host as it was before."""

    taken: bool
    state: HostState


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a long pass over a table has come, and when it began."""

    began_at: datetime | None = None
    after: str | None = None
    """None when the pass is complete."""


class Gates(Protocol):
    def acquire(self, gate: str, owner: str, *, now: datetime, until: datetime) -> bool:
        """Take a named lease unless another owner holds it."""

    def release(self, gate: str, owner: str) -> bool:
        """Give it back, if it is still ours."""

    def take_slot(self, host: str, *, now: datetime, until: datetime) -> Slot:
        """Take the host's next place and close it until then, unless it is closed or braked."""

    def reserve_slot(self, host: str, *, at: datetime, until: datetime) -> Slot:
        """Take the place that begins at this time, unless somebody else has taken it meanwhile."""

    def host(self, host: str) -> HostState:
        """Return what is known of a host."""

    def host_failed(self, host: str, source_id: str, *, window: datetime | None) -> HostState:
        """Note a failure; the answer is the host as it was before it, whatever others do meanwhile."""

    def brake(self, host: str, *, until: datetime, brakes: int, others: bool) -> None:
        """Close the host for a while: others of its sources fail too, or it said so."""

    def host_recovered(self, host: str) -> None:
        """A source succeeded: forget failures and brakes."""

    def open_window(self, window_end: datetime, hosts: int) -> bool:
        """Say how many hosts a planner window has; the answer is whether failures are frozen."""

    def report_down(self, window_end: datetime) -> bool:
        """Count one more host that is down in this window; the answer is whether failures are frozen."""

    def thaw(self) -> None:
        """A fetch succeeded: failures count again."""

    def is_frozen(self) -> bool:
        """Say whether failures are frozen."""

    def checkpoint(self, gate: str) -> Checkpoint:
        """Return how far a long pass has come."""

    def put_checkpoint(self, gate: str, checkpoint: Checkpoint) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All ports of a use case, with the clock and the maker of ids."""

    sources: Sources
    posts: Posts
    logs: FetchLogs
    queue: Queue
    gates: Gates
    http: Http
    robots: Robots
    secrets: Secrets
    parse: Callable[[str, Reply], Document]
    clock: Callable[[], datetime]
    pause: Callable[[timedelta], None]
    new_id: Callable[[], str]
