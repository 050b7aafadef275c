"""Owns which entries are not stored although they are new, each with its counted reason. Pure."""

from datetime import datetime, timedelta

from wellspring.identity import Novelty, Sighting
from wellspring.model import Entry, Source
from wellspring.settings import Defaults
from wellspring.sources import KINDS

FUTURE = timedelta(days=1)


def dated(entry: Entry, *, now: datetime) -> datetime | None:
    """Return when the entry was published; a date far in the future counts as none."""
    published = entry.published_at
    return None if published is None or published > now + FUTURE else published


def reason_to_skip(sighting: Sighting, source: Source, *, now: datetime, defaults: Defaults) -> str | None:
    """Return why an entry is left out, None if it is not."""
    entry = sighting.entry
    if not (entry.title or entry.body or entry.url):
        return "blank"
    if sighting.novelty is Novelty.DUPLICATE:
        return "duplicate_id"
    if sighting.novelty is Novelty.KNOWN or KINDS[source.type].is_page:
        return None
    return _age_reason(dated(entry, now=now), source, now=now, defaults=defaults)


def max_age(source: Source, *, defaults: Defaults) -> timedelta:
    own = source.config.max_age_days
    return defaults.max_age if own is None else timedelta(days=own)


def _age_reason(
    published: datetime | None, source: Source, *, now: datetime, defaults: Defaults
) -> str | None:
    if published is None:
        return None
    if published < now - max_age(source, defaults=defaults):
        return "too_old"
    first_poll = source.cursor.last_fetch_at is None and not source.config.backfill
    if first_poll and source.created_at and published < source.created_at:
        return "before_added"
    return None
