"""The line in which posts wait for their full text."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOON, at
from wellspring.backlog import LOST_AFTER, MOST_AT_ONCE, Backlog, admitted

SECOND = timedelta(seconds=1)


def step(line=None, *, now=NOON, interval=SECOND, room=25, **what):
    what.setdefault("not_before", now)
    return admitted(line or Backlog(), now=now, interval=interval, room=room, **what)


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
    line, first = step(line, now=at(seconds=3), again=names(3)[0], not_before=at(seconds=10))
    line, second = step(line, now=at(seconds=3), again=names(3)[1], not_before=at(seconds=10))
    assert [place.delay_seconds for place in (*first, *second)] == [7, 8], "spaced, not bunched"


def test_one_that_must_wait_longer_than_the_queue_can_hide_it_stays_in_line():
    line, places = step(again=names(1)[0], not_before=at(60))
    assert (places, line.waiting) == ([], (names(1)[0],))
    _, places = step(line, now=at(60))
    assert [place.content_hash for place in places] == names(1)


def test_a_message_that_was_lost_is_sent_again():
    line, _ = step(wanted=names(1))
    assert step(line, now=NOON + LOST_AFTER - SECOND)[1] == []
    assert len(step(line, now=NOON + LOST_AFTER)[1]) == 1


@pytest.mark.parametrize("what", [{}, {"wanted": names(1)}, {"done": "f" * 64}])
def test_a_step_that_changes_nothing_writes_nothing(what):
    line, _ = step(wanted=names(1))
    assert step(line, now=at(seconds=2), **what) == (line, [])


STEPS = st.lists(
    st.tuples(st.sampled_from(["wanted", "done", "again"]), st.integers(0, 30), st.integers(0, 2_000)),
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
            line, places = step(line, now=now, interval=interval, room=room, **{what: name})
            owed -= {name} if what == "done" else set()
        else:
            continue
        starts += [now + timedelta(seconds=place.delay_seconds) for place in places]
        assert len(line.queued) <= room
        assert set(line.waiting) | line.queued.keys() == owed
        assert not set(line.waiting) & line.queued.keys()
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert all(gap >= interval - SECOND for gap in gaps), "a delay is rounded up to whole seconds"
