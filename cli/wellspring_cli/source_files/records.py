"""Owns sources as JSON: a list of objects, a list in an object, or an object on each line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from wellspring_cli.errors import WrongUse
from wellspring_cli.source_files.rows import Fields, Row

LIST = "sources"
ON_EACH_LINE = "for an object on each line: --format jsonl"
EXPECTED = f'expected [{{"url": ...}}, ...] or {{"{LIST}": [...]}}; {ON_EACH_LINE}'
SPACE = re.compile(r"[ \t\n\r]*")
NO_OBJECT = 'A source is an object, like {"url": "https://example.org/feed.xml"}.'
TOO_DEEP = "it is nested too deeply"


def read(text: str) -> list[Row]:
    """Return a row for each element of the list. Raises WrongUse with line and column."""
    return list(_Scanner(text).rows())


def read_lines(text: str) -> list[Row]:
    """Return a row for each line that is not blank; a broken one stops no other."""
    lines = enumerate(text.split("\n"), start=1)
    return [_of_line(number, line) for number, line in lines if line.strip()]


def write(sources: Sequence[Fields]) -> str:
    """Return one object with a line for each source, so that files can be compared line by line."""
    lines = ",\n".join(json.dumps(source, ensure_ascii=False) for source in sources)
    return f'{{"{LIST}": [\n{lines}\n]}}\n'


def write_lines(sources: Sequence[Fields]) -> str:
    return "".join(f"{json.dumps(source, ensure_ascii=False)}\n" for source in sources)


class _Scanner:
    """Walks through a list piece by piece, so that the line of each piece is known."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder()
        self._at = 0
        self._line, self._counted = 1, 0

    def rows(self) -> Iterator[Row]:
        if self._next() == "{":
            yield from self._of_object()
        else:
            yield from self._elements()
        if self._next():
            raise self._broken(f"something follows behind the end; {ON_EACH_LINE}")

    def _of_object(self) -> Iterator[Row]:
        """Yield the rows of an object that has the list, and nothing else, in it."""
        self._take("{")
        if self._next() != '"' or self._value() != LIST:
            raise self._broken(EXPECTED)
        self._take(":")
        yield from self._elements()
        if self._next() == ",":
            raise self._broken(f'nothing but "{LIST}" may stand in the object')
        self._take("}")

    def _elements(self) -> Iterator[Row]:
        if self._next() != "[":
            raise self._broken(EXPECTED)
        self._take("[")
        if self._next() != "]":
            yield self._element()
            while self._next() == ",":
                self._take(",")
                yield self._element()
        self._take("]")

    def _element(self) -> Row:
        self._next()
        line = self._line_here()
        return _row(line, self._value())

    def _value(self) -> Any:
        try:
            found, self._at = self._decoder.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            self._at = error.pos
            raise self._broken(error.msg) from None
        except (ValueError, RecursionError) as error:
            raise self._broken(_unusual(error)) from None
        return found

    def _next(self) -> str:
        """Return the next character that is no space, without taking it; empty at the end."""
        if found := SPACE.match(self._text, self._at):
            self._at = found.end()
        return self._text[self._at : self._at + 1]

    def _take(self, expected: str) -> None:
        if self._next() != expected:
            raise self._broken(f"expected {expected!r}")
        self._at += 1

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _broken(self, why: str) -> WrongUse:
        column = self._at - self._text.rfind("\n", 0, self._at)
        line = self._text.count("\n", 0, self._at) + 1
        return WrongUse(f"the JSON cannot be read at line {line}, column {column}: {why}.")


def _of_line(number: int, line: str) -> Row:
    try:
        return _row(number, json.loads(line))
    except json.JSONDecodeError as error:
        return Row(line=number, mistake=f"The JSON cannot be read at column {error.colno}: {error.msg}.")
    except (ValueError, RecursionError) as error:
        return Row(line=number, mistake=f"The JSON cannot be read: {_unusual(error)}.")


def _row(line: int, found: Any) -> Row:
    return Row(line=line, fields=found) if isinstance(found, dict) else Row(line=line, mistake=NO_OBJECT)


def _unusual(error: Exception) -> str:
    return TOO_DEEP if isinstance(error, RecursionError) else "a number in it has too many digits"
