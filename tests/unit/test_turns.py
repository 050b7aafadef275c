"""The wait for a host's turn, and how far apart requests then are."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from builders import a_world
from wellspring import turns
from wellspring.ports import Gates

HOST, SECOND = "example.org", timedelta(seconds=1)


@dataclass
class SlowGates:
    """Gates whose answers take a while, as a table's do that is throttled or far away."""

    gates: Gates
    world: object
    takes: timedelta

    def __getattr__(self, name):
        return getattr(self.gates, name)

    def take_slot(self, host, *, now, until):
        slot = self.gates.take_slot(host, now=now, until=until)
        self.world.clock.wait(self.takes)
        return slot


@pytest.mark.parametrize("takes", [timedelta(0), SECOND / 20, SECOND / 2, SECOND * 3])
def test_a_request_that_leaves_late_keeps_the_next_one_away_for_as_long(takes):
    world = a_world()
    slow = replace(world, gates=SlowGates(world.gates, world, takes))
    assert turns.take(HOST, SECOND, slow).taken
    first_left = world.clock()
    assert turns.take(HOST, SECOND, world).taken
    assert world.clock() - first_left >= SECOND


def test_a_host_without_a_delay_keeps_nobody_away():
    world = a_world()
    began = world.clock()
    for _ in range(3):
        assert turns.take(HOST, timedelta(0), world).taken
    assert world.clock() == began
