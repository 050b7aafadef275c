"""Owns waiting for a host's turn: here if it is soon, because the queue would cost more."""

from datetime import datetime, timedelta

from wellspring import hosts, schedule
from wellspring.model import Source
from wellspring.ports import Slot, World
from wellspring.settings import Settings

PATIENCE = timedelta(seconds=5)


def take(source: Source, world: World, settings: Settings) -> Slot:
    """Take the host's next place. Whoever finds it taken reserves the one behind, and so does the next."""
    host = source.host
    kept = hosts.spaced(schedule.host_delay(source, defaults=settings.defaults))
    patience = world.clock() + PATIENCE
    while True:
        now = world.clock()
        slot = world.gates.take_slot(host, now=now, until=now + kept)
        if slot.taken or opens_at(slot, now) > patience:
            return slot
        begins = slot.state.next_slot
        if begins is None or opens_at(slot, now) > begins:
            world.pause(opens_at(slot, now) - now)
            continue
        reserved = world.gates.reserve_slot(host, at=begins, until=begins + kept)
        if reserved.taken:
            world.pause(begins - world.clock())
            return reserved


def opens_at(slot: Slot, now: datetime) -> datetime:
    """Return when the host can be asked again."""
    return max(slot.state.next_slot or now, slot.state.brake_until or now)
