"""Markup to plain text: nothing lost, nothing glued together, nothing hidden shown."""

import time
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellspring.sources.text import clean, line, paragraphs, plain

ANY_TEXT = st.text(st.characters(exclude_categories=()))
SOUP = st.lists(
    st.sampled_from(
        [
            *(
                "<p>",
                "</p>",
                "<div>",
                "</div>",
                "<b>",
                "</b>",
                "<pre>",
                "</pre>",
                "<td>",
                "<br>",
                "<svg>",
                "<!--",
            ),
            *(
                "-->",
                "<![CDATA[",
                "]]>",
                "<script>",
                "</script>",
                "&#1;",
                "&#xD800;",
                "&#xFDD2;",
                "&amp;",
                "&",
            ),
            *(
                "<",
                ">",
                "\n",
                " ",
                "word",
                "\x0c",
                "\x85",
                "\ud83d",
                "<?xml encoding='x'?>",
                "<html>",
                "</body>",
            ),
        ]
    ),
    max_size=30,
).map("".join)


def folded(text):
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        pytest.param("plain  text", "plain text", id="text without markup is folded"),
        pytest.param("a &amp; b", "a & b", id="a reference is what it stands for"),
        pytest.param("5 &lt; 6 &amp;amp; 7", "5 < 6 &amp; 7", id="what is escaped twice is unescaped once"),
        pytest.param("5 < 6", "5 < 6", id="a sign that begins no tag stays"),
        pytest.param("<p>one</p><p>two</p>", "one\n\ntwo", id="paragraphs are kept apart"),
        pytest.param("one\n\ntwo", "one\n\ntwo", id="blank lines part paragraphs where there is no markup"),
        pytest.param("<p>one\n\ntwo</p>", "one two", id="blank lines are white space where there is some"),
        pytest.param("one<br>two", "one\ntwo", id="a line break"),
        pytest.param("one<br><br>two", "one\n\ntwo", id="two line breaks part paragraphs"),
        pytest.param(
            "<ul><li>one</li><li>two</li></ul>", "one\ntwo", id="the lines of a list lie close together"
        ),
        pytest.param("wo<b>rd</b>s", "words", id="an inline tag splits no word"),
        pytest.param("long<wbr>word", "longword", id="where a word may be broken it is not"),
        pytest.param("<div>one</div>two", "one\n\ntwo", id="a block glues nothing to what follows"),
        pytest.param("<td>one</td><td>two</td>", "one two", id="cells are kept apart"),
        pytest.param(
            "<table><caption>c</caption><tr><td>1<td>2<tr><td>3</table>", "c\n1 2\n3", id="a row is a line"
        ),
        pytest.param("<fieldset><legend>one</legend>two</fieldset>", "one\ntwo", id="a legend is a line"),
        pytest.param("<button>one</button><button>two</button>", "one two", id="buttons are kept apart"),
        pytest.param(
            "<pre>one\n<b>two</b>\n\nthree</pre>", "one\ntwo\n\nthree", id="preformatted lines stay lines"
        ),
        pytest.param(
            "<pre>one</pre> two\nthree", "one\n\ntwo three", id="lines after preformatted ones do not"
        ),
        pytest.param("<h1>one</h1><hr>two", "one\n\ntwo", id="a heading and a rule"),
        pytest.param("one\x0ctwo<br>", "one two", id="a form feed is white space"),
        pytest.param("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)", id="ruby in brackets"),
        pytest.param("<math><mi>E</mi><mo>=</mo><mi>m</mi></math>", "E=m", id="a formula is text"),
        pytest.param("<p>a&nbsp;b\u00a0c</p>", "a b c", id="no-break spaces are spaces"),
        pytest.param("\ufeff<p>a</p>", "a", id="a byte order mark"),
        pytest.param("<p>a</p></body></html><p>b</p>", "a\n\nb", id="what comes after the end is read too"),
        pytest.param("<body>a</body><body>b</body>", "a b", id="two documents in one are not glued together"),
        pytest.param("<p>a<p>b", "a\n\nb", id="tags that are never closed"),
        pytest.param("one</br>two", "one\ntwo", id="a line break that is written as an end"),
        pytest.param("a</div></b> b", "a b", id="tags that were never opened"),
        pytest.param(
            '<?xml version="1.0" encoding="utf-8"?><p>ü</p>', "ü", id="XHTML that declares an encoding"
        ),
        pytest.param('<meta charset="iso-8859-1"><p>ü</p>', "ü", id="an encoding that was true of the bytes"),
        pytest.param("<p>a&#1;b&#xFDEF;c</p>", "abc", id="references to what is no character"),
        pytest.param(
            "<p>\U0001f600 &#x1F600;</p>", "\U0001f600 \U0001f600", id="characters beyond the first plane"
        ),
        pytest.param("<p>don&#146;t</p>", "don’t", id="a reference by the number that Windows gives it"),
        pytest.param("<o:p>a</o:p>", "a", id="tags of a word processor"),
        pytest.param("<![CDATA[<p>a</p>]]>", "a", id="wrapped once more than it should be"),
        pytest.param("<depth>a</depth><p>b</p>", "a\n\nb", id="an unknown tag"),
        pytest.param("a<p>&#1;<p>b", "a\n\nb", id="a paragraph of what is no character"),
        pytest.param("", "", id="nothing"),
        pytest.param("<p> </p>", "", id="an empty paragraph"),
    ],
)
def test_markup_becomes_the_text_that_a_reader_sees(markup, text):
    assert plain(markup) == text


@pytest.mark.parametrize(
    "hidden",
    [
        *("<script>no</script>", "<style>no</style>", "<template>no</template>", "<noscript>no</noscript>"),
        *("<!-- no -->", "<svg><title>no</title></svg>", "<iframe>no</iframe>", "<object>no</object>"),
        *("<video>no</video>", "<audio>no</audio>", "<canvas>no</canvas>", "<head><title>no</title></head>"),
        *("<noframes>no</noframes>", "<math><annotation>no</annotation></math>", "<script>no"),
    ],
)
def test_what_a_browser_does_not_show_is_left_out_and_what_follows_is_not(hidden):
    assert plain(f"seen{hidden}") == "seen"
    assert plain(f"<p>seen</p>{hidden.replace('<script>no', '<script>no</script>')}after") == "seen\n\nafter"


def test_text_below_tags_that_are_nested_too_deeply_for_the_parser_is_kept():
    deep = "<div>" * 20_000
    assert (
        plain(f"<p>one</p><script>no</script>{deep}two &amp; three{'</div>' * 20_000}") == "one two & three"
    )


@given(ANY_TEXT)
def test_escaped_text_is_given_back_folded(text):
    assert folded(plain(escape(text))) == folded(clean(text))


@given(ANY_TEXT | SOUP)
def test_text_of_anything_can_be_stored_and_is_clean(text):
    for found in (clean(text), line(text), paragraphs(text), plain(text)):
        found.encode()
        assert clean(found) == found


@given(SOUP)
def test_no_paragraph_has_white_space_that_it_does_not_need(markup):
    found = plain(markup)
    assert found == found.strip() and "  " not in found and "\n\n\n" not in found and " \n" not in found


@given(st.lists(st.text("abc", min_size=1), min_size=1))
def test_no_word_is_lost_or_glued_to_its_neighbour(words):
    for tag in ("p", "div", "li", "td", "h2", "dd", "button", "pre"):
        assert plain("".join(f"<{tag}>{word}</{tag}>" for word in words)).split() == words


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("a\x00b\x08c\x7fd", "abcd", id="control characters vanish"),
        pytest.param("a\tb\nc\rd", "a\tb\nc\rd", id="white space stays"),
        pytest.param("a\x0cb", "a b", id="a form feed is a space"),
        pytest.param("\ud83d\ude00", "\U0001f600", id="two halves are a whole"),
        pytest.param("a\ud83db", "a\ufffdb", id="a half alone is marked"),
        pytest.param("don\x92t\x85", "don’t…", id="what Windows writes where others have control characters"),
        pytest.param("\ufdd0a\uffff", "a", id="what Unicode says is no character"),
    ],
)
def test_what_can_be_stored(given, expected):
    assert clean(given) == expected


def test_plain_text_keeps_its_lines_and_paragraphs():
    assert paragraphs(" one \r\ntwo\n\n\n\nthree  <b>four\u2028five") == "one\ntwo\n\nthree <b>four\nfive"


def test_a_line_is_one_line():
    assert line(" one\n\ttwo\u00a0 three ") == "one two three"


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "&",
            "<",
            "<!--",
            "<![CDATA[",
            "<a ",
            "<body ",
            "<div>",
            "<div><span>",
            "<script>",
            "<style ",
            "</div>",
        ),
        *("<svg></svg>a", "<script></script>a", "<pre>", "\n x", "&a", "&#1;", "\x80", "<p>a"),
    ],
)
def test_a_million_characters_of_anything_are_read_in_time(piece):
    """A way to read that looks at anything twice for each time it comes would take minutes."""
    began = time.process_time()
    plain(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 3


@pytest.mark.parametrize("piece", ["<script ", "<!--", "<a ", "</script ", "<style>x"])
def test_what_is_nested_too_deeply_is_read_in_time_too(piece):
    began = time.process_time()
    plain("<div>" * 5_000 + piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 3
