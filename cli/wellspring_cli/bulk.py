"""Owns adding many sources at once: all are checked before the first write, then written side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event

from wellspring import catalog
from wellspring.errors import InvalidInput, Unavailable
from wellspring.model import Source
from wellspring.ports import Sources
from wellspring.settings import Settings
from wellspring_cli import output
from wellspring_cli.source_files import rows
from wellspring_cli.source_files.rows import Row, Unsaid

SIDE_BY_SIDE = 16
AT_ONCE = 25
"""So many sources are looked up with one read, by one worker."""
LONGEST_MISTAKE = 300


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that cannot be added, and why; neither tells a secret."""

    line: int
    url: str
    error: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A source that could be added, and the line that it comes from."""

    line: int
    source: Source

    def problem(self, error: str) -> Problem:
        return Problem(self.line, rows.shown(self.source.url), error)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a file comes to."""

    ready: tuple[Ready, ...]
    problems: tuple[Problem, ...]
    duplicates: int


@dataclass(slots=True)
class Tally:
    """What became of the sources so far. Workers append to it, which needs no lock."""

    added: list[Ready] = field(default_factory=list)
    there: list[Ready] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    stopped_by: Unavailable | KeyboardInterrupt | None = None


def check(given: Iterable[Row], unsaid: Unsaid, settings: Settings, *, now: datetime) -> Checked:
    """Make sources of rows, the first of each id, and tell what is wrong with the others."""
    ready: dict[str, Ready] = {}
    problems: list[Problem] = []
    duplicates = 0
    for row in given:
        try:
            source = catalog.new(rows.wanted(row, unsaid), settings, now=now, bulk=True)
            first = ready.setdefault(source.source_id, made := Ready(row.line, source))
            if first is not made:
                _check_same(first, source)
                duplicates += 1
        except InvalidInput as error:
            problems.append(Problem(row.line, row.shown_url, _shortened(str(error))))
    return Checked(tuple(ready.values()), tuple(problems), duplicates)


def add(
    ready: Sequence[Ready], sources: Sources, *, dry_run: bool, advance: Callable[[int], object]
) -> Tally:
    """Add those that are not there yet, until Ctrl-C or until AWS refuses: the tally tells how far it came.

    Workers end behind the source that they are at, so that what is counted is what was written.
    """
    tally, stop = Tally(), Event()
    batches = [ready[start : start + AT_ONCE] for start in range(0, len(ready), AT_ONCE)]

    def work(batch: Sequence[Ready]) -> None:
        if stop.is_set():
            return
        there = {found.source_id: found for found in sources.read([one.source.source_id for one in batch])}
        for one in batch:
            if stop.is_set():
                return
            _add_one(one, there.get(one.source.source_id), sources, tally, dry_run=dry_run)
            advance(1)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        try:
            for done in as_completed([pool.submit(work, batch) for batch in batches]):
                done.result()
        except (Unavailable, KeyboardInterrupt) as error:
            tally.stopped_by = error
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    return tally


def _add_one(one: Ready, there: Source | None, sources: Sources, tally: Tally, *, dry_run: bool) -> None:
    source = one.source
    while there is None:
        try:
            if dry_run or sources.add(source):
                tally.added.append(one)
                return
        except ArithmeticError:
            tally.refused.append(one.problem("It cannot be stored: a number in it is too small or too long."))
            return
        except ValueError as error:
            tally.refused.append(one.problem(_shortened(f"It cannot be stored: {error}")))
            return
        there = next(iter(sources.read([source.source_id])), None)
    if catalog.is_at(there, catalog.id_of(source.url)):
        tally.there.append(one)
        return
    other = rows.shown(there.url) or "one that cannot be read"
    taken = f"The id {source.source_id} is taken by another source, {other}. Name another id."
    tally.refused.append(one.problem(_shortened(taken)))


def _check_same(first: Ready, source: Source) -> None:
    if not catalog.is_at(first.source, catalog.id_of(source.url)):
        raise InvalidInput(
            f"The id {source.source_id} is that of line {first.line} as well, which has another URL."
        )


def _shortened(text: str) -> str:
    line = output.printable(text)
    return line if len(line) <= LONGEST_MISTAKE else line[:LONGEST_MISTAKE] + "..."
