"""When is a source due, and who may start."""

from datetime import timedelta

import pytest

from builders import DEFAULTS, NOON, a_source, at, every
from wellspring import cadences, schedule
from wellspring.errors import ErrorClass
from wellspring.model import Lease
from wellspring.schedule import UNCHANGED, Outcome, Refusal
from wellspring.settings import Defaults

HOUR = timedelta(hours=1)


def is_due(source, now=NOON):
    return schedule.due(source, now=now, defaults=DEFAULTS).at <= now


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(a_source(), True, id="without a cadence, never polled: due"),
        pytest.param(a_source(last_polled_at=at(-1)), True, id="always: due at the next run"),
        pytest.param(
            a_source(last_polled_at=at(-1), failures=5),
            True,
            id="always: due at the next run, failing or not",
        ),
        pytest.param(a_source(last_polled_at=NOON), False, id="always: not twice in one window"),
        pytest.param(a_source(cadence=every(60)), True, id="interval, never fetched: due"),
        pytest.param(
            a_source(cadence=every(60), last_fetch_at=at(-60), last_polled_at=at(-60)),
            True,
            id="the boundary itself is due",
        ),
        pytest.param(
            a_source(cadence=every(60), last_fetch_at=at(-59.99), last_polled_at=at(-59.99)),
            False,
            id="a little before the boundary is not due",
        ),
        pytest.param(
            a_source(cadence=every(0.5), last_fetch_at=at(-0.5)), True, id="fractions of a minute count"
        ),
        pytest.param(
            a_source(cadence=every(60), last_polled_at=at(-239), failures=2),
            False,
            id="60 minutes with two failures wait 240 since the last poll",
        ),
        pytest.param(
            a_source(cadence=every(60), last_polled_at=at(-240), failures=2),
            True,
            id="60 minutes with two failures are due after 240",
        ),
        pytest.param(
            a_source(cadence=every(60), last_fetch_at=at(-600), last_polled_at=at(-10), failures=1),
            False,
            id="back-off counts from the last poll, not from the last success",
        ),
    ],
)
def test_due(source, expected):
    assert is_due(source) is expected


@pytest.mark.parametrize(
    ("minutes", "failures", "own_cap", "expected"),
    [
        pytest.param(60, 1, None, 2 * HOUR, id="doubles with the first failure"),
        pytest.param(60, 4, None, 16 * HOUR, id="doubles with each"),
        pytest.param(60, 5, None, 24 * HOUR, id="the stack's cap"),
        pytest.param(60, 5, 3, 3 * HOUR, id="the source's own cap wins"),
        pytest.param(2880, 3, None, 48 * HOUR, id="never shorter than the interval itself"),
        pytest.param(60, 10**9, None, 24 * HOUR, id="a huge count does not overflow"),
        pytest.param(5_256_000, 10**9, 24 * 366, timedelta(minutes=5_256_000), id="nor does a huge interval"),
    ],
)
def test_backoff(minutes, failures, own_cap, expected):
    settings = {"max_backoff_hours": own_cap} if own_cap else {}
    source = a_source(cadence=every(minutes), failures=failures, config=settings)
    assert cadences.backoff(source, timedelta(minutes=minutes), defaults=DEFAULTS) == expected


def test_the_reasons_of_a_wait_are_told():
    source = a_source(cadence=every(60), last_polled_at=NOON, failures=2)
    assert schedule.due(source, now=NOON, defaults=DEFAULTS).reasons == (
        "interval 1 h",
        "2 failures in a row: waits 4 h since the last poll",
    )


def test_a_success_moves_both_times_and_clears_the_failures():
    after = schedule.after_poll(a_source(failures=3), UNCHANGED, now=NOON, due_at=at(-1), defaults=DEFAULTS)
    assert (after.cursor.last_fetch_at, after.cursor.last_polled_at) == (NOON, NOON)
    assert (after.health.failures, after.health.error_class) == (0, None)
    assert after.cursor.due_at == at(-1)


def test_a_failure_moves_the_poll_alone():
    after = schedule.after_poll(
        a_source(last_fetch_at=at(-90)), Outcome(error_class=ErrorClass.TIMEOUT), now=NOON, defaults=DEFAULTS
    )
    assert (after.cursor.last_fetch_at, after.cursor.last_polled_at) == (at(-90), NOON)
    assert (after.health.failures, after.health.error_class) == (1, ErrorClass.TIMEOUT)


def test_the_due_time_that_is_done_never_goes_back():
    after = schedule.after_poll(a_source(due_at=at(5)), UNCHANGED, now=NOON, due_at=at(1), defaults=DEFAULTS)
    assert after.cursor.due_at == at(5)


@pytest.mark.parametrize(
    ("own", "stack", "expected"),
    [
        pytest.param(None, 1, 1, id="the stack's"),
        pytest.param(30, 1, 30, id="the source's own"),
        pytest.param(0, 1, 0, id="the source's 0 switches it off"),
        pytest.param(None, 0, 0, id="the stack's 0 switches it off"),
    ],
)
def test_min_interval(own, stack, expected):
    source = a_source(config={} if own is None else {"min_interval_seconds": own})
    defaults = Defaults(min_interval=timedelta(seconds=stack))
    assert schedule.min_interval(source, defaults=defaults) == timedelta(seconds=expected)


RUNNING = Lease(started_at=at(-1), token="t", until=at(1))
ENDED = Lease(started_at=at(-3), token="t", until=at(-1))
TOO_SOON = Lease(started_at=at(seconds=-1), free_at=at(seconds=9))
JUST_FREE = Lease(started_at=at(seconds=-1), free_at=NOON)


@pytest.mark.parametrize(
    ("source", "due_at", "expected"),
    [
        pytest.param(None, NOON, Refusal.UNKNOWN, id="no such source"),
        pytest.param(a_source(enabled=False), NOON, Refusal.DISABLED, id="disabled"),
        pytest.param(a_source(due_at=NOON), NOON, Refusal.DONE, id="this due time is done"),
        pytest.param(a_source(due_at=at(-1)), NOON, None, id="an earlier due time is done"),
        pytest.param(a_source(due_at=NOON), None, None, id="a fetch by hand has no due time"),
        pytest.param(a_source(lease=RUNNING), NOON, Refusal.IN_FLIGHT, id="being fetched"),
        pytest.param(a_source(lease=ENDED), NOON, None, id="a dead fetcher's lease ends"),
        pytest.param(a_source(lease=TOO_SOON), NOON, Refusal.TOO_SOON, id="fetched too recently"),
        pytest.param(a_source(lease=JUST_FREE), NOON, None, id="elapsed equal to the interval is allowed"),
    ],
)
def test_refusal(source, due_at, expected):
    assert schedule.refusal(source, due_at=due_at, now=NOON) is expected


def test_the_shard_of_a_source_never_changes():
    assert [schedule.shard_of(name, 4) for name in ("a", "b", "demo-news")] == [3, 1, 2]
