"""`wellspring try`, as a person types it: against a real server on loopback, and on files."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from command import Command
from hostile import FOR_EVER, Hostile
from publisher import Page
from wellspring import memory, settings, timestamps, trial
from wellspring.errors import ErrorClass
from wellspring.http import HttpClient
from wellspring.model import Source, Status
from wellspring.settings import Settings
from x_server import XServer

COMMAND = Path(sys.executable).with_name("wellspring")
FEEDS = Path(__file__).parents[1] / "data" / "feeds"
SECRET = "canary-7f3a9c"
TOP = {"status", "type", "error_class", "posts"}
POST = {"id", "title", "url", "author", "published_at", "body", "content_hash", "filtered"}
STORY = "".join(
    f"<p>Sentence number {n} of a story that goes on for quite some while.</p>" for n in range(20)
)
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title>One</title></entry></feed>'
JSON_FEED = b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "title": "One"}]}'


@pytest.fixture
def tried(monkeypatch, capsys):
    """Type `wellspring try` with these arguments."""
    for name in ("X_API_KEY", "X_API_URL", "ALLOW_ADDRESSES", "CONTACT_URL"):
        monkeypatch.delenv(name, raising=False)

    command = Command(monkeypatch, capsys)
    return lambda *arguments, stdin=b"": command("try", *arguments, stdin=stdin)


def typed_in_a_shell(*arguments, **options):
    command = [COMMAND, "try", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False, **options)


def item(number, *, days_ago=0.0, title="", guid="", body="A body."):
    at = format_datetime(datetime.now(UTC) - timedelta(days=days_ago))
    return (
        f'<item><guid isPermaLink="false">{guid or f"id-{number}"}</guid>'
        f"<title>{title or f'Title {number}'}</title>"
        f"<link>/posts/{number}</link><pubDate>{at}</pubDate><description>{body}</description></item>"
    )


def a_feed(*items):
    return f'<rss version="2.0"><channel><title>A feed</title>{"".join(items)}</channel></rss>'.encode()


def a_page(head="", body=STORY):
    return f"<html><head><title>A page</title>{head}</head><article>{body}</article></html>".encode()


def html(body, **fields):
    return Page(body, headers={"Content-Type": "text/html; charset=utf-8"}, **fields)


def file_of(folder, body, name="saved"):
    path = folder / name
    path.write_bytes(body)
    return path


@pytest.mark.parametrize(
    "content_type", ["text/html", "text/plain", "application/octet-stream", "image/png", None]
)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(a_feed(item(1, title="One")), id="rss"),
        pytest.param(ATOM, id="atom"),
        pytest.param(JSON_FEED, id="json"),
    ],
)
def test_a_feed_is_found_to_be_one_whatever_its_content_type(tried, publisher, body, content_type):
    publisher.pages["/x"] = Page(body, headers={"Content-Type": content_type} if content_type else {})
    told = tried(publisher.url("/x"), "--json")
    assert (told.code, told.data["type"], told.data["status"]) == (0, "rss", "ok")
    assert [post["title"] for post in told.data["posts"]] == ["One"]


def test_the_json_says_all_that_a_program_needs_and_nothing_else_is_printed(tried, publisher):
    publisher.pages["/feed"] = Page(a_feed(item(1, body="&lt;p&gt;Größe&lt;/p&gt;")))
    told = tried(publisher.url("/feed"), "--json")
    assert told.err == ""
    assert told.data.keys() >= TOP
    (post,) = told.data["posts"]
    assert post.keys() == POST
    assert (post["id"], post["title"], post["body"]) == ("id-1", "Title 1", "Größe")
    assert post["url"] == publisher.url("/posts/1")
    assert len(bytes.fromhex(post["content_hash"])) == 32
    assert timestamps.from_text(post["published_at"]) <= timestamps.now()
    assert (post["author"], post["filtered"], told.data["error_class"]) == (None, None, None)


def test_a_person_is_told_what_would_be_stored(tried, publisher):
    publisher.pages["/feed"] = Page(a_feed(item(1), item(2, days_ago=30)))
    told = tried(publisher.url("/feed"))
    assert told.code == 0
    assert told.out.startswith("ok  type rss: A feed\n")
    assert "1 would be stored; left out: 1 too_old." in told.out


@pytest.mark.parametrize(
    ("head", "paths"),
    [
        pytest.param(
            '<link rel="alternate" type="application/rss+xml" href="feed">', ["/blog/feed"], id="relative"
        ),
        pytest.param(
            '<base href="/b/"><link rel="alternate" type="application/atom+xml" href="a">',
            ["/b/a"],
            id="below a base",
        ),
        pytest.param(
            "<LINK REL='ALTERNATE' TYPE='APPLICATION/RSS+XML' HREF='/F'>", ["/F"], id="in upper case"
        ),
        pytest.param(
            '<link rel="alternate" type="application/rss+xml" href="/1">'
            '<link rel="alternate" type="application/feed+json" href="/2">',
            ["/1", "/2"],
            id="several, one of them JSON",
        ),
        pytest.param("", [], id="none"),
    ],
)
def test_a_page_is_read_and_its_feeds_are_offered(tried, publisher, head, paths):
    publisher.pages["/blog/page"] = html(a_page(head))
    told = tried(publisher.url("/blog/page"), "--json")
    assert (told.code, told.data["type"], told.data["title"]) == (0, "website", "A page")
    assert [feed["url"] for feed in told.data["feeds"]] == [publisher.url(path) for path in paths]
    (post,) = told.data["posts"]
    assert post["url"] == post["id"] == publisher.url("/blog/page")
    assert post["body"].startswith("Sentence number 0")


def test_a_person_is_offered_the_feeds_of_a_page(tried, publisher):
    publisher.pages["/"] = html(a_page('<link rel=alternate type="text/xml" title="News" href="/f">'))
    assert f"The page offers a feed: {publisher.url('/f')}  News\n" in tried(publisher.url("/")).out


def test_the_type_that_a_person_names_counts(tried, publisher):
    publisher.pages["/page"] = html(a_page('<link rel="alternate" type="application/rss+xml" href="/f">'))
    told = tried(publisher.url("/page"), "--type", "rss", "--json")
    assert (told.code, told.data["status"], told.data["error_class"]) == (1, "failed", "not_feed")
    assert told.data["error"].endswith(f"It links to a feed: {publisher.url('/f')}")
    publisher.pages["/feed"] = Page(a_feed(item(1)))
    told = tried(publisher.url("/feed"), "--type", "website", "--json")
    assert (told.code, told.data["type"], told.data["error_class"]) == (1, "website", "parse")
    assert "give the source the type rss" in told.data["error"]


def test_a_file_is_read_as_if_it_came_from_where_it_comes_from(tried, tmp_path):
    saved = file_of(tmp_path, a_feed(item(1)))
    told = tried(saved, "--url", "https://example.org/news/feed.xml", "--json")
    assert (told.data["posts"][0]["url"], told.data["url"]) == (
        "https://example.org/posts/1",
        "https://example.org/news/feed.xml",
    )
    page = file_of(tmp_path, a_page('<link rel="alternate" type="application/rss+xml" href="f">'), "page")
    told = tried(page, "--url", "https://example.org/blog/", "--json")
    assert (told.data["type"], told.data["posts"][0]["url"]) == ("website", "https://example.org/blog/")
    assert told.data["feeds"] == [{"url": "https://example.org/blog/f", "title": ""}]


def test_what_comes_in_is_read(tried):
    told = tried("-", "--url", "https://example.org/", "--json", stdin=a_feed(item(1)))
    assert (told.code, [post["url"] for post in told.data["posts"]]) == (0, ["https://example.org/posts/1"])


def test_a_file_needs_no_place_where_it_comes_from(tried, tmp_path):
    told = tried(file_of(tmp_path, a_feed(item(1))), "--json")
    assert (told.code, told.data["posts"][0]["url"]) == (0, "/posts/1")


def test_what_would_be_left_out_is_shown_with_the_reason(tried, tmp_path):
    blank = '<item><guid isPermaLink="false">blank</guid></item>'
    feed = a_feed(item(1), item(2, days_ago=8), blank, item(3, guid="id-1"), item(4, days_ago=-3))
    told = tried(file_of(tmp_path, feed), "--json")
    assert [(post["id"], post["filtered"]) for post in told.data["posts"]] == [
        ("id-1", None),
        ("id-2", "too_old"),
        ("blank", "blank"),
        ("id-1", "duplicate_id"),
        ("id-4", None),
    ]
    assert told.data["posts"][-1]["published_at"] is None, "a date far in the future counts as none"
    assert (told.code, told.data["status"]) == (0, "ok")


def test_a_person_may_say_what_is_too_old(tried, tmp_path):
    feed = file_of(tmp_path, a_feed(item(1, days_ago=8)))
    assert [post["filtered"] for post in tried(feed, "--json", "--max-age-days", 9).data["posts"]] == [None]


def test_more_than_a_poll_stores_is_left_over(tried, tmp_path):
    feed = a_feed(*(item(n, body=f"Body number {n}.") for n in range(1_500)))
    told = tried(file_of(tmp_path, feed), "--json")
    assert (told.code, told.data["status"]) == (0, "partial")
    assert [post["filtered"] for post in told.data["posts"]] == [None] * 1_000 + ["over_limit"] * 500


def test_a_feed_that_breaks_off_is_partial(tried, tmp_path):
    told = tried(file_of(tmp_path, a_feed(item(1), item(2))[:-60]), "--json")
    assert (told.code, told.data["status"], [post["id"] for post in told.data["posts"]]) == (
        0,
        "partial",
        ["id-1"],
    )
    assert "breaks off" in told.data["note"]
    assert "breaks off" in tried(file_of(tmp_path, a_feed(item(1), item(2))[:-60])).out


def test_a_page_offers_its_feeds_also_where_its_type_is_named_and_in_a_file(tried, publisher, tmp_path):
    page = a_page('<link rel="alternate" type="application/rss+xml" href="/feed.xml">')
    publisher.pages["/page"] = html(page)
    told = tried(publisher.url("/page"), "--type", "website", "--json")
    assert [feed["url"] for feed in told.data["feeds"]] == [publisher.url("/feed.xml")]
    told = tried(file_of(tmp_path, page), "--json")
    assert [feed["url"] for feed in told.data["feeds"]] == ["/feed.xml"]


@pytest.mark.parametrize("name", sorted(path.name for path in FEEDS.glob("*.expected.json")))
def test_the_files_of_the_feeds_that_we_know_are_told_like_polls_of_them(tried, name):
    expected = json.loads((FEEDS / name).read_text())
    (feed,) = (path for path in FEEDS.glob(f"{name.removesuffix('.expected.json')}.*") if path.name != name)
    told = tried(feed, "--url", expected["url"], "--json", "--max-age-days", 36_600)
    assert (told.data["status"], told.data["title"]) == (expected["status"], expected["title"])
    assert [(post["title"], post["url"], post["author"]) for post in told.data["posts"]] == [
        (post["title"], post["url"], post["author"]) for post in expected["posts"]
    ]


NOT_HERE = b"User-agent: *\nDisallow: /private\n"


def test_pages_are_read_as_robots_txt_has_it_and_feeds_without_asking(tried, publisher):
    publisher.pages |= {
        "/robots.txt": Page(NOT_HERE),
        "/private/page": html(a_page()),
        "/private/feed": Page(a_feed(item(1))),
        "/page": html(a_page()),
    }
    assert tried(publisher.url("/private/feed"), "--json").code == 0
    assert "/robots.txt" not in publisher.paths()
    for options in ((), ("--type", "website")):
        told = tried(publisher.url("/private/page"), "--json", *options)
        assert (told.code, told.data["error_class"], told.data["posts"]) == (1, "robots", [])
        assert tried(publisher.url("/page"), "--json", *options).code == 0


@pytest.mark.parametrize("options", [(), ("--type", "website")])
def test_a_page_that_robots_may_not_have_is_not_had_by_a_redirect_either(tried, publisher, options):
    publisher.pages |= {
        "/robots.txt": Page(NOT_HERE),
        "/to": Page(status=302, headers={"Location": "/private/page"}),
        "/private/from": Page(status=302, headers={"Location": "/page"}),
        "/private/page": html(a_page()),
        "/page": html(a_page()),
    }
    for path in ("/to", "/private/from"):
        told = tried(publisher.url(path), "--json", *options)
        assert (told.code, told.data["error_class"]) == (1, "robots")


def test_a_redirect_is_followed_and_the_last_address_counts(tried, publisher):
    publisher.pages |= {
        "/old": Page(status=301, headers={"Location": "/new/feed"}),
        "/new/feed": Page(ATOM.replace(b"<title>One", b'<link href="post"/><title>One')),
    }
    told = tried(publisher.url("/old"), "--json")
    assert (told.data["url"], told.data["posts"][0]["url"]) == (
        publisher.url("/new/feed"),
        publisher.url("/new/post"),
    )


@pytest.mark.parametrize(
    ("page", "error_class"),
    [
        pytest.param(Page(status=404), "http_4xx", id="not found"),
        pytest.param(Page(status=410), "gone", id="gone"),
        pytest.param(Page(status=401), "authentication", id="not allowed"),
        pytest.param(Page(status=429), "rate_limited", id="too often"),
        pytest.param(Page(status=500), "http_5xx", id="in trouble"),
        pytest.param(Page(status=302, headers={"Location": "/x"}), "redirects", id="in a circle"),
        pytest.param(
            Page(status=302, headers={"Location": "http://10.0.0.1/"}), "blocked_address", id="to within"
        ),
        pytest.param(Page(b""), "empty", id="empty"),
        pytest.param(
            Page(b"%PDF-1.7 <<>>", headers={"Content-Type": "application/pdf"}), "parse", id="a PDF"
        ),
        pytest.param(Page(b"x" * 5_000_001), "too_large", id="too large"),
        pytest.param(Page(b"cut", headers={"Content-Length": "100"}), "truncated", id="broken off"),
    ],
)
def test_what_goes_wrong_is_named_and_ends_with_1(tried, publisher, page, error_class):
    publisher.pages["/x"] = page
    told = tried(publisher.url("/x"), "--json")
    assert (told.code, told.data["status"], told.data["error_class"]) == (1, "failed", error_class)
    assert told.data["error"] and told.data["posts"] == []
    assert f"{error_class}: {told.data['error']}\n" in tried(publisher.url("/x")).out


def test_a_page_that_needs_too_much_memory_is_not_said_to_have_no_text(tried, tmp_path):
    told = tried(file_of(tmp_path, b"<p>a" * 1_200_000), "--json")
    assert (told.code, told.data["error_class"]) == (1, "parse")
    assert told.data["error"] == "The document needs too much memory."


def test_a_server_that_says_nothing_is_a_timeout():
    chosen = replace(
        Settings(), allow_addresses=settings.networks("127.0.0.0/8"), fetch_timeout=timedelta(seconds=0.5)
    )
    with Hostile() as server:
        server.scripts["*"] = lambda asked: [FOR_EVER]
        source = Source(source_id="trial", url=server.url("/"))
        found = trial.try_url(source, None, memory.world(HttpClient(chosen), timestamps.now), chosen)
    assert (found.status, found.error_class, found.posts) == (Status.FAILED, ErrorClass.TIMEOUT, ())


@pytest.mark.parametrize(
    ("url", "error_class"),
    [
        pytest.param("http://10.0.0.1/feed", "blocked_address", id="a private network"),
        pytest.param(
            "http://169.254.169.254/latest/meta-data/", "blocked_address", id="what a cloud tells its own"
        ),
        pytest.param("http://[fd00::1]/", "blocked_address", id="a private network of the newer kind"),
        pytest.param("http://", "blocked_url", id="no host"),
        pytest.param("http://[/", "blocked_url", id="a bracket"),
        pytest.param("http://user:pass@127.0.0.1/", "blocked_url", id="a password"),
        pytest.param("http://exa mple/", "blocked_url", id="a space"),
        pytest.param("HTTP://127.0.0.1:1/", "connect", id="in upper case, where nobody listens"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--type", "website")], ids=["found out", "website"])
def test_what_cannot_be_asked_for_is_named(tried, url, error_class, options):
    told = tried(url, "--json", *options)
    assert (told.code, told.data["error_class"]) == (1, error_class)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(
            ["{file}", "--type", "gopher"], 'The type "gopher" is not known. Use one of: rss,', id="the type"
        ),
        pytest.param(
            ["missing.xml"], "There is no file 'missing.xml'. A URL begins with http://", id="no file"
        ),
        pytest.param(
            ["ftp://example.org/"], "There is no file 'ftp://example.org/'. A URL begins", id="another scheme"
        ),
        pytest.param(["{folder}"], "cannot be read: Is a directory.", id="a folder"),
        pytest.param(
            ["{file}", "--url", "example.org"], "--url must be a URL that begins with http://", id="the place"
        ),
        pytest.param(
            ["{file}", "--url", "https://"], "--url must be a URL that begins with http://", id="no place"
        ),
        pytest.param(["https://example.org/", "--url", "https://x/"], "Leave it out.", id="two places"),
        pytest.param(["{file}", "--header", "novalue"], "--header wants a name and a value", id="no value"),
        pytest.param(["{file}", "--header", f"={SECRET}"], "--header wants a name and a value", id="no name"),
        pytest.param(
            ["{file}", "--header", f"Bad Name={SECRET}"], "a header must be one line", id="a bad name"
        ),
        pytest.param(
            ["{file}", "--header", f"A: {SECRET}=="], "a header must be one line", id="as curl has it"
        ),
        pytest.param(
            ["{file}", "--header", f"A={SECRET}\r\nB: c"], "a header must be one line", id="two lines"
        ),
        pytest.param(["{file}", "--header", f"Host={SECRET}"], "the header Host is ours to set", id="ours"),
        pytest.param(
            ["{file}", "--max-age-days", "-1"], "max_age_days: input should be greater", id="an age"
        ),
        pytest.param(
            ["{file}", "--max-age-days", "nan"], "max_age_days: input should be a finite", id="no age"
        ),
        pytest.param(["/dev/zero"], "The document is over 5000000 bytes", id="a file without an end"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(tried, tmp_path, arguments, told):
    file = file_of(tmp_path, a_feed(item(1)))
    said = tried(*(one.format(file=file, folder=tmp_path) for one in arguments), "--json")
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert len(said.err.splitlines()) == 1 and "Traceback" not in said.err
    assert SECRET not in said.err


def test_a_header_goes_to_the_server_and_to_no_other_and_is_shown_nowhere(tried, publisher, monkeypatch):
    publisher.pages |= {
        "/feed": Page(a_feed(item(1))),
        "/closed": Page(status=403),
        "/away": Page(
            status=302, headers={"Location": publisher.url("/feed").replace("127.0.0.1", "localhost")}
        ),
    }
    for path in ("/feed", "/closed", "/away"):
        for options in ((), ("--json",)):
            told = tried(publisher.url(path), "--header", f"Authorization=Bearer {SECRET}", *options)
            assert SECRET not in told.out + told.err
    sent = {
        (asked.path, asked.headers["host"].split(":")[0], asked.headers.get("authorization"))
        for asked in publisher.asked
    }
    assert sent == {
        ("/feed", "127.0.0.1", f"Bearer {SECRET}"),
        ("/closed", "127.0.0.1", f"Bearer {SECRET}"),
        ("/away", "127.0.0.1", f"Bearer {SECRET}"),
        ("/feed", "localhost", None),
    }


@pytest.mark.parametrize("url", ["https://x.com/someone", "https://twitter.com/someone"])
def test_x_without_a_key_says_what_to_do(tried, url):
    told = tried(url, "--json")
    assert (told.code, told.data["type"], told.data["error_class"]) == (1, "twitter", "authentication")
    assert (
        told.data["error"]
        == "X is read with a key of your own: put it in the environment variable X_API_KEY."
    )


def test_x_with_a_key_is_read_and_the_key_is_shown_nowhere(tried, monkeypatch):
    with XServer() as x:
        x.keys.add(SECRET)
        x.publish(x.add_user("someone", "Some One"), "What I had for breakfast")
        for name, value in {
            "X_API_KEY": SECRET,
            "X_API_URL": x.url,
            "ALLOW_ADDRESSES": "127.0.0.0/8",
        }.items():
            monkeypatch.setenv(name, value)
        told = tried("https://x.com/someone", "--json")
        assert (told.code, [post["body"] for post in told.data["posts"]]) == (0, ["What I had for breakfast"])
        monkeypatch.setenv("X_API_KEY", f"{SECRET}-of-somebody-else")
        refused = tried("https://x.com/someone", "--json")
    assert (refused.code, refused.data["error_class"]) == (1, "authentication")
    assert SECRET not in told.out + told.err + refused.out + refused.err


def test_in_a_shell_the_json_is_all_of_the_output(publisher):
    publisher.pages["/feed"] = Page(a_feed(item(1, title="Größe")))
    told = typed_in_a_shell(publisher.url("/feed"), "--json")
    assert (told.returncode, told.stderr) == (0, b"")
    assert json.loads(told.stdout)["posts"][0]["title"] == "Größe"


def test_in_a_shell_what_comes_in_is_read_and_a_failure_ends_with_1():
    told = typed_in_a_shell("-", "--json", input=b"")
    assert (told.returncode, told.stderr) == (1, b"")
    assert json.loads(told.stdout)["error_class"] == "empty"


def test_in_a_shell_a_mistake_is_a_sentence_without_a_traceback():
    told = typed_in_a_shell("missing.xml")
    assert (told.returncode, told.stdout) == (2, b"")
    assert told.stderr == b"There is no file 'missing.xml'. A URL begins with http:// or https://.\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_does_not_know_a_character_stops_nothing(encoding, tmp_path):
    page = file_of(tmp_path, a_page(body=f"<p>Größe €</p>{STORY}"))
    environment = {"PYTHONIOENCODING": encoding}
    told = typed_in_a_shell(page, "--json", env=environment)
    assert json.loads(told.stdout)["posts"][0]["body"].startswith("Größe €")
    told = typed_in_a_shell(page, env=environment)
    assert (told.returncode, told.stderr) == (0, b"")
