"""Owns what travels on the queue: a message sent by the planner, or by a person's hand."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from wellspring import timestamps
from wellspring.errors import InvalidInput

LONGEST_KEY = 1_024


class FetchMessage(BaseModel):
    """One request to fetch a source; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source_id: str = Field(min_length=1)
    due_at: AwareDatetime | None = None
    window_end: AwareDatetime | None = None
    content_hash: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """Names a post of the source: then it is the post's own page that is fetched, for its full text."""
    manual: bool = False
    frozen: bool = False
    """Set by the planner during an outage of our own: failures are not counted."""

    def base(self, started_at: datetime) -> datetime:
        """The time that the attempt counts for: the plan's window end, or a manual fetch's start."""
        return started_at if self.manual or self.window_end is None else self.window_end

    def to_text(self) -> str:
        fields: dict[str, object] = {"source_id": self.source_id}
        if self.content_hash:
            fields["content_hash"] = self.content_hash
        if self.manual:
            fields["manual"] = True
        if self.due_at:
            fields["due_at"] = timestamps.to_text(self.due_at)
        if self.window_end:
            fields["window_end"] = timestamps.to_text(self.window_end)
        if self.frozen:
            fields["frozen"] = True
        return json.dumps(fields)


def parse(body: str, *, now: datetime) -> FetchMessage:
    """Read a message's body; a mistake is told in a sentence that says what to send instead."""
    try:
        message = FetchMessage.model_validate_json(body)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        told = f'"{where}": {problem["msg"]}' if where else problem["msg"]
        raise InvalidInput(
            f'The message cannot be read ({told}). Send JSON like {{"source_id": "...", "manual": true}}.'
        ) from None
    by_itself = message.manual or message.content_hash
    if not by_itself and not (message.due_at and message.window_end):
        raise InvalidInput(
            'The message has no "due_at" and "window_end": a fetch by hand says "manual": true.'
        )
    for name, moment in (("due_at", message.due_at), ("window_end", message.window_end)):
        if moment and not timestamps.is_sensible(moment, now=now):
            raise InvalidInput(
                f'"{name}" lies in the future: a fetch by hand says "manual": true, and no times.'
            )
    if len(message.source_id.encode("utf-8", "replace")) > LONGEST_KEY:
        raise InvalidInput(
            'The "source_id" is too long. Send JSON like {"source_id": "...", "manual": true}.'
        )
    return message


def is_dry_run(event: object) -> bool:
    return isinstance(event, Mapping) and event.get("dry_run") is True


def window_end(event: object, *, now: datetime) -> datetime:
    """Return the end of the window that a tick asks to plan.

    A scheduler that does not fill in its own scheduled time, as on a local cloud, sends the
    placeholder as it stands; then it is the nearest whole second, so that a cadence of a minute
    does not slip a turn over some milliseconds.
    """
    raw = event.get("window_end") if isinstance(event, Mapping) else None
    if raw is None or (isinstance(raw, str) and raw.startswith("<aws.scheduler.")):
        return (now + timedelta(milliseconds=500)).replace(microsecond=0)
    try:
        moment = timestamps.floor(timestamps.from_text(raw))
        if not timestamps.is_sensible(moment, now=now):
            raise InvalidInput(
                f'"window_end" lies in the future ({raw}): sources would wait until then. '
                "Leave it out to plan now."
            )
        return moment
    except (TypeError, ValueError):
        raise InvalidInput(
            f'"window_end" must be a time like "2026-01-31T12:00:00Z", found {raw!r}.'
        ) from None
