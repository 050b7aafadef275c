"""Owns how a document's dates are read: many notations, no guess between two readings. Pure."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from wellspring import timestamps

LONGEST = 100
ZONES = (
    {"Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6}
    | {"PST": -8, "PDT": -7, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3}
    | {"JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13}
)
"""Hours from Greenwich, as mail and Europe mean these names; another name is no zone that we know."""
_DAY_OR_MONTH = re.compile(r"\s*(\d{1,2})([/.-])(\d{1,2})\2\d{2,4}\b")
_COMMENT = re.compile(r"\s*[(\[][^()\[\]]*[)\]]$")
# Two hours ahead of it, as a browser writes it; dateutil reads "GMT+2" the other way round.
_FROM_GREENWICH = re.compile(r"\b(?:GMT|UTC)\s*(?=[+-]\d)")
_EPOCH = re.compile(r"\s*(\d{9,10})(\d{3})?\s*")


def moment(text: object) -> datetime | None:
    """Return the moment that a text means; None where it means none that we could be sure of."""
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        return None
    try:
        epoch = _EPOCH.fullmatch(text)
        found = datetime.fromtimestamp(int(epoch[1]), UTC) if epoch else _read(_COMMENT.sub("", text.strip()))
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
        one, other = (
            parser.parse(
                _FROM_GREENWICH.sub("", text), default=datetime(2000 + n, n, n, tzinfo=UTC), tzinfos=_zone
            )
            for n in (1, 2)
        )
    return one if one.date() == other.date() else None


def _zone(name: str | None, offset: int | None) -> tzinfo:
    """Return the zone that a date names; never this computer's own. Raises ValueError."""
    if offset is not None:
        return timezone(timedelta(seconds=offset))
    if name is not None and name.upper() not in ZONES:
        raise ValueError(f"the zone {name} is not known")
    return timezone(timedelta(hours=ZONES[name.upper()])) if name else UTC
