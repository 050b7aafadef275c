"""What a document is, whatever its content type says, and which feeds a page offers."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import rss
from wellspring.errors import ErrorClass
from wellspring.http import Reply
from wellspring.sources.discovery import MOST_LINKS, feeds_of, is_feed, kind_of, kind_of_url, no_feed

PAGE_URL = "https://example.org/blog/page.html"
JSON_FEED = '{"version": "https://jsonfeed.org/version/1.1", "items": []}'


def a_reply(body, content_type="text/html"):
    data = body if isinstance(body, bytes) else body.encode()
    return Reply(url=PAGE_URL, status=200, headers={"content-type": content_type}, body=data)


def link(href, kind="application/rss+xml", **attributes):
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<link rel="alternate" type="{kind}" href="{href}"{more}>'


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(rss(1).decode(), id="RSS"),
        pytest.param('<feed xmlns="http://www.w3.org/2005/Atom"></feed>', id="Atom"),
        pytest.param('<atom:feed xmlns:atom="http://www.w3.org/2005/Atom"/>', id="Atom with a prefix"),
        pytest.param('<rdf:RDF xmlns:rdf="x"></rdf:RDF>', id="RSS 1.0"),
        pytest.param('<RSS version="2.0"></RSS>', id="in upper case"),
        pytest.param(f"\ufeff\r\n  {rss(1).decode()}", id="after a mark and white space"),
        pytest.param(
            '<?xml-stylesheet href="a>b"?><!-- a > b --><rss version="2.0"/>', id="after other things"
        ),
        pytest.param(
            '<!DOCTYPE rss PUBLIC "a" "b" [<!ENTITY nbsp "&#160;">]><rss version="0.91"/>', id="after a DTD"
        ),
        pytest.param(
            "<br />\n<b>Warning</b>: mysql_connect()\n" + rss(1).decode(), id="after a server's own trouble"
        ),
        pytest.param(JSON_FEED, id="JSON"),
        pytest.param(
            r'{"items": [], "version": "https:\/\/jsonfeed.org\/version\/1"}', id="JSON as PHP writes it"
        ),
    ],
)
def test_a_feed_is_known_by_how_it_begins(document):
    assert is_feed(document)
    for content_type in ("text/html", "text/plain", "application/octet-stream", ""):
        assert kind_of(a_reply(document, content_type)) == "rss"


@pytest.mark.parametrize(
    "document",
    [
        pytest.param("<!DOCTYPE html><html><body>rss</body></html>", id="a page"),
        pytest.param(f"<html><head>{link('/feed')}</head></html>", id="a page that links to a feed"),
        pytest.param('<html><body><pre><rss version="2.0"></pre></html>', id="a page that shows a feed"),
        pytest.param("<p>&lt;rss version=...", id="a page that quotes one"),
        pytest.param("<rssy></rssy>", id="a longer name"),
        pytest.param('<?xml version="1.0"?><urlset></urlset>', id="a sitemap"),
        pytest.param('{"version": "1.0", "items": []}', id="other JSON"),
        pytest.param("rss", id="a word"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_begins_otherwise_is_a_page(document):
    assert not is_feed(document)
    assert kind_of(a_reply(document, "application/rss+xml")) == "website"


@pytest.mark.parametrize(
    ("head", "urls"),
    [
        pytest.param(
            link("https://other.example/feed"), ["https://other.example/feed"], id="a whole address"
        ),
        pytest.param(link("feed.xml"), ["https://example.org/blog/feed.xml"], id="beside the page"),
        pytest.param(link("/feed?a=1&amp;b=2"), ["https://example.org/feed?a=1&b=2"], id="from the root"),
        pytest.param(link("//cdn.example/feed"), ["https://cdn.example/feed"], id="of the same scheme"),
        pytest.param('<base href="/news/">' + link("f"), ["https://example.org/news/f"], id="below a base"),
        pytest.param(
            '<base target="_top"><base href=" /n/ ">' + link("f"), ["https://example.org/n/f"], id="two bases"
        ),
        pytest.param(
            '<base href="http://[">' + link("f"), ["https://example.org/blog/f"], id="a base that is none"
        ),
        pytest.param(
            "<LINK REL='ALTERNATE' TYPE='APPLICATION/ATOM+XML' HREF='/A'>",
            ["https://example.org/A"],
            id="shouted",
        ),
        pytest.param(
            '<link rel="home alternate" type="text/xml; charset=x" href=" /a\n">',
            ["https://example.org/a"],
            id="untidy",
        ),
        pytest.param(
            link("/a") + link("/b", "application/feed+json") + link("/a"),
            ["https://example.org/a", "https://example.org/b"],
            id="several, each once",
        ),
        pytest.param(
            '<?xml version="1.0" encoding="utf-8"?><html>' + link("/ü"),
            ["https://example.org/ü"],
            id="XHTML that declares an encoding",
        ),
        pytest.param(link("/a&#27;[31m"), ["https://example.org/a[31m"], id="what would colour a terminal"),
        pytest.param("</head><body>" + link("/late"), ["https://example.org/late"], id="below the head"),
        pytest.param(link("http://["), [], id="no address"),
        pytest.param(
            link("javascript:alert(1)") + link("ftp://x/") + link("feed:https://x/"),
            [],
            id="no address of ours",
        ),
        pytest.param(link(""), [], id="an empty one"),
        pytest.param(link("/wp-json/1", "application/json"), [], id="JSON that is no feed"),
        pytest.param(link("/de", "text/html", hreflang="de"), [], id="the page in another language"),
        pytest.param(
            '<link rel="stylesheet" type="application/rss+xml" href="/a">', [], id="another relation"
        ),
        pytest.param("<!-- " + link("/old") + " -->", [], id="a comment"),
    ],
)
def test_a_page_offers_the_feeds_that_it_links_to(head, urls):
    assert [feed.url for feed in feeds_of(a_reply(f"<head>{head}"))] == urls


def test_a_feed_is_offered_with_its_title_in_one_line():
    (feed,) = feeds_of(a_reply(link("/feed", title=" News \n &amp; views")))
    assert feed.title == "News & views"


def test_a_page_offers_no_more_than_a_reader_can_choose_from():
    assert len(feeds_of(a_reply("".join(link(f"/{n}") for n in range(100))))) == MOST_LINKS


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://x.com/someone", "twitter"),
        ("https://twitter.com/@someone/", "twitter"),
        ("https://mobile.twitter.com/someone", "twitter"),
        ("https://X.com/someone?lang=en", "twitter"),
        ("https://x.com/", None),
        ("https://x.com/someone/status/1", None),
        ("https://example.org/someone", None),
        ("https://notx.com/someone", None),
        ("https://[", None),
    ],
)
def test_a_timeline_is_known_by_its_address(url, kind):
    assert kind_of_url(url) == kind


@pytest.mark.parametrize(
    ("document", "told"),
    [
        pytest.param(
            link("/feed?token=secret"),
            "The document is a page, not a feed. It links to a feed: https://example.org/feed?...",
            id="the feed to take instead is named, without what may be secret",
        ),
        pytest.param(
            "<p>hello",
            "The document is not a feed; open the URL in a browser and take the address of its feed instead.",
            id="where there is none, what to do is",
        ),
    ],
)
def test_what_should_have_been_a_feed_is_told_with_what_to_do(document, told):
    error = no_feed(document, a_reply(document))
    assert (error.error_class, str(error)) == (ErrorClass.NOT_FEED, told)


@given(
    st.text(),
    st.sampled_from(["<link rel=alternate type=text/xml href='{}'>", "<base href='{}'>", "{}", "<rss {}"]),
)
def test_any_document_is_one_or_the_other(text, shape):
    reply = a_reply(shape.format(text).encode("utf-8", "replace"))
    assert kind_of(reply) in ("rss", "website")
    assert all(feed.url.startswith("http") for feed in feeds_of(reply))


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "<",
            "<!--",
            "<?",
            "<!doctype ",
            "<!doctype [",
            "<rss ",
            "<feed ",
            "<link ",
            "<base ",
            "<div>",
            " ",
            "\n",
        ),
        *('{"version" ', '{"version": ', "<![CDATA[", "&", "<base href=a>", link("a")),
    ],
)
def test_a_million_characters_of_anything_are_looked_at_in_time(piece):
    reply = a_reply(piece * (1_000_000 // len(piece)))
    began = time.process_time()
    kind_of(reply)
    feeds_of(reply)
    assert time.process_time() - began < 3
