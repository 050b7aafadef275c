"""X's answers as posts: whole texts, titles, links, and what is made of answers that are none."""

import json

import pytest

from builders import NOON
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.sources import twitter

PROBLEMS = "https://api.twitter.com/2/problems"
WHO = {"users": [{"id": "7", "name": "A person", "username": "person"}]}


def parsed(answer):
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return twitter.parse(Reply(url="https://x.com/person", status=200, headers={}, body=body))


def kept(document):
    return {name: value for name, value in document.bookmark.items() if value}


def a_post(post_id="100", **fields):
    return {
        "id": post_id,
        "text": "Hello",
        "author_id": "7",
        "created_at": "2026-11-18T12:00:00.000Z",
    } | fields


def entry_of(post, **includes):
    (entry,) = parsed({"data": [post], "includes": WHO | includes}).entries
    return entry


def links(*pairs):
    return {"urls": [{"url": short, "expanded_url": long} for short, long in pairs]}


def test_a_post_is_an_entry():
    entry = entry_of(a_post())
    assert (entry.entry_id, entry.title, entry.body) == ("100", "Hello", "Hello")
    assert entry.url == "https://x.com/person/status/100"
    assert (entry.author, entry.published_at) == ("A person", NOON)


def test_the_author_names_the_source():
    assert parsed({"data": [a_post()], "includes": WHO}).title == "A person"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("x" * 100, "x" * 100, id="100 characters are the title"),
        pytest.param("x" * 101, "x" * 100 + "…", id="of 101 characters the first 100 and an ellipsis"),
        pytest.param("🌊" * 101, "🌊" * 100 + "…", id="an emoji is one character"),
        pytest.param("one\ntwo\n\n three", "one two three", id="a title is one line"),
        pytest.param("x" * 99 + "&amp;", "x" * 99 + "&", id="what counts is the text, not how it is escaped"),
        pytest.param("", "", id="no text has no title"),
    ],
)
def test_the_first_100_characters_are_the_title(text, title):
    assert entry_of(a_post(text=text)).title == title


def test_the_text_keeps_its_lines_and_its_emoji():
    assert (
        entry_of(a_post(text="One 👩‍👩‍👧 line\nanother\n\n\nlast")).body == "One 👩‍👩‍👧 line\nanother\n\nlast"
    )


def test_a_long_post_is_read_whole_from_its_note():
    whole = "word " * 200 + "https://t.co/abcdefghij end"
    note = {"text": whole, "entities": links(("https://t.co/abcdefghij", "https://example.org/a"))}
    entry = entry_of(a_post(text=whole[:279] + "…", note_tweet=note))
    assert entry.body == "word " * 200 + "https://example.org/a end"
    assert len(entry.title) == 101


@pytest.mark.parametrize(
    ("text", "entities", "body"),
    [
        pytest.param("Q&amp;A: 1 &lt; 2 &gt; 0", {}, "Q&A: 1 < 2 > 0", id="X escapes three characters"),
        pytest.param(
            "write &amp;lt; for <", {}, "write &lt; for <", id="what is escaped twice is unescaped once"
        ),
        pytest.param(
            "see https://t.co/aaaaaaaaaa, please",
            links(("https://t.co/aaaaaaaaaa", "https://example.org/?a=1&b=2")),
            "see https://example.org/?a=1&b=2, please",
            id="a short link is written out",
        ),
        pytest.param(
            "https://t.co/aaaaaaaaaa",
            links(("https://t.co/aaaaaaaaaa", "https://example.org/?a=1&section=2&copy=3&lt=4")),
            "https://example.org/?a=1&section=2&copy=3&lt=4",
            id="an ampersand in a link is no entity",
        ),
        pytest.param(
            "https://t.co/aaaaaaaaaa https://t.co/aaaaaaaaaab",
            links(
                ("https://t.co/aaaaaaaaaa", "https://one.example"),
                ("https://t.co/aaaaaaaaaab", "https://two.example"),
            ),
            "https://one.example https://two.example",
            id="a link that begins another one",
        ),
        pytest.param(
            "https://t.co/aaaaaaaaaa",
            links(("https://t.co/aaaaaaaaaa", None)),
            "https://t.co/aaaaaaaaaa",
            id="no long link",
        ),
        pytest.param("a b", links(*[("a", "aaaaaaaaaa")] * 40), "a b", id="what is no short link stays"),
        pytest.param(
            "https://t.co/aaaaaaaaaa",
            links(("https://t.co/aaaaaaaaaa", "https://t.co/aaaaaaaaaa/" * 9), ("a", "aa")),
            "https://t.co/aaaaaaaaaa/" * 9,
            id="a link that leads to itself is written out once",
        ),
    ],
)
def test_the_text_is_what_a_reader_sees(text, entities, body):
    assert entry_of(a_post(text=text, entities=entities)).body == body


def test_a_repost_has_the_whole_text_of_the_original():
    whole = "word " * 200 + "end"
    original = {"id": "50", "text": whole[:279] + "…", "note_tweet": {"text": whole}}
    repost = a_post(text="RT @other: word word w…", referenced_tweets=[{"type": "retweeted", "id": "50"}])
    assert entry_of(repost, tweets=[original]).body == f"RT @other: {whole}"


def test_the_links_of_a_repost_are_those_of_the_original():
    original = {
        "id": "50",
        "text": "https://t.co/bbb",
        "entities": links(("https://t.co/bbb", "https://b.example")),
    }
    repost = a_post(text="RT @other: https://t.co/bbb", referenced_tweets=[{"type": "retweeted", "id": "50"}])
    assert entry_of(repost, tweets=[original]).body == "RT @other: https://b.example"


@pytest.mark.parametrize("kind", ["quoted", "replied_to"])
def test_a_quote_and_an_answer_keep_their_own_text(kind):
    post = a_post(text="Indeed", referenced_tweets=[{"type": kind, "id": "50"}])
    assert entry_of(post, tweets=[{"id": "50", "text": "Other words"}]).body == "Indeed"


def test_a_repost_whose_original_is_gone_keeps_what_there_is():
    repost = a_post(text="RT @other: word w…", referenced_tweets=[{"type": "retweeted", "id": "50"}])
    assert entry_of(repost).body == "RT @other: word w…"


def test_a_renamed_user_is_linked_by_the_new_name():
    page = {"data": [a_post()], "includes": WHO}
    document = parsed({"name": "old_name", "user_id": "7", "complete": True, "pages": [page]})
    assert document.entries[0].url == "https://x.com/person/status/100"


@pytest.mark.parametrize(
    ("includes", "url", "author"),
    [
        pytest.param({}, "https://x.com/asked/status/100", "@asked", id="the asked name stands in"),
        pytest.param(
            {"users": [{"id": "7", "username": "../../evil", "name": ""}]},
            "https://x.com/asked/status/100",
            "@asked",
            id="a name that cannot be one is no part of a URL",
        ),
        pytest.param(
            {"users": [{"id": "7", "username": {"a": 1}, "name": ["b"]}]},
            "https://x.com/asked/status/100",
            "@asked",
            id="a name that is no text",
        ),
    ],
)
def test_an_author_that_is_not_told(includes, url, author):
    page = {"data": [a_post()], "includes": includes}
    (entry,) = parsed({"name": "asked", "pages": [page]}).entries
    assert (entry.url, entry.author) == (url, author)


def test_a_page_alone_has_links_that_work_without_a_name():
    (entry,) = parsed({"data": [a_post()]}).entries
    assert (entry.url, entry.author) == ("https://x.com/i/status/100", None)


@pytest.mark.parametrize(
    "post",
    [
        pytest.param({"id": "100"}, id="an id alone"),
        pytest.param(a_post(text=None, created_at=None, author_id=None), id="nothing but null"),
        pytest.param(a_post(text=5, created_at=5, author_id=5, entities=5, note_tweet=5), id="numbers"),
        pytest.param(
            a_post(author_id=["7"], referenced_tweets={"id": "1"}, entities=[]), id="lists for texts"
        ),
        pytest.param(a_post(author_id={"a": 1}, entities={"urls": {}}), id="maps for texts"),
        pytest.param(
            a_post(referenced_tweets=[{"type": "retweeted", "id": [1]}, 5, None]),
            id="references that are none",
        ),
        pytest.param(
            a_post(entities={"urls": [5, None, {"url": 5, "expanded_url": []}]}), id="links that are none"
        ),
        pytest.param(a_post(created_at="yesterday"), id="a date that is none"),
        pytest.param(a_post(text="a\x00b\ud800"), id="text that cannot be stored"),
    ],
)
def test_a_field_of_another_shape_costs_no_post(post):
    (entry,) = parsed(
        {"data": [post], "includes": {"users": [{"id": [7]}, 5], "tweets": [{"id": {}}, None]}}
    ).entries
    assert entry.entry_id == "100"
    f"{entry.title}{entry.body}{entry.url}".encode()


@pytest.mark.parametrize(
    "post_id",
    [
        pytest.param(None, id="none"),
        pytest.param(100, id="a number"),
        pytest.param("", id="empty"),
        pytest.param("-5", id="negative"),
        pytest.param("١٢٣", id="digits of another script"),
        pytest.param("1e9", id="an exponent"),
        pytest.param(str(2**63), id="more than 64 bits"),
        pytest.param("9" * 5_000, id="more than Python reads"),
        pytest.param(["1"], id="a list"),
    ],
)
def test_what_has_no_id_is_no_post_and_no_mark(post_id):
    document = parsed({"data": [a_post(post_id), a_post("5")]})
    assert [entry.entry_id for entry in document.entries] == ["5"]
    assert document.bookmark["since_id"] == "5"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html>busy</html>", id="a page"),
        pytest.param(b'{"data": [', id="cut off"),
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b'{"data": ' * 50_000 + b"1" + b"}" * 50_000, id="nested deeply"),
        pytest.param(b'{"data": ' + b"9" * 10_000 + b"}", id="a number without end"),
        pytest.param(b"\xff\xfe\xfd", id="no text"),
    ],
)
def test_what_is_no_json_is_an_error_of_the_document(body):
    with pytest.raises(FetchError) as caught:
        parsed(body)
    assert caught.value.error_class is ErrorClass.PARSE


@pytest.mark.parametrize(
    "body",
    [
        b"NaN",
        b"[]",
        b"5",
        b'"data"',
        b"null",
        b'{"data": NaN}',
        b'{"data": {"id": "1"}}',
        b'{"data": [NaN, 5, null]}',
        b'{"pages": [NaN, 5, [], {"data": 5}]}',
        b'{"pages": {}}',
        b'{"pages": []}',
        b'{"meta": {"result_count": 0}}',
    ],
)
def test_what_lists_no_posts_has_none(body):
    document = parsed(body)
    assert (document.entries, kept(document)) == ((), {})


@pytest.mark.parametrize(
    ("kind", "error_class"),
    [
        ("resource-not-found", ErrorClass.GONE),
        ("not-authorized-for-resource", ErrorClass.AUTHENTICATION),
        ("something-new", ErrorClass.PARSE),
    ],
)
def test_a_problem_instead_of_posts_is_an_error(kind, error_class):
    problem = {"type": f"{PROBLEMS}/{kind}", "title": "Forbidden", "detail": "canary-of-a-key"}
    with pytest.raises(FetchError) as caught:
        parsed({"errors": [problem]})
    assert caught.value.error_class is error_class
    assert "canary" not in str(caught.value), "X's own words may quote anything"


def test_a_problem_beside_posts_is_none():
    """X lists an original that is gone beside the posts themselves."""
    problem = {"type": f"{PROBLEMS}/resource-not-found", "resource_type": "tweet"}
    assert len(parsed({"data": [a_post()], "errors": [problem]}).entries) == 1


def test_all_pages_are_one_document_and_the_newest_post_is_its_mark():
    pages = [{"data": [a_post("9"), a_post("100")]}, {"data": [a_post("99")]}]
    document = parsed({"name": "person", "user_id": "7", "complete": True, "pages": pages})
    assert [entry.entry_id for entry in document.entries] == ["9", "100", "99"]
    assert kept(document) == {"name": "person", "user_id": "7", "since_id": "100"}
    assert not document.cut


def test_the_mark_never_goes_back():
    page = {"data": [a_post("5")]}
    document = parsed({"name": "person", "user_id": "7", "since_id": "100", "pages": [page]})
    assert document.bookmark["since_id"] == "100"


def test_pages_that_break_off_are_a_cut_document():
    assert parsed({"complete": False, "pages": [{"data": [a_post()]}]}).cut


def test_a_document_that_is_cut_says_where_to_go_on():
    page = {"data": [a_post(id="70"), a_post(id="60")]}
    fields = {"name": "person", "user_id": "7", "since_id": "5", "complete": False, "pages": [page]}
    marks = {"since_id": "5", "newest_id": "70", "until_id": "60"}
    assert kept(parsed(fields)) == {"name": "person", "user_id": "7"} | marks
    further = fields | marks | {"complete": True, "pages": [{"data": [a_post(id="50")]}]}
    assert kept(parsed(further)) == {"name": "person", "user_id": "7", "since_id": "70"}
