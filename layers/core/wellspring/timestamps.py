"""Owns how a moment is written: ISO 8601 in UTC with milliseconds, so that text order is time order."""

from datetime import UTC, datetime, timedelta

EARLIEST, LATEST = 1971, 2199
SKEW = timedelta(minutes=5)


def now() -> datetime:
    """Return the current moment, cut to what is stored."""
    return floor(datetime.now(UTC))


def floor(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def ceil(moment: datetime) -> datetime:
    """Round up to a millisecond, so that a stored time is never before the computed one."""
    whole = floor(moment)
    return whole if whole == moment else whole + timedelta(milliseconds=1)


def to_text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def is_sensible(moment: datetime, *, now: datetime) -> bool:
    """Say whether a time that somebody sent can be meant: clocks differ a little, not more."""
    return moment.year >= EARLIEST and moment <= now + SKEW


def from_text(text: str) -> datetime:
    """Read a moment; one without a zone counts as UTC. Raises ValueError.

    Times of other centuries are no times to us: sums with them would overflow.
    """
    moment = datetime.fromisoformat(text)
    if not EARLIEST <= moment.year <= LATEST:
        raise ValueError(f"the year {moment.year} is out of range")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
