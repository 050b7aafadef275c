"""Owns a source as a file describes it: its fields, what is wrong with them, and how it is written there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from wellspring import timestamps, urls
from wellspring.catalog import Wanted
from wellspring.errors import InvalidInput
from wellspring.model import Source
from wellspring_cli import output

Fields = Mapping[str, Any]
TEXT, FLAG, MAP = "text", "true or false", "an object"
TYPES: Mapping[type, str] = {
    str: TEXT,
    bool: FLAG,
    int: "a number",
    float: "a number",
    list: "a list",
    dict: MAP,
}
FIELDS: Mapping[str, type] = {
    "url": str,
    "id": str,
    "type": str,
    "title": str,
    "owner": str,
    "enabled": bool,
    "created_at": str,
    "config": dict,
}
LONGEST_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A source of a file, before it is one."""

    line: int
    fields: Fields = field(default_factory=dict)
    mistake: str | None = None
    """Why it cannot be read, when that is known before its fields are looked at."""

    @property
    def shown_url(self) -> str:
        """Its URL as it may be shown; a row may hold anything in its place."""
        return shown(self.fields.get("url"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaid:
    """What holds for rows that do not say it themselves."""

    cadence: Fields
    type: str | None = None
    owner: str | None = None


def wanted(row: Row, unsaid: Unsaid) -> Wanted:
    """Return the source that a row describes. Raises InvalidInput."""
    if row.mistake:
        raise InvalidInput(row.mistake)
    said = {name: found for name, found in row.fields.items() if found is not None}
    if unknown := sorted(set(said) - set(FIELDS)):
        raise InvalidInput(f"There is no field {unknown[0]!r}; there are {', '.join(FIELDS)}.")
    for name, found in said.items():
        _check(name, found)
    if not said.get("url"):
        raise InvalidInput("There is no URL.")
    config = {name: found for name, found in said.get("config", {}).items() if found is not None}
    return Wanted(
        url=said["url"],
        source_id=said.get("id"),
        type=said.get("type", unsaid.type),
        title=said.get("title"),
        owner_id=said.get("owner", unsaid.owner),
        enabled=said.get("enabled", True),
        created_at=_moment(said["created_at"]) if "created_at" in said else None,
        config={"cadence": unsaid.cadence} | config,
    )


def fields(source: Source, *, with_secrets: bool) -> Fields:
    """Return what a file keeps of a source: what a person chose, not what was learned.

    The cadence is always there: what is left out of a file is not what is left out of an item.
    """
    hidden = set() if with_secrets else {"headers"}
    config = source.config.model_dump(exclude_defaults=True, exclude=hidden)
    config["cadence"] = source.config.cadence.model_dump(exclude_none=True)
    found = {
        "id": source.source_id,
        "url": source.url,
        "type": source.type,
        "title": source.title,
        "owner": source.owner_id,
        "enabled": source.enabled,
        "created_at": output.moment(source.created_at),
        "config": config,
    }
    return {name: value for name, value in found.items() if value is not None}


def shown(url: object) -> str:
    """Return what stands for a URL in one short line, without the secrets that may be in it."""
    if not isinstance(url, str):
        return ""
    text = urls.shown(url) if "://" in url or "@" in url else url.partition("?")[0]
    text = output.printable(text)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def _check(name: str, found: object) -> None:
    expected = FIELDS[name]
    if not isinstance(found, expected):
        raise InvalidInput(f"{name}: expected {TYPES[expected]}, found {TYPES.get(type(found), 'another')}.")
    if isinstance(found, str) and not _is_unicode(found):
        raise InvalidInput(f"{name}: half of a character stands there (a surrogate without the other half).")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _moment(text: str) -> datetime:
    try:
        return timestamps.floor(timestamps.from_text(text))
    except (ValueError, OverflowError):
        raise InvalidInput(f"created_at: expected a time like 2026-01-31T12:00:00Z, found {text!r}") from None
