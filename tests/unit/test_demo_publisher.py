"""The demo's feeds: documents that depend on nothing but the time."""

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from io import BytesIO

import feedparser
import pytest

from wellspring_cli.demo import feeds
from wellspring_cli.demo.publisher import respond
from wellspring_cli.demo.sources import SOURCES

HOME = "http://127.0.0.1:8420"
NOW = datetime(2026, 11, 18, 12, 0, 10, tzinfo=UTC)
LIVING = {
    "/news.rss": feeds.NEWS,
    "/blog.atom": feeds.BLOG,
    "/podcast.rss": feeds.PODCAST,
    "/new-home.rss": feeds.NEW_HOME,
}


def ask(path, *, now=NOW, etag=None):
    return respond(path, etag, now, HOME)


def entries(answer):
    parsed = feedparser.parse(BytesIO(answer.body))
    assert not parsed.bozo
    return parsed.entries


@pytest.mark.parametrize(("path", "feed"), LIVING.items(), ids=LIVING)
def test_a_feed_lists_its_newest_posts_newest_first(path, feed):
    listed = entries(ask(path))
    assert [entry.id for entry in listed] == [post.guid for post in feeds.posts(feed, NOW)]
    assert len({entry.link for entry in listed}) == feed.listed


@pytest.mark.parametrize(("path", "feed"), LIVING.items(), ids=LIVING)
def test_each_interval_brings_exactly_one_new_post(path, feed):
    before = {entry.id for entry in entries(ask(path))}
    after = {entry.id for entry in entries(ask(path, now=NOW + timedelta(seconds=feed.every)))}
    assert len(after - before) == 1


def test_a_post_is_the_same_whenever_it_is_listed():
    first = {entry.id: entry for entry in entries(ask("/news.rss"))}
    later = {entry.id: entry for entry in entries(ask("/news.rss", now=NOW + timedelta(minutes=2)))}
    both = first.keys() & later.keys()
    assert both
    assert all(first[post].title == later[post].title for post in both)
    assert all(first[post].published == later[post].published for post in both)


def test_no_post_is_published_in_the_future():
    assert all(post.published_at <= NOW for feed in LIVING.values() for post in feeds.posts(feed, NOW))


@pytest.mark.parametrize("path", LIVING)
def test_who_knows_the_document_gets_a_304_without_a_body(path):
    etag = ask(path).headers["ETag"]
    again = ask(path, etag=etag)
    assert (again.status, again.body, again.headers["ETag"]) == (HTTPStatus.NOT_MODIFIED, b"", etag)


def test_one_known_validator_among_several_is_enough():
    assert ask("/news.rss", etag=f'"old", {ask("/news.rss").headers["ETag"]}').status == 304


def test_a_new_post_changes_the_validator():
    etag = ask("/news.rss").headers["ETag"]
    assert ask("/news.rss", now=NOW + timedelta(seconds=20), etag=etag).status == HTTPStatus.OK


def test_the_moved_feed_leads_to_its_new_home():
    answer = ask("/moved.rss")
    assert answer.status == HTTPStatus.MOVED_PERMANENTLY
    assert entries(ask(answer.headers["Location"].removeprefix(HOME)))


def test_the_broken_feed_is_always_broken():
    assert ask("/broken.rss", etag='"any"').status == HTTPStatus.INTERNAL_SERVER_ERROR


def test_the_page_that_is_no_feed_says_that_it_is_html():
    answer = ask("/not-a-feed.rss")
    assert answer.status == HTTPStatus.OK
    assert answer.headers["Content-Type"].startswith("text/html")


def test_another_path_is_not_found():
    assert ask("/elsewhere.rss").status == HTTPStatus.NOT_FOUND


def test_every_source_of_the_demo_is_published():
    assert all(ask(source.path).status != HTTPStatus.NOT_FOUND for source in SOURCES)
