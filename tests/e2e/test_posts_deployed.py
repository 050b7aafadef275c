"""Posts, fetch logs and the watch on the command line, against the deployed stack."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from builders import a_post, an_entry, every, rss
from deployed import eventually, now
from publisher import Page
from wellspring.aws.posts import DynamoPosts
from wellspring.timestamps import to_text

WELLSPRING = Path(sys.executable).with_name("wellspring")
HOSTILE = "\x1b[2Jgone\x07\r\u202e\x9b31m\u2028end"


@pytest.fixture
def posts(deployed):
    return DynamoPosts(deployed.dynamodb, deployed.stack.outputs["PostsTable"], shards=4)


@pytest.fixture
def fetched(deployed, publisher, operator):
    """Add a source whose feed lists such entries, and fetch it; again, it is fetched with other entries."""
    added = set()

    def fetch(source_id, *numbers, **changes):
        publisher.pages["/feed"] = Page(rss(*numbers, **changes))
        if source_id not in added:
            added.add(source_id)
            deployed.add(
                source_id,
                publisher.url("/feed"),
                cadence=every(60),
                next_fetch_at=now() + timedelta(days=1),
                min_interval_seconds=0,
                host_delay_seconds=0,
            )
        operator.well("fetch", source_id, "--wait")

    return fetch


def is_printable(text):
    return text.replace("\n", "").isprintable()


def named(text, source_id):
    """Return the names of posts in a list, as they stand there."""
    return re.findall(rf"{source_id}/[0-9a-f]{{12}}\b", text)


def test_a_sources_posts_are_listed_shown_and_processed(fetched, operator):
    fetched("read", 1, 2, 3)
    listed = operator.well("posts", "list", "--source", "rea").out
    assert re.findall(r"Title \d", listed) == ["Title 3", "Title 2", "Title 1"]
    newest, *_, oldest = named(listed, "read")
    shown = operator.well("posts", "show", newest).out
    assert "Title 3" in shown
    assert "Body of entry number 3, with words of its own." in shown
    assert operator.well("posts", "process", newest).out.endswith(": 1 post marked as processed.\n")
    assert operator.well("posts", "process", newest, oldest, "--json").data == {
        "processed": 1,
        "already_processed": 1,
        "not_found": 0,
        "unknown": [],
    }
    listed = operator.well("posts", "list", "--source", "read").out
    assert f"{newest}  processed\n" in listed
    assert listed.count("processed") == 2
    pending = operator.well("posts", "list", "--source", "read", "--pending", "--json").data
    assert [post["title"] for post in pending["posts"]] == ["Title 2"]
    assert operator.well("posts", "show", pending["posts"][0]["name"], "--json").data == pending["posts"][0]
    assert operator.well("posts", "process", "--source", "read").out.endswith(
        ": 1 post marked as processed.\n"
    )
    told = operator.well("posts", "list", "--source", "read", "--pending").out
    assert told == "No posts of read wait to be processed.\n"


def test_pages_of_a_source_lead_on(fetched, operator):
    fetched("paged", 1, 2, 3, 4, 5)
    found, following = [], ["wellspring", "posts", "list", "--source", "paged", "--limit", "2"]
    while following:
        told = operator.well(*following[1:]).out
        found += re.findall(r"Title \d", told)
        more = re.search(r"More: (.*)", told)
        following = more[1].split() if more else None
    assert found == [f"Title {number}" for number in (5, 4, 3, 2, 1)]


def test_a_changed_post_leads_to_the_one_it_follows(fetched, operator):
    fetched("changing", 1)
    fetched("changing", 1, body_1="Another text of the first entry, which is long enough for itself. " * 2)
    listed = operator.well("posts", "list", "--source", "changing").out
    assert listed.count("changed") == 1
    changed = next(line.split()[0] for line in listed.splitlines() if line.endswith("changed"))
    told = operator.well("posts", "show", changed).out
    before = re.search(r"revision of +(\S+)", told)[1]
    assert "Body of entry number 1" in operator.well("posts", "show", before).out


def test_a_name_that_means_no_post_or_two_is_told(posts, fetched, operator):
    fetched("names", 1)
    for name in ("ab1", "ab2"):
        posts.put(a_post("names", name))
    told = operator("posts", "process", "names/ab1", "names/nothing")
    assert (told.code, told.err) == (3, "1 post marked as processed, 1 not found: names/nothing.\n")
    ambiguous = operator("posts", "show", "names/ab")
    assert ambiguous.code == 3
    assert "is the beginning of names/ab1 and names/ab2. Type more of the hash." in ambiguous.err
    unknown = operator("posts", "show", "names/nothing")
    assert unknown.code == 3
    assert unknown.err == (
        "There is no post 'names/nothing'. See those of a source: wellspring posts list --source names\n"
    )
    assert operator("posts", "show", "names/window").code == 3, "what lies beside the posts is none"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("posts", "process"), 2, "Name the posts to process, as SOURCE_ID/HASH, or say --all"),
        (("posts", "process", "a/b", "--all"), 2, "one of these"),
        (("posts", "process", "--source", ""), 3, "A source is named by its id"),
        (("posts", "show", "nonsense"), 2, "A post is named SOURCE_ID/CONTENT_HASH"),
        (("posts", "list", "--cursor", "?"), 2, "The cursor cannot be read"),
        (("posts", "list", "--source", "nobody"), 3, "There is no source 'nobody'"),
        (("posts", "list", "--limit", "0"), 2, "greater than or equal to 1"),
        (("logs", "nobody"), 3, "There is no source 'nobody'"),
        (("logs", "nobody", "--since", "long ago"), 2, "'long ago' is no time"),
        (("watch", "--source", "nobody"), 3, "There is no source 'nobody'"),
    ],
)
def test_a_mistake_is_a_sentence(operator, arguments, code, sentence):
    told = operator(*arguments)
    assert told.code == code
    assert sentence in " ".join(told.err.split())
    assert "Traceback" not in told.err


def test_a_person_is_asked_before_everything_is_processed_and_a_program_is_not(fetched, operator):
    fetched("all-of-it", 1, 2)
    told = operator("posts", "process", "--all", answers="n\n")
    assert (told.code, told.err) == (1, "Nothing was done.\n")
    assert "Mark every pending post of all sources in the local cloud" in told.out
    assert (
        len(operator.well("posts", "list", "--source", "all-of-it", "--pending", "--json").data["posts"]) == 2
    )
    assert (
        "1 post marked"
        in operator.well(
            "posts",
            "process",
            *named(operator.well("posts", "list", "--source", "all-of-it").out, "all-of-it")[:1],
        ).out
    )
    assert "1 post marked" in operator.well("posts", "process", "--source", "all-of-it", answers="y\n").out
    fetched("all-of-it", 3)
    assert operator.well("posts", "process", "--all", "--json").data["processed"] >= 1
    assert operator.well("posts", "process", "--all", "--yes", answers="").out.endswith(
        ": 0 posts marked as processed.\n"
    )
    assert operator.well("posts", "list").out == "No posts wait to be processed.\n"


def test_what_publishers_write_steers_no_terminal(posts, fetched, operator):
    fetched("hostile", 1)
    entry = an_entry(title=HOSTILE * 200, body=HOSTILE, url=f"https://example.org/{HOSTILE}", author=HOSTILE)
    posts.put(a_post("hostile", "ab" * 32, entry=entry))
    for arguments in (
        ("posts", "list", "--source", "hostile"),
        ("posts", "list", "--source", "hostile", "--json"),
        ("posts", "show", "hostile/abab"),
        ("posts", "show", "hostile/abab", "--json"),
    ):
        told = operator.well(*arguments).out
        assert is_printable(told)
        assert "gone" in told
    assert operator.well("posts", "show", "hostile/abab", "--json").data["title"] == HOSTILE * 200


def test_a_reader_who_has_seen_enough_and_a_terminal_of_ascii_stop_nothing(
    posts, fetched, operator, state_dir
):
    fetched("ascii", 1)
    for number in range(300):
        entry = an_entry(number, title="日本語 🎉 é " * 40, published_at=now() - timedelta(minutes=number))
        posts.put(a_post("ascii", f"{number:064x}", entry=entry))
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    for arguments in (
        ("posts", "list", "--source", "ascii", "--limit", "1000"),
        ("posts", "list", "--source", "ascii", "--limit", "1000", "--json"),
        ("posts", "show", "ascii/" + "0" * 63 + "1"),
        ("logs", "ascii"),
    ):
        command = [WELLSPRING, *arguments, "--state-dir", str(state_dir)]
        written = subprocess.run(command, capture_output=True, env=ascii_only, timeout=60)
        assert (written.returncode, written.stderr) == (0, b"")
        assert written.stdout.isascii()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdout.read(1)
            running.stdout.close()
            assert (running.wait(60), running.stderr.read()) == (0, b"")


def test_the_fetches_of_a_source_are_told_with_their_failures(publisher, fetched, operator):
    fetched("logged", 1, 2)
    publisher.pages["/feed"] = Page(status=503)
    assert operator("fetch", "logged", "--wait").code == 1
    fetched("logged", 1, 2, 3)
    told = operator.well("logs", "logged").out
    head, columns, *rows = told.splitlines()
    assert head.startswith("logged  http://127.0.0.1:")
    assert columns.split()[-1] == "Outcome"
    assert [re.search(r"(ok|failed) +(\d+)", row).groups() for row in rows[:3]] == [
        ("ok", "200"),
        ("failed", "503"),
        ("ok", "200"),
    ]
    assert all("by hand" in row for row in rows[:3])
    assert "ended   +x+  + something new  x failed\n" in told
    assert re.search(r"took    [▁▂▃▄▅▆▇█]{3}  \S+ m?s at least", told)
    assert "\n2 of 3 succeeded; 3 new posts; last failure " in told
    assert "http_5xx: The server answered 503.\n" in told
    failures = operator.well("logs", "logged", "--failed", "--since", "1h").out
    assert "1 failure: 1 http_5xx." in failures
    assert " ok " not in failures
    data = operator.well("logs", "logged", "--json").data
    assert ([log["status"] for log in data["logs"]], data["before"]) == (["ok", "failed", "ok"], None)


def test_older_fetches_are_a_page_further(fetched, operator):
    for number in (1, 2, 3):
        fetched("older", number)
    told = operator.well("logs", "older", "--limit", "2").out
    following = re.search(r"Older ones: (.*)", told)[1].split()
    assert following[:5] == ["wellspring", "logs", "older", "--limit", "2"]
    first = operator.well("logs", "older", "--limit", "2", "--json").data
    second = operator.well(*following[1:], "--json").data
    assert [log["started_at"] for log in second["logs"]] < [log["started_at"] for log in first["logs"]]
    assert ([len(first["logs"]), len(second["logs"])], second["before"]) == ([2, 1], None)
    assert "Older" not in operator.well(*following[1:]).out
    long_ago = operator.well("logs", "older", "--before", to_text(now() - timedelta(days=1)))
    assert long_ago.out.endswith("\nNo fetch log fits.\n")


def test_the_page_of_a_post_is_marked_as_one(deployed, publisher, operator):
    publisher.pages["/article"] = Page(
        b"<html><body><article>" + b"<p>A long text of an article, in words.</p>" * 20 + b"</article></body>",
        headers={"Content-Type": "text/html"},
    )
    feed = rss(1).replace(b"https://example.org/1", publisher.url("/article").encode())
    publisher.pages["/feed"] = Page(feed)
    deployed.add(
        "paged-article",
        publisher.url("/feed"),
        cadence=every(60),
        next_fetch_at=now() + timedelta(days=1),
        full_text=True,
    )
    operator.well("fetch", "paged-article", "--wait")
    told = eventually(
        lambda: (said := operator.well("logs", "paged-article").out).count("page of post") and said
    )
    (name,) = named(operator.well("posts", "list", "--source", "paged-article").out, "paged-article")
    assert re.search(rf"page +ok +200 .* page of post {name.rpartition('/')[2]}\b", told)
    shown = operator.well("posts", "show", name).out
    assert "The full text, of its page:\nA long text of an article" in shown


class Watch:
    """A running `wellspring watch`, and the lines that it has written so far."""

    def __init__(self, state_dir, *arguments):
        self.lines = []
        self._process = subprocess.Popen(
            [WELLSPRING, "watch", *arguments, "--state-dir", str(state_dir)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._reader.join()
        self._process.communicate()

    def interrupt(self):
        """Type Ctrl-C; return the exit code and what was said beside the answer."""
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(timeout=30)
        self._reader.join()
        return code, self._process.stderr.read()

    def _read(self):
        for line in self._process.stdout:
            self.lines.append(line)


def test_posts_are_watched_as_they_are_stored_each_once(posts, fetched, state_dir):
    fetched("watched", 1)
    with Watch(state_dir, "--json", "--source", "watched") as watch:
        number = 1
        while not watch.lines:
            # It says nothing before the first post; posts from before it began are none of its business.
            number += 1
            assert number < 30
            fetched("watched", *range(1, number + 1))
            threading.Event().wait(1.5)
        first = number
        posts.put(a_post("somebody-else", "cd" * 32))
        posts.mark_processed(a_post("watched", json.loads(watch.lines[0])["content_hash"]).key, now())
        fetched("watched", *range(1, first + 3))
        eventually(lambda: len(watch.lines) >= 3)
        fetched("watched", *range(1, first + 4))
        eventually(lambda: len(watch.lines) >= 4)
        assert watch.interrupt() == (0, "")
        found = [json.loads(line) for line in watch.lines]
        assert sorted(post["title"] for post in found) == sorted(
            f"Title {number}" for number in range(first, first + 4)
        )
        assert {post["source_id"] for post in found} == {"watched"}


def test_people_are_told_what_is_watched_and_see_a_line_for_each_post(posts, state_dir):
    with Watch(state_dir) as watch:
        eventually(lambda: watch.lines)
        entry = an_entry(title=HOSTILE * 200, url="https://example.org/1")
        posts.put(a_post("unheard-of", "ab" * 32, entry=entry))
        eventually(lambda: any("unheard-of" in line for line in watch.lines))
        assert watch.interrupt() == (0, "")
    assert re.fullmatch(r"Watching the posts of the local cloud at \S+\. Ctrl-C ends it\.\n", watch.lines[0])
    (line,) = (line for line in watch.lines if "unheard-of" in line)
    assert is_printable(line)
    assert re.search(r"unheard-of  \[2Jgone .*\[\.\.\.\]  https://example.org/1\n", line)
