"""What the command tells of a dead letter."""

import pytest

from builders import NOON, a_source
from wellspring.aws.dead_letters import Letter
from wellspring_cli import dead_letters

CANARY = "canary-19c2"


def a_letter(body="{}", **fields):
    return Letter(
        **{"message_id": "3f2a77c0-1", "body": body, "sent_at": NOON, "received": 5, "handle": "h"} | fields
    )


def told(letter, *sources, tries=5):
    return dead_letters.told(letter, {source.source_id: source for source in sources}, tries=tries).plain


@pytest.mark.parametrize(
    ("letter", "lines"),
    [
        pytest.param(
            a_letter('{"source_id": "a", "manual": true}'),
            [
                "3f2a77c0  sent 2026-11-18 12:00:00Z, received 5 times",
                "          source  a  https://example.org/feed.xml?...",
                "          reason  failed 5 times; the fetcher's log says why",
                '          body    {"source_id": "a", "manual": true}',
            ],
            id="of a source that is there",
        ),
        pytest.param(
            a_letter('{"source_id": "b"}', reason="It has no times.", received=1),
            [
                "3f2a77c0  sent 2026-11-18 12:00:00Z, received 1 time",
                "          source  b  there is no such source",
                "          reason  It has no times.",
                '          body    {"source_id": "b"}',
            ],
            id="of a source that is gone, and buried",
        ),
        pytest.param(
            a_letter(" \n"),
            [
                "3f2a77c0  sent 2026-11-18 12:00:00Z, received 5 times",
                "          reason  failed 5 times; the fetcher's log says why",
                "          body    (empty)",
            ],
            id="of nothing",
        ),
    ],
)
def test_a_dead_letter_is_told_in_lines(letter, lines):
    assert told(letter, a_source("a", url="https://example.org/feed.xml?key=1")).splitlines() == lines


def test_without_a_limit_of_tries_no_number_is_made_up():
    assert "failed too often" in told(a_letter(), tries=None)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("\x1b[2Jgone\x07\r\n\u202e and more", id="control characters"),
        pytest.param('{"source_id": "\\u001b[2J"}', id="an id of control characters"),
        pytest.param('{"source_id": "\\ud800"}', id="half a character"),
    ],
)
def test_a_body_does_not_steer_the_terminal(body):
    text = told(a_letter(body, reason="\x1b[31m"))
    assert text.replace("\n", "").isprintable()
    assert len(text.splitlines()) <= 4


def test_a_long_body_is_cut_to_a_line():
    assert max(len(line) for line in told(a_letter("x" * 9_999)).splitlines()) < 150


@pytest.mark.parametrize(
    ("body", "source_id"),
    [
        ('{"source_id": "a", "manual": true}', "a"),
        ('{"source_id": "a"}', "a"),
        ('{"source_id": ""}', None),
        ('{"source_id": 7}', None),
        ('["source_id"]', None),
        ('{"source_id": "\\ud800"}', None),
        ('{"source_id": "' + "x" * 2_000 + '"}', None),
        ("[" * 100_000, None),
        ("garbage {", None),
    ],
)
def test_a_body_names_a_source_or_none(body, source_id):
    assert dead_letters.named(body) == source_id


def test_no_secret_of_a_url_is_shown():
    url = f"https://user:{CANARY}@example.org/feed?token={CANARY}"
    letter = a_letter(f'{{"source_id": "{url}", "manual": true}}', reason=f"No: {url}")
    assert CANARY not in told(letter)
    found = dead_letters.fields(letter, {}, tries=5, now=NOON)
    assert CANARY not in str(found)
    assert found["source_id"] == "https://example.org/feed?..."
