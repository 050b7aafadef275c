"""Owns the server's word on when to come back: response headers and the feed's own elements. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST_RETRY = timedelta(days=7)
LONGEST_HINT = timedelta(hours=24)
ALL_HOURS = (1 << 24) - 1
ALL_DAYS = (1 << 7) - 1
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
PERIODS = {
    "hourly": timedelta(hours=1),
    "daily": timedelta(days=1),
    "weekly": timedelta(days=7),
    "monthly": timedelta(days=30),
    "yearly": timedelta(days=365),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentHints:
    """What a document says about itself."""

    stay_away: timedelta | None = None
    skip_hours: int = 0
    skip_days: int = 0


def retry_at(headers: Mapping[str, str], *, now: datetime) -> datetime | None:
    """Read Retry-After, in seconds or as a date; a date counts from the server's own clock."""
    wait = _seconds(headers.get("retry-after"))
    if wait is None:
        wait = _until(headers.get("retry-after"), headers, now)
    reset = _seconds(headers.get("x-rate-limit-reset"))
    if wait is None and reset is not None:
        there = _date(headers.get("date")) or now
        wait = _clamped(datetime.fromtimestamp(min(reset.total_seconds(), 2**33), UTC) - there)
    return None if wait is None else now + min(wait, LONGEST_RETRY)


def cache_span(headers: Mapping[str, str], *, now: datetime) -> timedelta | None:
    """Read how long an answer stays fresh: max-age less its age, else until it expires."""
    control = headers.get("cache-control", "").lower()
    if re.search(r"\bno-(cache|store)\b", control):
        return None
    found = re.search(r'(?:^|[,\s])max-age\s*=\s*"?(\d{1,12})', control)
    if found:
        span: timedelta | None = timedelta(seconds=min(int(found[1]), 10**9))
        span = span and span - (_seconds(headers.get("age")) or timedelta(0))
    else:
        span = _until(headers.get("expires"), headers, now)
    return None if span is None or span <= timedelta(0) else min(span, LONGEST_HINT)


def speaks_of_caching(headers: Mapping[str, str]) -> bool:
    return "cache-control" in headers or "expires" in headers


def document_hints(
    *,
    ttl: str | None = None,
    period: str | None = None,
    frequency: str | None = None,
    hours: Iterable[str] = (),
    days: Iterable[str] = (),
) -> DocumentHints:
    """Read a feed's own elements; what makes no sense is left out."""
    spans = [span for span in (_minutes(ttl), _period(period, frequency)) if span]
    skip_hours = sum(1 << hour for hour in {int(text) % 24 for text in hours if _is_hour(text)})
    skip_days = sum(1 << DAYS.index(day) for day in {text.strip().lower() for text in days} if day in DAYS)
    return DocumentHints(
        stay_away=timedelta(seconds=round(min(max(spans), LONGEST_HINT).total_seconds())) if spans else None,
        skip_hours=0 if skip_hours == ALL_HOURS else skip_hours,
        skip_days=0 if skip_days == ALL_DAYS else skip_days,
    )


def after_skipped(moment: datetime, *, skip_hours: int, skip_days: int) -> datetime:
    """Return the first moment from this one on that is not in a skipped hour or day."""
    for _ in range(24 * 8):
        if skip_days >> moment.weekday() & 1:
            moment = moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        elif skip_hours >> moment.hour & 1:
            moment = moment.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        else:
            break
    return moment


def _seconds(text: str | None) -> timedelta | None:
    found = re.fullmatch(r"\s*(\d{1,12})\s*", text or "")
    return timedelta(seconds=min(int(found[1]), 10**10)) if found else None


def _until(text: str | None, headers: Mapping[str, str], now: datetime) -> timedelta | None:
    moment = _date(text)
    if moment is None:
        return None
    return _clamped(moment - (_date(headers.get("date")) or now))


def _date(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _clamped(span: timedelta) -> timedelta:
    return max(span, timedelta(0))


def _minutes(text: str | None) -> timedelta | None:
    found = re.fullmatch(r"\s*(\d{1,9})(?:\.\d*)?\s*", text or "")
    return timedelta(minutes=int(found[1])) if found and int(found[1]) else None


def _period(period: str | None, frequency: str | None) -> timedelta | None:
    span = PERIODS.get((period or "").strip().lower())
    times = re.fullmatch(r"\s*(\d{1,6})\s*", frequency or "1")
    if span is None or times is None or not int(times[1]):
        return None
    return span / int(times[1])


def _is_hour(text: str) -> bool:
    return re.fullmatch(r"\s*([01]?\d|2[0-4])\s*", text) is not None
