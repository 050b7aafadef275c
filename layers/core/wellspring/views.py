"""Owns views: somebody looked at a source, so it may be due sooner."""

from datetime import datetime

from wellspring import schedule
from wellspring.ports import World
from wellspring.settings import Settings


def note(source_id: str, world: World, settings: Settings, *, now: datetime) -> bool:
    """Note a view; False when there is no such source. One that the schedule left out is due at once."""
    source = world.sources.view(source_id, now)
    if source is None:
        return False
    due = schedule.due(source, now=now, defaults=settings.defaults)
    if due and (source.next_fetch_at is None or due.at < source.next_fetch_at):
        world.sources.relist(source, to=max(due.at, now))
    return True
