"""Owns sources as CSV: a row each under a line of column names, as spreadsheets read and write it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Any

from wellspring.config import Config
from wellspring_cli import cadence
from wellspring_cli.errors import WrongUse
from wellspring_cli.output import plural
from wellspring_cli.source_files.rows import FIELDS, Fields, Row

OWN = tuple(name for name in FIELDS if name != "config")
SETTINGS = tuple(Config.model_fields)
COLUMNS = (*OWN, "cadence", "every", *(name for name in SETTINGS if name != "cadence"))
DELIMITERS = ",;\t"
FLAGS = {"true": True, "false": False}
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""A cell that begins so is run as a formula by spreadsheets, and titles are written by publishers."""


def read(text: str) -> list[Row]:
    """Return a row for each line under the column names. Raises WrongUse."""
    delimiter = max(DELIMITERS, key=text.lstrip().partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] | None = None
    rows: list[Row] = []
    end = 0
    try:
        for cells in reader:
            line, end = end + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _names(cells)
            else:
                rows.append(_row(line, names, cells))
    except csv.Error as error:
        raise WrongUse(
            f"it cannot be read from line {end + 1} on: {error}. A cell with quotes in it stands in quotes "
            'itself, and each quote in it is written twice: "say ""so"""'
        ) from None
    return rows


def write(sources: Sequence[Fields]) -> str:
    """Return a CSV file of the sources; of the settings there is a column for those that are in use."""
    rows = [_cells(source) for source in sources]
    used = {name for row in rows for name in row}
    file = io.StringIO(newline="")
    columns = [name for name in COLUMNS if name in OWN or name in used]
    writer = csv.DictWriter(file, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _names(cells: Sequence[str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    known = f"There are {', '.join(COLUMNS)}."
    if "url" not in names:
        raise WrongUse(f"the first line must name the columns, and one of them must be url. {known}")
    for place, name in enumerate(names):
        if name not in COLUMNS:
            raise WrongUse(f"there is no column {cells[place].strip()!r}. {known}")
        if name in names[:place]:
            raise WrongUse(f"the column {name!r} is there twice.")
    return names


def _row(line: int, names: Sequence[str], cells: Sequence[str]) -> Row:
    said = dict(zip(names, cells, strict=False))
    if len(cells) != len(names):
        return Row(
            line=line,
            fields={"url": said.get("url")},
            mistake=f"The row has {plural(len(cells), 'cell')}, and there are {len(names)} columns. "
            "A cell with a comma, a semicolon or a tab in it wants quotes around it.",
        )
    title = said.pop("title", "")
    given = {name: text.strip() for name, text in said.items() if text.strip()}
    found: dict[str, Any] = {name: text for name, text in given.items() if name in OWN}
    if title:
        found["title"] = title[1:] if title.startswith("'") and FORMULA.match(title) else title
    if "enabled" in found:
        found["enabled"] = FLAGS.get(given["enabled"].lower(), given["enabled"])
    try:
        found["config"] = _config(given)
    except WrongUse as error:
        return Row(line=line, fields=found, mistake=str(error))
    return Row(line=line, fields=found)


def _config(given: dict[str, str]) -> dict[str, Any]:
    found = {name: _value(text) for name, text in given.items() if name in SETTINGS}
    mode = found.get("cadence", "interval" if "every" in given else None)
    if isinstance(mode, str):
        found["cadence"] = {"mode": mode}
    if "every" in given:
        if not isinstance(mode, str):
            raise WrongUse(
                "every: a cadence that is written as JSON says so itself; leave one of them empty."
            )
        minutes = cadence.span(given["every"]).total_seconds() / 60
        found["cadence"] = {"mode": mode, "every_minutes": minutes}
    return found


def _cells(source: Fields) -> dict[str, str]:
    config = {name: json.dumps(value, ensure_ascii=False) for name, value in source["config"].items()}
    mode = source["config"]["cadence"]
    if list(mode) == ["mode"]:
        config["cadence"] = mode["mode"]
    found = {name: str(source[name]) for name in OWN if name in source} | config
    found["enabled"] = "true" if source["enabled"] else "false"
    if FORMULA.match(found.get("title", "")):
        found["title"] = f"'{found['title']}"
    return found


def _value(text: str) -> Any:
    """Read a cell as JSON, and what is none as the text that it is; spreadsheets write TRUE and FALSE."""
    if text.lower() in FLAGS:
        return FLAGS[text.lower()]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
