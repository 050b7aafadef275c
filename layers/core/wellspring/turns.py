"""Owns waiting for a host's turn: here if it is soon, because the queue would cost more."""

from datetime import datetime, timedelta

from wellspring import hosts, urls
from wellspring.errors import FetchError
from wellspring.ports import Slot, World

PATIENCE = timedelta(seconds=5)


def take(host: str, delay: timedelta, world: World) -> Slot:
    """Take the host's next place. Whoever finds it taken reserves the one behind, and so does the next."""
    kept = hosts.spaced(delay)
    patience = world.clock() + PATIENCE
    while True:
        now = world.clock()
        slot = world.gates.take_slot(host, now=now, until=now + kept)
        if slot.taken:
            _keep_for_longer(host, now + kept, world.clock() - now, world)
            return slot
        if opens_at(slot, now) > patience:
            return slot
        begins = slot.state.next_slot
        if begins is None or opens_at(slot, now) > begins:
            world.pause(max(opens_at(slot, now) - now, timedelta(0)))
            continue
        reserved = world.gates.reserve_slot(host, at=begins, until=begins + kept)
        if reserved.taken:
            # Writing it down may have taken until then.
            world.pause(max(begins - world.clock(), timedelta(0)))
            return reserved


def _keep_for_longer(host: str, until: datetime, late: timedelta, world: World) -> None:
    """Keep a place that took long to write down: the request leaves later, and the next one must, too."""
    if late > hosts.SLACK:
        world.gates.reserve_slot(host, at=until, until=until + late)


def take_politely(url: str, delay: timedelta, world: World) -> Slot:
    """Take a place for a page. The site's robots.txt is a request too, and takes a place of its own."""
    host = urls.host_of(url)
    try:
        if not world.robots.knows(url):
            slot = take(host, delay, world)
            if not slot.taken:
                return slot
        delay = max(delay, world.robots.delay(url) or delay)
    except FetchError:
        pass  # A URL that cannot be asked for is told by whoever asks for it.
    return take(host, delay, world)


def known_delay(url: str, delay: timedelta, world: World) -> timedelta:
    """Return how far apart the host's requests are, as far as that is known without asking."""
    return max(delay, world.robots.delay(url) or delay) if world.robots.knows(url) else delay


def opens_at(slot: Slot, now: datetime) -> datetime:
    """Return when the host can be asked again."""
    return max(slot.state.next_slot or now, slot.state.brake_until or now)
