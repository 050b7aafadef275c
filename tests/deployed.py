"""The deployed stack as tests see it: through its tables, its queue, its functions and their logs."""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from wellspring import config
from wellspring.aws import items
from wellspring.aws.sources import DynamoSources
from wellspring.model import Cursor, Source
from wellspring.timestamps import to_text
from wellspring_cli.local import cloud

PATIENCE = 60.0


@dataclass
class Deployed:
    """The stack through its front doors: tables, queue, functions, logs."""

    stack: cloud.LocalStack

    def __post_init__(self):
        self.dynamodb = self.stack.client("dynamodb")
        self.sqs = self.stack.client("sqs")
        self.lambdas = self.stack.client("lambda")
        self.logs = self.stack.client("logs")
        self.sources = DynamoSources(self.dynamodb, self.stack.outputs["SourcesTable"], shards=4)

    def add(self, source_id, url, *, type="rss", owner_id=None, cursor=None, next_fetch_at=None, **settings):
        settings.setdefault("max_age_days", 30_000)
        settings.setdefault("backfill", True)
        source = Source(
            source_id=source_id,
            url=url,
            type=type,
            owner_id=owner_id,
            config=config.parse(settings),
            cursor=cursor or Cursor(),
            next_fetch_at=next_fetch_at,
        )
        assert self.sources.add(source)

    def plan(self, window_end, **fields):
        answer = self.lambdas.invoke(
            FunctionName=self.stack.outputs["PlannerFunction"],
            Payload=json.dumps({"window_end": to_text(window_end), **fields}),
        )
        report = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, report
        return report

    def send(self, body):
        self.sqs.send_message(QueueUrl=self.stack.outputs["FetchQueueUrl"], MessageBody=body)

    def source(self, source_id):
        (source,) = self.sources.read([source_id])
        return source

    def fetch_logs(self, source_id):
        return self._rows("FetchLogsTable", source_id)

    def posts(self, source_id):
        return [
            row
            for row in self._rows("PostsTable", source_id)
            if row["content_hash"] not in ("window", "waiting")
        ]

    def lines(self, output, since=None):
        """Return the structured lines that a function has logged."""
        start = {"startTime": int(since.timestamp() * 1000)} if since else {}
        events = self.logs.filter_log_events(logGroupName=self.stack.outputs[output], **start)["events"]
        found = []
        for event in events:
            try:
                found.append(json.loads(event["message"]))
            except ValueError:
                continue
        return [line for line in found if isinstance(line, dict)]

    def dead_letters(self):
        received = self.sqs.receive_message(
            QueueUrl=self.stack.outputs["DeadLetterQueueUrl"],
            MaxNumberOfMessages=10,
            VisibilityTimeout=0,
            MessageAttributeNames=["All"],
        )
        return received.get("Messages", [])

    def _rows(self, output, source_id):
        answer = self.dynamodb.query(
            TableName=self.stack.outputs[output],
            KeyConditionExpression="source_id = :s",
            ExpressionAttributeValues={":s": {"S": source_id}},
            ConsistentRead=True,
        )
        return [items.decode(item) for item in answer["Items"]]


def eventually(found, *, patience=PATIENCE):
    """Return the first true answer of a question that is asked again and again."""
    deadline = time.monotonic() + patience
    while not (answer := found()):
        if time.monotonic() > deadline:
            pytest.fail(f"nothing came within {patience:.0f} s")
        time.sleep(0.1)
    return answer


def now():
    return datetime.now(UTC).replace(microsecond=0)
