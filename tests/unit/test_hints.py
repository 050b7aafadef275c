"""The server's word on when to come back."""

from datetime import timedelta

import pytest

from builders import NOON, at
from wellspring import hints

DATE = {"date": "Wed, 18 Nov 2026 11:00:00 GMT"}
DAY = 1440


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({"retry-after": "120"}, at(2), id="seconds"),
        pytest.param(
            {"retry-after": "Wed, 18 Nov 2026 11:30:00 GMT", **DATE}, at(30), id="a date, by their clock"
        ),
        pytest.param({"retry-after": "Wed, 18 Nov 2026 12:30:00 GMT"}, at(30), id="a date, by our clock"),
        pytest.param(
            {"retry-after": "Wed, 18 Nov 2026 10:30:00 GMT", **DATE}, NOON, id="a date that is over"
        ),
        pytest.param({"retry-after": "99999999999"}, at(7 * DAY), id="at most seven days"),
        pytest.param({"retry-after": "soon"}, None, id="nonsense"),
        pytest.param({"retry-after": "-5"}, None, id="negative"),
        pytest.param({}, None, id="nothing said"),
        pytest.param({"x-rate-limit-reset": str(int(at(15).timestamp()))}, at(15), id="X says when"),
        pytest.param(
            {
                "x-rate-limit-reset": str(int(at(-5).timestamp())),
                "date": "Wed, 18 Nov 2026 11:40:00 GMT",
            },
            at(15),
            id="X says when, by a clock that is 20 minutes behind",
        ),
    ],
)
def test_retry_after(headers, expected):
    assert hints.retry_at(headers, now=NOON) == expected


@pytest.mark.parametrize(
    ("headers", "minutes"),
    [
        pytest.param({"cache-control": "public, max-age=600"}, 10, id="max-age"),
        pytest.param({"cache-control": "max-age=600", "age": "120"}, 8, id="less its age"),
        pytest.param({"cache-control": "max-age=60", "age": "120"}, None, id="stale already"),
        pytest.param({"cache-control": "s-maxage=600"}, None, id="not for us"),
        pytest.param({"cache-control": "no-cache, max-age=600"}, None, id="no-cache"),
        pytest.param({"cache-control": "max-age=9999999"}, DAY, id="at most a day"),
        pytest.param({"expires": "Wed, 18 Nov 2026 11:20:00 GMT", **DATE}, 20, id="expires, by their clock"),
        pytest.param(
            {"expires": "Wed, 18 Nov 2026 11:20:00 GMT", "cache-control": "max-age=60", **DATE},
            1,
            id="max-age first",
        ),
        pytest.param({"expires": "0"}, None, id="expired"),
        pytest.param({"expires": "Thu, 99 Nov 2026"}, None, id="nonsense"),
        pytest.param({}, None, id="nothing said"),
    ],
)
def test_cache_headers(headers, minutes):
    assert hints.cache_span(headers, now=NOON) == (minutes and timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("fields", "minutes"),
    [
        pytest.param({"ttl": "90"}, 90, id="ttl in minutes"),
        pytest.param({"ttl": "0"}, None, id="ttl 0"),
        pytest.param({"ttl": "often"}, None, id="no ttl"),
        pytest.param({"ttl": "99999"}, DAY, id="at most a day"),
        pytest.param({"period": "hourly"}, 60, id="hourly"),
        pytest.param({"period": "daily", "frequency": "4"}, 360, id="four times a day"),
        pytest.param({"period": "daily", "frequency": "0"}, None, id="never a day"),
        pytest.param({"period": "sometimes"}, None, id="no period"),
        pytest.param({"period": "hourly", "ttl": "90"}, 90, id="the longer one"),
    ],
)
def test_what_a_feed_says_of_itself(fields, minutes):
    assert hints.document_hints(**fields).stay_away == (minutes and timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("hours", "days", "moment", "expected"),
    [
        pytest.param([], [], NOON, NOON, id="nothing skipped"),
        pytest.param(["12", "13"], [], at(5), at(120), id="to the end of the skipped hours"),
        pytest.param(["24"], [], at(12 * 60 + 5), at(13 * 60), id="24 is midnight"),
        pytest.param([], ["Wednesday"], NOON, at(12 * 60), id="to the end of the skipped day"),
        pytest.param([str(h) for h in range(24)], [], NOON, NOON, id="all hours skipped means none is"),
        pytest.param(["x", "99"], ["Someday"], NOON, NOON, id="nonsense"),
        pytest.param(["0"], ["wednesday"], NOON, at(13 * 60), id="both"),
    ],
)
def test_skipped_hours_and_days(hours, days, moment, expected):
    read = hints.document_hints(hours=hours, days=days)
    assert hints.after_skipped(moment, skip_hours=read.skip_hours, skip_days=read.skip_days) == expected
