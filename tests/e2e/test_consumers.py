"""Consumers of the deployed stack: what waits is listed and processed, what is old goes, views count."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import boto3
import pytest

from builders import a_post, an_entry, every, rss
from deployed import eventually, now
from publisher import Page
from wellspring.aws.posts import DynamoPosts
from wellspring.client import Client, Tally
from wellspring.model import Cursor

WELLSPRING = Path(sys.executable).with_name("wellspring")
DAY = timedelta(days=1)
MAX_AGE, MARGIN = 7 * DAY, 2 * DAY


@pytest.fixture(scope="module")
def client(deployed):
    session = boto3.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name=deployed.stack.region
    )
    return Client.of_stack("wellspring", session=session, endpoint_url=deployed.stack.endpoint_url)


@pytest.fixture
def wellspring(state_dir):
    def run(*arguments, fails=False):
        command = [WELLSPRING, *arguments, "--state-dir", str(state_dir)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert bool(done.returncode) is fails, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr if fails else done.stdout

    return run


def waiting(client, source_id, limit=100):
    """Return the posts of a source that are listed, page by page."""
    found, cursor = [], None
    while True:
        page = client.pending(limit=limit, cursor=cursor)
        found += [post for post in page.posts if post.source_id == source_id]
        cursor = page.cursor
        if cursor is None:
            return found


def polled(deployed, publisher, source_id, *numbers):
    """Add a source with these entries and wait until they are stored."""
    publisher.pages["/feed"] = Page(rss(*numbers))
    deployed.add(source_id, publisher.url("/feed"), cadence=every(60), next_fetch_at=now() + DAY)
    deployed.send(json.dumps({"source_id": source_id, "manual": True}))
    eventually(lambda: len(deployed.posts(source_id)) == len(numbers))


def test_what_was_polled_is_listed_once_processed_and_listed_no_more(deployed, publisher, client):
    polled(deployed, publisher, "listed", 3, 1, 2)
    shown = waiting(client, "listed", limit=2)
    assert [post.entry.title for post in shown] == ["Title 1", "Title 2", "Title 3"]
    assert client.mark_processed(shown) == Tally(done=3)
    assert client.mark_processed(shown) == Tally(already=3)
    assert waiting(client, "listed") == []
    rows = deployed.posts("listed")
    assert all("processed_at" in row for row in rows)
    assert not any({"pending_shard", "expires_at"} & row.keys() for row in rows), "kept for good"
    assert {row["body"] for row in rows} == {post.entry.body for post in shown}


def test_posts_are_listed_and_processed_on_the_command_line(deployed, publisher, client, wellspring):
    polled(deployed, publisher, "typed", 1, 2)
    listed = json.loads(wellspring("posts", "list", "--limit", "1000", "--json"))
    names = [f"typed/{post['content_hash']}" for post in listed["posts"] if post["source_id"] == "typed"]
    assert len(names) == 2
    assert names[0][: len("typed/") + 12] in wellspring("posts", "list", "--limit", "1000")
    assert "1 post marked" in wellspring("posts", "process", names[0])
    assert [str(post.key) for post in waiting(client, "typed")] == names[1:]
    assert "1 not found" in wellspring("posts", "process", "typed/nowhere", fails=True)
    assert "SOURCE_ID/HASH" in wellspring("posts", "process", fails=True)
    assert "The cursor cannot be read" in wellspring("posts", "list", "--cursor", "?", fails=True)
    assert "marked as processed" in wellspring("posts", "process", "--all")
    assert waiting(client, "typed") == []
    assert wellspring("posts", "list") == "No posts wait to be processed.\n"


def test_an_old_post_that_nobody_processed_is_gone_after_a_plan(deployed, client):
    moment = now()
    posts = DynamoPosts(deployed.dynamodb, deployed.stack.outputs["PostsTable"], shards=4)
    ages = {"old": MAX_AGE, "young": DAY, "undated": None, "processed": MAX_AGE}
    for name, age in ages.items():
        published = moment - age if age else None
        expires_at = published + MAX_AGE + MARGIN if published else None
        posts.put(a_post("ages", name, entry=an_entry(published_at=published), expires_at=expires_at))
    client.mark_processed([a_post("ages", "processed")])
    shown = {post.content_hash for post in waiting(client, "ages")}
    assert shown == {"young", "undated"}, "what is old is not shown, deleted yet or not"

    def gone():
        deployed.plan(now())
        return "old" not in {row["content_hash"] for row in deployed.posts("ages")}

    eventually(gone)
    assert {row["content_hash"] for row in deployed.posts("ages")} == {"young", "undated", "processed"}
    counted = [line for line in deployed.lines("PlannerLogGroup") if line.get("cleaned")]
    assert counted, "the planner says that it cleaned"


def test_a_view_brings_back_a_source_that_was_left_out(deployed, publisher, client, wellspring):
    long_ago = now() - 200 * DAY
    for name in ("asleep", "asleep-too"):
        deployed.add(
            name,
            publisher.url("/feed"),
            cadence={"mode": "activity"},
            cursor=Cursor(last_fetch_at=long_ago, last_polled_at=long_ago),
            next_fetch_at=now() + 900 * DAY,
        )
    assert client.viewed("asleep")
    assert "Noted a view of asleep-too, in the local cloud" in wellspring("viewed", "asleep-too")
    for name in ("asleep", "asleep-too"):
        source = deployed.source(name)
        assert source.viewed_at
        assert source.next_fetch_at <= now() + DAY, "due at once, or polled since"
    before = deployed.source("asleep-too").viewed_at
    wellspring("viewed", "asleep-too")
    assert deployed.source("asleep-too").viewed_at == before, "once a minute is enough"
    assert "There is no source 'nobody'." in wellspring("viewed", "nobody", fails=True)
