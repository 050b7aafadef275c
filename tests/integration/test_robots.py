"""robots.txt against a real server."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from builders import Clock, at
from publisher import Page
from wellspring import settings
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import HttpClient
from wellspring.robots import Robots
from wellspring.settings import Settings

LOCAL = replace(Settings(), allow_addresses=settings.networks("127.0.0.0/8"), max_bytes=1_000_000)
TEXT = b"""User-agent: *
Disallow: /
User-agent: wellspring
Crawl-delay: 5
Disallow: /private
Allow: /private/*.html$
"""


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def robots(clock):
    return Robots(HttpClient(LOCAL), clock)


def allowed(robots, url):
    try:
        robots.check(url)
    except FetchError as error:
        assert error.error_class in (ErrorClass.ROBOTS, ErrorClass.HTTP_5XX, ErrorClass.RATE_LIMITED)
        return False
    return True


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/page", True, id="our own group counts, not everybody's"),
        pytest.param("/private/x", False, id="disallowed"),
        pytest.param("/private/a/b.html", True, id="the longer rule wins, with its wildcards"),
        pytest.param("/private/a.html?x=1", False, id="the end is the end"),
    ],
)
def test_what_a_site_allows(publisher, robots, path, expected):
    publisher.pages["/robots.txt"] = Page(TEXT)
    assert allowed(robots, publisher.url(path)) is expected


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(Page(status=404), True, id="no file: all is allowed"),
        pytest.param(Page(status=403), True, id="a file that is closed: all is allowed"),
        pytest.param(Page(status=500), False, id="a server in trouble: nothing is"),
        pytest.param(Page(status=429), False, id="a server that is busy: nothing is"),
        pytest.param(Page(b"\xff\xfe nonsense"), True, id="nonsense"),
        pytest.param(Page(b""), True, id="an empty file"),
        pytest.param(Page(b"\xef\xbb\xbfUser-agent: *\nDisallow: /"), False, id="behind a byte order mark"),
        pytest.param(Page(status=302, headers={"Location": "/robots.txt"}), True, id="redirects for ever"),
        pytest.param(Page(b"User-agent: *\nCrawl-delay: 1e300"), True, id="a delay beyond all bounds"),
        pytest.param(Page(b"User-agent: *\nDisallow: /x\n" + b"#" * 600_000), True, id="a huge file"),
    ],
)
def test_when_the_file_is_not_there(publisher, robots, page, expected):
    publisher.pages["/robots.txt"] = page
    assert allowed(robots, publisher.url("/page")) is expected


def test_the_file_is_asked_for_once_a_day(publisher, robots, clock):
    publisher.pages["/robots.txt"] = Page(TEXT)
    for _ in range(3):
        robots.check(publisher.url("/page"))
    assert publisher.paths() == ["/robots.txt"]
    clock.now = at(24 * 60)
    robots.check(publisher.url("/page"))
    assert len(publisher.asked) == 2


def test_a_server_in_trouble_is_told_as_such(publisher, robots):
    publisher.pages["/robots.txt"] = Page(status=500)
    with pytest.raises(FetchError, match=r"robots.txt could not be read.*answered 500") as caught:
        robots.check(publisher.url("/page"))
    assert caught.value.error_class is ErrorClass.HTTP_5XX


def test_of_many_that_want_to_know_at_once_one_asks(publisher, robots):
    publisher.pages["/robots.txt"] = Page(TEXT)
    with ThreadPoolExecutor(10) as pool:
        [*pool.map(robots.check, [publisher.url("/page")] * 10)]
    assert publisher.paths() == ["/robots.txt"]


def test_a_site_too_many_makes_room_for_itself_alone(publisher, robots, monkeypatch):
    monkeypatch.setattr("wellspring.robots.MOST_SITES", 2)
    publisher.pages["/robots.txt"] = Page(TEXT)
    urls = [publisher.url("/page").replace("127.0.0.1", f"127.0.0.{n}") for n in (1, 2, 3)]
    robots.check(urls[0])
    assert robots.knows(urls[0])
    for url in urls[1:]:
        with suppress(FetchError):
            robots.check(url)
    assert [robots.knows(url) for url in urls] == [False, True, True]


def test_a_server_in_trouble_is_asked_again_sooner(publisher, robots, clock):
    publisher.pages["/robots.txt"] = Page(status=500)
    assert not allowed(robots, publisher.url("/page"))
    publisher.pages["/robots.txt"] = Page(TEXT)
    clock.now = at(10)
    assert allowed(robots, publisher.url("/page"))


@pytest.mark.parametrize(("text", "seconds"), [(TEXT, 5), (TEXT.replace(b"5", b"500"), 30), (b"", None)])
def test_the_delay_that_a_site_wants_is_at_most_half_a_minute(publisher, robots, text, seconds):
    publisher.pages["/robots.txt"] = Page(text)
    assert robots.delay(publisher.url("/page")) == (seconds and timedelta(seconds=seconds))
