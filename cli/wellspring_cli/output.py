"""Owns how the command writes: to people and, with --json, to programs."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from wellspring import timestamps
from wellspring.cadences import shown
from wellspring_cli.errors import CliError

PIPED_WIDTH = 160
"""Nobody sees how wide a pipe is; tables are made for a wide screen then, and cut less."""
CUT = " [...]"
NOT_PLAIN = re.compile(r"[^\n\x20-\x7e]")


class _Console(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render without what would steer the terminal, wherever the text comes from."""
        for segment in super().render(renderable, options):
            text = segment.text
            yield (
                segment
                if segment.control or text.isprintable()
                else segment._replace(text=_plain_lines(text))
            )

    def on_broken_pipe(self) -> NoReturn:
        _hang_up()


def console(*, stderr: bool = False) -> Console:
    """Return where people read; publishers' text is never markup to it."""
    made = _Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=_width(stderr=stderr))
    if isinstance(made.file, io.TextIOWrapper):
        # A terminal that does not know a character shows a question mark; it is no reason to give up.
        made.file.reconfigure(errors="replace")
    return made


def say(line: str | Text, *, style: str | None = None) -> None:
    """Print a sentence, whole, however narrow the screen is."""
    with written():
        console().print(line, style=style, soft_wrap=True)


def note(line: str | Text, *, style: str | None = "yellow") -> None:
    """Tell what is not the answer itself, beside it."""
    console(stderr=True).print(line, style=style, soft_wrap=True)


def show(table: Table) -> None:
    with written():
        console().print(table)


def print_json(found: object) -> None:
    """Print one JSON object; times are text, and what cannot be said in ASCII only where it can be read."""
    _print(_json(found, indent=2))


def print_json_line(found: object) -> None:
    _print(_json(found))


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
        made.add_row(name, value if isinstance(value, Text) else Text(printable(value)))
    return made


def printable(text: str) -> str:
    """Return text that a publisher wrote without what would steer the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _plain_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


def one_line(text: str, longest: int | None = None) -> str:
    """Return text that a publisher wrote for one line: printable, white space folded, cut if it is longer."""
    line = " ".join(printable(text).split())
    return line[:longest].rstrip() + CUT if longest and len(line) > longest else line


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


def _print(text: str) -> None:
    with written():
        print(text, flush=True)


@contextmanager
def written() -> Iterator[None]:
    """End well when whoever reads has seen enough; say it when there is no room for what is written."""
    try:
        yield
    except BrokenPipeError:
        _hang_up()
    except OSError as error:
        raise CliError(f"It could not be written out: {error.strerror}.") from None


def _hang_up() -> NoReturn:
    """End well: whoever reads has seen enough. Nothing may be written any more, not even at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(0)


def _json(found: object, *, indent: int | None = None) -> str:
    """Write JSON; what would steer a terminal, or cannot be written there, is escaped."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(found, ensure_ascii=plain, indent=indent, default=_plain)
    return NOT_PLAIN.sub(lambda match: match[0] if match[0].isprintable() else _escaped(match[0]), text)


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


def _width(*, stderr: bool) -> int | None:
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty() or os.environ.get("COLUMNS"):
        return None
    return PIPED_WIDTH


def _plain(found: Any) -> Any:
    if isinstance(found, datetime):
        return timestamps.to_text(found)
    raise TypeError(f"cannot print {type(found).__name__}")
