"""The README's tour, typed again: each command of it ends as it did when it was recorded."""

import re
from datetime import timedelta

import pytest

from deployed import eventually, now
from template import ROOT
from wellspring.aws.gates import DynamoGates
from wellspring_cli.demo import publisher, sources

TOUR = (ROOT / "README.md").read_text().partition("<!-- tour -->")[2].partition("<!-- end of the tour -->")[0]
HOUR = timedelta(hours=1)
COMMANDS = re.findall(r"^\$ wellspring (.*)$", TOUR, re.MULTILINE)
RECORDED = "127.0.0.1:8420"
LABEL = re.compile(r"^([a-z][a-z -]*?)  +\S", re.MULTILINE)
"""The words in front of the lines of a list of facts."""


@pytest.fixture
def feeds(deployed, state_dir):
    """The demo's feeds, polled once."""
    for name in sources.SOURCE_IDS:
        deployed.sources.remove(name)
    with publisher.open_publisher(state_dir) as opened:
        sources.add_missing(deployed.stack, opened.home, now=now())

        def are_polled():
            deployed.plan(now())
            return all(deployed.fetch_logs(name) for name in sources.SOURCE_IDS)

        eventually(are_polled)
        yield opened.home.removeprefix("http://")
        for name in sources.SOURCE_IDS:
            deployed.sources.remove(name)


def test_every_command_of_the_tour_ends_well_and_tells_the_same_things(operator, feeds):
    assert len(COMMANDS) >= 6
    for command in COMMANDS:
        told = operator(*command.replace(RECORDED, feeds).split())
        # The stack is shared with other tests, which leave troubles behind for `status` to tell.
        assert told.code == 0 or (command == "status" and told.code == 1), (command, told.err)
        assert labels(recorded(command)) - {"in the way"} <= labels(told.out), command


def recorded(command):
    return TOUR.partition(f"$ wellspring {command}\n")[2].partition("\n$ wellspring")[0]


def labels(text):
    return set(LABEL.findall(text))


def test_feeds_that_an_earlier_run_left_braked_are_polled_at_once(deployed, feeds):
    gates = DynamoGates(deployed.dynamodb, deployed.stack.outputs["GatesTable"])
    gates.brake(feeds, until=now() + HOUR, brakes=3, others=True)
    for name in sources.SOURCE_IDS:
        source = deployed.source(name)
        deployed.sources.relist(source, to=now() + HOUR)
    sources.wake(deployed.stack, f"http://{feeds}", now=now())
    assert gates.host(feeds).brake_until is None
    assert all(deployed.source(name).next_fetch_at <= now() for name in sources.SOURCE_IDS)
