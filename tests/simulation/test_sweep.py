"""Whatever goes wrong once, anywhere: nothing is lost, nothing is stored twice, every source goes on."""

import pytest

from simulation.faults import Fault, Kind
from simulation.scenarios import ONE, PAIR, STORIES
from simulation.sweep import Case, collected, pairs, singles, six, sixes, told
from simulation.world import HARSH, PLAIN


def without_violations(cases):
    figures = collected(cases, most_failed=1)
    if figures.failed:
        pytest.fail(told(*figures.failed[0]))
    return figures


@pytest.mark.parametrize("story", STORIES)
def test_any_single_fault_at_any_call_is_survived(story):
    figures = without_violations(singles((story,), frozen_in=(PLAIN,)))
    assert set(figures.kinds) == set(Kind), "every kind of fault was met"
    assert figures.faults > 400


def test_six_faults_in_one_run_are_survived():
    figures = without_violations(sixes(range(40)))
    assert figures.faults > 200


def test_two_faults_follow_each_other_into_the_second_delivery():
    crash = Fault(16, Kind.CRASH_AFTER)
    alone = Case(ONE.name, PLAIN, (crash,)).play(until=14)
    again = [number for number, name in enumerate(alone.positions) if name == "posts.put" and number > 16]
    case = Case(ONE.name, PLAIN, (crash, Fault(again[0], Kind.CRASH_BEFORE)))
    sim = case.play()
    assert [fault.call for fault in sim.stage.hit] == [16, again[0]]
    assert sim.violations == []


def test_the_pairs_begin_with_the_first_call():
    case, _ = next(pairs())
    assert [fault.call for fault in case.faults] == [0, 1]


@pytest.mark.parametrize("seed", [1, 7, 31])
def test_one_seed_is_one_exact_run(seed):
    first, second = six(seed), six(seed)
    assert first == second
    assert first.play().stage.told(10_000) == second.play().stage.told(10_000)


def test_seeds_differ():
    assert len({str(six(seed)) for seed in range(5)}) == 5


def test_a_failing_case_tells_the_calls_that_led_there():
    case = Case(PAIR.name, HARSH, (Fault(4, Kind.CRASH_AFTER),))
    text = told(case, ("posts: something is wrong",))
    assert str(case) in text
    assert "posts: something is wrong" in text
    assert "FAULT at call 4: crash after" in text
    assert "sources.start(a" in text
