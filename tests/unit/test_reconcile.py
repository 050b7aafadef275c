"""The daily pass: what people wrote to the table is entered in the schedule."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, Clock, a_source, a_world, at, every
from wellspring import reconcile
from wellspring.plan import plan
from wellspring.schedule import shard_of

SHARD = str(shard_of("a", 4))
HOURLY = every(60)
DONE = {"last_fetch_at": at(-10), "last_polled_at": at(-10)}


def right_time(source):
    return reconcile.right_time(source, now=NOON, shards=4, defaults=SETTINGS.defaults)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(a_source(), NOON, id="never listed: due at once"),
        pytest.param(a_source(cadence=HOURLY, **DONE), at(50), id="lost from the index: listed at its time"),
        pytest.param(
            a_source(cadence=HOURLY, next_fetch_at=at(50), due_shard="99", **DONE), at(50), id="another shard"
        ),
        pytest.param(
            a_source(cadence=HOURLY, next_fetch_at=at(50), due_shard=SHARD, **DONE), None, id="all is well"
        ),
        pytest.param(
            a_source(cadence=HOURLY, next_fetch_at=at(1400), due_shard=SHARD, **DONE),
            at(50),
            id="its interval was made shorter",
        ),
        pytest.param(
            a_source(cadence=HOURLY, next_fetch_at=at(-50), due_shard=SHARD, **DONE),
            None,
            id="early is put right by the planner",
        ),
        pytest.param(
            a_source(
                cadence=HOURLY,
                next_fetch_at=at(60),
                due_shard=SHARD,
                last_fetch_at=at(-60),
                last_polled_at=at(-60),
            ),
            None,
            id="sent a moment ago: listed at its next turn",
        ),
        pytest.param(
            a_source("a", cadence=HOURLY, next_fetch_at=at(3), due_shard=SHARD),
            None,
            id="imported, waits for its first turn",
        ),
        pytest.param(a_source(enabled=False), None, id="disabled"),
        pytest.param(a_source(url=""), None, id="nothing to fetch"),
        pytest.param(
            a_source(cadence={"mode": "activity"}, viewed_at=NOON - timedelta(days=99)),
            None,
            id="nobody looks at it",
        ),
    ],
)
def test_where_a_source_belongs(source, expected):
    assert right_time(source) == expected


def test_the_pass_repairs_and_is_made_once_a_day():
    clock = Clock()
    world = a_world(clock=clock)
    world.sources.rows["a"] = a_source()
    assert plan(NOON, world, SETTINGS, deadline=at(1)).repaired == 1
    assert world.sources.rows["a"].next_fetch_at == NOON
    world.sources.rows["b"] = a_source("b")
    clock.now = at(60)
    assert plan(at(60), world, SETTINGS, deadline=at(61)).repaired == 0
    clock.now = at(24 * 60)
    assert plan(clock.now, world, SETTINGS, deadline=at(24 * 60 + 1)).repaired == 1


def test_a_long_pass_goes_on_in_the_next_run():
    world = a_world()
    for number in range(2500):
        source = a_source(f"s-{number:04}", next_fetch_at=at(900), cadence=every(1440))
        world.sources.rows[source.source_id] = replace(source, due_shard=None)
    repaired = [reconcile.go_on(world, SETTINGS, now=NOON, deadline=at(1)) for _ in range(4)]
    assert repaired == [1000, 1000, 500, 0]
