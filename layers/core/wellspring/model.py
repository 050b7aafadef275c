"""Owns the values that the rest of the package passes around; all of them are frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from wellspring import urls
from wellspring.config import Config
from wellspring.errors import ErrorClass, InvalidInput

__all__ = [
    "Config",
    "Cursor",
    "Entry",
    "FetchLog",
    "FullText",
    "Health",
    "Lease",
    "Moved",
    "Pace",
    "Post",
    "PostKey",
    "Source",
    "Status",
    "Window",
]


class Status(StrEnum):
    """How a run ended. The first three are successes; the last two sent no request."""

    OK = "ok"
    PARTIAL = "partial"
    NOT_MODIFIED = "not_modified"
    FAILED = "failed"
    DEFERRED = "deferred"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far a source has been read."""

    last_fetch_at: datetime | None = None
    last_polled_at: datetime | None = None
    due_at: datetime | None = None
    etag: str | None = None
    last_modified: str | None = None
    issuer: str | None = None
    """A short hash of the URL that issued the validators: they mean nothing to another one."""
    signature: str | None = None
    bookmark: Mapping[str, str] = field(default_factory=dict)
    """What the source's type wants to know again, such as the newest post that it has read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What went wrong lately, and how often in a row."""

    failures: int = 0
    """In a row, whatever they were."""
    attempt: int = 0
    """Failures since the circuit was last closed or opened; adaptive sources retry by it."""
    error_class: ErrorClass | None = None
    """Of the last poll; None after a success."""
    circuit_until: datetime | None = None
    quarantined_at: datetime | None = None
    gone: int = 0
    """How many weeks the server has said that the source is gone."""
    gone_at: datetime | None = None
    """When that was counted last."""
    reason: str | None = None
    """Why the source was disabled, if we did it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What the next time is made of, beside the configuration."""

    interval: timedelta | None = None
    """The learned interval of an adaptive source."""
    cache: timedelta | None = None
    """How long the server's cache headers ask us to stay away."""
    document: timedelta | None = None
    """How long the document itself asks us to stay away."""
    skip_hours: int = 0
    """Hours of the day (UTC) in which the document asks not to be read, a bit for each."""
    skip_days: int = 0
    """Days of the week, Monday first."""
    retry_at: datetime | None = None
    """The server's own word: not before."""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A permanent redirect that has been seen, and since when."""

    url: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The newest start of a source, and who holds it.

    While a fetch runs there is a `token` and an `until`; after it only the start
    and the time before which no other start is allowed are left.
    """

    started_at: datetime
    token: str | None = None
    until: datetime | None = None
    free_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One feed, page or timeline that is polled."""

    source_id: str
    url: str
    type: str = "rss"
    title: str | None = None
    owner_id: str | None = None
    enabled: bool = True
    created_at: datetime | None = None
    viewed_at: datetime | None = None
    previous_url: str | None = None
    moved: Moved | None = None
    config: Config = field(default_factory=Config)
    cursor: Cursor = field(default_factory=Cursor)
    health: Health = field(default_factory=Health)
    lease: Lease | None = None
    pace: Pace = field(default_factory=Pace)
    next_fetch_at: datetime | None = None
    due_shard: str | None = None
    mark: str | None = field(default=None, compare=False)
    """The next time as it is stored, for conditional writes."""
    warnings: tuple[str, ...] = ()
    """What of the stored item could not be read; such a source still works as far as it can."""

    @property
    def host(self) -> str:
        """The server that the source is fetched from: its name, and its port if that is an unusual one."""
        return urls.host_of(self.url)

    @property
    def shown_url(self) -> str:
        """The URL as log lines may show it: without user, password and query values."""
        return urls.shown(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One item of a document, as parsed."""

    entry_id: str | None = None
    title: str = ""
    url: str | None = None
    body: str = ""
    author: str | None = None
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True, order=True)
class PostKey:
    """What names a post."""

    source_id: str
    content_hash: str

    def __str__(self) -> str:
        return f"{self.source_id}/{self.content_hash}"

    @classmethod
    def from_text(cls, text: str) -> "PostKey":
        """Read what `str` writes; a source's id may have slashes of its own."""
        source_id, _, content_hash = text.rpartition("/")
        if not (source_id and content_hash):
            raise InvalidInput(f"A post is named SOURCE_ID/CONTENT_HASH, found {text!r}.")
        return cls(source_id, content_hash)


class FullText(StrEnum):
    """How far the full text of a post has come."""

    WANTED = "wanted"
    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"
    """There is no page, or nobody may fetch it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One stored entry."""

    source_id: str
    content_hash: str
    entry: Entry
    fetched_at: datetime
    expires_at: datetime | None = None
    revision_of: str | None = None
    truncated: bool = False
    """The body was longer than a row can hold, and is cut."""
    processed_at: datetime | None = None
    full_text_status: FullText | None = None
    full_text: str | None = None
    """The text of the post's own page, where its source asks for it."""

    @property
    def key(self) -> PostKey:
        return PostKey(self.source_id, self.content_hash)

    @property
    def posted_at(self) -> datetime:
        return self.entry.published_at or self.fetched_at


Window = Mapping[bytes, bytes]
"""Fingerprints of what the last document listed: entry id to content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLog:
    """One attempt, for the record."""

    source_id: str
    started_at: datetime
    finished_at: datetime
    status: Status
    url: str
    attempt_id: str
    message_id: str
    manual: bool
    expires_at: datetime
    http_status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    bytes: int = 0
    entries: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    filtered: Mapping[str, int] = field(default_factory=dict)
    entry_errors: tuple[Mapping[str, str], ...] = ()
    parser: str | None = None
    signature: str | None = None
    error_class: ErrorClass | None = None
    error_message: str | None = None
    content_hash: str | None = None
    """The post whose page this attempt fetched; None when it polled the source itself."""
    next_fetch_at: datetime | None = None
    reasons: tuple[str, ...] = ()
