"""Owns how dead letters are handled: all that are taken up are deleted, or given back at the end."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any

from rich.text import Text

from wellspring import message, urls
from wellspring.aws.dead_letters import MOST_AT_ONCE, Letter, SqsDeadLetters
from wellspring.errors import InvalidInput
from wellspring.message import FetchMessage
from wellspring.model import Source
from wellspring.ports import Outgoing, Queue
from wellspring_cli import output
from wellspring_cli.errors import NotThere

LOOK = timedelta(minutes=1)
WORK = timedelta(minutes=15)
"""So long the messages are out of sight of others, should the command be killed."""
ENOUGH = 0.75
"""Of that time: what is taken up later might be seen again before it is given back."""
SHORT_ID = 8
SHORT_BODY = 120
MOST_NAMED = 5
URL = re.compile(r"https?://[^\s\"'<>\\]+")


class Hands:
    """Holds dead letters out of others' sight. What is still held at the end is given back."""

    def __init__(self, letters: SqsDeadLetters, span: timedelta) -> None:
        self._letters = letters
        self._span = span
        self._until = time.monotonic() + span.total_seconds() * ENOUGH
        self._held: dict[str, Letter] = {}
        self.is_late = False
        """Whether the time was over before all were seen."""

    def __enter__(self) -> Hands:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for batch in in_tens(list(self._held.values())):
            self._letters.give_back(batch)

    def batches(self) -> Iterator[list[Letter]]:
        """Take up and yield messages that were not seen yet, until there are none."""
        seen: set[str] = set()
        while found := self._letters.receive(hidden=self._span):
            self._held |= {letter.message_id: letter for letter in found}
            if new := [letter for letter in found if letter.message_id not in seen]:
                yield new
            seen |= {letter.message_id for letter in found}
            if time.monotonic() > self._until:
                self.is_late = True
                return

    def find(self, names: Sequence[str]) -> list[Letter]:
        """Return the messages that ids, or unique beginnings of ids, name. Raises NotThere."""
        whole = set(names)
        for batch in self.batches():
            whole -= {letter.message_id for letter in batch}
            if not whole:
                break
        return [self._held[name] for name in dict.fromkeys(self._meant(name) for name in names)]

    def delete(self, letters: Sequence[Letter]) -> int:
        """Delete messages, and say how many are gone."""
        gone = 0
        for batch in in_tens(letters):
            for letter, done in zip(batch, self._letters.delete(batch), strict=True):
                if done:
                    del self._held[letter.message_id]
                    gone += 1
        return gone

    def _meant(self, name: str) -> str:
        if name in self._held:
            return name
        fits = sorted(one for one in self._held if name and one.startswith(name))
        if len(fits) == 1 and not self.is_late:
            return fits[0]
        if fits:
            more = f" and {len(fits) - MOST_NAMED} more" if len(fits) > MOST_NAMED else ""
            raise NotThere(
                f"{name!r} could be {', '.join(fits[:MOST_NAMED])}{more}. Type more of the id; "
                "nothing was done."
            )
        raise NotThere(
            f"There is no dead letter {name!r}; nothing was done. "
            "See those that are there: wellspring dead-letters list"
        )


@dataclass
class Redriven:
    """How sending again went."""

    sent: int = 0
    unreadable: list[Letter] = field(default_factory=list)
    """Left where they are: they would only come back."""
    refused: int = 0
    """The fetch queue did not take them; they are left as well."""

    def __bool__(self) -> bool:
        return bool(self.sent or self.unreadable or self.refused)

    def send(self, letters: Sequence[Letter], hands: Hands, queue: Queue, *, now: datetime) -> None:
        """Send messages again and delete them after that: a crash in between sends twice, and loses none."""
        for batch in in_tens(letters):
            asked = [(letter, read(letter.body, now=now)) for letter in batch]
            self.unreadable += [letter for letter, found in asked if found is None]
            readable = [(letter, found) for letter, found in asked if found]
            if not readable:
                continue
            taken = queue.send([Outgoing(found) for _, found in readable])
            self.sent += sum(taken)
            self.refused += len(taken) - sum(taken)
            hands.delete([letter for (letter, _), done in zip(readable, taken, strict=True) if done])


def read(body: str, *, now: datetime) -> FetchMessage | None:
    """Return the message of a body, None when the fetcher could not read it either."""
    try:
        return message.parse(body, now=now)
    except InvalidInput:
        return None


def named(body: str) -> str | None:
    """Return the source that a body names, whatever is wrong with the rest."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    source_id = found.get("source_id") if isinstance(found, dict) else None
    return source_id if isinstance(source_id, str) and _can_be_id(source_id) else None


def fields(
    letter: Letter, sources: Mapping[str, Source], *, tries: int | None, now: datetime
) -> dict[str, Any]:
    """Return a dead letter for programs."""
    source_id = named(letter.body)
    source = sources.get(source_id or "")
    return {
        "id": letter.message_id,
        "sent_at": output.moment(letter.sent_at),
        "received": letter.received,
        "source_id": without_secrets(source_id) if source_id else None,
        "url": source.shown_url if source else None,
        "reason": reason(letter, tries=tries),
        "readable": read(letter.body, now=now) is not None,
        "body": without_secrets(letter.body),
    }


def told(letter: Letter, sources: Mapping[str, Source], *, tries: int | None) -> Text:
    """Return the lines that tell a person of a dead letter."""
    source_id = named(letter.body)
    source = sources.get(source_id or "")
    where = source.shown_url if source else "there is no such source"
    lines = [
        f"source  {without_secrets(source_id)}  {where}" if source_id else "",
        f"reason  {reason(letter, tries=tries)}",
        f"body    {_cut(without_secrets(letter.body))}",
    ]
    received = f"received {output.plural(letter.received, 'time')}"
    head = Text.assemble(
        (letter.message_id[:SHORT_ID], "bold"), f"  sent {output.clock(letter.sent_at)}, {received}"
    )
    return head + Text("".join(f"\n          {output.printable(line)}" for line in lines if line))


def reason(letter: Letter, *, tries: int | None) -> str:
    if letter.reason is not None:
        return without_secrets(letter.reason)
    times = f"failed {output.plural(tries, 'time')}" if tries else "failed too often"
    return f"{times}; the fetcher's log says why"


def without_secrets(text: str) -> str:
    """Return text as it may be shown: whoever writes a message by hand may put a whole URL in it."""
    return URL.sub(lambda found: urls.shown(found[0]), text)


def in_tens(letters: Sequence[Letter]) -> Iterator[Sequence[Letter]]:
    for start in range(0, len(letters), MOST_AT_ONCE):
        yield letters[start : start + MOST_AT_ONCE]


def _can_be_id(text: str) -> bool:
    try:
        return 1 <= len(text.encode()) <= message.LONGEST_KEY
    except UnicodeEncodeError:
        return False


def _cut(body: str) -> str:
    line = " ".join(body.split()) or "(empty)"
    return line if len(line) <= SHORT_BODY else line[:SHORT_BODY] + "…"
