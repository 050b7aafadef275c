"""Feeds: bytes to entries."""

from datetime import UTC, datetime, timedelta

import pytest

from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.sources import KINDS

ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>An &amp; b</title>
<entry><id>urn:1</id><title type="html">&lt;b&gt;Bold&lt;/b&gt; title</title><link href="/posts/1"/>
<updated>2026-11-18T11:00:00Z</updated><published>2026-11-17T10:00:00+01:00</published>
<author><name> </name></author><author><name>Ada</name></author>
<summary>short</summary>
<content type="html">&lt;p&gt;one&lt;/p&gt;&lt;p&gt;two&lt;/p&gt;</content></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="x"><title>Old</title></channel>
<item rdf:about="http://e.org/1"><title>T</title><link>http://e.org/1</link></item></rdf:RDF>"""


def parsed(body, url="https://example.org/feed/", content_type="application/xml"):
    data = body if isinstance(body, bytes) else body.encode()
    return KINDS["rss"].parse(Reply(url=url, status=200, headers={"content-type": content_type}, body=data))


def test_an_atom_entry_is_read_whole():
    document = parsed(ATOM)
    (entry,) = document.entries
    assert document.title == "An & b"
    assert (entry.entry_id, entry.title, entry.url) == ("urn:1", "Bold title", "https://example.org/posts/1")
    assert entry.body == "one\n\ntwo", "the full content before the summary, words kept apart"
    assert entry.author == "Ada", "the first named author"
    assert entry.published_at == datetime(2026, 11, 17, 9, 0, tzinfo=UTC)


def test_rss_1_0_is_a_feed_too():
    assert [entry.title for entry in parsed(RDF).entries] == ["T"]


def test_an_empty_feed_is_a_feed():
    assert parsed('<rss version="2.0"><channel><title>x</title></channel></rss>').entries == ()


@pytest.mark.parametrize(
    ("body", "error_class"),
    [
        pytest.param(b"", ErrorClass.EMPTY, id="nothing"),
        pytest.param(b"  \n", ErrorClass.EMPTY, id="white space"),
        pytest.param(b"<html><body>hello</body></html>", ErrorClass.NOT_FEED, id="a page"),
        pytest.param(b"/etc/passwd", ErrorClass.NOT_FEED, id="a file's name is not opened"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00", ErrorClass.NOT_FEED, id="a picture"),
        pytest.param(b'{"error": "no"}', ErrorClass.NOT_FEED, id="JSON that is no feed"),
    ],
)
def test_what_is_not_a_feed_is_told_so(body, error_class):
    with pytest.raises(FetchError) as caught:
        parsed(body)
    assert caught.value.error_class is error_class


RHYTHM = """<rss version="2.0" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel><title>x</title>
<ttl>90</ttl><sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>
<skipHours><hour>0</hour><hour> 5 </hour></skipHours><skipDays><day>Sunday</day></skipDays></channel></rss>"""


def test_what_a_feed_says_of_its_rhythm_is_read():
    found = parsed(RHYTHM).hints
    assert (found.stay_away, found.skip_hours, found.skip_days) == (timedelta(hours=6), 0b100001, 1 << 6)
