"""Owns the limits of the tables and the queue, so that what is too large in the cloud is too large here."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime

LARGEST_ITEM = 400 * 1024
LARGEST_BATCH = 256 * 1024
"""Of a message, and of those that are sent at once together."""
MOMENT = 24


def size_of(found: object) -> int:
    """Return about how large a row is in the table: names and values in UTF-8, what is empty left out."""
    match found:
        case None:
            return 0
        case str():
            return len(found.encode("utf-8", "replace"))
        case bytes():
            return len(found)
        case datetime():
            return MOMENT
        case Mapping():
            return sum(size_of(name) + size_of(value) for name, value in found.items())
        case Sequence():
            return sum(map(size_of, found))
    if is_dataclass(found):
        return sum(size_of(getattr(found, one.name)) + len(one.name) for one in fields(found))
    return 1


def fit(found: object, *, what: str) -> None:
    """Raise ValueError where the table would refuse a row."""
    if size_of(found) > LARGEST_ITEM:
        raise ValueError(f"{what} was refused: Item size has exceeded the maximum allowed size")
