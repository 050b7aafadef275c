"""Puts right what the emulator leaves out, misreads or forgets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

EXPIRING_TABLES = ("PostsTable", "FetchLogsTable", "GatesTable")

NAME_QUEUES = ("sqs.json", "lambda.json", "cloudformation.json")
QUEUE_ADDRESS = re.compile(rb"http://localhost:\d+/(?=\d{12}/)")


def move_queues(saved: Path, port: int) -> None:
    """Write the port into the saved addresses of queues: under the port of an earlier run none is found."""
    for path in (saved / name for name in NAME_QUEUES):
        if not path.exists():
            continue
        before = path.read_bytes()
        after = QUEUE_ADDRESS.sub(b"http://localhost:%d/" % port, before)
        if after != before:
            new = path.with_suffix(".new")
            new.write_bytes(after)
            new.replace(path)


def expire_items(dynamodb: Any, outputs: Mapping[str, str]) -> None:
    """Let old items expire: the template's setting is left out."""
    for output in EXPIRING_TABLES:
        table = outputs[output]
        found = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        if found.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
            dynamodb.update_time_to_live(
                TableName=table,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"},
            )


def limit_fetchers(lambdas: Any, outputs: Mapping[str, str]) -> None:
    """Write the number of fetchers as a number: a stack parameter is kept as text, and nothing is polled."""
    function = outputs["FetcherFunction"]
    for found in lambdas.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]:
        if limit := found.get("ScalingConfig", {}).get("MaximumConcurrency"):
            lambdas.update_event_source_mapping(
                UUID=found["UUID"], ScalingConfig={"MaximumConcurrency": int(limit)}
            )
