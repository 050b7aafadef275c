"""Owns what is said of an import: to people in lines, to programs in one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from wellspring.model import Source
from wellspring_cli import cadence
from wellspring_cli.bulk import Checked, Problem, Tally
from wellspring_cli.output import note, plural, say
from wellspring_cli.source_files import rows

MOST_SHOWN = 20
GOES_ON = "repeating the import goes on from there."


def fields(checked: Checked, tally: Tally, *, dry_run: bool) -> dict[str, Any]:
    """Return what became of a file, for programs."""
    return {
        "sources": len(checked.ready),
        "added": len(tally.added),
        "there_already": len(tally.there),
        "duplicates": checked.duplicates,
        "errors": [asdict(problem) for problem in _in_order((*checked.problems, *tally.refused))],
        "interrupted": tally.stopped_by is not None,
        "dry_run": dry_run,
    }


def problems(checked: Checked, name: str, *, is_refused: bool) -> None:
    """Tell what is wrong with a file, beside the answer."""
    if not checked.problems:
        return
    note(f"{plural(len(checked.problems), 'row')} of {name} cannot be added:", style="red")
    _list_problems(checked.problems)
    if is_refused:
        good = len(checked.ready)
        others = f", or add {plural(good, 'good one')} without them: --skip-errors" if good else "."
        note(f"Nothing was written. Mend the file{others}", style="red")


def outcome(checked: Checked, tally: Tally, place: str, *, dry_run: bool) -> None:
    """Tell how far an import came."""
    if tally.refused:
        note(f"{plural(len(tally.refused), 'row')} could not be added:", style="red")
        _list_problems(_in_order(tally.refused))
    if tally.stopped_by:
        there = f", {len(tally.there):,} were there already" if tally.there else ""
        note(f"Stopped: {len(tally.added):,} of {len(checked.ready):,} were added{there}; {GOES_ON}")
        return
    beside = _beside(checked, tally)
    if dry_run:
        _list_added(tally)
        say(f"Would add {plural(len(tally.added), 'source')} to {place}{beside}. Nothing was written.")
        return
    say(f"Added {plural(len(tally.added), 'source')} to {place}{beside}.")
    if tally.added:
        say("Their first polls are spread over their intervals; see when: wellspring sources list")


def _beside(checked: Checked, tally: Tally) -> str:
    """Return what became of the rows that are neither added nor wrong."""
    said = (
        (len(tally.there), "was there already", "were there already"),
        (checked.duplicates, "row names the same as another", "rows name the same as another"),
    )
    return "".join(f"; {plural(number, one, many)}" for number, one, many in said if number)


def _list_added(tally: Tally) -> None:
    added = sorted(tally.added, key=lambda one: one.line)
    for one in added[:MOST_SHOWN]:
        url = rows.shown(one.source.url)
        say(f"  line {one.line}: {url}  {_how(one.source)}, as {one.source.source_id}")
    if len(added) > MOST_SHOWN:
        say(f"  ... and {len(added) - MOST_SHOWN:,} more")


def _list_problems(found: Sequence[Problem]) -> None:
    for problem in found[:MOST_SHOWN]:
        url = f"{problem.url}  " if problem.url else ""
        note(f"  line {problem.line}: {url}{problem.error}", style=None)
    if len(found) > MOST_SHOWN:
        note(f"  ... and {len(found) - MOST_SHOWN:,} more; --json lists all of them", style=None)


def _in_order(found: Sequence[Problem]) -> list[Problem]:
    return sorted(found, key=lambda problem: problem.line)


def _how(source: Source) -> str:
    return f"{source.type}, {cadence.told(source.config)}{'' if source.enabled else ', disabled'}"
