"""Rows and logs of the deployed stack: from the schedule to the posts."""

import json
from datetime import timedelta
from itertools import pairwise

from builders import every, rss
from deployed import eventually, now
from publisher import Page
from template import ROOT
from wellspring.model import Cursor
from wellspring.timestamps import from_text

HOUR = timedelta(hours=1)


def test_the_schedule_alone_polls_a_source(deployed, publisher):
    publisher.pages["/feed"] = Page(rss(1))
    deployed.add("scheduled", publisher.url("/feed"))
    eventually(lambda: deployed.fetch_logs("scheduled"), patience=90)
    eventually(lambda: any(line.get("enqueued") for line in deployed.lines("PlannerLogGroup")))
    assert len(deployed.posts("scheduled")) == 1


def test_a_source_over_three_polls(deployed, publisher):
    """Due is polled, not due is not; then a 304; then a new post."""
    begin = now()
    publisher.pages["/feed"] = Page(rss(1, 2), etag='"one"')
    publisher.pages["/other"] = Page(rss(1))
    deployed.add("due", publisher.url("/feed"), cadence=every(0.05), next_fetch_at=begin)
    deployed.add(
        "not-due",
        publisher.url("/other"),
        cadence=every(60),
        cursor=Cursor(last_fetch_at=begin - HOUR / 2, last_polled_at=begin - HOUR / 2),
        next_fetch_at=begin + HOUR / 2,
    )

    (first,) = planned_until(deployed, "due", 1)
    assert (first["status"], first["http_status"], first["created"]) == ("ok", 200, 2)
    assert {post["title"] for post in deployed.posts("due")} == {"Title 1", "Title 2"}
    source = eventually(lambda: (found := deployed.source("due")).cursor.last_fetch_at and found)
    assert source.next_fetch_at - source.cursor.last_fetch_at == timedelta(seconds=3)

    second = planned_until(deployed, "due", 2)[1]
    assert (second["status"], second["http_status"]) == ("not_modified", 304)
    assert publisher.asked[1].headers["if-none-match"] == '"one"'

    publisher.pages["/feed"] = Page(rss(3, 1, 2), etag='"two"')
    third = planned_until(deployed, "due", 3)[2]
    assert (third["status"], third["created"], third["unchanged"]) == ("ok", 1, 2)
    assert len(deployed.posts("due")) == 3
    assert deployed.fetch_logs("not-due") == []
    assert set(publisher.paths()) == {"/feed"}


def planned_until(deployed, source_id, count):
    """Plan again and again until the source has been polled so often."""

    def found():
        deployed.plan(now())
        logs = deployed.fetch_logs(source_id)
        return len(logs) >= count and logs

    return eventually(found)[:count]


def test_a_dry_run_says_what_would_be_sent_and_why(deployed, publisher):
    begin = now()
    for number in range(3):
        deployed.add(f"dry-{number}", publisher.url(f"/{number}"), cadence=every(60), next_fetch_at=begin)
    answer = deployed.plan(begin, dry_run=True)
    made = {one["source_id"]: one for one in answer["decisions"] if one["source_id"].startswith("dry-")}
    assert [one["reasons"] for one in made.values()] == [["interval 1 h", "never fetched"]] * 3
    assert len({one["delay_seconds"] for one in made.values()}) == 3, "spaced, since they share a host"
    assert [deployed.source(name).next_fetch_at for name in made] == [begin] * 3, "nothing was moved"
    deployed.plan(begin)
    eventually(lambda: all(deployed.fetch_logs(name) for name in made))
    assert gaps(publisher) >= 1.0, "requests to one host are never closer than its delay"


def gaps(publisher):
    times = sorted(asked.at for asked in publisher.asked)
    return min(later - earlier for earlier, later in pairwise(times))


def test_a_failing_source_backs_off(deployed, publisher):
    begin = now()
    publisher.pages["/feed"] = Page(status=500)
    deployed.add("failing", publisher.url("/feed"), cadence=every(60), next_fetch_at=begin)
    deployed.plan(begin)
    eventually(lambda: deployed.source("failing").health.failures == 1)
    assert deployed.source("failing").next_fetch_at == begin + 2 * HOUR
    (log,) = deployed.fetch_logs("failing")
    assert (log["error_class"], log["error_message"]) == ("http_5xx", "The server answered 500.")


def test_a_duplicate_message_is_harmless(deployed, publisher):
    begin = now()
    publisher.pages["/feed"] = Page(rss(1))
    deployed.add("twice", publisher.url("/feed"), cadence=every(60), next_fetch_at=begin + HOUR)
    moment = begin.isoformat().replace("+00:00", "Z")
    for _ in range(3):
        deployed.send(json.dumps({"source_id": "twice", "due_at": moment, "window_end": moment}))
    eventually(lambda: len(runs(deployed, "twice")) == 3)
    assert sorted(line["status"] for line in runs(deployed, "twice")) == ["ok", "skipped", "skipped"]
    assert len(publisher.asked) == len(deployed.fetch_logs("twice")) == len(deployed.posts("twice")) == 1


def test_a_manual_fetch_that_comes_too_early_is_deferred_by_the_remaining_seconds(deployed, publisher):
    publisher.pages["/feed"] = Page(rss(1))
    body = (ROOT / "events" / "manual-fetch.json").read_text()
    deployed.add(
        "demo-news",
        publisher.url("/feed"),
        cadence=every(60),
        min_interval_seconds=4,
        next_fetch_at=now() + HOUR,
    )
    deployed.send(body)
    eventually(lambda: deployed.source("demo-news").cursor.last_fetch_at)
    deployed.send(body)
    first, second = eventually(lambda: len(logs := deployed.fetch_logs("demo-news")) == 2 and logs)
    deferred = [line for line in runs(deployed, "demo-news") if line["status"] == "deferred"]
    assert [(line["reason"], line["delay_seconds"] in (1, 2, 3, 4)) for line in deferred] == [
        ("too_soon", True)
    ]
    assert from_text(second["started_at"]) - from_text(first["started_at"]) >= timedelta(seconds=4)
    assert [log["manual"] for log in (first, second)] == [True, True]


def test_what_is_not_json_goes_to_the_dead_letters_with_its_reason(deployed):
    deployed.send("fetch the news, please")
    (letter,) = eventually(deployed.dead_letters)
    assert letter["Body"] == "fetch the news, please"
    assert '"manual": true' in letter["MessageAttributes"]["reason"]["StringValue"]
    eventually(lambda: told(deployed, "Moved to the dead-letter queue"))


def test_an_item_that_somebody_wrote_by_hand_is_polled_and_warned_about(deployed, publisher):
    publisher.pages["/feed"] = Page(rss(1))
    deployed.dynamodb.put_item(
        TableName=deployed.stack.outputs["SourcesTable"],
        Item={
            "source_id": {"S": "by-hand"},
            "url": {"S": publisher.url("/feed")},
            "config": {"M": {"cadence": {"S": "hourly"}, "max_age_days": {"N": "30000"}}},
        },
    )
    deployed.send('{"source_id": "by-hand", "manual": true}')
    eventually(lambda: deployed.posts("by-hand"))
    eventually(lambda: deployed.source("by-hand").due_shard)
    assert deployed.source("by-hand").next_fetch_at, "the schedule has it from now on"
    (warning, *_) = eventually(lambda: told(deployed, "config.cadence"))
    assert warning.startswith(publisher.url("/feed"))


def test_a_page_that_is_no_feed_says_so(deployed, publisher):
    publisher.pages["/page"] = Page(b"<html><body>Hello</body></html>")
    deployed.add("page", publisher.url("/page"), cadence=every(60), next_fetch_at=now() + HOUR)
    deployed.send('{"source_id": "page", "manual": true}')
    (log,) = eventually(lambda: deployed.fetch_logs("page"))
    assert (log["status"], log["error_class"]) == ("failed", "not_feed")
    assert "not a feed" in log["error_message"]


def runs(deployed, source_id):
    """Return what the fetchers told about a source."""
    lines = deployed.lines("FetcherLogGroup")
    return [line for line in lines if line.get("message") == "fetched" and line["source_id"] == source_id]


def told(deployed, part):
    messages = (str(line.get("message")) for line in deployed.lines("FetcherLogGroup"))
    return [message for message in messages if part in message]
