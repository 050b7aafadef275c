"""How a source stands, and why it was or was not fetched."""

import pytest

from builders import DEFAULTS, NOON, a_log, a_source, at, every
from wellspring import explanation
from wellspring.errors import ErrorClass
from wellspring.hosts import HostState
from wellspring.model import Lease, Status
from wellspring.standing import State, is_fetched, state_of

HOURLY = every(60)
ACTIVITY = {"mode": "activity"}
POLLED = {"last_polled_at": at(-1), "last_fetch_at": at(-1), "next_fetch_at": at(59)}
DAYS = 24 * 60


@pytest.mark.parametrize(
    ("source", "state"),
    [
        pytest.param(a_source(cadence=HOURLY, **POLLED), State.OK, id="polled well"),
        pytest.param(a_source(cadence=HOURLY, next_fetch_at=NOON), State.NEW, id="never polled"),
        pytest.param(
            a_source(cadence=ACTIVITY, viewed_at=at(-100 * DAYS)), State.IDLE, id="nobody looks at it"
        ),
        pytest.param(a_source(cadence=HOURLY, enabled=False), State.DISABLED, id="disabled"),
        pytest.param(a_source(cadence=HOURLY), State.UNLISTED, id="written by hand, without a next time"),
        pytest.param(
            a_source(cadence=ACTIVITY, viewed_at=at(-1)), State.UNLISTED, id="viewed, yet not in the schedule"
        ),
        pytest.param(a_source(cadence=HOURLY, failures=1, **POLLED), State.FAILING, id="failed once"),
        pytest.param(
            a_source(cadence=HOURLY, failures=10, quarantined_at=at(-1), **POLLED),
            State.QUARANTINED,
            id="failed too often",
        ),
        pytest.param(
            a_source(cadence=HOURLY, failures=1, gone=1, gone_at=at(-1), **POLLED), State.GONE, id="gone"
        ),
        pytest.param(
            a_source(cadence=HOURLY, enabled=False, failures=9, quarantined_at=at(-1)),
            State.DISABLED,
            id="disabled counts more than what went wrong before",
        ),
        pytest.param(a_source(url="", **POLLED), State.UNREADABLE, id="no url"),
    ],
)
def test_a_source_stands_so(source, state):
    assert state_of(source, now=NOON, defaults=DEFAULTS) is state


def test_a_source_is_being_fetched_while_its_lease_holds():
    source = a_source(lease=Lease(started_at=at(-1), token="t", until=at(1)))
    assert is_fetched(source, now=NOON)
    assert not is_fetched(source, now=at(1))
    assert not is_fetched(a_source(lease=Lease(started_at=at(-1), free_at=at(1))), now=NOON)


def test_every_state_is_told_in_words():
    assert set(explanation.TOLD) == set(State)


def explain(source, *, last=None, host=HostState(), now=NOON):  # noqa: B008 - frozen
    return explanation.explain(source, last=last, host=host, now=now, defaults=DEFAULTS)


def polled(**fields):
    return a_log(-1, **{"http_status": 200} | fields)


FAILED = {
    "status": Status.FAILED,
    "error_class": ErrorClass.HTTP_5XX,
    "error_message": "The server answered 503.",
    "http_status": 503,
}


@pytest.mark.parametrize(
    ("log", "told"),
    [
        pytest.param(polled(created=2, unchanged=28), "ok, HTTP 200, 2 new, 28 known", id="new posts"),
        pytest.param(
            polled(status=Status.PARTIAL, created=1, updated=1, failed=1, filtered={"too_old": 3}),
            "partial, HTTP 200, 1 new, 1 changed, 1 failed, 3 left out (too_old)",
            id="of all kinds",
        ),
        pytest.param(
            polled(status=Status.NOT_MODIFIED, http_status=304),
            "not_modified, HTTP 304, nothing new",
            id="nothing",
        ),
        pytest.param(
            polled(**FAILED), "failed, HTTP 503, http_5xx: The server answered 503.", id="a failure"
        ),
        pytest.param(polled(content_hash="c"), "ok, HTTP 200, the page of a post", id="a post's page"),
        pytest.param(
            polled(**FAILED | {"http_status": None, "error_class": ErrorClass.DNS, "error_message": "No."}),
            "failed, dns: No.",
            id="no answer at all",
        ),
    ],
)
def test_an_attempt_is_told_in_a_few_words(log, told):
    assert explanation.outcome(log) == told


def test_a_source_that_fares_well():
    source = a_source(cadence=HOURLY, reasons=("interval 1 h since the last success",), **POLLED)
    told = explain(source, last=polled(created=2))
    assert told.state is State.OK
    assert told.last == "2026-11-18 11:59:00Z, 1 min ago, planned: ok, HTTP 200, 2 new"
    assert told.next == "2026-11-18 12:59:00Z, in 59 min"
    assert told.reasons == ("interval 1 h since the last success",)
    assert (told.obstacles, told.by_hand) == ((), "at once")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        pytest.param(
            a_source(cadence=HOURLY, failures=3, **POLLED), "(timeout, 3 times in a row)", id="failing"
        ),
        pytest.param(a_source(cadence=HOURLY, failures=1, **POLLED), "(timeout, once)", id="failed once"),
        pytest.param(
            a_source(cadence=HOURLY, error_class=ErrorClass.DNS, **POLLED),
            "(dns, through no fault of its own)",
            id="its host failed",
        ),
        pytest.param(
            a_source(cadence=HOURLY, failures=12, quarantined_at=at(-5), **POLLED),
            "(12 failures, since 2026-11-18 11:55:00Z)",
            id="quarantined",
        ),
        pytest.param(
            a_source(enabled=False, reason="gone: the server said so at three weekly probes"),
            "disabled: gone: the server said so at three weekly probes; wellspring sources enable",
            id="disabled by us",
        ),
    ],
)
def test_the_state_is_explained(source, why):
    assert why in explain(source).why


@pytest.mark.parametrize(
    ("source", "told"),
    [
        pytest.param(a_source(enabled=False), "not planned", id="disabled"),
        pytest.param(
            a_source(cadence=HOURLY, next_fetch_at=at(-1)),
            "due since 2026-11-18 11:59:00Z; the planner sends it at its next run",
            id="due",
        ),
        pytest.param(
            a_source(cadence=HOURLY, next_fetch_at=at(-9)),
            "9 min ago, and the planner has not sent it: is the schedule on? wellspring doctor",
            id="late",
        ),
        pytest.param(
            a_source(cadence=HOURLY, last_fetch_at=at(-61), last_polled_at=at(-61), next_fetch_at=at(59)),
            "its message is on the queue, or was put off; the turn after that: 2026-11-18 12:59:00Z",
            id="sent, and not fetched yet",
        ),
        pytest.param(
            a_source(
                cadence=HOURLY,
                last_fetch_at=at(-61),
                last_polled_at=at(-61),
                next_fetch_at=at(59),
                lease=Lease(started_at=NOON, token="t", until=at(2)),
            ),
            "2026-11-18 12:59:00Z, in 59 min",
            id="being fetched",
        ),
    ],
)
def test_the_next_time_is_explained(source, told):
    assert told in explain(source).next


@pytest.mark.parametrize(
    ("source", "host", "told", "by_hand"),
    [
        pytest.param(
            a_source(lease=Lease(started_at=at(-1), token="t", until=at(1)), next_fetch_at=at(9)),
            HostState(),
            "it is being fetched, since 2026-11-18 11:59:00Z",
            "waits for the fetch that runs now",
            id="a fetch",
        ),
        pytest.param(
            a_source(failures=2, circuit_until=at(30), next_fetch_at=at(30)),
            HostState(),
            "its circuit is open until 2026-11-18 12:30:00Z (timeout): only a fetch by hand gets through",
            "at once",
            id="an open circuit",
        ),
        pytest.param(
            a_source(retry_at=at(20), lease=Lease(started_at=at(-1), free_at=at(20)), next_fetch_at=at(20)),
            HostState(),
            "the server asked to stay away until 2026-11-18 12:20:00Z (Retry-After), by hand too",
            "waits until 2026-11-18 12:20:00Z",
            id="Retry-After",
        ),
        pytest.param(
            a_source(
                config={"min_interval_seconds": 600}, lease=Lease(started_at=at(-1)), next_fetch_at=NOON
            ),
            HostState(),
            "its min-interval keeps it until 2026-11-18 12:09:00Z",
            "waits until 2026-11-18 12:09:00Z",
            id="min-interval",
        ),
        pytest.param(
            a_source(next_fetch_at=NOON),
            HostState(brake_until=at(5), others=True),
            "its host example.org is left alone until 2026-11-18 12:05:00Z: several of its sources failed",
            "waits until 2026-11-18 12:05:00Z",
            id="a braked host",
        ),
        pytest.param(
            a_source(next_fetch_at=NOON, warnings=("config.cadence: input should be a map",)),
            HostState(),
            "of its item in the Sources table: config.cadence: input should be a map",
            "at once",
            id="an item that a person spoilt",
        ),
    ],
)
def test_what_is_in_the_way_is_told(source, host, told, by_hand):
    found = explain(source, host=host)
    assert (found.obstacles, found.by_hand) == ((told,), by_hand)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        pytest.param(a_source(enabled=False), "refused: enable it first", id="disabled"),
        pytest.param(a_source(url="", next_fetch_at=NOON), "refused: it has no url", id="no url"),
    ],
)
def test_a_fetch_by_hand_that_would_be_refused_is_told(source, told):
    assert explain(source).by_hand == told


def test_a_source_without_a_fetch_log_is_told_so():
    assert explain(a_source(next_fetch_at=NOON)).last.startswith("never fetched")


def test_a_failure_tells_the_last_success_too():
    source = a_source(cadence=HOURLY, failures=1, last_fetch_at=at(-120), last_polled_at=at(-1))
    told = explain(source, last=polled(**FAILED)).last
    assert told.endswith("; the last success counts for 2026-11-18 10:00:00Z, 2 h ago")
