"""JSON Feed: what has the right shape is read, and what has not is left out."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.sources import KINDS

VERSION = "https://jsonfeed.org/version/1.1"
NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
FIELDS = (
    "id",
    "title",
    "url",
    "external_url",
    "content_html",
    "content_text",
    "summary",
    "author",
    "authors",
)
ITEMS = st.fixed_dictionaries({}, optional=dict.fromkeys((*FIELDS, "date_published", "attachments"), VALUES))


def parsed(document):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    headers = {"content-type": "application/feed+json"}
    return KINDS["rss"].parse(
        Reply(url="https://example.org/feeds/json", status=200, headers=headers, body=body)
    )


def entry(**fields):
    (found,) = parsed({"version": VERSION, "items": [fields]}).entries
    return found


def test_an_item_is_read_whole():
    found = entry(
        id="1",
        url="/one",
        title="A <b> & c",
        content_html="<p>one</p><p>two</p>",
        summary="short",
        date_published="2026-11-18T13:00:00+01:00",
        authors=[{"url": "x"}, {"name": " Ada "}, {"name": "Bob"}],
    )
    assert (found.entry_id, found.url, found.title) == ("1", "https://example.org/one", "A <b> & c")
    assert (found.body, found.author, found.published_at) == ("one\n\ntwo", "Ada", NOON)


def test_the_feed_has_a_title_and_a_version():
    document = parsed({"version": VERSION, "title": "A\nfeed", "items": []})
    assert (document.title, document.parser, document.entries) == ("A feed", "json feed 1.1", ())


@pytest.mark.parametrize(
    ("fields", "attribute", "value"),
    [
        pytest.param({"id": 7}, "entry_id", "7", id="a number as an id"),
        pytest.param({"id": True}, "entry_id", None, id="a truth is no id"),
        pytest.param({"id": " "}, "entry_id", None, id="a blank id is none"),
        pytest.param({"content_text": "a <b>\n\nb"}, "body", "a <b>\n\nb", id="text is no markup"),
        pytest.param(
            {"content_html": "<p></p>", "content_text": "a"},
            "body",
            "a",
            id="the text where the HTML is empty",
        ),
        pytest.param({"summary": "a"}, "body", "a", id="the summary where there is nothing else"),
        pytest.param({"content_html": ["a"], "summary": "b"}, "body", "b", id="another shape is left out"),
        pytest.param({"external_url": "https://x/"}, "url", "https://x/", id="the page that it is about"),
        pytest.param(
            {"attachments": [7, {"url": "a.mp3"}]}, "url", "https://example.org/feeds/a.mp3", id="its file"
        ),
        pytest.param(
            {"url": "http://["}, "url", "http://[", id="an address that cannot be read stays as it is"
        ),
        pytest.param({"url": None}, "url", None, id="no address"),
        pytest.param({"author": {"name": "Ada"}}, "author", "Ada", id="the author of version 1.0"),
        pytest.param({"author": "Ada", "authors": "Bob"}, "author", None, id="authors of another shape"),
        pytest.param(
            {"date_modified": "2026-11-18T12:00:00Z"}, "published_at", NOON, id="when it was modified"
        ),
        pytest.param({"date_published": 1795003200}, "published_at", None, id="a number is no date"),
        pytest.param({"title": "a\ud800b"}, "title", "a\ufffdb", id="half of a character"),
        pytest.param({"title": "a\u0000b"}, "title", "ab", id="a control character"),
    ],
)
def test_a_field_is_read(fields, attribute, value):
    assert getattr(entry(**fields), attribute) == value


@pytest.mark.parametrize(
    ("items", "number"),
    [(None, 0), ({}, 0), ("items", 0), ([None, 1, "a", [], {"id": "1"}], 1), ([{}], 1)],
)
def test_items_of_another_shape_are_left_out(items, number):
    assert len(parsed({"version": VERSION, "items": items}).entries) == number


@pytest.mark.parametrize(
    ("document", "error_class", "told"),
    [
        pytest.param(b'{"items": []}', ErrorClass.NOT_FEED, 'names no "version"', id="other JSON"),
        pytest.param(
            b'{"version": 1.1}', ErrorClass.NOT_FEED, 'names no "version"', id="a version of something else"
        ),
        pytest.param(
            b'{"version": "https://jsonf', ErrorClass.PARSE, "(line 1): it may be cut", id="broken off"
        ),
        pytest.param(b'{"a":' * 100_000, ErrorClass.PARSE, "nested too deeply", id="nested deeply"),
        pytest.param(
            b'{"a": ' + b"1" * 10_000 + b"}", ErrorClass.PARSE, "cannot be read", id="a number of many digits"
        ),
    ],
)
def test_what_cannot_be_read_is_told(document, error_class, told):
    with pytest.raises(FetchError) as caught:
        parsed(document)
    assert caught.value.error_class is error_class
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'\xef\xbb\xbf{"version": "%b", "items": [{"id": "1"}]}', id="a byte order mark"),
        pytest.param(b'{"version": "%b", "items": [{"id": "1", "x": NaN}]}', id="a number that is none"),
        pytest.param(
            b'{"version": "%b", "items": [{"id": "1", "x": "a\nb"}]}', id="a line break within a text"
        ),
        pytest.param(
            b'{"version": "%b", "items": [{"id": "1", "x": "\xe4"}]}', id="bytes of another encoding"
        ),
    ],
)
def test_what_is_almost_json_is_read(body):
    (found,) = parsed(body % VERSION.encode()).entries
    assert found.entry_id == "1"


@given(st.lists(ITEMS, max_size=3), st.text(st.characters(exclude_categories=()), max_size=5))
def test_whatever_the_values_are_the_entries_can_be_stored(items, version):
    document = parsed({"version": VERSION + version, "items": items})
    assert len(document.entries) == len(items)
    for one in document.entries:
        "".join(
            filter(None, (document.parser, one.entry_id, one.title, one.url, one.body, one.author))
        ).encode()
