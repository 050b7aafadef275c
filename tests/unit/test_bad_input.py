"""Bad input: what is stored of it, what is counted, and what the fetch log says."""

import json
from dataclasses import dataclass, field

import pytest

from builders import SETTINGS, Clock, a_message, a_source, a_world, at
from wellspring.fetch import fetch_source
from wellspring.http import Reply
from wellspring.model import Status

BODY = "A text that is long enough to tell one entry from another one, and then a little longer. "
OK, PARTIAL, FAILED = Status.OK, Status.PARTIAL, Status.FAILED
HTML = "text/html; charset=utf-8"


def item(number, *, guid=None, date="Wed, 18 Nov 2026 11:30:00 GMT", body=None, title=None):
    return (
        f'<item><guid isPermaLink="false">{guid or f"id-{number}"}</guid>'
        f"<title>{title or f'Title {number}'}</title><link>https://example.org/{number}</link>"
        f"<pubDate>{date}</pubDate><description>{body or BODY + str(number)}</description></item>"
    )


def feed(*items):
    return f'<rss version="2.0"><channel><title>Feed</title>{"".join(items)}</channel></rss>'.encode()


def json_feed(*items, **fields):
    head = {"version": "https://jsonfeed.org/version/1.1", "title": "Feed", **fields}
    return json.dumps(head | {"items": list(items)}).encode()


def page(body):
    return f"<html><head><title>A page</title></head><body>{body}</body></html>".encode()


@dataclass(frozen=True)
class Case:
    """A document, and what must come of it."""

    document: bytes
    status: Status
    titles: list[str] = field(default_factory=list)
    created: int | None = None
    filtered: dict[str, int] = field(default_factory=dict)
    error: tuple[str, str] | None = None
    """The class, and a part of the sentence."""
    type: str = "rss"
    content_type: str = "application/xml"


CASES = {
    "an entry with nothing in it": Case(
        feed("<item></item>", item(1), "<item><guid>x</guid></item>"), OK, ["Title 1"], filtered={"blank": 2}
    ),
    "duplicate ids": Case(
        feed(item(1), item(2, guid="id-1"), item(3)), OK, ["Title 1", "Title 3"], filtered={"duplicate_id": 1}
    ),
    "one id for all entries": Case(
        feed(*(item(n, guid="same") for n in (1, 2, 3))), OK, ["Title 1", "Title 2", "Title 3"]
    ),
    "an entry of 5 MB": Case(feed(item(1, body="word " * 990_000), item(2)), OK, ["Title 1", "Title 2"]),
    "1,500 new entries": Case(
        feed(*(item(n) for n in range(1_500))), PARTIAL, created=1_000, filtered={"over_limit": 500}
    ),
    "a document that is cut in an entry": Case(
        feed(item(1), item(2), item(3))[:-150], PARTIAL, ["Title 1", "Title 2"], filtered={"cut": 1}
    ),
    "a document that is cut between entries": Case(
        feed(item(1), item(2))[: -len("</channel></rss>")],
        PARTIAL,
        ["Title 1", "Title 2"],
        filtered={"cut": 1},
    ),
    "a document that is cut before its first entry ends": Case(
        feed(item(1))[:200], FAILED, error=("truncated", "breaks off")
    ),
    "a date in the future": Case(feed(item(1, date="Wed, 18 Nov 2027 11:30:00 GMT")), OK, ["Title 1"]),
    "the year 9999": Case(feed(item(1, date="9999-12-31T23:59:59Z")), OK, ["Title 1"]),
    "a date that is none": Case(feed(item(1, date="0000-00-00 00:00:00")), OK, ["Title 1"]),
    "invalid UTF-8": Case(
        feed(item(1, title="Caf\xe9 \u2014 \u65e5")).replace(b"Title", b"T\xff") + b"\xfe",
        OK,
        ["Caf\xe9 \u2014 \u65e5"],
    ),
    "lone surrogates": Case(feed(item(1, title="a&#xD800;b")), OK, ["a\ufffdb"]),
    "lone surrogates in JSON": Case(
        json_feed({"id": "1", "title": "a\ud800b", "content_text": BODY}), OK, ["a\ufffdb"]
    ),
    "NaN in a JSON feed": Case(
        json_feed(
            {"id": float("nan"), "title": "One", "content_text": BODY},
            {"id": float("inf"), "title": "Two", "url": "/2"},
        ),
        OK,
        ["One", "Two"],
    ),
    "a JSON feed that is nested absurdly": Case(
        b'{"version": "https://jsonfeed.org/version/1", "items": ' + b"[" * 200_000,
        FAILED,
        error=("parse", "nested too deeply"),
    ),
    "a JSON feed that is cut": Case(
        json_feed({"id": "1", "title": "One"})[:-9], FAILED, error=("parse", "may be cut")
    ),
    "a JSON feed of the wrong shapes": Case(
        json_feed(
            7,
            None,
            [],
            {"id": {}, "title": ["x"], "url": 5, "content_html": False},
            {"id": 1, "title": "One"},
        ),
        OK,
        ["One"],
        filtered={"blank": 1},
    ),
    "an empty page": Case(
        b" \n", FAILED, error=("empty", "document is empty"), type="website", content_type=HTML
    ),
    "a page of only scripts": Case(
        page("<script>document.write('hello')</script>"),
        FAILED,
        error=("empty", "scripts would have to fill"),
        type="website",
        content_type=HTML,
    ),
    "a login page instead of an article": Case(
        page("<h1>Sign in</h1><form><input name=user><input type=password name=p><button>Go</button></form>"),
        FAILED,
        error=("authentication", "log in"),
        type="website",
        content_type=HTML,
    ),
}


def polled(case, *more):
    replies = [
        Reply(
            url="https://example.org/feed.xml",
            status=200,
            headers={"content-type": one.content_type, "etag": f'"{number}"'},
            body=one.document,
        )
        for number, one in enumerate((case, *more))
    ]
    clock = Clock()
    world = a_world(*replies, clock=clock)
    world.sources.add(a_source(type=case.type))
    runs = []
    for turn in range(len(replies)):
        clock.now = at(turn * 10)
        message = a_message().model_copy(update={"due_at": clock.now, "window_end": clock.now})
        runs.append(fetch_source(message, world, SETTINGS, message_id="m"))
    return world, runs


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name):
    case = CASES[name]
    world, (run,) = polled(case)
    log = run.log
    assert run.backtrace is None
    assert (log.status, log.error_class) == (case.status, case.error and case.error[0])
    if case.error:
        assert case.error[1] in log.error_message
    if case.created is None:
        assert [post.entry.title for post in world.posts.rows.values()] == case.titles
    assert (
        log.created == len(world.posts.rows) == (len(case.titles) if case.created is None else case.created)
    )
    assert log.filtered == case.filtered
    cursor = world.sources.rows["a"].cursor
    assert (cursor.etag, bool(cursor.signature)) == (('"0"', True) if case.status is OK else (None, False)), (
        "validators are kept over complete documents alone"
    )


def test_what_is_over_the_limit_comes_at_the_next_poll_and_nothing_twice():
    case = CASES["1,500 new entries"]
    world, runs = polled(case, case)
    assert [run.log.created for run in runs] == [1_000, 500]
    assert runs[1].status is OK
    assert len(world.posts.rows) == 1_500


def test_an_entry_of_5_mb_is_cut_and_marked_and_its_neighbour_is_not():
    world, _ = polled(CASES["an entry of 5 MB"])
    marks = {post.entry.title: post.truncated for post in world.posts.rows.values()}
    assert marks == {"Title 1": True, "Title 2": False}
    (long,) = (post.entry.body for post in world.posts.rows.values() if post.truncated)
    assert long.endswith("[…]") and len(long.encode()) < 301_000


@pytest.mark.parametrize("name", ["a date in the future", "the year 9999", "a date that is none"])
def test_a_date_that_cannot_be_is_no_date(name):
    world, _ = polled(CASES[name])
    (post,) = world.posts.rows.values()
    assert (post.entry.published_at, post.expires_at, post.posted_at) == (None, None, at(0))


def test_a_cut_document_is_read_again_and_then_brings_what_was_missing():
    whole = Case(feed(item(1), item(2), item(3)), OK)
    world, runs = polled(CASES["a document that is cut in an entry"], whole)
    assert [run.log.created for run in runs] == [2, 1]
    assert len(world.posts.rows) == 3
