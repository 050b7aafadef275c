"""Owns how the command writes: to people and, with --json, to programs."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellspring import timestamps
from wellspring.cadences import shown

PIPED_WIDTH = 160
"""Nobody sees how wide a pipe is; tables are made for a wide screen then, and cut less."""


def console(*, stderr: bool = False) -> Console:
    """Return where people read; publishers' text is never markup to it."""
    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=_width(stderr=stderr))
    if isinstance(made.file, io.TextIOWrapper):
        # A terminal that does not know a character shows a question mark; it is no reason to give up.
        made.file.reconfigure(errors="replace")
    return made


def say(line: str | Text, *, style: str | None = None) -> None:
    """Print a sentence, whole, however narrow the screen is."""
    console().print(line, style=style, soft_wrap=True)


def note(line: str | Text, *, style: str | None = "yellow") -> None:
    """Tell what is not the answer itself, beside it."""
    console(stderr=True).print(line, style=style, soft_wrap=True)


def show(table: Table) -> None:
    console().print(table)


def print_json(found: object) -> None:
    """Print one JSON object; times are text, and what cannot be said in ASCII only where it can be read."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(found, ensure_ascii=plain, indent=2, default=_plain))


def print_json_line(found: object) -> None:
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(found, ensure_ascii=plain, default=_plain), flush=True)


def table(*columns: str | tuple[str, str]) -> Table:
    """Return a table of such columns; a column may name how it is justified."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        name, justify = column if isinstance(column, tuple) else (column, "left")
        made.add_column(name, justify=justify, overflow="fold" if justify == "left" else "ellipsis")  # type: ignore[arg-type]
    return made


def facts(pairs: Iterable[tuple[str, str | Text]]) -> Table:
    """Return a list of names and what they are."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs:
        made.add_row(name, value if isinstance(value, Text) else Text(value))
    return made


def printable(text: str) -> str:
    """Return text that a publisher wrote without what would steer the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def clock(moment: datetime | None, missing: str = "-") -> str:
    """Write a moment, in UTC like the logs."""
    return timestamps.to_text(moment)[:19].replace("T", " ") + "Z" if moment else missing


def moment(moment: datetime | None) -> str | None:
    """Write a moment for programs."""
    return timestamps.to_text(moment) if moment else None


def relative(moment: datetime | None, *, now: datetime, missing: str = "-") -> str:
    """Write a moment as how far away it is."""
    if moment is None:
        return missing
    return f"in {shown(moment - now)}" if moment > now else f"{shown(now - moment)} ago"


def plural(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _width(*, stderr: bool) -> int | None:
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty() or os.environ.get("COLUMNS"):
        return None
    return PIPED_WIDTH


def _plain(found: Any) -> Any:
    if isinstance(found, datetime):
        return timestamps.to_text(found)
    raise TypeError(f"cannot print {type(found).__name__}")
