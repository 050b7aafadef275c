"""What the functions log, as one readable line each."""

import json

import pytest

from builders import NOON
from wellspring_cli.local import function_logs, log_lines

HEAD = "2026-11-18 12:00:00Z  fetcher  "


def read(logged, function="fetcher"):
    text = logged if isinstance(logged, str) else json.dumps(logged)
    return function_logs.read(text, function, NOON)


def told(logged):
    return log_lines.told(read(logged)).plain


@pytest.mark.parametrize(
    "noise",
    [
        "START RequestId: 1 Version: $LATEST",
        "END RequestId: 1",
        "REPORT RequestId: 1\tDuration: 1160 ms",
        "INIT_START Runtime Version: python:3.14",
        '{"_aws":{"CloudWatchMetrics":[]},"PollsOk":1}',
        '{"PollsOk":1,"_aws":{"CloudWatchMetrics":[]}}',
        " \n",
    ],
)
def test_noise_is_dropped(noise):
    assert read(noise) is None


@pytest.mark.parametrize(
    ("logged", "line"),
    [
        pytest.param(
            {
                "level": "INFO",
                "location": "_tell:1",
                "message": "fetched",
                "timestamp": "2026-11-18 12:00:00,000+0000",
                "service": "fetcher",
                "source_id": "a",
                "url": "https://example.org/feed",
                "status": "ok",
                "http_status": 200,
                "posts_created": 3,
                "posts_updated": 0,
            },
            "INFO     fetched  ok  https://example.org/feed  HTTP 200  3 new",
            id="a fetch",
        ),
        pytest.param(
            {
                "level": "INFO",
                "message": "fetched",
                "url": "https://example.org/feed",
                "status": "failed",
                "error_class": "timeout",
                "error": "The server was too slow.",
            },
            "INFO     fetched  failed  https://example.org/feed  timeout: The server was too slow.",
            id="a fetch that failed",
        ),
        pytest.param(
            {
                "level": "INFO",
                "message": "fetched",
                "source_id": "a",
                "status": "deferred",
                "reason": "min_interval",
                "delay_seconds": 2,
            },
            "INFO     fetched  deferred  a  min_interval  again in 2 s",
            id="one that was put off",
        ),
        pytest.param(
            {"level": "INFO", "message": "planned", "due": 0, "enqueued": 0, "skipped": {}},
            "INFO     planned  0 due",
            id="a plan of nothing",
        ),
        pytest.param(
            {"level": "INFO", "message": "planned", "due": 3, "enqueued": 2, "skipped": {"disabled": 1}},
            "INFO     planned  3 due  2 sent  skipped 1 disabled",
            id="a plan",
        ),
        pytest.param(
            {
                "level": "ERROR",
                "message": "Unexpected error; the message comes again.",
                "message_id": "m",
                "exception": "Traceback (most recent call last):\n  File x\nKeyError: 'y'",
            },
            "ERROR    Unexpected error; the message comes again.  KeyError: 'y'  message m",
            id="a mistake of ours",
        ),
        pytest.param(
            "Task timed out after 120.00 seconds", "ERROR    Task timed out after 120.00 seconds", id="text"
        ),
        pytest.param("[1, 2]", "ERROR    [1, 2]", id="something else"),
    ],
)
def test_a_logged_line_is_told_in_one(logged, line):
    assert told(logged) == HEAD + line


@pytest.mark.parametrize(
    ("logged", "is_error"),
    [
        ({"level": "INFO", "message": "fetched", "status": "ok"}, False),
        ({"level": "WARNING", "message": "source quarantined"}, False),
        ({"level": "INFO", "message": "fetched", "status": "failed"}, True),
        ({"level": "ERROR", "message": "No."}, True),
        ("Runtime exited", True),
    ],
)
def test_what_counts_as_an_error(logged, is_error):
    assert read(logged).is_error is is_error


def test_a_line_does_not_steer_the_terminal_and_is_cut():
    line = told({"level": "INFO\x1b[2J", "message": "\x1b[2J" + "x" * 9_999, "url": "a\nb"})
    assert line.isprintable() and len(line) < 1_200


def test_programs_get_every_field():
    found = log_lines.fields(read({"level": "INFO", "message": "planned", "due": 0, "location": "x:1"}))
    assert found == {
        "time": "2026-11-18T12:00:00.000Z",
        "function": "fetcher",
        "level": "INFO",
        "message": "planned",
        "due": 0,
    }
