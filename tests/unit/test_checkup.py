"""What the check-up says of a stack's numbers, and of this computer's clock."""

from datetime import timedelta

import pytest

from builders import NOON, at
from wellspring.aws.dead_letters import Depth
from wellspring.aws.metrics import Recent
from wellspring_cli import checks, checkup
from wellspring_cli.checks import Answer
from wellspring_cli.overview import Due, Overview

LOG = "Its log says why: sam logs --stack-name mine --name"


def an_overview(**fields):
    unknown = dict.fromkeys(("census", "due", "recent", "queue", "dead_letters", "is_frozen"))
    known = {"stack": "mine", "at": NOON, "period": timedelta(minutes=1), "deployed_at": at(-60)}
    return Overview(**unknown | known | fields)


@pytest.mark.parametrize(
    ("recent", "deployed", "answer"),
    [
        pytest.param(Recent(planned_at=at(-2)), 60, Answer(True, "ran last at 11:58Z"), id="at work"),
        pytest.param(Recent(), 5, Answer(True, "has not run yet"), id="just deployed"),
        pytest.param(
            Recent(),
            60,
            Answer(False, f"It has not run since it was deployed. {LOG} PlannerFunction"),
            id="never",
        ),
        pytest.param(
            Recent(planned_at=at(-15)),
            60,
            Answer(False, f"It has not run for 15 min. {LOG} PlannerFunction"),
            id="silent",
        ),
    ],
)
def test_the_planner(recent, deployed, answer):
    assert checks.planner(an_overview(recent=recent, deployed_at=at(-deployed))) == answer


@pytest.mark.parametrize(
    ("recent", "answer"),
    [
        pytest.param(Recent(), Answer(True, "had nothing to do for ten minutes"), id="nothing to do"),
        pytest.param(
            Recent(worked_off=2), Answer(True, "worked off 2 messages within ten minutes"), id="at work"
        ),
        pytest.param(
            Recent(sent=3),
            Answer(
                False,
                f"It works nothing off, although 3 sources were put on the queue. {LOG} FetcherFunction",
            ),
            id="silent",
        ),
        pytest.param(
            Recent(sent=3, worked_off=9, crashes=1),
            Answer(False, f"It crashed 1 time within ten minutes. {LOG} FetcherFunction"),
            id="crashing",
        ),
    ],
)
def test_the_fetcher(recent, answer):
    assert checks.fetcher(an_overview(recent=recent)) == answer


@pytest.mark.parametrize(
    ("due", "answer"),
    [
        pytest.param(Due(), Answer(True, "nothing is late"), id="nothing is due"),
        pytest.param(Due(number=9, oldest=at(-1)), Answer(True, "nothing is late"), id="due for a minute"),
        pytest.param(
            Due(number=9, oldest=at(-45)),
            Answer(
                False,
                "9 sources are due and not on the queue yet, the oldest for 45 min. Run the planner by"
                " hand, it says what is in its way: wellspring plan",
            ),
            id="late",
        ),
    ],
)
def test_the_due_sources(due, answer):
    assert checks.due(an_overview(due=due)) == answer


@pytest.mark.parametrize(
    ("depth", "answer"),
    [
        pytest.param(Depth(0, 0), Answer(True, "none"), id="none"),
        pytest.param(
            Depth(0, 1),
            Answer(False, "1 message could not be worked off. See why: wellspring dead-letters list"),
            id="one that somebody looks at",
        ),
    ],
)
def test_the_dead_letters(depth, answer):
    assert checks.dead_letters(an_overview(dead_letters=depth)) == answer


@pytest.mark.parametrize(
    ("here", "ok", "told"),
    [
        pytest.param(at(0), True, "this computer's is right", id="the same time"),
        pytest.param(at(1), True, "this computer's is right", id="a minute is still right"),
        pytest.param(at(7), False, "7 min ahead of", id="ahead"),
        pytest.param(at(-1, seconds=-1), False, "61 s behind", id="behind"),
    ],
)
def test_the_clock(here, ok, told):
    answer = checkup.clock(here, NOON)
    assert (answer.ok, told in answer.text) == (ok, True), answer.text
