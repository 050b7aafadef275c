"""Owns views: somebody looked at a source, so it may be due sooner."""

from datetime import datetime, timedelta

from wellspring import schedule
from wellspring.ports import Sources
from wellspring.settings import Defaults

AT_MOST_EVERY = timedelta(minutes=1)
"""Looking again so soon tells nothing new, and every write costs."""


def note(source_id: str, sources: Sources, defaults: Defaults, *, now: datetime) -> bool:
    """Note a view; False when there is no such source. One that the schedule left out is due at once."""
    view = sources.view(source_id, now, unless_since=now - AT_MOST_EVERY)
    source = view.source
    if not view.noted or source is None:
        return source is not None
    due = schedule.due(source, now=now, defaults=defaults)
    if due and (source.next_fetch_at is None or max(due.at, now) < source.next_fetch_at):
        sources.relist(source, to=max(due.at, now))
    return True
