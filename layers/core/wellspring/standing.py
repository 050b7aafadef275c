"""Owns how a source stands, in one word. Pure."""

from datetime import datetime
from enum import StrEnum

from wellspring import schedule
from wellspring.config import Activity
from wellspring.model import Source
from wellspring.settings import Defaults


class State(StrEnum):
    """How a source stands. The later ones want an operator's eye."""

    OK = "ok"
    NEW = "new"
    IDLE = "idle"
    DISABLED = "disabled"
    UNLISTED = "unlisted"
    FAILING = "failing"
    QUARANTINED = "quarantined"
    GONE = "gone"
    UNREADABLE = "unreadable"


def state_of(source: Source, *, now: datetime, defaults: Defaults) -> State:
    """Return how a source stands."""
    if not source.url:
        return State.UNREADABLE
    if not source.enabled:
        return State.DISABLED
    if source.health.gone:
        return State.GONE
    if source.health.quarantined_at:
        return State.QUARANTINED
    if source.next_fetch_at is None:
        is_due = schedule.due(source, now=now, defaults=defaults) is not None
        left_out = isinstance(source.config.cadence, Activity) and not is_due
        return State.IDLE if left_out else State.UNLISTED
    if source.health.error_class:
        return State.FAILING
    return State.OK if source.cursor.last_polled_at else State.NEW


def is_fetched(source: Source, *, now: datetime) -> bool:
    """Say whether somebody holds the source's lease: it is being fetched now."""
    return bool(source.lease and source.lease.until and now < source.lease.until)
