"""Which entries are not stored although they are new."""

import pytest

from builders import DEFAULTS, NOON, a_source, an_entry, at
from wellspring import filters, identity

DAY = 24 * 60
POLLED = {"last_polled_at": at(-5), "last_fetch_at": at(-5)}


@pytest.mark.parametrize(
    ("published_at", "source", "expected"),
    [
        pytest.param(at(-7 * DAY), a_source(**POLLED), None, id="seven days old is kept"),
        pytest.param(at(-7 * DAY - 1), a_source(**POLLED), "too_old", id="older is not"),
        pytest.param(
            at(-8 * DAY), a_source(**POLLED, config={"max_age_days": 30}), None, id="the source's own limit"
        ),
        pytest.param(None, a_source(**POLLED), None, id="without a date it has no age"),
        pytest.param(at(2 * DAY), a_source(**POLLED), None, id="a date far in the future counts as none"),
        pytest.param(at(-61), a_source(), "before_added", id="first poll: before the source was added"),
        pytest.param(at(-60), a_source(), None, id="first poll: since it was added"),
        pytest.param(None, a_source(), None, id="first poll: without a date"),
        pytest.param(at(-61), a_source(config={"backfill": True}), None, id="first poll with backfill"),
        pytest.param(at(-61), a_source(**POLLED), None, id="later polls keep late entries"),
        pytest.param(
            at(-61), a_source(last_polled_at=at(-5)), "before_added", id="a first poll that failed was none"
        ),
        pytest.param(
            at(-61), a_source(created_at=None), None, id="a source that does not say when it was added"
        ),
    ],
)
def test_reason_to_skip(published_at, source, expected):
    assert reasons([an_entry(published_at=published_at)], source) == [expected]


def reasons(entries, source):
    seen = identity.sightings(entries, {})
    return [filters.reason_to_skip(one, source, now=NOON, defaults=DEFAULTS) for one in seen]


def test_an_entry_with_nothing_in_it_is_blank():
    assert reasons([an_entry(title="", body="", url=None)] * 2, a_source()) == ["blank", "blank"]


def test_of_entries_with_one_id_the_others_are_left_out():
    entries = [an_entry(1), an_entry(1, body="Another text."), an_entry(2)]
    assert reasons(entries, a_source()) == [None, "duplicate_id", None]


def test_a_page_that_somebody_watches_is_never_too_old():
    assert reasons([an_entry(published_at=at(-900 * DAY))], a_source(type="website")) == [None]
