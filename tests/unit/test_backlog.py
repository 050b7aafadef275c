"""The line in which posts wait for their full text."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOON, at
from wellspring.backlog import (
    LOST_AFTER,
    MOST_AT_ONCE,
    MOST_TRIES,
    MOST_WAITING,
    Again,
    Backlog,
    admitted,
    pack,
    unpack,
)

SECOND = timedelta(seconds=1)


def step(line=None, *, now=NOON, interval=SECOND, room=25, **what):
    what.setdefault("not_before", now)
    if "again" in what:
        what["again"] = [one if isinstance(one, Again) else Again(one) for one in what["again"]]
    made = admitted(line or Backlog(), now=now, interval=interval, room=room, **what)
    return made.after, [*made.places]


def names(count, first=0):
    return [f"{number:064x}" for number in range(first, first + count)]


def test_new_posts_are_sent_an_interval_apart():
    line, places = step(wanted=names(3))
    assert [place.delay_seconds for place in places] == [0, 1, 2]
    assert [place.content_hash for place in places] == names(3)
    assert line.next_at == at(seconds=3)


def test_those_that_come_later_are_spaced_from_those_before():
    line, _ = step(wanted=names(3))
    _, places = step(line, now=at(seconds=1), wanted=names(1, first=9))
    assert [place.delay_seconds for place in places] == [2]


def test_no_more_than_there_is_room_for_are_on_the_queue_and_none_is_forgotten():
    line, places = step(wanted=names(40))
    assert (len(places), len(line.queued), len(line.waiting)) == (25, 25, 15)


def test_one_step_sends_a_hundred_at_most():
    line, places = step(wanted=names(300), room=1_000, interval=timedelta(0))
    assert (len(places), len(line.waiting)) == (MOST_AT_ONCE, 200)


def test_one_that_is_done_makes_room_for_the_next():
    line, _ = step(wanted=names(3), room=2)
    line, places = step(line, now=at(seconds=5), room=2, done=names(1)[0])
    assert [place.content_hash for place in places] == [names(3)[2]]
    assert names(1)[0] not in line.queued


def test_one_that_is_put_off_comes_first_again_and_at_a_place_of_its_own():
    line, _ = step(wanted=names(3))
    line, first = step(line, now=at(seconds=3), again=[names(3)[0]], not_before=at(seconds=10))
    line, second = step(line, now=at(seconds=3), again=[names(3)[1]], not_before=at(seconds=10))
    assert [place.delay_seconds for place in (*first, *second)] == [7, 8], "spaced, not bunched"


def test_one_that_waits_for_reasons_of_its_own_lets_the_others_pass():
    line, _ = step(wanted=names(3), room=1)
    line, places = step(line, room=2, again=[Again(names(3)[0], at(60))], now=at(seconds=5))
    assert [place.content_hash for place in places] == names(3)[1:]
    assert [*line.waiting] == names(1), "longer than the queue can hide a message"
    _, places = step(line, now=at(60))
    assert names(1)[0] in [place.content_hash for place in places]


def test_a_pause_that_is_longer_than_the_queue_can_hide_a_message_stops_nobody_for_good():
    line, places = step(wanted=names(3), interval=timedelta(hours=1), not_before=at(60))
    assert [(place.content_hash, place.delay_seconds) for place in places] == [(names(1)[0], 900)]
    line, places = step(line, now=at(15), interval=timedelta(hours=1), again=names(1), not_before=at(60))
    assert [place.delay_seconds for place in places] == [900], "and so on, until its time has come"


def test_one_that_fails_is_tried_a_few_times_and_then_given_up():
    line, _ = step(wanted=names(1))
    for number in range(MOST_TRIES):
        made = admitted(
            line,
            again=[Again(names(1)[0], failed=True)],
            now=at(number),
            not_before=at(number),
            interval=SECOND,
            room=25,
        )
        line = made.after
    assert made.given_up == tuple(names(1))
    assert (line.waiting, line.queued) == ({}, {})


def test_a_message_that_is_lost_again_and_again_is_given_up():
    line, now = step(wanted=names(1))[0], NOON
    for _ in range(MOST_TRIES):
        now += LOST_AFTER + SECOND
        made = admitted(line, now=now, not_before=now, interval=SECOND, room=25)
        line = made.after
    assert made.given_up == tuple(names(1))


def test_the_line_has_an_end():
    made = admitted(
        Backlog(), wanted=names(MOST_WAITING + 7), now=NOON, not_before=NOON, interval=SECOND, room=25
    )
    assert len(made.surplus) == 7
    assert len(pack(made.after.waiting)) < 250_000, "a row holds 400 KB"


def test_a_line_survives_packing():
    line, _ = step(wanted=names(40))
    assert (unpack(pack(line.waiting)), unpack(pack(line.queued))) == (line.waiting, line.queued)


def test_a_message_that_was_lost_is_sent_again():
    line, _ = step(wanted=names(1))
    assert step(line, now=NOON + LOST_AFTER - SECOND)[1] == []
    assert len(step(line, now=NOON + LOST_AFTER)[1]) == 1


@pytest.mark.parametrize("what", [{}, {"wanted": names(1)}, {"done": "f" * 64}])
def test_a_step_that_changes_nothing_writes_nothing(what):
    line, _ = step(wanted=names(1))
    assert step(line, now=at(seconds=2), **what) == (line, [])


STEPS = st.lists(
    st.tuples(st.sampled_from(["wanted", "done", "again"]), st.integers(0, 30), st.integers(0, 60)),
    max_size=60,
)


@given(STEPS, st.integers(1, 10), st.sampled_from([timedelta(0), SECOND, timedelta(seconds=30)]))
def test_whatever_happens_nobody_is_lost_and_no_more_than_the_room_is_queued(steps, room, interval):
    line, now, owed = Backlog(), NOON, set()
    starts = []
    for what, number, seconds in steps:
        now += timedelta(seconds=seconds)
        name = names(31)[number]
        if what == "wanted":
            line, places = step(line, now=now, interval=interval, room=room, wanted=[name])
            owed.add(name)
        elif name in owed:
            given = {"done": name} if what == "done" else {"again": [name]}
            line, places = step(line, now=now, interval=interval, room=room, **given)
            owed -= {name} if what == "done" else set()
        else:
            continue
        starts += [now + timedelta(seconds=place.delay_seconds) for place in places]
        assert len(line.queued) <= room
        assert set(line.waiting) | line.queued.keys() == owed
        assert not set(line.waiting) & line.queued.keys()
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert all(gap >= interval - SECOND for gap in gaps), "a delay is rounded up to whole seconds"
