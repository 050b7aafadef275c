"""Owns how a document's dates are read: many notations, no guess between two readings. Pure."""

import re
from datetime import UTC, datetime

from wellspring import timestamps

LONGEST = 100
_DAY_OR_MONTH = re.compile(r"\s*(\d{1,2})([/.-])(\d{1,2})\2\d{2,4}\b")
_EPOCH = re.compile(r"\s*(\d{9,10})(\d{3})?\s*")


def moment(text: object) -> datetime | None:
    """Return the moment that a text means; None where it means none that we could be sure of."""
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        return None
    try:
        epoch = _EPOCH.fullmatch(text)
        found = datetime.fromtimestamp(int(epoch[1]), UTC) if epoch else _read(text.strip())
    except (ValueError, OverflowError):
        return None
    return sensible(found)


def sensible(found: datetime | None) -> datetime | None:
    """Return a moment in UTC if it is of a time in which there can be posts."""
    if found is None or not timestamps.EARLIEST <= found.year <= timestamps.LATEST:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _read(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    numbers = _DAY_OR_MONTH.match(text)
    if numbers and int(numbers[1]) <= 12 and int(numbers[3]) <= 12:
        return None
    import warnings

    from dateutil import parser  # slow to import, and hardly ever needed

    with warnings.catch_warnings(action="ignore"):
        # What the text leaves out comes from the default: two of them show what it says by itself.
        one, other = (parser.parse(text, default=datetime(2000 + n, n, n, tzinfo=UTC)) for n in (1, 2))
    return one if one.date() == other.date() else None
