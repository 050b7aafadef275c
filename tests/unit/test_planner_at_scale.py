"""Spacing, rehearsal, outages, clocks that jump, and how much work a run is."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, Clock, a_message, a_source, a_world, at, by_hand, every
from wellspring.errors import ErrorClass, FetchError, Unavailable
from wellspring.fetch import fetch_source
from wellspring.memory import MemoryPosts, MemorySources
from wellspring.model import Lease
from wellspring.plan import plan, rehearse
from wellspring.ports import Checkpoint

DOWN = FetchError(ErrorClass.DNS, "The name could not be resolved.")


def planned(world, window_end=NOON, settings=SETTINGS):
    return plan(window_end, world, settings, deadline=window_end + timedelta(minutes=1))


def on_host(host, number, **fields):
    return a_source(
        f"{host}-{number}", url=f"https://{host}.example/{number}", next_fetch_at=at(-1), **fields
    )


def delays(world, host):
    found = (out for out in world.queue.sent if out.message.source_id.startswith(host))
    return sorted(out.delay_seconds for out in found)


class TestSpacing:
    def test_sources_of_one_host_are_spaced_and_hosts_do_not_wait_for_each_other(self):
        world = a_world()
        for number in range(5):
            world.sources.add(on_host("one", number))
            world.sources.add(on_host("two", number))
        planned(world)
        assert delays(world, "one") == delays(world, "two") == [0, 2, 3, 4, 5], (
            "a second and a little, in whole seconds"
        )

    def test_what_does_not_fit_moves_to_the_next_free_place(self):
        world = a_world()
        for number in range(130):
            world.sources.add(on_host("big", number, cadence=every(60)))
        report = planned(world)
        assert (report.enqueued, report.skipped["host_busy"]) == (55, 75)
        moved = sorted(row.next_fetch_at for row in world.sources.rows.values())[:75]
        assert moved == [at(seconds=60.5 + 1.1 * number) for number in range(75)]
        clock = Clock(at(2))
        assert planned(replace(world, clock=clock), at(2)).enqueued == 55

    def test_one_that_waits_for_reasons_of_its_own_holds_up_no_other(self):
        world = a_world()
        world.sources.add(on_host("one", 0, lease=Lease(started_at=at(-1), free_at=at(seconds=30))))
        for number in (1, 2):
            world.sources.add(on_host("one", number))
        planned(world)
        assert delays(world, "one") == [0, 2, 30]

    def test_who_starts_late_is_not_sent_again_too_soon(self):
        world = a_world()
        for number in range(50):
            world.sources.add(on_host("big", number, cadence=every(1)))
        planned(world)
        last = max(world.queue.sent, key=lambda out: out.delay_seconds)
        starts_at = at(seconds=last.delay_seconds)
        free = starts_at + SETTINGS.defaults.min_interval
        assert world.sources.rows[last.message.source_id].next_fetch_at >= free - timedelta(seconds=1)

    def test_the_sources_word_comes_before_the_hosts_the_types_and_the_stacks(self):
        defaults = replace(
            SETTINGS.defaults,
            host_delay=timedelta(seconds=2),
            type_delays={"rss": timedelta(seconds=3)},
            host_delays={"named.example": timedelta(seconds=5), "free.example": timedelta(0)},
        )
        settings = replace(SETTINGS, defaults=defaults)
        world = a_world()
        for number in range(3):
            world.sources.add(on_host("named", number))
            world.sources.add(on_host("free", number))
            world.sources.add(on_host("typed", number))
            world.sources.add(on_host("own", number, config={"host_delay_seconds": 0}))
            world.sources.add(on_host("other", number, type="website"))
        planned(world, settings=settings)
        found = {host: delays(world, host) for host in ("named", "free", "typed", "own", "other")}
        assert found == {
            "named": [0, 6, 11],
            "free": [0, 0, 0],
            "typed": [0, 4, 7],
            "own": [0, 0, 0],
            "other": [0, 3, 5],
        }


def test_a_rehearsal_says_what_would_happen_and_writes_nothing():
    world = a_world()
    world.sources.add(on_host("one", 1, cadence=every(60)))
    world.sources.add(on_host("one", 2, cadence=every(60), last_fetch_at=at(-10), last_polled_at=at(-10)))
    before = dict(world.sources.rows)
    report = rehearse(NOON, world, SETTINGS, limit=10)
    decisions = sorted(report.decisions, key=lambda made: made.ref.source_id)
    assert [(made.ref.source_id, made.send_after, made.skipped) for made in decisions] == [
        ("one-1", 0, None),
        ("one-2", None, "not_due"),
    ]
    assert decisions[0].reasons == ("interval 1 h", "never fetched")
    assert (world.sources.rows, world.queue.sent, world.gates.held) == (before, [], {})
    assert planned(world).enqueued == 1


class CountingSources(MemorySources):
    """Counts calls."""

    def __init__(self):
        super().__init__()
        self.calls = Counter()

    def due(self, *args, **kwargs):
        self.calls["due"] += 1
        return super().due(*args, **kwargs)

    def read(self, source_ids):
        self.calls["read"] += 1
        return super().read(source_ids)

    def move(self, *args):
        self.calls["move"] += 1
        return super().move(*args)

    def scan(self, **kwargs):
        self.calls["scan"] += 1
        return super().scan(**kwargs)


def test_a_million_sources_of_which_ten_are_due_are_the_work_of_ten():
    calls = []
    for idle in (0, 1_000_000):
        world = replace(a_world(), sources=CountingSources())
        world.gates.put_checkpoint("reconcile", Checkpoint(NOON))
        sleeper = a_source("sleeper", cadence=every(60), next_fetch_at=at(30))
        world.sources.rows.update(dict.fromkeys((f"idle-{number}" for number in range(idle)), sleeper))
        for number in range(10):
            world.sources.add(on_host("due", number, cadence=every(60)))
        assert planned(world).enqueued == 10
        calls.append(world.sources.calls)
    assert calls[0] == calls[1] == {"due": 4, "read": 4, "move": 10}, "one query and one read for each shard"


def test_a_clock_that_jumps_back_polls_nothing_twice():
    clock = Clock()
    world = a_world(clock=clock)
    world.sources.add(a_source(cadence=every(60), next_fetch_at=at(-1)))
    planned(world)
    (first,) = world.queue.sent
    fetch_source(first.message, world, SETTINGS, message_id="m")
    clock.now = at(-5)
    assert planned(world, at(-5)).enqueued == 0
    clock.now = at(60)
    assert planned(world, at(60)).enqueued == 1


class TestOutage:
    def world(self):
        clock = Clock()
        world = a_world(DOWN, clock=clock)
        for number in range(8):
            world.sources.add(on_host(f"h{number}", 1, cadence=every(60)))
        return world, clock

    def run(self, world):
        for out in world.queue.sent:
            fetch_source(out.message, world, SETTINGS, message_id="m")
        world.queue.sent.clear()

    def test_when_most_hosts_are_down_it_is_us_and_failures_stop_counting(self):
        world, clock = self.world()
        planned(world)
        self.run(world)
        charged = [row.health.failures for row in world.sources.rows.values()]
        assert world.gates.frozen
        assert sum(charged) <= 4, "only those before it was clear"
        for turn in (1, 2, 3):
            clock.now = at(60 * 2 * turn + 1)
            assert planned(world, clock.now).frozen
            self.run(world)
        assert [row.health.failures for row in world.sources.rows.values()] == charged

    def test_one_success_and_failures_count_again(self):
        world, clock = self.world()
        planned(world)
        self.run(world)
        clock.now = at(121)
        planned(world, clock.now)
        self.run(replace(world, http=a_world().http))
        assert not world.gates.frozen
        assert all(row.health.failures == 0 for row in world.sources.rows.values())


class TestHosts:
    def fetched(self, world, name, answer=None):
        message = a_message(name).model_copy(update={"due_at": world.clock(), "window_end": world.clock()})
        using = replace(world, http=a_world(answer).http) if answer else world
        return fetch_source(message, using, SETTINGS, message_id="m")

    def world(self):
        world = a_world(clock=Clock())
        for number in range(3):
            world.sources.add(on_host("h", number, cadence=every(60)))
        return world

    def test_two_requests_to_a_host_are_never_closer_than_its_delay(self):
        world = self.world()
        assert self.fetched(world, "h-0").status == "ok"
        assert self.fetched(world, "h-1").status == "ok"
        assert world.clock() >= at(seconds=1), "it waited for its place"

    def test_a_place_that_is_far_off_is_waited_for_on_the_queue(self):
        world = self.world()
        world.gates.take_slot("h.example", now=NOON, until=at(seconds=30))
        run = self.fetched(world, "h-1")
        assert (run.status, run.reason, run.delay_seconds) == ("deferred", "host_busy", 30)
        assert world.sources.rows["h-1"].lease is None, "the lease is given back"

    def test_a_braked_host_is_left_alone_and_the_next_time_moves(self):
        world = self.world()
        for minutes in (60, 5):
            world.gates.brake("h.example", until=at(minutes), brakes=1, others=False)
            run = self.fetched(world, "h-1")
            assert (run.status, run.reason) == ("skipped", "host_braked")
            assert world.sources.rows["h-1"].next_fetch_at == at(minutes)
            assert world.sources.rows["h-1"].lease is None
        run = fetch_source(by_hand("h-2"), world, SETTINGS, message_id="m")
        assert (run.status, run.reason, run.delay_seconds) == ("deferred", "host_braked", 300)

    def test_a_host_of_which_every_source_fails_is_charged_itself(self):
        world = self.world()
        broken = FetchError(ErrorClass.HTTP_5XX, "The server answered 500.", http_status=500)
        for turn, name in enumerate(("h-0", "h-1", "h-2")):
            world.clock.now = at(20 * turn)
            self.fetched(world, name, broken)
        failures = [world.sources.rows[f"h-{number}"].health.failures for number in range(3)]
        assert failures == [1, 0, 0]
        world.clock.now = at(300)
        assert self.fetched(world, "h-1").status == "ok"
        assert world.gates.hosts["h.example"].failing is None, "one success clears the host"


def test_a_crashed_attempt_counts_before_the_next_one_can_crash():
    clock = Clock()
    world = a_world(clock=clock)
    world.sources.add(a_source(cadence=every(60)))

    class Crash(BaseException):
        pass

    class Killer:
        def get(self, request):
            raise Crash

    for turn in range(3):
        clock.now = at(10 * turn)
        message = a_message().model_copy(update={"due_at": at(10 * turn), "window_end": at(10 * turn)})
        with pytest.raises(Crash):
            fetch_source(message, replace(world, http=Killer()), SETTINGS, message_id="m")
    source = world.sources.rows["a"]
    assert (source.health.failures, source.health.error_class) == (2, ErrorClass.CRASHED)
    assert source.next_fetch_at == at(20 + 240), "it backs off like any other"
    assert [(log.started_at, log.error_class) for log in world.logs.rows.values()] == [
        (at(0), ErrorClass.CRASHED),
        (at(10), ErrorClass.CRASHED),
    ], "the row that it could not write"


class Offline(MemoryPosts):
    def put(self, post):
        raise Unavailable("Throttled.")


def test_trouble_of_our_own_is_no_crash_of_the_source():
    clock = Clock()
    world = a_world(clock=clock)
    world.sources.add(a_source(cadence=every(60)))
    with pytest.raises(Unavailable):
        fetch_source(a_message(), replace(world, posts=Offline()), SETTINGS, message_id="m")
    assert world.sources.rows["a"].lease is None
    clock.now = at(10)
    assert fetch_source(a_message(), world, SETTINGS, message_id="m").status == "ok"
    assert world.sources.rows["a"].health.failures == 0
    assert [log.error_class for log in world.logs.rows.values()] == [None]


def test_a_lease_that_ended_a_moment_ago_may_still_be_at_work():
    clock = Clock()
    world = a_world(clock=clock)
    ended = Lease(started_at=at(-3), token="t", until=at(seconds=-1))
    world.sources.add(a_source(cadence=every(60), lease=ended))
    assert fetch_source(a_message(), world, SETTINGS, message_id="m").status == "ok"
    assert len(world.logs.rows) == 1


class Killed(BaseException):
    """The function was ended from outside."""


class KilledSources(MemorySources):
    """Dies at its first move."""

    armed = True

    def move(self, ref, to):
        if self.armed:
            self.armed = False
            raise Killed
        return super().move(ref, to)


def test_a_planner_killed_between_send_and_move_sends_twice_and_polls_once():
    clock = Clock()
    world = replace(a_world(clock=clock), sources=KilledSources())
    world.sources.add(a_source(cadence=every(60), next_fetch_at=at(-1)))
    world.gates.release = lambda gate, owner: False  # killed: nothing after it runs
    with pytest.raises(Killed):
        planned(world)
    assert planned(world).busy, "its lease is still held"
    clock.now = at(2)
    assert planned(world, at(2)).enqueued == 1
    first, second = world.queue.sent
    assert first.message.due_at == second.message.due_at
    assert fetch_source(first.message, world, SETTINGS, message_id="1").status == "ok"
    assert fetch_source(second.message, world, SETTINGS, message_id="2").reason == "already_done"
    assert len(world.http.asked) == 1
