"""Dates: many notations, and no guess between two readings."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellspring.sources.dates import LONGEST, moment

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 18, tzinfo=UTC)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.builds(datetime.fromtimestamp, st.integers(63_072_000, 7_226_582_400), OFFSETS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2026-11-18T12:00:00Z", NOON, id="ISO"),
        pytest.param("2026-11-18T13:00:00+01:00", NOON, id="with an offset"),
        pytest.param("2026-11-18t12:00:00z", NOON, id="in lower case"),
        pytest.param("2026-11-18 13:00:00 +0100", NOON, id="with spaces"),
        pytest.param("2026-11-18T12:00:00", NOON, id="without a zone it is UTC"),
        pytest.param("2026-11-18T12:00:00.000000000Z", NOON, id="with billionths"),
        pytest.param("2026-11-18T13:00:00+01:00[Europe/Berlin]", NOON, id="with the zone's name behind it"),
        pytest.param("20261118120000", NOON, id="digits only"),
        pytest.param("2026-11-18", MIDNIGHT, id="a day"),
        pytest.param("20261118", MIDNIGHT, id="a day in digits only"),
        pytest.param("18 Nov 2026", MIDNIGHT, id="a day in words"),
        pytest.param("18. November 2026", MIDNIGHT, id="a day in German"),
        pytest.param("Nov 18, 2026", MIDNIGHT, id="a day in American"),
        pytest.param("18.11.2026", MIDNIGHT, id="a day that can be no month"),
        pytest.param("11/18/2026", MIDNIGHT, id="a month that can be no day"),
        pytest.param("2026/11/18", MIDNIGHT, id="the year first"),
        pytest.param("Wed, 18 Nov 2026 12:00:00 GMT", NOON, id="as mail writes it"),
        pytest.param("Wed, 18 Nov 26 12:00 +0000", NOON, id="as old mail writes it"),
        pytest.param("Tue, 18 Nov 2026 12:00:00 GMT", NOON, id="the wrong day of the week"),
        pytest.param("Wed, 18 Nov 2026 07:00:00 EST", NOON, id="a zone by its American name"),
        pytest.param("Wed, 18 Nov 2026 13:00:00 CET", NOON, id="a zone by its European name"),
        pytest.param("Nov 18, 2026 4:00 AM PST", NOON, id="with AM and PM"),
        pytest.param("Wed Nov 18 12:00:00 UTC 2026", NOON, id="as Unix writes it"),
        pytest.param(
            "Wed Nov 18 2026 14:00:00 GMT+0200 (Central European Summer Time)", NOON, id="as browsers do"
        ),
        pytest.param("1795003200", NOON, id="seconds since 1970"),
        pytest.param("1795003200000", NOON, id="milliseconds since 1970"),
        pytest.param(" 2026-11-18T12:00:00Z\n", NOON, id="with white space around it"),
    ],
)
def test_a_date_is_read(text, expected):
    assert moment(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1/2/2026", id="a day and a month that could be each other"),
        pytest.param("01.02.2026", id="the same with dots"),
        pytest.param("03-04-26", id="the same with hyphens"),
        pytest.param("Nov 2026", id="no day"),
        pytest.param("18 Nov", id="no year"),
        pytest.param("12:30", id="no day at all"),
        pytest.param("2026", id="a year"),
        pytest.param("Wednesday", id="a day of the week"),
        pytest.param("yesterday", id="a word"),
        pytest.param("Wed, 18 Nov 2026 12:00:00 XST", id="a zone that nobody knows"),
        pytest.param("2026-13-45", id="a day that is none"),
        pytest.param("2026-11-18T25:00", id="an hour that is none"),
        pytest.param("0001-01-01T00:00:00Z", id="an empty value of some database"),
        pytest.param("9999-12-31T23:59:59Z", id="a day that never comes"),
        pytest.param("1970-01-01T00:00:00Z", id="the beginning of time"),
        pytest.param("0", id="no seconds since 1970"),
        pytest.param("999999999999999", id="too many seconds"),
        pytest.param("1e400", id="a number beyond all numbers"),
        pytest.param("2026-11-18" + " " * LONGEST, id="a text that is too long"),
        pytest.param("", id="nothing"),
        pytest.param(" ", id="white space"),
        pytest.param(None, id="null"),
        pytest.param(1795003200, id="a number, which no document type has as a date"),
        pytest.param(["2026-11-18"], id="a list"),
    ],
)
def test_what_could_be_two_moments_or_is_none_is_none(text):
    assert moment(text) is None


@given(MOMENTS)
def test_what_programs_write_is_read_back(found):
    assert moment(found.isoformat()) == found
    assert moment(format_datetime(found)) == found
    assert moment(f"{found:%a %b %d %Y %H:%M:%S} GMT{found:%z}") == found


@given(
    st.text(st.characters(exclude_categories=()), max_size=120)
    | st.lists(
        st.sampled_from(
            [*"0123456789:-+./,TZ W", "Nov", "AM", "GMT", "EST", "2026", "th", "é", "(", ")", "e9"]
        )
    ).map("".join)
)
def test_any_text_is_a_sensible_moment_in_utc_or_none(text):
    found = moment(text)
    assert found is None or (found.tzinfo is UTC and 1970 <= found.year <= 2200)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "XST-5"])
def test_where_this_computer_stands_changes_nothing(zone):
    texts = [
        "2026-11-18T12:00:00",
        "18 Nov 2026 12:00 EST",
        "18 Nov 2026 12:00 IST",
        "18 Nov 2026 12:00 XST",
        "1795003200",
    ]
    code = f"from wellspring.sources.dates import moment; print([moment(text) for text in {texts!r}])"
    command = [sys.executable, "-c", code]
    there = subprocess.run(command, env=os.environ | {"TZ": zone}, capture_output=True, text=True, check=True)
    assert there.stdout == f"{[moment(text) for text in texts]}\n"
