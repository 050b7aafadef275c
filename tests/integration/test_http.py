"""The HTTP client against a real server on loopback."""

import gzip
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from publisher import Page
from wellspring import settings
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import HttpClient, Request
from wellspring.settings import Settings

LOCAL = replace(
    Settings(),
    allow_addresses=settings.networks("127.0.0.0/8"),
    contact_url="https://example.org/bot",
    max_bytes=10_000,
    fetch_timeout=timedelta(seconds=2),
)


@pytest.fixture
def get(publisher):
    def get(path, **fields):
        return HttpClient(LOCAL).get(Request(url=publisher.url(path), **fields))

    return get


def failure(get, path, **fields):
    with pytest.raises(FetchError) as caught:
        get(path, **fields)
    return caught.value


def test_a_document_comes_whole(publisher, get):
    publisher.pages["/feed"] = Page(b"hello", etag='"1"', headers={"Last-Modified": "some day"})
    reply = get("/feed")
    assert (reply.status, reply.body, reply.url) == (200, b"hello", publisher.url("/feed"))
    assert (reply.headers["etag"], reply.headers["last-modified"]) == ('"1"', "some day")


def test_who_we_are_is_told_and_nothing_else(publisher, get):
    publisher.pages["/feed"] = Page(b"hello")
    get("/feed", headers={"X-Key": "k"})
    (asked,) = publisher.asked
    assert asked.headers["user-agent"] == "Wellspring/0.1.0 (+https://example.org/bot)"
    assert asked.headers["x-key"] == "k"
    assert not {"cookie", "referer", "if-none-match", "if-modified-since"} & set(asked.headers)


def test_validators_go_back_byte_for_byte(publisher, get):
    publisher.pages["/feed"] = Page(b"hello", etag='W/"odd one"')
    reply = get("/feed", etag='W/"odd one"', last_modified="not even a date")
    assert (reply.status, reply.body) == (304, b"")
    assert publisher.asked[0].headers["if-modified-since"] == "not even a date"


def test_a_packed_body_is_unpacked(publisher, get):
    publisher.pages["/feed"] = Page(gzip.compress(b"hello"), headers={"Content-Encoding": "gzip"})
    assert get("/feed").body == b"hello"


def test_redirects_are_followed_and_the_last_url_is_told(publisher, get):
    publisher.pages["/old"] = Page(status=301, headers={"Location": "/new"})
    publisher.pages["/new"] = Page(b"hello")
    assert get("/old", etag='"of the old url"').url == publisher.url("/new")
    assert "if-none-match" not in publisher.asked[1].headers


def test_secrets_do_not_travel_to_another_origin(publisher, get):
    other = publisher.url("/new").replace("127.0.0.1", "127.0.0.2")
    publisher.pages["/old"] = Page(status=302, headers={"Location": other})
    failure(get, "/old", headers={"Authorization": "secret"})
    publisher.pages["/old"] = Page(status=302, headers={"Location": publisher.url("/new")})
    publisher.pages["/new"] = Page(b"hello")
    get("/old", headers={"Authorization": "secret"})
    assert publisher.asked[-1].headers["authorization"] == "secret", "the same origin keeps it"


@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (404, ErrorClass.HTTP_4XX),
        (410, ErrorClass.GONE),
        (401, ErrorClass.AUTHENTICATION),
        (403, ErrorClass.AUTHENTICATION),
        (429, ErrorClass.RATE_LIMITED),
        (500, ErrorClass.HTTP_5XX),
        (503, ErrorClass.HTTP_5XX),
        (204, ErrorClass.BAD_HTTP),
    ],
)
def test_each_refusal_has_its_class(publisher, get, status, error_class):
    publisher.pages["/feed"] = Page(status=status)
    error = failure(get, "/feed")
    assert (error.error_class, error.http_status) == (error_class, status)


def slowly(*chunks):
    def stream():
        for chunk in chunks:
            yield chunk
            time.sleep(0.3)

    return stream


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n"


@pytest.mark.parametrize(
    ("page", "error_class"),
    [
        pytest.param(Page(b"x" * 10_001), ErrorClass.TOO_LARGE, id="too large"),
        pytest.param(
            Page(gzip.compress(b"x" * 1_000_000), headers={"Content-Encoding": "gzip"}),
            ErrorClass.TOO_LARGE,
            id="too large when unpacked",
        ),
        pytest.param(
            Page(status=302, headers={"Location": "/bad"}), ErrorClass.REDIRECTS, id="round in circles"
        ),
        pytest.param(
            Page(status=302, headers={"Location": "file:///etc/passwd"}),
            ErrorClass.BLOCKED_URL,
            id="to a file",
        ),
        pytest.param(
            Page(status=302, headers={"Location": "http://169.254.169.254/latest"}),
            ErrorClass.BLOCKED_ADDRESS,
            id="to the metadata service",
        ),
        pytest.param(
            Page(stream=slowly(HEAD + b"\r\n", *[b"x"] * 10)), ErrorClass.TIMEOUT, id="drop by drop"
        ),
        pytest.param(
            Page(stream=slowly(HEAD + b"Content-Length: 99\r\n\r\nx")), ErrorClass.TRUNCATED, id="cut off"
        ),
        pytest.param(Page(stream=lambda: [b""]), ErrorClass.BAD_HTTP, id="closed without an answer"),
        pytest.param(Page(stream=lambda: [b"gopher!\r\n\r\n"]), ErrorClass.BAD_HTTP, id="no HTTP"),
        pytest.param(
            Page(b"not gzip", headers={"Content-Encoding": "gzip"}), ErrorClass.BAD_HTTP, id="spoilt packing"
        ),
    ],
)
def test_a_bad_server_is_named_by_what_it_does(publisher, get, page, error_class):
    publisher.pages["/bad"] = page
    assert failure(get, "/bad").error_class is error_class


@pytest.mark.parametrize(
    ("url", "error_class"),
    [
        ("http://127.0.0.1:1/feed", ErrorClass.CONNECT),
        ("http://no-such-name.invalid/feed", ErrorClass.DNS),
        ("http://user:secret@127.0.0.1/feed", ErrorClass.BLOCKED_URL),
        ("http://127.0.0.1\\@example.org/", ErrorClass.BLOCKED_URL),
        ("ftp://example.org/feed", ErrorClass.BLOCKED_URL),
        ("feed.xml", ErrorClass.BLOCKED_URL),
        ("http://[::1]/feed", ErrorClass.BLOCKED_ADDRESS),
        ("http://10.1.2.3/feed", ErrorClass.BLOCKED_ADDRESS),
        ("http://[::ffff:10.1.2.3]/feed", ErrorClass.BLOCKED_ADDRESS),
        ("http://0.0.0.0/feed", ErrorClass.BLOCKED_ADDRESS),
        ("http://127.0.0.1:99999/feed", ErrorClass.BLOCKED_URL),
    ],
)
def test_a_url_that_cannot_be_fetched_is_named_without_its_secrets(url, error_class):
    with pytest.raises(FetchError) as caught:
        HttpClient(LOCAL).get(Request(url=url))
    assert caught.value.error_class is error_class
    assert "secret" not in str(caught.value)


def test_loopback_is_refused_where_it_is_not_allowed(publisher):
    with pytest.raises(FetchError) as caught:
        HttpClient(Settings()).get(Request(url=publisher.url("/feed")))
    assert caught.value.error_class is ErrorClass.BLOCKED_ADDRESS
    assert publisher.asked == []
