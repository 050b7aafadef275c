"""What the command says about attempts: each in a row, all of them in marks and in a sentence."""

from datetime import timedelta

import pytest
from rich.console import Console

from builders import NOON, a_log, at
from wellspring.errors import ErrorClass
from wellspring.memory import MemoryFetchLogs
from wellspring.model import Status
from wellspring_cli import log_pages, log_rows, log_summary
from wellspring_cli.commands.logs import moment
from wellspring_cli.errors import WrongUse

HOSTILE = "\x1b[2Jgone\x07\r\u202e\x9b31m\ud800\u2028end"


def failed(minutes=0, error_class=ErrorClass.TIMEOUT, message="It took too long.", **fields):
    told = {"error_class": error_class, "error_message": message}
    return a_log(minutes, **{"status": Status.FAILED} | told | fields)


def written(logs, width=200):
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(log_rows.table(logs))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize(
    ("log", "row"),
    [
        pytest.param(
            a_log(http_status=200, created=3, updated=1, unchanged=1_200, next_fetch_at=at(60)),
            "11-18 12:00:00  1.0 s  planned  ok      200   11-18 13:00  3 new, 1 changed, 1,200 known",
            id="something new",
        ),
        pytest.param(
            a_log(status=Status.NOT_MODIFIED, http_status=304, manual=True, seconds=0.0824),
            "11-18 12:00:00  82 ms  by hand  not_modified  304   -     nothing new",
            id="nothing new, by hand",
        ),
        pytest.param(
            a_log(filtered={"too_old": 2, "before_start": 1}),
            "11-18 12:00:00  1.0 s  planned  ok      -     -     0 new, 1 left out (before_start), "
            "2 left out (too_old)",
            id="left out, with the reasons",
        ),
        pytest.param(
            a_log(status=Status.PARTIAL, created=1, failed=2, entry_errors=({"error": "It is odd."},)),
            "11-18 12:00:00  1.0 s  planned  partial  -     -     1 new, 2 failed: It is odd.",
            id="some entries failed, with the first error",
        ),
        pytest.param(
            failed(http_status=503, seconds=20),
            "11-18 12:00:00  20.0 s  planned  failed  503   -     timeout: It took too long.",
            id="failed",
        ),
        pytest.param(
            a_log(content_hash="ab" * 32),
            "11-18 12:00:00  1.0 s  page  ok      -     -     page of post abababababab",
            id="the page of a post",
        ),
        pytest.param(
            failed(content_hash="ab" * 32),
            "11-18 12:00:00  1.0 s  page  failed  -     -     page of post abababababab: timeout: "
            "It took too long.",
            id="the page of a post that failed",
        ),
        pytest.param(
            a_log(seconds=-3),
            "11-18 12:00:00  0 ms  planned  ok      -     -     0 new",
            id="a clock that went back",
        ),
    ],
)
def test_an_attempt_is_a_row(log, row):
    assert written([log])[1] == row


def test_the_columns_are_named():
    assert written([a_log()])[0].split("  ")[0] == "Started (UTC)"
    assert written([a_log()])[0].split() == [
        *("Started", "(UTC)"),
        *("Took", "How", "Status", "HTTP", "Next", "Outcome"),
    ]


def test_rows_keep_the_order_that_they_are_given_in():
    assert [line[:11] for line in written([a_log(1), a_log(2)])[1:]] == ["11-18 12:01", "11-18 12:02"]


@pytest.mark.parametrize("width", [40, 80])
def test_what_a_publisher_wrote_steers_no_terminal_however_narrow(width):
    lines = written([failed(message=HOSTILE * 100), a_log(filtered={HOSTILE: 1})], width)
    assert all(line.isprintable() for line in lines)
    assert all(len(line) <= width for line in lines)
    assert len(log_rows.what(failed(message=HOSTILE * 100))) < 350


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        pytest.param([], "", id="none"),
        pytest.param([0, 0], "▁▁", id="nothing at all"),
        pytest.param([5], "█", id="one alone is the highest"),
        pytest.param([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█", id="each height once"),
        pytest.param([0.001, 20], "▁█", id="however small, it is seen"),
        pytest.param([-1, 1], "▁█", id="below nothing is nothing"),
    ],
)
def test_a_sparkline_has_a_bar_for_each_value(values, bars):
    assert log_summary.sparkline(values) == bars


def test_durations_are_shown_and_told():
    logs = [a_log(seconds=seconds) for seconds in (0.5, 4, 1)]
    assert log_summary.durations(logs, room=80).plain == (
        "took    ▁█▂  500 ms at least, 1.0 s in the middle, 4.0 s at most"
    )
    assert log_summary.durations(logs, room=2).plain.startswith("took    █▂  500 ms at least")
    assert log_summary.durations(logs, room=80, blocks=log_summary.PLAIN_BLOCKS).plain.isascii()
    assert log_summary.durations([a_log()], room=80).plain == "took    █  1.0 s"


@pytest.mark.parametrize(
    ("log", "mark"),
    [
        pytest.param(a_log(created=1), "+", id="a new post"),
        pytest.param(a_log(updated=1), "+", id="a changed post"),
        pytest.param(a_log(), ".", id="ok, and nothing new"),
        pytest.param(a_log(status=Status.NOT_MODIFIED), ".", id="not modified"),
        pytest.param(a_log(content_hash="ab"), "+", id="a page was fetched"),
        pytest.param(a_log(content_hash="ab", status=Status.NOT_MODIFIED), ".", id="a page brought nothing"),
        pytest.param(a_log(status=Status.PARTIAL, created=1), "~", id="partial"),
        pytest.param(failed(), "x", id="failed"),
        pytest.param(failed(content_hash="ab"), "x", id="a page failed"),
    ],
)
def test_how_it_ended_is_one_character_of_ascii(log, mark):
    assert log_summary.mark(log) == mark


def test_the_marks_are_explained_as_far_as_they_occur():
    logs = [a_log(created=1), a_log(), failed()]
    assert log_summary.results(logs, room=80).plain == (
        "ended   +.x  + something new  . nothing new  x failed"
    )
    assert log_summary.results(logs, room=1).plain == "ended   x  x failed"


@pytest.mark.parametrize(
    ("logs", "sentence"),
    [
        pytest.param([a_log(created=1)], "1 of 1 succeeded; 1 new post.", id="all well"),
        pytest.param(
            [a_log(created=2), a_log(updated=1, created=1)],
            "2 of 2 succeeded; 3 new posts; 1 changed.",
            id="changed ones",
        ),
        pytest.param(
            [failed(-180, ErrorClass.DNS), failed(-120), a_log(-60)],
            "1 of 3 succeeded; 0 new posts; last failure 2 h ago, timeout: It took too long.",
            id="the last failure",
        ),
    ],
)
def test_attempts_amount_to_a_sentence(logs, sentence):
    assert log_summary.told(logs, now=NOON) == sentence


def test_failures_are_counted_by_their_class():
    logs = [failed(), failed(error_class=ErrorClass.DNS), failed(), failed(error_class=None)]
    assert log_summary.told_of_failures(logs) == "4 failures: 2 timeout, 1 dns, 1 unknown."


@pytest.fixture
def logs():
    stored = MemoryFetchLogs()
    for minute in range(-10, 0):
        stored.put(failed(minute) if minute % 5 == 0 else a_log(minute))
    stored.put(a_log(-30, expires_at=NOON))
    return stored


def minutes(page):
    return [round((log.started_at - NOON) / timedelta(minutes=1)) for log in page.logs]


@pytest.mark.parametrize(
    ("given", "found", "before"),
    [
        pytest.param({"limit": 3}, [-1, -2, -3], -3, id="the newest"),
        pytest.param({"limit": 3, "before": at(-8)}, [-9, -10], None, id="what is older than a moment"),
        pytest.param({"limit": 10}, list(range(-1, -11, -1)), None, id="all; what has expired is gone"),
        pytest.param({"limit": 99, "since": at(-3)}, [-1, -2, -3], None, id="not older than a moment"),
        pytest.param({"limit": 1, "failed": True}, [-5], -5, id="the last failure"),
        pytest.param({"limit": 2, "failed": True}, [-5, -10], None, id="all failures"),
        pytest.param({"limit": 9, "failed": True, "since": at(-7)}, [-5], None, id="failures since then"),
        pytest.param({"limit": 3, "since": at(-1), "before": at(-1)}, [], None, id="nothing"),
    ],
)
def test_attempts_are_paged_back_in_time(logs, given, found, before):
    page = log_pages.of_source("a", logs, now=NOON, **given)
    assert (minutes(page), page.before) == (found, None if before is None else at(before))


def test_pages_follow_each_other_without_a_gap(logs):
    first = log_pages.of_source("a", logs, limit=4, now=NOON)
    second = log_pages.of_source("a", logs, limit=4, before=first.before, now=NOON)
    assert minutes(first) + minutes(second) == list(range(-1, -9, -1))


def test_looking_for_failures_ends_after_a_share_of_rows_and_says_where():
    stored = MemoryFetchLogs()
    most = log_pages.ROWS * log_pages.ROUNDS
    for number in range(most + 1):
        stored.put(a_log(-number, status=Status.FAILED if number == most else Status.OK))
    page = log_pages.of_source("a", stored, limit=5, failed=True, now=NOON)
    assert (page.logs, page.before) == ((), at(1 - most))
    later = log_pages.of_source("a", stored, limit=5, failed=True, before=page.before, now=NOON)
    assert minutes(later) == [-most]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2d", NOON - timedelta(days=2), id="a span"),
        pytest.param("1h30m", NOON - timedelta(minutes=90), id="a longer span"),
        pytest.param("2026-11-18T11:59:00.500Z", NOON - timedelta(seconds=59.5), id="as it is printed"),
        pytest.param("2026-11-18T12:00+01:00", NOON - timedelta(hours=1), id="another zone"),
        pytest.param("2026-11-18", NOON - timedelta(hours=12), id="a day"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_a_moment_is_read(text, expected):
    assert moment(text, now=NOON) == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2", "1066-10-14", "9999999999d", "99999999999999d", "\ud800"]
)
def test_what_is_no_moment_is_told(text):
    with pytest.raises(WrongUse, match=r"is no time\. A span, like 2d, or a moment"):
        moment(text, now=NOON)
