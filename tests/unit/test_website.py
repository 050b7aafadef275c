"""Pages: the main text, as a reader sees it, and what is told where there is none."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import rss
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.sources import KINDS
from wellspring.sources.website import LARGEST
from wellspring.timestamps import from_text

PAGES = Path(__file__).parents[1] / "data" / "pages"
EXPECTED = ".expected.json"
NAMES = sorted(path.name.removesuffix(EXPECTED) for path in PAGES.glob(f"*{EXPECTED}"))
NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
STORY = "".join(
    f"<p>Sentence number {n} of a story that goes on for quite some while.</p>" for n in range(20)
)
LOGIN = '<form><label>Name <input name="u"></label><label>Password <input type="PASSWORD"></label></form>'
IN_TIME = 3.0


def parsed(body, content_type="text/html; charset=utf-8", url="https://example.org/page"):
    data = body if isinstance(body, bytes) else body.encode()
    return KINDS["website"].parse(
        Reply(url=url, status=200, headers={"content-type": content_type}, body=data)
    )


def entry(head="", body=f"<article>{STORY}</article>", **more):
    (found,) = parsed(f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>", **more).entries
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_page_becomes_the_post_that_a_reader_sees(name):
    expected = json.loads((PAGES / f"{name}{EXPECTED}").read_text())
    document = parsed((PAGES / f"{name}.html").read_bytes(), expected["content_type"], expected["url"])
    (found,) = document.entries
    published = from_text(expected["published_at"]) if expected["published_at"] else None
    assert (found.title, found.author, found.published_at, found.url) == (
        expected["title"],
        expected["author"],
        published,
        expected["url"],
    )
    body = " ".join(found.body.split())
    assert [phrase for phrase in expected["has"] if phrase not in body] == []
    assert [phrase for phrase in expected["lacks"] if phrase in body] == []


def test_the_set_is_there():
    assert len(NAMES) >= 12


@pytest.mark.parametrize(
    ("body", "content_type", "error_class", "told"),
    [
        pytest.param(b"", "text/html", ErrorClass.EMPTY, "The document is empty.", id="nothing"),
        pytest.param(b" \r\n\0 ", "", ErrorClass.EMPTY, "The document is empty.", id="white space"),
        pytest.param(
            "<html><head><title>App</title></head><body></body></html>",
            "text/html",
            ErrorClass.EMPTY,
            "The page has no text of its own.",
            id="a page without text",
        ),
        pytest.param(
            '<div id="root"></div><noscript>Please enable scripts.</noscript><script>start()</script>',
            "text/html",
            ErrorClass.EMPTY,
            "The page has no text of its own; it may be one that scripts would have to fill.",
            id="a page of scripts only",
        ),
        pytest.param(
            "<!-- nothing -->", "text/html", ErrorClass.EMPTY, "The page has no text.", id="a comment only"
        ),
        pytest.param(
            "<frameset cols='1,2'><frame src='a'><noframes>Get a browser.</noframes></frameset>",
            "text/html",
            ErrorClass.EMPTY,
            "The page has no text of its own.",
            id="frames",
        ),
        pytest.param(
            f"<title>Log in</title><h1>Welcome back</h1>{LOGIN}<p>Forgot your password?</p>",
            "text/html",
            ErrorClass.AUTHENTICATION,
            "The server sent a page to log in.",
            id="a page to log in",
        ),
        pytest.param(
            LOGIN,
            "text/html",
            ErrorClass.AUTHENTICATION,
            "The server sent a page to log in.",
            id="a form only",
        ),
        pytest.param(
            rss(1),
            "text/html",
            ErrorClass.PARSE,
            "The document is a feed, not a page: give the source the type rss.",
            id="a feed",
        ),
        pytest.param(
            b"%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj",
            "application/pdf",
            ErrorClass.PARSE,
            "The document is no page but application/pdf.",
            id="a PDF",
        ),
        pytest.param(
            b"\x89PNG\r\n",
            "image/png",
            ErrorClass.PARSE,
            "The document is no page but image/png.",
            id="a picture",
        ),
        pytest.param(
            b"ID3\x04", "Audio/MPEG", ErrorClass.PARSE, "The document is no page but audio/mpeg.", id="an mp3"
        ),
        pytest.param(
            b"%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj",
            "text/html",
            ErrorClass.PARSE,
            "The document is no page but a file of another kind.",
            id="a PDF that is sent as a page",
        ),
        pytest.param(
            b"\xff\xfb\x90\x44" + bytes(range(256)) * 8,
            "",
            ErrorClass.PARSE,
            "The document is no page but a file of another kind.",
            id="bytes that are no text",
        ),
        pytest.param(
            b'{"a": 1}',
            "application/json",
            ErrorClass.PARSE,
            "The document is no page but application/json.",
            id="JSON",
        ),
    ],
)
def test_what_is_no_article_is_told(body, content_type, error_class, told):
    with pytest.raises(FetchError) as caught:
        parsed(body, content_type)
    assert (caught.value.error_class, str(caught.value)) == (error_class, told)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            f"<header>{LOGIN}</header><p>The bath is open.</p>", id="a short one below a form at the edge"
        ),
        pytest.param(f"{LOGIN}<article>{STORY}</article>", id="a long one with a form anywhere"),
    ],
)
def test_an_article_that_merely_has_a_login_form_is_an_article(body):
    assert entry(body=body).body.startswith(("The bath is open.", "Sentence number 0"))


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        pytest.param("<title> A\n title </title>", "", "A title", id="the page's title, in one line"),
        pytest.param(
            '<title>A | Site</title><meta property="og:title" content="A">',
            "",
            "A",
            id="what it is shared as",
        ),
        pytest.param("", "<h1>One<br>two</h1>", "One two", id="its heading, where there is no title"),
        pytest.param("", "<svg><title>Menu</title></svg><h1>A</h1>", "A", id="a drawing's title is none"),
        pytest.param(
            "<title>A &amp; &lt;b&gt;</title>", "", "A & <b>", id="references are what they stand for"
        ),
        pytest.param("", "", "", id="none"),
    ],
)
def test_the_title(head, body, title):
    assert entry(head, f"{body}<article>{STORY}</article>").title == title


@pytest.mark.parametrize(
    ("head", "author"),
    [
        ('<meta name="author" content="Ada">', "Ada"),
        ('<meta property="article:author" content="Ada">', "Ada"),
        ('<meta property="article:author" content="Bob"><meta name="Author" content="Ada">', "Ada"),
        ('<meta property="article:author" content="https://social.example/ada">', None),
        ('<meta name="author" content=" ">', None),
    ],
)
def test_the_author_is_named_by_the_page_and_an_address_names_nobody(head, author):
    assert entry(head).author == author


def linked(data):
    return f'<script type="application/ld+json">{data}</script>'


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000
DATED = json.dumps({"@graph": [{"@type": "Article", "datePublished": "2026-11-18T13:00:00+01:00"}]})


@pytest.mark.parametrize(
    ("head", "published"),
    [
        pytest.param(
            '<meta property="article:published_time" content="2026-11-18T12:00Z">', NOON, id="as articles do"
        ),
        pytest.param('<meta itemprop="datePublished" content="2026-11-18T12:00Z">', NOON, id="as microdata"),
        pytest.param('<meta name="DC.date" content="2026-11-18 12:00">', NOON, id="as libraries do"),
        pytest.param('<time pubdate datetime="2026-11-18T12:00Z"></time>', NOON, id="as a time"),
        pytest.param(
            '<time datetime="2026-11-18T12:00Z"></time>', None, id="any time is not when it was published"
        ),
        pytest.param(linked(DATED), NOON, id="as linked data"),
        pytest.param(
            linked("{broken") + linked(DATED), NOON, id="linked data that is broken spoils no other"
        ),
        pytest.param(linked(DEEP) + linked(DATED), NOON, id="linked data that is deep spoils no other"),
        pytest.param(linked("[]") + linked("null") + linked("7"), None, id="linked data of another shape"),
        pytest.param(linked('{"datePublished": ["2026-11-18"]}'), None, id="a list is no date"),
        pytest.param(linked('{"datePublished": "soon"}'), None, id="a date that is none"),
        pytest.param(
            '<meta name="date" content="1/2/2026">' + linked(DATED),
            NOON,
            id="the first date that can be read counts",
        ),
        pytest.param('<meta name="date" content="9999-12-31">', None, id="a day that never comes"),
    ],
)
def test_when_it_was_published(head, published):
    assert entry(head).published_at == published


@pytest.mark.parametrize(
    ("body", "phrases"),
    [
        pytest.param(b"<p>no head, no body", ["no head, no body"], id="no body element"),
        pytest.param(b"just text", ["just text"], id="no markup at all"),
        pytest.param(b"<p>a\0b and c</p>", ["ab and c"], id="zeros among the letters"),
        pytest.param(b"<p>caf\xe9 \xff\xfe</p>", ["café"], id="invalid bytes"),
        pytest.param(b"<p>&#xD800; a &#xDFFF; b &#0; c</p>", ["a", "b", "c"], id="halves of pairs"),
        pytest.param(
            b'<?xml version="1.0" encoding="utf-8"?><html><p>x\xc3\xbc</p></html>', ["xü"], id="XHTML"
        ),
        pytest.param("\ufeff<p>wide</p>".encode("utf-16"), ["wide"], id="UTF-16"),
        pytest.param(
            b"<div>" * 20_000 + b"deep down" + b"</div>" * 20_000, ["deep down"], id="20,000 nested blocks"
        ),
        pytest.param(
            f"{STORY}{'<div>' * 20_000}deep down".encode(), ["number 0", "deep down"], id="deep after shallow"
        ),
        pytest.param(
            b"<form><p>All of it is in a form.</p></form>", ["All of it is in a form."], id="a form around it"
        ),
        pytest.param(
            b"<article><p>One teaser</p></article><article><p>Two teasers</p></article>",
            ["One teaser", "Two teasers"],
            id="several short articles",
        ),
    ],
)
def test_a_page_that_is_not_as_it_should_be_is_read(body, phrases):
    (found,) = parsed(body, "text/html").entries
    found.body.encode()
    assert [phrase for phrase in phrases if phrase not in found.body] == []


def test_the_title_is_not_said_again_by_the_body():
    assert entry("<title>A</title>", f"<article><h1>A</h1>{STORY}</article>").body.startswith(
        "Sentence number 0"
    )


def test_paragraphs_stay_apart_and_lists_close_together():
    items = "".join(f"<li>Item number {n} with some words</li>" for n in range(3))
    body = entry(body=f"<article>{STORY}<ul>{items}</ul><p>The end of it.</p></article>").body
    assert "while.\n\nSentence" in body
    assert "- Item number 0 with some words\n- Item number 1" in body
    assert body.endswith("\n\nThe end of it.")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(f"<p>{'word and more ' * 350_000}</p>", id="one paragraph"),
        pytest.param(f"<article>{STORY * 3_300}</article>", id="very many paragraphs"),
        pytest.param(f"<table>{'<tr><td>cell</td><td>1</td></tr>' * 50_000}</table>", id="a table"),
        pytest.param("<p>a" * 200_000, id="paragraphs of one letter"),
        pytest.param("<svg></svg>a" * 100_000, id="what is hidden, between letters"),
        pytest.param("<div><span>" * 900 + "word " * 900_000, id="all of it below a thousand blocks"),
        pytest.param(
            f"<p>{STORY}</p>" + linked('{"datePublished": "soon"}') * 50_000, id="dates that are none"
        ),
        pytest.param(f"<p>{STORY}</p>" + linked(f"[{','.join([DATED] * 30_000)}]"), id="huge linked data"),
    ],
)
def test_megabytes_are_read_in_time(page):
    began = time.process_time()
    (found,) = parsed(page).entries
    assert time.process_time() - began < IN_TIME
    assert found.body


def test_a_page_that_is_too_large_for_the_extractor_is_still_read_without_its_edges():
    page = (
        f"<nav>Menu</nav><article>{'<p>word</p>' * LARGEST}<p>The end.</p></article><footer>Imprint</footer>"
    )
    body = entry(body=page).body
    assert body.endswith("word\n\nThe end.") and "Menu" not in body and "Imprint" not in body


SOUP = st.lists(
    st.sampled_from(
        [
            *(
                "<p>",
                "</p>",
                "<div>",
                "</div>",
                "<table>",
                "<tr>",
                "<td>",
                "<article>",
                "</article>",
                "<main>",
                "<form>",
            ),
            *(
                "<nav>",
                "<body>",
                "</html>",
                "<frameset>",
                "<svg>",
                "<title>",
                "<h1>",
                "<br>",
                "<!--",
                "-->",
                "<script>",
            ),
            *(
                "</script>",
                "<input type=password>",
                "<meta name=date content=x>",
                "<time pubdate>",
                "&#1;",
                "&#xD800;",
            ),
            *(
                "some words of a text. ",
                "\x00",
                "é",
                linked("{"),
                linked("[[]]"),
                "<pre>",
                "<svg><title>",
                "<base>",
            ),
        ]
    ),
    max_size=40,
).map("".join)


@given(SOUP | st.binary())
def test_any_page_is_text_that_can_be_stored_or_told_why_not(page):
    try:
        (found,) = parsed(page, "").entries
    except FetchError as error:
        assert error.error_class in (ErrorClass.EMPTY, ErrorClass.PARSE, ErrorClass.AUTHENTICATION)
        return
    assert found.body.strip()
    f"{found.title}{found.body}{found.author}".encode()
