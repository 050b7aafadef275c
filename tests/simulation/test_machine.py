"""Anything in any order: plan, deliver, double, delay, fail, edit, view, with clocks that are off."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from builders import NOON, at, every
from simulation.faults import Kind
from simulation.planted import BUGS
from simulation.publishers import SECRET, Answer
from simulation.world import SETTINGS, Setting, Simulation
from wellspring import catalog
from wellspring.errors import ErrorClass

NAMES = ("a", "b", "c")
CADENCES = {"a": every(5), "b": {"mode": "adaptive"}, "c": {"mode": "activity"}}
CREATED = {"a": at(-60), "b": at(-60), "c": NOON - timedelta(days=100)}
"""Nobody has looked at the last one for so long that the schedule leaves it out."""
HOSTS = {"a": "one.example", "b": "one.example", "c": "two.example"}
TROUBLE = (
    Answer(status=500),
    Answer(status=410),
    Answer(status=429, headers=(("retry-after", "120"),)),
    Answer(error=ErrorClass.TIMEOUT),
)
names = st.sampled_from(NAMES)
NO_SKEW = timedelta(0)
SKEWS = st.sampled_from([NO_SKEW, NO_SKEW, timedelta(minutes=5), timedelta(minutes=-5)])


class World(RuleBasedStateMachine):
    """The simulated stack, with an operator and publishers who do what they like."""

    bug = None

    @initialize(planners=st.integers(1, 2), lag=st.sampled_from([0, 3]), seed=st.integers(0, 99))
    def begin(self, planners, lag, seed):
        setting = Setting(planners=planners, lag=timedelta(seconds=lag), mixed=0.2)
        self.sim = Simulation(setting, {}, seed, self.bug)
        self.sim.apart = None
        self.numbers = iter(range(1, 10_000))
        self.removed = set()
        for name in NAMES:
            config = {"cadence": CADENCES[name], "full_text": name == "a", "headers": {"X-Key": SECRET}}
            url = f"https://{HOSTS[name]}/{name}.xml"
            self.sim.add(
                name, url=url, entries=[(next(self.numbers), 0)], config=config, created_at=CREATED[name]
            )

    @rule(minutes=st.sampled_from([0.02, 0.5, 1, 5, 13, 60]))
    def time_passes(self, minutes):
        self.sim.stage.play(self.sim.stage.now + timedelta(minutes=minutes))

    @rule(skew=SKEWS)
    def the_planners_are_woken(self, skew):
        self._skewed(skew)
        now = self.sim.stage.now.replace(microsecond=0)
        for _ in range(self.sim.setting.planners):
            self.sim.tick(now, skew=skew)

    @rule(skew=SKEWS)
    def a_message_is_delivered(self, skew):
        self._skewed(skew)
        ready = [held for held in self.sim.queue.held.values() if held.visible_at <= self.sim.stage.now]
        if ready:
            self.sim.deliver(ready[0].message_id, skew=skew)

    @rule(late=st.sampled_from([0, 0.5, 30, 600]))
    def a_message_is_delivered_again(self, late):
        planned = [held for held in self.sim.queue.held.values() if "manual" not in held.body]
        if planned:
            self.sim.double(planned[-1], timedelta(seconds=late))

    @rule(seconds=st.sampled_from([30, 900]))
    def a_message_is_delayed(self, seconds):
        for held in list(self.sim.queue.held.values())[-1:]:
            held.visible_at += timedelta(seconds=seconds)
            self.sim.queue.arrived(held)

    @rule(calls=st.lists(st.tuples(st.integers(0, 25), st.sampled_from(Kind)), min_size=1, max_size=3))
    def something_will_go_wrong(self, calls):
        for ahead, kind in calls:
            self.sim.stage.faults[len(self.sim.stage.calls) + ahead] = kind

    @rule(name=names, what=st.sampled_from(["grow", "edit", "reorder"]))
    def a_feed_changes(self, name, what):
        feed = self.sim.publishers[name]
        if what == "grow":
            feed.grow((next(self.numbers), 0))
        elif what == "edit":
            feed.edit(feed.listed[0][0])
        else:
            feed.reorder()

    @rule(name=names, answer=st.sampled_from(TROUBLE))
    def a_publisher_is_in_trouble(self, name, answer):
        self.sim.publishers[name].say(answer)

    @rule(name=names)
    def somebody_fetches_by_hand(self, name):
        if name not in self.removed:
            self.sim.fetch_by_hand(name)

    @rule(name=names)
    def somebody_looks(self, name):
        self.sim.view(name)

    @rule(name=names, what=st.sampled_from(["disable", "enable", "edit"]))
    def somebody_edits(self, name, what):
        before = self.sim.sources.rows.get(name)
        if before is None:
            return
        now = self.sim.stage.now.replace(microsecond=0)
        if what == "disable":
            after = catalog.disabled(before)
        elif what == "enable":
            after = catalog.enabled(before, SETTINGS, now=now)
        else:
            given = catalog.with_config(before, {"cadence": every(10)})
            after = catalog.edited(before, {"title": "Edited"}, given, SETTINGS, now=now)
        if self.sim.sources.edit(before, after, now=now):
            self.sim.watcher.called("sources.edit", (before, after), {"now": now}, True)

    @rule(name=names)
    def somebody_removes(self, name):
        if self.sim.sources.remove(name):
            self.removed.add(name)

    @invariant()
    def nothing_is_wrong_so_far(self):
        if hasattr(self, "sim"):
            assert not self.sim.watcher.violations, self._told()

    def teardown(self):
        if not hasattr(self, "sim"):
            return
        sim = self.sim
        sim.stage.faults.clear()
        for feed in sim.publishers.values():
            if feed.says.status != 200 or feed.says.error:
                feed.grow((next(self.numbers), 0))
        for turn in range(1, 30):
            sim.tick_at(sim.stage.now.replace(microsecond=0) + timedelta(minutes=10 * turn))
        sim.stage.play(sim.stage.now + timedelta(hours=5))
        sim.close()
        assert not sim.violations, self._told()

    def _skewed(self, skew):
        self.sim.skewed |= bool(skew)

    def _told(self):
        return "\n".join([*self.sim.watcher.violations, self.sim.stage.told(300)])


BOUNDED = settings(
    max_examples=120,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestWorld = World.TestCase
TestWorld.settings = BOUNDED


@pytest.mark.parametrize(
    "name",
    [
        "the log is written twice",
        "a start takes a lease that somebody holds",
        "no fencing by the lease's token",
        "a lease never expires",
        "a source leaves the index although somebody looks",
    ],
)
def test_the_machine_can_see(name):
    class Broken(World):
        bug = next(bug for bug in BUGS if bug.name == name)

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Broken, settings=settings(BOUNDED, phases=[Phase.generate]))
