"""The two functions as Lambda calls them: the sample events, moto's tables, a real publisher."""

import importlib.util
import json
from datetime import timedelta
from uuid import uuid4

import pytest

from builders import a_post, an_entry, rss
from publisher import Page
from template import ROOT
from wellspring import config, telemetry, timestamps, wiring
from wellspring.aws.posts import DynamoPosts
from wellspring.aws.sources import DynamoSources
from wellspring.model import Source


class Context:
    """What the handlers ask of Lambda's context."""

    function_name = "wellspring"

    def get_remaining_time_in_millis(self):
        return 60_000


def handler(name):
    spec = importlib.util.spec_from_file_location(f"{name}_app", ROOT / "functions" / name / "app.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.handler


def event(name):
    return json.loads((ROOT / "events" / name).read_text())


@pytest.fixture
def stack(aws, publisher, monkeypatch):
    """A stack with the two sources that the sample events name."""
    sqs, dynamodb = aws.client("sqs"), aws.client("dynamodb")
    tables = {
        "SOURCES": "SourcesTable",
        "POSTS": "PostsTable",
        "FETCH_LOGS": "FetchLogsTable",
        "GATES": "GatesTable",
    }
    for name, table in tables.items():
        monkeypatch.setenv(f"{name}_TABLE", table)
    for name in ("FETCH", "DEAD_LETTER"):
        monkeypatch.setenv(f"{name}_QUEUE_URL", sqs.create_queue(QueueName=name)["QueueUrl"])
    monkeypatch.setenv("ALLOW_ADDRESSES", "127.0.0.0/8")
    monkeypatch.setenv("HOST_DELAY_SECONDS", "0")
    # Python keeps a logger for good with the output it had at first: each test gets a name of its own.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", str(uuid4()))
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Wellspring/tested")
    caches = (wiring.deployed, telemetry.logger, telemetry.metrics)
    for made_once in caches:
        made_once.cache_clear()
    sources = DynamoSources(dynamodb, "SourcesTable", shards=4)
    publisher.pages["/feed"] = Page(rss(1, 2), etag='"1"')
    for name in ("demo-news", "demo-blog"):
        url = publisher.url("/feed") + "?token=secret" * (name == "demo-blog")
        sources.add(
            Source(source_id=name, url=url, config=config.parse({"backfill": True, "max_age_days": 30_000}))
        )
    publisher.pages["/feed?token=secret"] = publisher.pages["/feed"]
    yield aws
    wiring.deployed()[0].parse.__self__.close()
    for made_once in caches:
        made_once.cache_clear()


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]


def test_the_sample_tick_plans_what_was_due_by_then(stack, capsys):
    dynamodb = stack.client("dynamodb")
    for name in ("demo-news", "demo-blog"):
        dynamodb.update_item(
            TableName="SourcesTable",
            Key={"source_id": {"S": name}},
            UpdateExpression="SET next_fetch_at = :t",
            ExpressionAttributeValues={
                ":t": {"S": "2026-11-01T11:59:00.000Z" if name == "demo-news" else "2099"}
            },
        )
    answer = handler("planner")(event("scheduler-tick.json"), Context())
    assert (answer["due"], answer["enqueued"]) == (1, 1)
    assert answer["oldest_due_seconds"] > 60
    told = lines(capsys)
    assert any(line.get("message") == "planned" and line["enqueued"] == 1 for line in told)
    (metrics,) = (line for line in told if "_aws" in line)
    assert metrics["SourcesEnqueued"] == [1]
    assert metrics["OldestDueAge"] == [answer["oldest_due_seconds"]]
    assert metrics["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Wellspring/tested"


def test_the_sample_batch_polls_both_sources(stack, capsys):
    assert handler("fetcher")(event("sqs-batch.json"), Context()) == {"batchItemFailures": []}
    posts = stack.client("dynamodb").scan(TableName="PostsTable")["Items"]
    assert sum(1 for post in posts if post["content_hash"]["S"] != "window") == 4
    told = lines(capsys)
    fetched = {line["source_id"]: line for line in told if line.get("message") == "fetched"}
    assert fetched["demo-news"]["status"] == "ok"
    assert fetched["demo-blog"]["url"].endswith("/feed?..."), "a secret in the query is not shown"
    (metrics,) = (line for line in told if "_aws" in line)
    assert (metrics["PollsOk"], metrics["PostsCreated"]) == ([2], [4])
    assert "secret" not in json.dumps(told)


def test_the_manual_message_is_worked_off(stack):
    body = (ROOT / "events" / "manual-fetch.json").read_text()
    record = {"messageId": "m", "body": body}
    handler("fetcher")({"Records": [record]}, Context())
    (log,) = stack.client("dynamodb").scan(TableName="FetchLogsTable")["Items"]
    assert (log["source_id"]["S"], log["manual"]["BOOL"], log["created"]["N"]) == ("demo-news", True, "2")


def test_a_bad_tick_is_answered_with_a_sentence(stack):
    assert handler("fetcher")({}, Context()) == {"batchItemFailures": []}
    answer = handler("planner")({"window_end": "noon"}, Context())
    assert answer == {"error": '"window_end" must be a time like "2026-01-31T12:00:00Z", found \'noon\'.'}


def test_a_table_that_is_gone_hands_the_message_back(stack, capsys):
    stack.client("dynamodb").delete_table(TableName="SourcesTable")
    answer = handler("fetcher")(event("sqs-batch.json"), Context())
    assert len(answer["batchItemFailures"]) == 2
    assert "Starting a fetch failed: ResourceNotFoundException." in json.dumps(lines(capsys))


def test_a_run_cleans_what_is_old_and_counts_it(stack, capsys):
    dynamodb, now = stack.client("dynamodb"), timestamps.now()
    old = a_post(expires_at=now + timedelta(days=1), entry=an_entry(published_at=now - timedelta(days=8)))
    DynamoPosts(dynamodb, "PostsTable", shards=4).put(old)
    answer = handler("planner")({}, Context())
    assert answer["cleaned"] == 1
    (metrics,) = (line for line in lines(capsys) if "_aws" in line)
    assert metrics["PostsCleaned"] == [1]
    assert dynamodb.scan(TableName="PostsTable")["Items"] == []


def test_posts_that_cannot_be_cleaned_do_not_stop_the_planning(stack, capsys):
    dynamodb = stack.client("dynamodb")
    dynamodb.delete_table(TableName="PostsTable")
    dynamodb.update_item(
        TableName="SourcesTable",
        Key={"source_id": {"S": "demo-news"}},
        UpdateExpression="SET next_fetch_at = :t",
        ExpressionAttributeValues={":t": {"S": "2026-11-01T11:59:00.000Z"}},
    )
    assert handler("planner")({}, Context())["enqueued"] >= 1
    assert "Reading the pending index failed: ResourceNotFoundException." in json.dumps(lines(capsys))
