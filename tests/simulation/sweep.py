"""Owns the sweeps: which faults are played in which setting, and how a run is named and played again."""

import gc
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random

from simulation.faults import Fault, Kind, kinds
from simulation.scenarios import NAMED, ONE, STORIES, play
from simulation.world import HARSH, PLAIN, SETTINGS_SWEPT, Setting

SETTINGS = {str(number): setting for number, setting in enumerate(SETTINGS_SWEPT)}
SIX = 6
PAIRS_UNTIL = 14
"""Minutes; a message that was hidden by the first fault comes back in that time, into the second one."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run, by all that makes it what it is."""

    story: str
    setting: Setting = PLAIN
    faults: tuple[Fault, ...] = ()
    seed: int = 0

    def play(self, *, bug=None, until=None):
        faults = {fault.call: fault.kind for fault in self.faults}
        story = (STORIES | NAMED)[self.story]
        return play(story, self.setting, faults, seed=self.seed, bug=bug, until=until)

    def __str__(self):
        faults = "; ".join(map(str, self.faults)) or "no faults"
        return f"{self.story} / {self.setting} / seed {self.seed} / {faults}"


@dataclass
class Figures:
    """What a sweep came to."""

    runs: int = 0
    faults: int = 0
    kinds: Counter = field(default_factory=Counter)
    failed: list = field(default_factory=list)

    def add(self, case, sim):
        self.runs += 1
        self.faults += len(sim.stage.hit)
        self.kinds.update(fault.kind for fault in sim.stage.hit)
        if sim.violations:
            self.failed.append((case, tuple(sim.violations)))


def after(sim, first=0):
    """Return every fault that a run's own calls leave room for."""
    return [
        Fault(number, kind)
        for number, name in enumerate(sim.positions)
        if number >= first
        for kind in kinds(name)
    ]


def singles(stories=tuple(STORIES), settings=SETTINGS_SWEPT, *, frozen_in=SETTINGS_SWEPT):
    """Yield each run with one fault, and the run without any.

    The longer pause differs from the shorter one in the queue's patience alone: where time is short,
    it is played in fewer settings.
    """
    for story in stories:
        for setting in settings:
            plain = Case(story, setting)
            sim = plain.play()
            yield plain, sim
            for fault in after(sim):
                if fault.kind is Kind.FROZEN and setting not in frozen_in:
                    continue
                case = replace(plain, faults=(fault,))
                yield case, case.play()


def pairs(story=ONE.name, settings=(PLAIN, HARSH)):
    """Yield each run with two faults: the second at every call that the first leaves behind it."""
    for setting in settings:
        plain = Case(story, setting)
        for first in after(plain.play(until=PAIRS_UNTIL)):
            alone = replace(plain, faults=(first,))
            for second in after(alone.play(until=PAIRS_UNTIL), first.call + 1):
                case = replace(plain, faults=(first, second))
                yield case, case.play()


def sixes(seeds):
    """Yield a run with six faults for each seed, in a setting that the seed draws."""
    for seed in seeds:
        case = six(seed)
        yield case, case.play()


def six(seed):
    """Return the case of a seed: one seed is one exact run."""
    random = Random(seed)
    story = random.choice(sorted(STORIES))
    setting = Setting(
        duplicates=random.random() < 0.5,
        planners=random.choice((1, 2)),
        lag=timedelta(seconds=random.choice((0, 3, 70))),
        mixed=random.choice((0.0, 0.2, 0.5)),
        skew=timedelta(minutes=random.choice((0, 0, 0, -5, 5))),
    )
    plain = Case(story, setting, seed=seed)
    positions = list(enumerate(plain.play().positions))
    chosen = sorted(random.sample(positions, min(SIX, len(positions))))
    return replace(plain, faults=tuple(Fault(number, random.choice(kinds(name))) for number, name in chosen))


def collected(cases, figures=None, *, most_failed=20):
    """Play cases and count; stop where enough has gone wrong to see what it is."""
    figures = figures or Figures()
    gc.collect()
    gc.freeze()
    try:
        for case, sim in cases:
            figures.add(case, sim)
            if len(figures.failed) >= most_failed:
                break
    finally:
        gc.unfreeze()
    return figures


def told(case, violations, *, lines=400):
    """Return what went wrong in a case, and the calls and events that led there."""
    sim = case.play()
    wrong = "\n".join(f"  {text}" for text in violations)
    return f"{case}\n{wrong}\n\n{sim.stage.told(lines)}"


def caught(bug):
    """Return the first case in which a planted bug is noticed by the invariant that is there for it."""
    for case in _hunt(bug):
        violations = case.play(bug=bug).violations
        if any(text.startswith(f"{bug.seen_by}:") for text in violations):
            return case, violations
    return None


def _hunt(bug):
    """Yield the cases of a bug's story: first those without a fault, since most bugs show there."""
    name = bug.story.name
    settings = (bug.setting,) if bug.setting else (PLAIN,) if name in NAMED else SETTINGS_SWEPT
    plain = [Case(name, setting) for setting in settings]
    yield from plain
    for case in plain:
        yield from (replace(case, faults=(fault,)) for fault in after(case.play(bug=bug)))
