"""Owns which entries are not stored although they are new, each with its counted reason. Pure."""

from datetime import datetime, timedelta

from wellspring.model import Entry, Source
from wellspring.settings import Defaults

FUTURE = timedelta(days=1)


def dated(entry: Entry, *, now: datetime) -> datetime | None:
    """Return when the entry was published; a date far in the future counts as none."""
    published = entry.published_at
    return None if published is None or published > now + FUTURE else published


def reason_to_skip(entry: Entry, source: Source, *, now: datetime, defaults: Defaults) -> str | None:
    published = dated(entry, now=now)
    if not (entry.title or entry.body or entry.url):
        return "blank"
    if published is None:
        return None
    own = source.config.max_age_days
    if published < now - (defaults.max_age if own is None else timedelta(days=own)):
        return "too_old"
    first_poll = source.cursor.last_fetch_at is None and not source.config.backfill
    if first_poll and source.created_at and published < source.created_at:
        return "before_added"
    return None
