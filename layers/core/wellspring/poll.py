"""Owns one attempt: asking the publisher, and what came of it."""

import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from wellspring.errors import ErrorClass, FetchError, Unavailable
from wellspring.http import Reply
from wellspring.identity import Sighting
from wellspring.model import Entry, Source, Status
from wellspring.ports import World
from wellspring.settings import Settings
from wellspring.sources import KINDS, Asker, Document

BACKTRACE_LINES = 20
ERRORS_LISTED = 10
CREATED, UPDATED, UNCHANGED, FAILED = "created", "updated", "unchanged", "failed"
OVER_LIMIT, TOO_MANY = "over_limit", "too_many"
STORED = {CREATED, UPDATED, UNCHANGED, FAILED}


@dataclass(slots=True, kw_only=True)
class Poll:
    """What an attempt has found and done so far."""

    reply: Reply | None = None
    document: Document | None = None
    signature: str | None = None
    error: FetchError | None = None
    backtrace: str | None = None
    changed: bool = False
    """The set of entry ids is another one than last time."""
    wanted: list[str] = field(default_factory=list)
    """Posts whose full text is asked for."""
    outcomes: list[tuple[Sighting, str]] = field(default_factory=list)
    """Each entry, and what was done with it: stored, known, or left out and why."""
    counts: Counter[str] = field(default_factory=Counter)
    entry_errors: list[dict[str, str]] = field(default_factory=list)

    def count(self, sighting: Sighting, outcome: str) -> None:
        self.outcomes.append((sighting, outcome))
        self.counts[outcome] += 1

    def note_error(self, entry: Entry, error: Exception) -> None:
        if len(self.entry_errors) < ERRORS_LISTED:
            self.entry_errors.append(
                {"guid": (entry.entry_id or "")[:60], "title": entry.title[:60], "error": str(error)[:120]}
            )

    @property
    def created(self) -> int:
        return self.counts[CREATED]

    @property
    def updated(self) -> int:
        return self.counts[UPDATED]

    @property
    def unchanged(self) -> int:
        return self.counts[UNCHANGED]

    @property
    def failed(self) -> int:
        return self.counts[FAILED]

    @property
    def left_over(self) -> int:
        return self.counts[OVER_LIMIT]

    @property
    def filtered(self) -> dict[str, int]:
        """What was left out, by reason."""
        return {why: number for why, number in self.counts.items() if why not in STORED and number}

    @property
    def http_status(self) -> int | None:
        if self.reply:
            return self.reply.status
        return self.error.http_status if self.error else None

    @property
    def headers(self) -> Mapping[str, str]:
        if self.reply:
            return self.reply.headers
        return self.error.headers if self.error else {}

    @property
    def status(self) -> Status:
        if self.error:
            return Status.FAILED
        if self.document is None:
            return Status.NOT_MODIFIED
        incomplete = self.failed or self.left_over or self.document.cut
        return Status.PARTIAL if incomplete else Status.OK


def backtrace_of(error: BaseException) -> str:
    """Return where an error came from; its text is left out, since it may hold a secret."""
    lines = "".join(traceback.format_tb(error.__traceback__)).splitlines()[-BACKTRACE_LINES:]
    return "\n".join([*lines, type(error).__name__])


def request(source: Source, world: World, settings: Settings, *, ask: Asker | None = None) -> Poll:
    """Ask the publisher; whatever it does wrong becomes a value. `ask` asks otherwise than the type does."""
    poll = Poll()
    try:
        kind = KINDS.get(source.type)
        if kind is None:
            known = ", ".join(sorted(KINDS))
            raise FetchError(
                ErrorClass.INTERNAL, f'The type "{source.type}" is not known; use one of: {known}.'
            )
        poll.reply = (ask or kind.ask)(source, world, settings)
        if poll.reply.status == 304:
            return poll
        poll.signature = sha256(poll.reply.body).hexdigest()
        if poll.signature != source.cursor.signature:
            poll.document = world.parse(source.type, poll.reply)
    except FetchError as error:
        poll.error = error
    except Unavailable:
        raise
    except Exception as error:
        poll.error = FetchError(
            ErrorClass.INTERNAL, f"Wellspring failed on this document: {type(error).__name__}."
        )
        poll.backtrace = backtrace_of(error)
    return poll
