"""The cleaning: what is old and was not processed goes, bounded in each run, and nothing else."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, Clock, a_post, a_source, a_world, an_entry, at, every, rss
from wellspring import cleaning
from wellspring.errors import Unavailable
from wellspring.fetch import fetch_source
from wellspring.memory import MemoryGates, MemoryPosts
from wellspring.model import PostKey
from wellspring.plan import plan
from wellspring.ports import Checkpoint
from wellspring.schedule import shard_of

DAY = timedelta(days=1)
MARGIN = 2 * DAY
WEEK = 7 * DAY


class CountingPosts(MemoryPosts):
    """Counts calls and the rows of the index that were looked at; each call may take a while."""

    def __init__(self, clock, takes=timedelta(0)):
        super().__init__()
        self.clock = clock
        self.takes = takes
        self.calls = Counter()
        self.fails = None

    def pending(self, shard, **given):
        self._call("pending")
        page = super().pending(shard, **given)
        self.calls["seen"] += page.seen
        return page

    def delete_unprocessed(self, key, *, expires_by):
        self._call("delete")
        return super().delete_unprocessed(key, expires_by=expires_by)

    def _call(self, name):
        self.calls[name] += 1
        self.clock.wait(self.takes)
        if self.fails and self.fails(name, self.calls[name]):
            raise Unavailable(f"The {name} failed: Throttled.")


class CountingGates(MemoryGates):
    def __init__(self):
        super().__init__()
        self.calls = Counter()

    def checkpoint(self, gate):
        self.calls["read"] += gate == cleaning.GATE
        return super().checkpoint(gate)

    def put_checkpoint(self, gate, checkpoint):
        self.calls["write"] += gate == cleaning.GATE
        super().put_checkpoint(gate, checkpoint)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def world(clock):
    return replace(a_world(clock=clock), posts=CountingPosts(clock), gates=CountingGates())


def put(world, name, *, age, max_age=WEEK, source_id="a"):
    """Store a post that was published so long ago; without a maximum age it has no date."""
    entry = an_entry(published_at=NOON - age if max_age is not None else None)
    expires_at = None if max_age is None else NOON - age + max_age + MARGIN
    post = a_post(source_id, name, entry=entry, expires_at=expires_at)
    assert world.posts.put(replace(post, fetched_at=NOON - age))
    return post.key


def cleaned(world, within=timedelta(minutes=1), **limits):
    now = world.clock()
    return cleaning.clean(world, SETTINGS, now=now, deadline=now + within, limits=cleaning.Limits(**limits))


def left(world):
    return sorted(name for _, name in world.posts.rows)


def calls(world):
    """Return what was called since the last time."""
    found = dict(world.posts.calls + world.gates.calls)
    world.posts.calls.clear()
    world.gates.calls.clear()
    return found


def test_what_is_old_goes_and_nothing_else(world):
    put(world, "old", age=WEEK)
    put(world, "young", age=WEEK - timedelta(seconds=1))
    put(world, "undated", age=90 * DAY, max_age=None)
    put(world, "of a patient source", age=WEEK, max_age=30 * DAY)
    put(world, "of a hasty source", age=DAY, max_age=DAY)
    processed = put(world, "processed", age=WEEK)
    world.posts.mark_processed(processed, NOON)
    assert cleaned(world).deleted == 2
    assert left(world) == ["of a patient source", "processed", "undated", "young"]


def test_an_empty_index_costs_a_query_a_shard_and_no_write(world, clock):
    for _ in range(3):
        assert cleaned(world) == cleaning.Cleaned(0)
        assert calls(world) == {"read": 1, "pending": 4}
        clock.now += DAY


def test_posts_that_are_still_young_cost_a_query_a_shard_and_no_write_but_one_a_day(world, clock):
    for number in range(50):
        put(world, f"young-{number}", age=timedelta(0), source_id=f"s-{number}")
    cleaned(world)
    assert calls(world) == {"read": 1, "pending": 4, "seen": 50, "write": 1}, "the daily pass"
    for _ in range(3):
        clock.now += timedelta(hours=1)
        cleaned(world)
        assert calls(world) == {"read": 1, "pending": 4}


def test_what_becomes_old_between_two_daily_passes_goes_in_the_next_run(world, clock):
    for minutes in range(5):
        put(world, f"{minutes}", age=WEEK - timedelta(minutes=minutes + 1))
    cleaned(world)
    for minutes in range(5):
        clock.now = at(minutes + 1)
        assert cleaned(world).deleted == 1
    assert left(world) == []


def test_undated_posts_at_the_head_are_looked_at_once_and_not_in_every_run(world, clock):
    for number in range(3_000):
        put(world, f"undated-{number}", age=30 * DAY, max_age=None)
    cleaned(world)
    calls(world)
    clock.now = at(1)
    cleaned(world)
    assert calls(world)["seen"] == 3_000, "the pass along the maximum age has never seen them"
    for minute in (2, 3):
        clock.now = at(minute)
        put(world, f"old-{minute}", age=WEEK - timedelta(minutes=minute))
        assert cleaned(world).deleted == 1
        assert calls(world) == {"read": 1, "pending": 4, "seen": 1, "delete": 1, "write": 1}


def test_a_post_at_the_very_end_of_a_stretch_is_looked_at_once(world, clock):
    put(world, "undated", age=WEEK - timedelta(minutes=1), max_age=None)
    cleaned(world)
    calls(world)
    clock.now = at(1)
    cleaned(world)
    assert calls(world) == {"read": 1, "pending": 4, "seen": 1, "write": 1}
    clock.now = at(2)
    cleaned(world)
    assert calls(world) == {"read": 1, "pending": 4}


def test_a_source_with_an_age_of_its_own_is_cleaned_within_a_day(world, clock):
    put(world, "hasty", age=timedelta(0), max_age=timedelta(hours=1))
    put(world, "patient", age=8 * DAY, max_age=9 * DAY)
    cleaned(world)
    clock.now = NOON + DAY - timedelta(minutes=1)
    cleaned(world)
    assert left(world) == ["hasty", "patient"]
    clock.now = NOON + DAY
    assert cleaned(world).deleted == 2


def test_a_run_deletes_so_many_and_the_next_runs_go_on(world, clock):
    for number in range(1_200):
        put(world, f"{number:04}", age=WEEK + timedelta(seconds=number), source_id=f"s-{number % 9}")
    deleted = []
    for minute in range(4):
        clock.now = at(minute)
        deleted.append(cleaned(world).deleted)
    assert deleted == [500, 500, 200, 0]


def test_the_next_run_goes_on_behind_what_could_not_be_deleted(world, clock):
    class Stuck(CountingPosts):
        """Its index lists what the posts say is processed."""

        tried = ()

        def delete_unprocessed(self, key, *, expires_by):
            self.tried = (*self.tried, key.content_hash)
            return False

    world = replace(world, posts=Stuck(clock))
    for number in range(12):
        put(world, f"{number:02}", age=WEEK + timedelta(hours=12 - number))
    for minute in range(3):
        clock.now = at(minute)
        world.gates.put_checkpoint(cleaning.GATE, whole_pass_alone(world))
        cleaned(world, deletions=5)
    assert world.posts.tried == tuple(f"{number:02}" for number in range(12))


def whole_pass_alone(world):
    """Return how far the passes have come, the one along the maximum age at its end."""
    passes = cleaning.read(world.gates.checkpoint(cleaning.GATE))
    return cleaning.write(replace(passes, along=cleaning.Stretch(NOON, shard=4)))


def test_a_run_looks_at_so_many_pages_and_the_next_runs_go_on(world, clock):
    for number in range(300):
        put(world, f"undated-{number}", age=30 * DAY, max_age=None)
    key = put(world, "hasty", age=DAY, max_age=DAY)
    cleaned(world, page=10)
    first = calls(world)
    assert (first["pending"], first["write"]) == (24, 1)
    assert key.content_hash in left(world)
    for minute in (1, 2, 3):
        clock.now = at(minute)
        cleaned(world, page=10)
        assert calls(world)["pending"] <= 24
    assert key.content_hash not in left(world)


def test_a_run_takes_a_quarter_of_the_time_and_the_next_goes_on(world, clock):
    for number in range(100):
        put(world, f"{number}", age=WEEK + timedelta(seconds=number))
    world.posts.takes = timedelta(seconds=1)
    assert cleaned(world, within=timedelta(seconds=40)).deleted < 10
    assert clock.now <= at(seconds=11)
    world.posts.takes = timedelta(0)
    cleaned(world)
    assert left(world) == []


def test_out_of_time_nothing_is_asked(world):
    put(world, "old", age=WEEK)
    assert cleaned(world, within=timedelta(0)) == cleaning.Cleaned(0)
    assert calls(world) == {"read": 1}


def test_what_was_processed_meanwhile_stays(world):
    class Late(CountingPosts):
        """Somebody processes every post in the moment before it is deleted."""

        def delete_unprocessed(self, key, *, expires_by):
            self.mark_processed(key, NOON)
            return super().delete_unprocessed(key, expires_by=expires_by)

    world = replace(world, posts=Late(world.clock))
    put(world, "old", age=WEEK)
    assert cleaned(world).deleted == 0
    assert left(world) == ["old"]


def test_a_daily_pass_that_lasts_holds_up_the_other_for_one_run_at_most(world, clock):
    for number in range(400):
        put(world, f"young-{number}", age=6 * DAY, source_id=f"s-{number % 4}")
    put(world, "gets old", age=WEEK - timedelta(minutes=1))
    cleaned(world, page=10)
    assert cleaning.read(world.gates.checkpoint(cleaning.GATE)).whole, "it is not through"
    clock.now = at(1)
    assert cleaned(world, page=10).deleted == 1


@pytest.mark.parametrize("name", ["pending", "delete"])
def test_an_outage_is_told_with_what_was_done_before_it(world, clock, name):
    for source in range(9):
        put(world, "old", age=WEEK, source_id=f"s-{source}")
    world.posts.fails = lambda called, number: called == name and number == 3
    result = cleaned(world)
    assert result.warning == f"The cleaning goes on in the next run. The {name} failed: Throttled."
    assert result.deleted == 9 - len(world.posts.rows) > 0
    world.posts.fails = None
    assert cleaned(world).warning is None
    assert left(world) == []


@pytest.mark.parametrize(
    "after", ["", "?", "[]", "5", '{"along": 5}', '{"along": ["x", null, 0, null]}', '{"whole": [[], 1]}']
)
def test_a_spoilt_checkpoint_begins_anew(world, after):
    put(world, "old", age=WEEK)
    world.gates.put_checkpoint(cleaning.GATE, Checkpoint(at(-1), after))
    assert cleaned(world).deleted == 1


@pytest.mark.parametrize("cut", [False, True])
def test_how_far_the_passes_have_come_is_kept(cut):
    ref = cleaning.PendingRef(PostKey("a", "b"), "2026-11-18T12:00:00.000Z")
    stretch = cleaning.Stretch(NOON, at(-5), 3, ref) if cut else cleaning.Stretch(NOON)
    for passes in (cleaning.Passes(stretch, None, NOON), cleaning.Passes(None, stretch, None)):
        assert cleaning.read(cleaning.write(passes)) == passes


def test_an_age_that_was_made_longer_waits_until_time_has_caught_up(world, clock):
    put(world, "old", age=WEEK)
    cleaned(world)
    clock.now = at(1)
    put(world, "undated", age=WEEK, max_age=None)
    cleaned(world)
    longer = replace(SETTINGS, defaults=replace(SETTINGS.defaults, max_age=30 * DAY))
    calls(world)
    cleaning.clean(world, longer, now=at(2), deadline=at(3))
    assert calls(world) == {"read": 1}, "there is no stretch of time between"


class TestInTheRun:
    """The cleaning as the planner's first step."""

    def test_it_comes_before_the_planning_and_is_counted(self, world):
        put(world, "old", age=WEEK)
        world.sources.add(a_source("due", next_fetch_at=at(-1)))
        report = plan(NOON, world, SETTINGS, deadline=at(1))
        assert (report.cleaned, report.enqueued, report.warnings) == (1, 1, [])

    def test_an_outage_of_the_posts_does_not_stop_the_planning(self, world):
        world.posts.fails = lambda called, number: True
        world.sources.add(a_source("due", next_fetch_at=at(-1)))
        report = plan(NOON, world, SETTINGS, deadline=at(1))
        assert (report.cleaned, report.enqueued) == (0, 1)
        assert report.warnings == ["The cleaning goes on in the next run. The pending failed: Throttled."]

    def test_a_mountain_of_old_posts_does_not_starve_the_planning(self, world):
        world.posts.takes = timedelta(seconds=0.1)
        for number in range(2_000):
            put(world, f"{number}", age=WEEK)
        for number in range(200):
            world.sources.add(a_source(f"s-{number}", next_fetch_at=at(-1)))
        report = plan(NOON, world, SETTINGS, deadline=at(seconds=50))
        assert (report.enqueued, report.halted) == (200, None)
        assert 0 < report.cleaned < 200

    def test_a_planner_that_finds_another_at_work_cleans_nothing(self, world):
        put(world, "old", age=WEEK)
        world.gates.acquire("planner", "another", now=NOON, until=at(1))
        assert plan(NOON, world, SETTINGS, deadline=at(1)).busy
        assert left(world) == ["old"]

    @pytest.mark.parametrize(
        "second",
        [
            pytest.param(rss(1), id="the same document"),
            pytest.param(rss(1, build="another"), id="another document with the same entry"),
            pytest.param(rss(2, 1), id="a document with one entry more"),
        ],
    )
    def test_what_was_deleted_while_it_is_listed_does_not_come_back(self, clock, second):
        """Its age would let it in again: the window of seen entries alone keeps it out."""
        world = a_world(rss(1), second, clock=clock)
        hasty = a_source(cadence=every(60), created_at=NOON - DAY, config={"max_age_days": 0.5})
        world.sources.add(replace(hasty, next_fetch_at=NOON))
        fetched(world, NOON)
        ((_, first),) = world.posts.rows
        clock.now = NOON + DAY
        assert plan(clock.now, world, SETTINGS, deadline=clock.now + DAY).cleaned == 1
        patient = a_source(cadence=every(60), config={"max_age_days": 30}).config
        world.sources.rows["a"] = replace(world.sources.rows["a"], config=patient)
        log = fetched(world, clock.now)
        assert first not in {name for _, name in world.posts.rows}
        assert log.status == "not_modified" or log.unchanged == 1


def fetched(world, window_end):
    """Plan and work off what was sent; return the last attempt's log."""
    plan(window_end, world, SETTINGS, deadline=window_end + timedelta(minutes=1))
    runs = [fetch_source(out.message, world, SETTINGS, message_id="m") for out in world.queue.sent]
    world.queue.sent.clear()
    return runs[-1].log if runs else None


def test_every_shard_is_cleaned(world):
    for number in range(40):
        put(world, "old", age=WEEK, source_id=f"s-{number}")
    assert {shard_of(source_id, 4) for source_id, _ in world.posts.rows} == {0, 1, 2, 3}
    assert cleaned(world).deleted == 40
