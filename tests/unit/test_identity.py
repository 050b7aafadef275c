"""What makes two entries the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import an_entry
from wellspring import identity
from wellspring.identity import Novelty

LONG = "The very same description stands under every episode of this show, for ever and ever and ever."


def window_of(*entries):
    return {seen.id_print: seen.content_print for seen in identity.sightings(entries, {})}


def novelties(entries, window):
    return [seen.novelty for seen in identity.sightings(entries, window)]


def test_everything_is_new_to_an_empty_window():
    assert novelties([an_entry(1), an_entry(2)], {}) == [Novelty.NEW, Novelty.NEW]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param([an_entry(1), an_entry(2)], [Novelty.KNOWN, Novelty.KNOWN], id="the same again"),
        pytest.param([an_entry(2), an_entry(1)], [Novelty.KNOWN, Novelty.KNOWN], id="another order"),
        pytest.param([an_entry(3), an_entry(1)], [Novelty.NEW, Novelty.KNOWN], id="one before it"),
        pytest.param(
            [an_entry(1, body="Another text. " * 9)], [Novelty.CHANGED], id="a known id with new content"
        ),
        pytest.param([an_entry(1, body=an_entry(1).body + "  \n")], [Novelty.KNOWN], id="only white space"),
        pytest.param([an_entry(1, title="Another title")], [Novelty.KNOWN], id="a long body tells by itself"),
    ],
)
def test_novelty(now, expected):
    assert novelties(now, window_of(an_entry(1), an_entry(2))) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(an_entry(1, body="Comments"), an_entry(2, body="Comments"), False, id="a short body"),
        pytest.param(an_entry(1, body=LONG), an_entry(2, body=LONG), True, id="a long one"),
        pytest.param(an_entry(1, body=""), an_entry(2, body=""), False, id="no body"),
        pytest.param(
            an_entry(1, body="x", url="https://e.org/1?utm_source=rss#xtor=RSS-1"),
            an_entry(1, body="x", url="https://e.org/1"),
            True,
            id="tracking in the link does not count",
        ),
    ],
)
def test_what_the_content_hash_sees(one, other, same):
    assert (identity.content_hash(one, shared=False) == identity.content_hash(other, shared=False)) is same


def test_entries_that_share_a_long_body_are_told_apart():
    hashes = {
        seen.content_hash for seen in identity.sightings([an_entry(n, body=LONG) for n in (1, 2, 3)], {})
    }
    assert len(hashes) == 3


def test_a_neighbour_that_leaves_or_joins_makes_no_edit():
    one, two = an_entry(1, body=LONG), an_entry(2, body=LONG)
    assert novelties([one], window_of(one, two)) == [Novelty.KNOWN]
    assert novelties([one, two], window_of(one)) == [Novelty.KNOWN, Novelty.NEW]


def test_a_new_title_over_a_shared_body_is_an_edit():
    one, two = an_entry(1, body=LONG), an_entry(2, body=LONG)
    renamed = an_entry(1, body=LONG, title="Renamed")
    assert novelties([renamed, two], window_of(one, two)) == [Novelty.CHANGED, Novelty.KNOWN]


def test_of_entries_with_one_id_the_first_counts():
    first, second = an_entry(1), an_entry(1, body="Another text. " * 9)
    assert novelties([first, second], {}) == [Novelty.NEW, Novelty.DUPLICATE]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param({"title": "x"}, {"title": "y"}, True, id="the id names it"),
        pytest.param(
            {"entry_id": None, "title": "x"}, {"entry_id": None, "title": "y"}, True, id="else the link"
        ),
        pytest.param(
            {"entry_id": None, "url": None, "title": "x"},
            {"entry_id": None, "url": None, "title": "y"},
            False,
            id="else title and content",
        ),
    ],
)
def test_identity(one, other, same):
    assert (identity.identity(an_entry(1, **one)) == identity.identity(an_entry(1, **other))) is same


@given(st.dictionaries(st.binary(min_size=8, max_size=8), st.binary(min_size=8, max_size=8)))
def test_a_window_survives_packing(window):
    assert identity.unpack(identity.pack(window)) == window


@given(st.text(), st.text())
def test_any_text_can_be_hashed(title, body):
    assert len(identity.content_hash(an_entry(title=title, body=body), shared=True)) == 64
