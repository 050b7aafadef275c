"""What the planner does with what is due."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import DEFAULTS, NOON, SETTINGS, Clock, a_ref, a_source, a_world, at, every
from wellspring.errors import Unavailable
from wellspring.memory import MemoryQueue, MemorySources
from wellspring.model import Lease
from wellspring.plan import GATE, decide, plan
from wellspring.ports import Checkpoint
from wellspring.schedule import shard_of

LATER = at(1)


def planned(world, window_end=NOON, deadline=LATER):
    return plan(window_end, world, SETTINGS, deadline=deadline)


def test_what_is_due_is_sent_and_moved_on():
    world = a_world()
    world.sources.add(a_source("due", cadence=every(60), next_fetch_at=at(-3)))
    world.sources.add(a_source("later", cadence=every(60), next_fetch_at=at(3)))
    report = planned(world)
    (outgoing,) = world.queue.sent
    assert (outgoing.message.source_id, outgoing.message.due_at, outgoing.message.window_end) == (
        "due",
        at(-3),
        NOON,
    )
    assert world.sources.rows["due"].next_fetch_at == at(60), "moved to where an unchanged poll will put it"
    assert world.sources.rows["later"].next_fetch_at == at(3)
    assert (report.due, report.enqueued, report.oldest_seconds) == (1, 1, 180)


def test_the_same_window_sends_a_source_once():
    world = a_world()
    world.sources.add(a_source("a"))
    planned(world)
    planned(world)
    assert len(world.queue.sent) == 1


@pytest.mark.parametrize(
    ("source", "skipped", "next_at"),
    [
        pytest.param(a_source(enabled=False), "disabled", None, id="disabled: out of the index"),
        pytest.param(a_source(url=""), "no_url", at(60), id="no url: looked at again in an hour"),
        pytest.param(
            a_source(cadence=every(60), last_fetch_at=at(-10)),
            "not_due",
            at(50),
            id="listed too early: moved to its time",
        ),
        pytest.param(
            a_source(config={"min_interval_seconds": 3600}, lease=Lease(started_at=at(-1))),
            "min_interval",
            at(59),
            id="more than 900 seconds to wait: the next time moves instead",
        ),
    ],
)
def test_what_is_not_sent_says_why(source, skipped, next_at):
    made = decide(a_ref(), source, window_end=NOON, defaults=DEFAULTS)
    assert (made.skipped, made.next_at, made.send_after) == (skipped, next_at, None)


class LookedAt(MemorySources):
    """Sources that somebody looks at between the planner's read and its write."""

    def unlist(self, *args, **kwargs):
        self.view("a", NOON, unless_since=at(-1))
        return super().unlist(*args, **kwargs)


def test_a_source_that_somebody_looks_at_meanwhile_stays_due():
    world = replace(a_world(), sources=LookedAt())
    long_ago = at(-60 * 24 * 100)
    world.sources.add(a_source(cadence={"mode": "activity"}, created_at=long_ago, next_fetch_at=at(-1)))
    assert (planned(world).moved_meanwhile, world.sources.rows["a"].next_fetch_at) == (1, at(-1))
    assert planned(world, at(1), at(2)).enqueued == 1


@pytest.mark.parametrize(
    ("started_at", "delay"),
    [
        pytest.param(at(seconds=-29.5), 1, id="rounded up"),
        pytest.param(at(seconds=-30), 0, id="elapsed equal to the interval"),
        pytest.param(NOON, 30, id="the whole interval"),
    ],
)
def test_the_rest_of_the_min_interval_becomes_the_delay(started_at, delay):
    source = a_source(config={"min_interval_seconds": 30}, lease=Lease(started_at=started_at))
    assert decide(a_ref(), source, window_end=NOON, defaults=DEFAULTS).send_after == delay


def test_a_second_planner_returns_at_once():
    world = a_world()
    world.sources.add(a_source())
    world.gates.acquire(GATE, "another", now=NOON, until=at(1))
    assert planned(world).busy
    assert world.queue.sent == []


def test_a_dead_planners_lease_ends_by_itself():
    world = a_world()
    world.sources.add(a_source())
    world.gates.acquire(GATE, "another", now=at(-2), until=NOON)
    assert planned(world).enqueued == 1


class BrokenQueue(MemoryQueue):
    """Takes nothing, or breaks."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer
        self.tried = 0

    def send(self, batch):
        self.tried += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return [self.answer] * len(batch)


@pytest.mark.parametrize("answer", [False, Unavailable("Sending to the fetch queue failed: Throttled.")])
def test_three_failed_sends_halt_the_run_and_nothing_is_lost(answer):
    queue = BrokenQueue(answer)
    world = replace(a_world(), queue=queue)
    for number in range(200):
        world.sources.add(a_source(f"s-{number}", next_fetch_at=at(-1)))
    report = planned(world)
    assert queue.tried == 3
    assert report.halted
    assert report.enqueued == 0
    assert {row.next_fetch_at for row in world.sources.rows.values()} == {at(-1)}, "not sent, so not moved"
    assert planned(replace(world, queue=MemoryQueue())).enqueued == 200, "the next run starts fresh"


class OddQueue(MemoryQueue):
    """Refuses every second entry of a batch."""

    def send(self, batch):
        super().send(batch[::2])
        return [number % 2 == 0 for number in range(len(batch))]


def test_a_batch_is_checked_entry_by_entry():
    world = replace(a_world(), queue=OddQueue())
    names = [name for name in (f"s-{number}" for number in range(99)) if shard_of(name, 4) == 0][:10]
    for name in names:
        world.sources.add(a_source(name, next_fetch_at=at(-1)))
    report = planned(world)
    assert (report.enqueued, report.not_sent, report.halted) == (5, 5, None)
    sent = {outgoing.message.source_id for outgoing in world.queue.sent}
    assert {name for name, row in world.sources.rows.items() if row.next_fetch_at != at(-1)} == sent


def test_the_planner_stops_before_its_timeout_and_the_rest_stays_due():
    clock = Clock()
    world = a_world(clock=clock)
    for number in range(30):
        world.sources.add(a_source(f"s-{number}", next_fetch_at=at(-1)))
    clock.now = at(2)
    report = planned(world, deadline=at(1))
    assert report.halted
    assert world.queue.sent == []
    assert GATE not in world.gates.held, "the lease is given back"


def test_thousands_are_planned_page_by_page():
    world = a_world()
    for number in range(1234):
        world.sources.add(a_source(f"s-{number}", next_fetch_at=at(-1)))
    assert planned(world).enqueued == 1234


def test_a_warning_names_the_source_by_its_url():
    world = a_world()
    world.sources.add(replace(a_source(), warnings=("config.cadence: broken",)))
    assert planned(world).warnings == ["https://example.org/feed.xml: config.cadence: broken"]


def test_the_prediction_is_what_an_unchanged_poll_gives():
    source = a_source(cadence=every(60), failures=3, last_polled_at=at(-600))
    made = decide(a_ref(), source, window_end=NOON, defaults=DEFAULTS)
    assert made.next_at == NOON + timedelta(hours=1)


class OddSources(MemorySources):
    """One of its sources cannot be decided about."""

    def read(self, source_ids):
        return [
            replace(row, config=None) if row.source_id == "odd" else row for row in super().read(source_ids)
        ]


def test_one_source_that_nobody_foresaw_does_not_stop_the_others():
    world = replace(a_world(), sources=OddSources())
    world.gates.put_checkpoint("reconcile", Checkpoint(NOON))
    for name in ("odd", "fine"):
        world.sources.add(a_source(name, next_fetch_at=at(-1)))
    report = planned(world)
    assert (report.enqueued, report.skipped["undecided"]) == (1, 1)
    assert world.sources.rows["odd"].next_fetch_at == at(60)
    assert "no decision" in report.warnings[0]


def test_a_planner_short_of_time_begins_with_another_shard_each_time():
    class Shards(MemorySources):
        asked = ()

        def due(self, shard, until, *, after=None, limit=100):
            self.asked = (*self.asked, shard)
            return super().due(shard, until, after=after, limit=limit)

    firsts = set()
    for minute in range(4):
        world = replace(a_world(), sources=Shards())
        planned(world, at(minute), deadline=at(minute + 1))
        firsts.add(world.sources.asked[0])
        assert sorted(world.sources.asked) == [0, 1, 2, 3]
    assert firsts == {0, 1, 2, 3}


def test_the_planner_stops_in_time_over_sources_that_it_skips_too():
    clock = Clock()
    world = a_world(clock=clock)
    for number in range(30):
        world.sources.add(a_source(f"s-{number}", next_fetch_at=at(-1), enabled=False))
    clock.now = at(2)
    assert planned(world, deadline=at(1)).halted
    assert all(row.next_fetch_at == at(-1) for row in world.sources.rows.values())
