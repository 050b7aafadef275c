"""Secrets reach the server that they are for, and nothing else that is ever written."""

import json
from uuid import uuid4

import pytest
from test_handlers import Context, handler

from builders import rss
from publisher import Page
from wellspring import config, telemetry, wiring
from wellspring.aws import items
from wellspring.aws.sources import DynamoSources
from wellspring.model import Source

CANARY = "canary-7f3a9c"
GOOD = Page(rss(1), etag=f'"{CANARY}-etag"')
PAGES = {
    "good": GOOD,
    "broken": Page(status=500, body=CANARY.encode()),
    "limited": Page(status=429, headers={"Retry-After": CANARY}),
    "refused": Page(status=401, headers={"WWW-Authenticate": CANARY}),
    "no-feed": Page(f"<html>{CANARY}".encode()),
    "cut": Page(b"<rss", headers={"Content-Length": "999"}),
    "spoilt": Page(CANARY.encode(), headers={"Content-Encoding": "gzip"}),
    "elsewhere": Page(status=302, headers={"Location": f"http://10.0.0.1/?{CANARY}"}),
    "nonsense": Page(status=302, headers={"Location": f"http://[{CANARY}"}),
    "loop": Page(status=302, headers={"Location": f"/loop?token={CANARY}"}),
    "no-http": Page(stream=lambda: [f"{CANARY}\r\n\r\n".encode()]),
    "long": Page(stream=lambda: [b"HTTP/1.1 200 OK\r\n" + f"X: {CANARY}\r\n".encode() * 9000]),
}
ODD = {
    "userinfo": f"https://user:{CANARY}@example.org/",
    "slashed": f"https://user:{CANARY}/5@example.org/",
    "scheme": f"{CANARY}://example.org/",
    "unreadable": f"https://[{CANARY}/",
    "port": f"https://example.org:{CANARY}/",
}


@pytest.fixture
def stack(aws, publisher, monkeypatch):
    sqs, dynamodb = aws.client("sqs"), aws.client("dynamodb")
    for name in ("SOURCES", "POSTS", "FETCH_LOGS", "GATES"):
        monkeypatch.setenv(f"{name}_TABLE", "".join(part.title() for part in name.split("_")) + "Table")
    for name in ("FETCH", "DEAD_LETTER"):
        monkeypatch.setenv(f"{name}_QUEUE_URL", sqs.create_queue(QueueName=name)["QueueUrl"])
    monkeypatch.setenv("ALLOW_ADDRESSES", "127.0.0.0/8")
    monkeypatch.setenv("HOST_DELAY_SECONDS", "0")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", str(uuid4()))
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Wellspring/tested")
    caches = (wiring.deployed, telemetry.logger, telemetry.metrics)
    for made_once in caches:
        made_once.cache_clear()
    sources = DynamoSources(dynamodb, "SourcesTable", shards=4)
    headers = {"Authorization": f"Bearer {CANARY}", "X-Api-Key": CANARY}
    settings = config.parse({"headers": headers, "backfill": True, "max_age_days": 30_000})
    for name, page in PAGES.items():
        publisher.pages[f"/{name}?token={CANARY}"] = page
        sources.add(Source(source_id=name, url=publisher.url(f"/{name}?token={CANARY}"), config=settings))
    for name, url in ODD.items():
        sources.add(Source(source_id=name, url=url, config=settings))
    dynamodb.put_item(
        TableName="SourcesTable",
        Item=items.encode({"source_id": "spoilt-item", "url": [CANARY], "config": json.dumps(headers)}),
    )
    yield aws
    wiring.deployed()[0].parse.__self__.close()
    for made_once in caches:
        made_once.cache_clear()


def test_no_secret_is_ever_written_where_people_look(stack, publisher, capfd):
    # The one that is limited comes last: it closes the host to all others.
    names = [*(name for name in PAGES if name != "limited"), *ODD, "spoilt-item", "limited"]
    answers = [handler("planner")({}, Context()), handler("planner")({"dry_run": True}, Context())]
    for name in [*names, *names]:
        record = {"messageId": name, "body": json.dumps({"source_id": name, "manual": True})}
        answers.append(handler("fetcher")({"Records": [record]}, Context()))
    dynamodb = stack.client("dynamodb")
    logs = dynamodb.scan(TableName="FetchLogsTable")["Items"]
    gates = dynamodb.scan(TableName="GatesTable")["Items"]
    told = capfd.readouterr()
    assert {log["source_id"]["S"] for log in logs} >= set(PAGES), "every kind of failure was had"
    assert "fetched" in told.out
    shown = {
        "log lines": told.out + told.err,
        "answers": json.dumps(answers),
        "fetch logs": json.dumps([_without_validators(log) for log in logs]),
        "gates": str([gate for gate in gates if not gate["gate"]["S"].startswith("host#")]),
    }
    hits = {
        place: text[max(0, text.find(CANARY) - 80) :][:120] for place, text in shown.items() if CANARY in text
    }
    assert hits == {}
    sent = [asked for asked in publisher.asked if asked.headers.get("x-api-key") == CANARY]
    assert sent, "the server that they are for gets them"


def _without_validators(log):
    """The validators of an answer are the server's own and are kept in the log on purpose."""
    return {name: value for name, value in log.items() if name != "headers"}
