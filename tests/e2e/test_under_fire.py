"""The deployed stack when things break: twice delivered, planned by two, a fetcher killed in the middle.

What the publishers served is compared with what is stored: equal, each post once.
"""

import json
import os
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from builders import every, rss
from conftest import running
from deployed import eventually, now
from publisher import Page, Publisher
from wellspring.timestamps import to_text
from wellspring_cli.local import cloud

HOSTS, FEEDS_EACH, POSTS_EACH = 20, 10, 3
HOUR = timedelta(hours=1)
HOST_DELAY, JITTER = 1.0, 0.5
"""A request leaves on time; on a busy machine it may arrive later than the one behind it does."""


@pytest.fixture
def publishers():
    """Twenty hosts: one server on each of twenty loopback addresses."""
    with ExitStack() as stack:
        yield [stack.enter_context(Publisher(f"127.0.7.{number}")) for number in range(1, HOSTS + 1)]


def test_two_hundred_sources_of_twenty_hosts_planned_by_two_and_delivered_twice(deployed, publishers):
    begin = now()
    served = {}
    for place, publisher in enumerate(publishers):
        for number in range(FEEDS_EACH):
            name = f"fire-{place:02}-{number}"
            entries = range(number * 10, number * 10 + POSTS_EACH)
            publisher.pages[f"/{number}"] = Page(rss(*entries))
            served[name] = {f"Title {entry}" for entry in entries}
            deployed.add(name, publisher.url(f"/{number}"), cadence=every(60), next_fetch_at=begin)
    # The schedule may wake a third one, and then these two find it at work.
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: deployed.plan(begin), range(2)))
    twice(deployed, served, begin)

    eventually(lambda: all(deployed.fetch_logs(name) for name in served), patience=120)
    eventually(lambda: all(runs(deployed, begin)[name] >= 2 for name in served), patience=120)
    assert {name: titles(deployed, name) for name in served} == {
        name: Counter(dict.fromkeys(entries, 1)) for name, entries in served.items()
    }
    assert {name: len(deployed.fetch_logs(name)) for name in served} == dict.fromkeys(served, 1)
    for publisher in publishers:
        assert Counter(publisher.paths()) == Counter(f"/{number}" for number in range(FEEDS_EACH))
        times = sorted(asked.at for asked in publisher.asked)
        assert min(later - earlier for earlier, later in pairwise(times)) >= HOST_DELAY - JITTER


def twice(deployed, names, moment):
    """Send every message of the planner once more."""
    bodies = [
        json.dumps({"source_id": name, "due_at": to_text(moment), "window_end": to_text(moment)})
        for name in names
    ]
    for first in range(0, len(bodies), 10):
        deployed.sqs.send_message_batch(
            QueueUrl=deployed.stack.outputs["FetchQueueUrl"],
            Entries=[
                {"Id": str(number), "MessageBody": body}
                for number, body in enumerate(bodies[first : first + 10])
            ],
        )


def runs(deployed, since):
    """Return how often each source was told about by a fetcher."""
    lines = deployed.lines("FetcherLogGroup", since)
    return Counter(line["source_id"] for line in lines if line.get("message") == "fetched")


def titles(deployed, source_id):
    return Counter(post["title"] for post in deployed.posts(source_id))


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A local cloud whose fetchers may be killed, since nobody else uses them."""
    state_dir = tmp_path_factory.mktemp("own") / "cloud"
    for deployed in running(state_dir, {}):
        yield state_dir, deployed


def test_a_fetcher_that_is_killed_in_mid_fetch_loses_nothing_and_is_counted(own, publisher):
    state_dir, deployed = own
    asked, go_on = threading.Event(), threading.Event()

    def stalling():
        asked.set()
        go_on.wait(60)
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    publisher.pages["/feed"] = Page(stream=stalling)
    deployed.add("killed", publisher.url("/feed"), cadence=every(60), next_fetch_at=now() + HOUR)
    deployed.send('{"source_id": "killed", "manual": true}')
    try:
        assert asked.wait(60)
        kill_fetchers(state_dir)
    finally:
        go_on.set()
    source = deployed.source("killed")
    assert source.lease.token and deployed.fetch_logs("killed") == []

    publisher.pages["/feed"] = Page(rss(1, 2))
    let_the_lease_end(deployed, "killed")
    deployed.send('{"source_id": "killed", "manual": true}')
    crashed, good = eventually(lambda: len(logs := deployed.fetch_logs("killed")) == 2 and logs, patience=150)
    assert (crashed["status"], crashed["error_class"]) == ("failed", "crashed")
    assert (good["status"], good["created"]) == ("ok", 2)
    assert titles(deployed, "killed") == {"Title 1": 1, "Title 2": 1}
    assert eventually(lambda: deployed.source("killed").health.failures == 0)


def kill_fetchers(state_dir):
    """End the processes that run the fetcher, at once: children of our own local cloud."""
    fetchers = [
        pid
        for pid in descendants(cloud.running(state_dir).pid)
        if b"fetcher" in Path(f"/proc/{pid}/cmdline").read_bytes().lower()
        or b"FetcherFunction" in Path(f"/proc/{pid}/environ").read_bytes()
    ]
    assert fetchers
    for pid in fetchers:
        os.kill(pid, signal.SIGKILL)


def descendants(pid):
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, rest = [], [pid]
    while rest:
        below = children.get(rest.pop(), [])
        found += below
        rest += below
    return found


def let_the_lease_end(deployed, source_id):
    """Let the time pass, which nobody wants to wait for here, after which a lease counts as left behind."""
    deployed.dynamodb.update_item(
        TableName=deployed.stack.outputs["SourcesTable"],
        Key={"source_id": {"S": source_id}},
        UpdateExpression="SET #lease.#until = :past",
        ExpressionAttributeNames={"#lease": "lease", "#until": "until"},
        ExpressionAttributeValues={":past": {"S": to_text(now() - HOUR)}},
    )
