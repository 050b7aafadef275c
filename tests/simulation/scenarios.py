"""Owns the stories that are played: which sources there are, and what happens to them when."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta

from builders import NOON, every
from simulation.publishers import INTRANET, SECRET, Answer
from simulation.world import PLAIN, Simulation
from wellspring.errors import ErrorClass

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Story:
    """What is played: `build` adds the sources and puts what publishers and people do on the agenda."""

    name: str
    build: object
    ticks: tuple
    faults_until: float
    """Minutes after which nothing goes wrong any more, so that a run can recover."""
    ends: float
    apart: int = 10
    """Minutes from one tick to the next while the run recovers."""
    spare: int = 20
    """Minutes that each fault beyond the first may need more."""

    def ticks_for(self, faults):
        """Return when the planners are woken, and when all is over."""
        ends = self.ends + self.spare * max(0, len(faults) - 1)
        last = self.ticks[-1]
        return (*self.ticks, *range(last + self.apart, int(ends), self.apart)), ends


def _one(sim):
    feed = sim.add("a", url="https://one.example/a.xml", entries=[(2, 0), (1, 0)], cadence=every(30))
    _later(sim, 8, lambda: feed.grow((3, 0)))


def _pair(sim):
    secret = {"cadence": every(30), "headers": {"X-Key": SECRET}}
    slow = sim.add("a", url="https://one.example/a.xml", entries=[(2, 0), (1, 0)], config=secret)
    quick = sim.add("b", url="https://one.example/b.xml", entries=[(11, 0), (12, 0)], cadence=every(1))
    _later(sim, 0.5, lambda: quick.grow((13, 0)))
    _later(sim, 0.005, lambda: sim.view("a"))
    _later(sim, 0.01, lambda: sim.fetch_by_hand("a"))
    _later(sim, 1.5, lambda: quick.edit(12))
    _later(sim, 1.6, quick.reorder)
    _later(sim, 8, lambda: slow.grow((3, 0)))
    _later(sim, 20, lambda: quick.grow((14, 0)))


def _pages(sim):
    """One page at a time, so that most posts wait in line; one leads to another server, one inside."""
    config = {"cadence": every(1), "full_text": True, "headers": {"X-Key": SECRET}, "max_in_flight": 1}
    links = f"https://one.example/1 https://other.example/2 http://{INTRANET}/3"
    feed = sim.add(
        "p", url="https://one.example/p.xml", entries=[(1, 0), (2, 0), (3, 0)], links=links, config=config
    )
    _later(sim, 0.5, lambda: feed.say(Answer(((1, 0), (2, 0), (3, 0), (4, 0)))))
    _later(sim, 25, lambda: feed.say(Answer(((1, 0), (3, 0), (2, 1), (4, 0)))))


def _rough(sim):
    """Publishers in trouble, each in its own way."""
    cut = sim.add("c", url="https://cut.example/c.xml", entries=[(1, 0)], cadence=every(1))
    bad = sim.add("d", url="https://bad.example/d.xml", entries=[(1, 0), (2, 0)], cadence=every(1))
    busy = sim.add("e", url="https://busy.example/e.xml", entries=[(1, 0)], cadence=every(1))
    _later(sim, 0.5, lambda: cut.say(Answer(((3, 0), (2, 0), (1, 0)), cut=True)))
    _later(sim, 1.5, lambda: cut.say(Answer(((3, 0), (2, 0), (1, 0)))))
    _later(sim, 0.5, lambda: bad.say(Answer(error=ErrorClass.CONNECT)))
    _later(sim, 1.5, lambda: bad.grow((3, 0)))
    _later(sim, 0.5, lambda: busy.say(Answer(status=429, headers=(("retry-after", "60"),))))
    _later(sim, 1.8, lambda: busy.grow((2, 0)))


def _poison(sim):
    """A document that ends whoever reads it."""
    sim.add("x", url="https://poison.example/x.xml", cadence=every(10)).say(Answer(kills=True))
    sim.check = lambda: (
        [] if sim.sources.rows["x"].health.failures >= 3 else ["failure counters: what kills is not counted"]
    )


def _seen(sim):
    """Nobody has looked for so long that the schedule leaves the source out; then somebody does."""
    feed = sim.add(
        "v",
        url="https://idle.example/v.xml",
        entries=[(1, 0)],
        cadence={"mode": "activity"},
        created_at=NOON - timedelta(days=100),
    )
    _later(sim, 0.5, lambda: sim.view("v"))
    _later(sim, 0.0002, lambda: sim.view("v"))
    sim.check = lambda: (
        []
        if feed.served or sim.sources.rows["v"].health.failures or len(sim.faults) > 1
        else ["schedule: somebody looked, and nobody asked the publisher"]
    )


def _outage(sim):
    """Our own network is down: no publisher can be reached."""
    for name in "fghij":
        url = f"https://{name}.example/feed.xml"
        sim.add(name, url=url, cadence=every(10)).say(Answer(error=ErrorClass.CONNECT))
    sim.check = lambda: (
        []
        if sum(sim.sources.rows[name].health.failures for name in "fghij") <= 2
        else ["failure counters: sources pay for an outage of our own"]
    )


def _later(sim, minutes, what):
    sim.stage.at(NOON + MINUTE * minutes, "the story goes on", what)


ONE = Story("one feed", _one, (0, 1, 10), 1.9, 55)
PAIR = Story("two feeds of one host", _pair, (0, 1, 2, 10), 2.9, 56, apart=15)
PAGES = Story("full texts", _pages, (0, 1, 10, 30), 1.9, 135, apart=40, spare=100)
ROUGH = Story("publishers in trouble", _rough, (0, 1, 2, 3, 10), 2.9, 51, apart=20)
POISON = Story("a document that kills", _poison, (0, 10), 0.5, 125)
OUTAGE = Story("an outage of our own", _outage, (0, 10), 0.5, 55)
SEEN = Story("a source that somebody looks at", _seen, (0, 1, 10), 1.9, 55)
STORIES = {story.name: story for story in (ONE, PAIR, PAGES, ROUGH, SEEN)}
NAMED = {story.name: story for story in (POISON, OUTAGE)}


def play(story, setting=PLAIN, faults=None, *, seed=0, bug=None, until=None):
    """Play a story to its end and return the simulation; `violations` says what is wrong with it.

    `positions` are the calls up to when faults may happen.
    """
    with in_place(bug):
        sim = Simulation(setting, dict(faults or {}), seed, bug)
        sim.apart = MINUTE * story.apart
        story.build(sim)
        ticks, ends = story.ticks_for(sim.faults)
        for minute in ticks:
            sim.tick_at(NOON + MINUTE * minute)
        sim.stage.play(NOON + MINUTE * (until or story.faults_until))
        sim.positions = list(sim.stage.calls)
        sim.stage.play(NOON + MINUTE * ends)
        sim.violations = sim.close() + sim.check()
    return sim


@contextmanager
def in_place(bug):
    """Replace what a planted bug replaces, for as long as the scope lasts."""
    with ExitStack() as stack:
        for module, name, other in bug.replaced if bug else ():
            stack.enter_context(_replaced(module, name, other))
        yield


@contextmanager
def _replaced(module, name, other):
    before = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, before)
