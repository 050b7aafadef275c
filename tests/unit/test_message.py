"""What travels on the queue."""

from datetime import UTC, datetime

import pytest

from builders import NOON, a_message, at, by_hand
from wellspring import message
from wellspring.errors import InvalidInput


@pytest.mark.parametrize("sent", [a_message(), by_hand()])
def test_a_message_survives_the_queue(sent):
    assert message.parse(sent.to_text(), now=NOON) == sent


def test_unknown_fields_are_ignored():
    assert (
        message.parse('{"source_id": "a", "manual": true, "url": "http://10.0.0.1/"}', now=NOON) == by_hand()
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("fetch the news please", id="no JSON"),
        pytest.param("", id="nothing"),
        pytest.param("[]", id="a list"),
        pytest.param('{"manual": true}', id="no source"),
        pytest.param('{"source_id": "", "manual": true}', id="an empty source"),
        pytest.param('{"source_id": 7, "manual": true}', id="a number for a source"),
        pytest.param('{"source_id": "a", "due_at": "soon", "window_end": "now"}', id="no times"),
        pytest.param('{"source_id": "a"}', id="neither planned nor by hand"),
        pytest.param(
            '{"source_id": "a", "due_at": "2099-01-01T00:00:00Z", "window_end": "2026-11-18T12:00:00Z"}',
            id="due in the far future",
        ),
        pytest.param(
            '{"source_id": "a", "due_at": "0001-01-01T00:00:00+14:00", "window_end": "2026-11-18T12:00:00Z"}',
            id="due before there was time",
        ),
        pytest.param('{"source_id": "%s", "manual": true}' % ("漢" * 1024), id="an id too long for a key"),
    ],
)
def test_a_bad_body_is_refused_with_what_to_send(body):
    with pytest.raises(InvalidInput, match='"manual": true'):
        message.parse(body, now=NOON)


def test_an_attempt_counts_for_the_plans_window_end_or_a_manual_start():
    assert a_message().base(at(3)) == NOON
    assert by_hand().base(at(3)) == at(3)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param({"window_end": "2026-11-18T12:00:00Z"}, NOON, id="the schedule's own time"),
        pytest.param({"window_end": "2026-11-18T13:00:00+01:00"}, NOON, id="another zone"),
        pytest.param({"window_end": "<aws.scheduler.scheduled-time>"}, NOON, id="an unfilled placeholder"),
        pytest.param({}, NOON, id="nothing said: the clock, to the nearest second"),
        pytest.param("hello", NOON, id="no map"),
    ],
)
def test_window_end(event, expected):
    now = datetime(2026, 11, 18, 11, 59, 59, 600_000, tzinfo=UTC)
    assert message.window_end(event, now=now) == expected


@pytest.mark.parametrize("ahead", ["2027-11-18T12:00:00Z", "9999-12-31T23:59:30Z"])
def test_a_window_end_in_the_future_is_refused(ahead):
    with pytest.raises(InvalidInput, match="window_end"):
        message.window_end({"window_end": ahead}, now=NOON)


@pytest.mark.parametrize("bad", ["tomorrow", 5, "", ["x"]])
def test_a_bad_window_end_is_told_in_a_sentence(bad):
    with pytest.raises(InvalidInput, match="must be a time like"):
        message.window_end({"window_end": bad}, now=NOON)
