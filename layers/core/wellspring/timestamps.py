"""Owns how a moment is written: ISO 8601 in UTC with milliseconds, so that text order is time order."""

from datetime import UTC, datetime, timedelta


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


def from_text(text: str) -> datetime:
    """Read a moment; one without a zone counts as UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
