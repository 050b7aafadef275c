"""Owns sources as files: the formats, which of them a file has, and reading and writing one as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wellspring_cli.errors import WrongUse
from wellspring_cli.source_files import disk, encoding, opml, records, spreadsheet
from wellspring_cli.source_files.rows import Fields, Row

__all__ = ["FORMATS", "STANDARD", "Format", "format_of", "read"]

STANDARD = disk.STANDARD


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How sources are read and written; what cannot be read as a whole raises WrongUse."""

    name: str
    endings: tuple[str, ...]
    read: Callable[[str], list[Row]]
    write: Callable[[Sequence[Fields]], str]
    decode: Callable[[bytes], str] = encoding.decoded
    holds_settings: bool = True
    """Whether all of a source can be written in it."""


FORMATS: Mapping[str, Format] = {
    made.name: made
    for made in (
        Format(
            name="opml",
            endings=(".opml", ".xml"),
            read=opml.read,
            write=opml.write,
            decode=encoding.decoded_xml,
            holds_settings=False,
        ),
        Format(name="csv", endings=(".csv", ".tsv"), read=spreadsheet.read, write=spreadsheet.write),
        Format(name="json", endings=(".json",), read=records.read, write=records.write),
        Format(
            name="jsonl",
            endings=(".jsonl", ".ndjson"),
            read=records.read_lines,
            write=records.write_lines,
        ),
    )
}


def format_of(name: str, given: str | None = None) -> Format:
    """Return the format that a person names, or else the one that the file's ending tells."""
    known = ", ".join(FORMATS)
    if given is not None:
        if given.lower() not in FORMATS:
            raise WrongUse(f"There is no format {given!r}. Use one of: {known}")
        return FORMATS[given.lower()]
    ending = Path(name).suffix.lower()
    for found in FORMATS.values():
        if ending in found.endings:
            return found
    what = "what comes in" if name == STANDARD else f"{name!r}, whose ending does not tell it"
    raise WrongUse(f"Name the format of {what}: --format {known.replace(', ', '|')}")


def read(name: str, form: Format) -> list[Row]:
    """Read a file as a whole, or what comes in. Raises WrongUse with what is wrong with it."""
    data = disk.read(name)
    try:
        text = form.decode(data)
        if not text.strip():
            raise WrongUse("there is nothing in it.")
        return form.read(text)
    except WrongUse as error:
        raise WrongUse(f"{disk.called(name)}: {error}") from None
