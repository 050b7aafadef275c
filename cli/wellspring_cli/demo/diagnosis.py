"""Says what is known when the demo stored nothing: logs, queues, attempts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import timedelta
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from wellspring_cli.demo import view
from wellspring_cli.demo.watch import Watch
from wellspring_cli.local import emulator
from wellspring_cli.local.deployment import LocalStack

LINES = 8
LINE_LIMIT = 400
NOISE = re.compile(r'\s*$|START |END |REPORT |\{"_aws"')
"""Lines of a function's log that say nothing about what went wrong."""


def complaint(watch: Watch, added: Collection[str], patience: timedelta) -> str:
    """Return the sentence that says what did not happen."""
    waited = f"within {patience.total_seconds():.0f} s"
    tried = {attempt.source_id for attempt in watch.attempts}
    if not tried:
        return f"No source was fetched {waited}: the planner or the queue does not work. See above."
    if not any(attempt.succeeded for attempt in watch.attempts):
        return f"No fetch succeeded {waited}. The attempts and the logs are above."
    if missing := sorted(set(added) - tried):
        return f"Never fetched {waited}: {', '.join(missing)}. The logs are above."
    return f"No post was stored {waited}, although feeds were fetched. The logs are above."


def report(stack: LocalStack, watch: Watch, state_dir: Path) -> Iterator[str]:
    """Yield everything that helps to find out why."""
    yield f"Attempts of this run: {len(watch.attempts)}; the last:"
    yield from (f"  {view.attempt_line(attempt).plain}" for attempt in watch.attempts[-LINES:])
    for name, output in (("fetch queue", "FetchQueueUrl"), ("dead-letter queue", "DeadLetterQueueUrl")):
        yield f"Messages in the {name}: {_depth(stack, output)}"
    for name, output in (("planner", "PlannerLogGroup"), ("fetcher", "FetcherLogGroup")):
        yield f"The log of the {name} ends with:"
        yield from (f"  {line}" for line in log_tail(stack, output))
    yield f"The log of the local cloud: {emulator.log_file(state_dir)}"


def log_tail(stack: LocalStack, output: str) -> list[str]:
    """Return the last lines of a function's log group."""
    try:
        pages = (
            stack.client("logs")
            .get_paginator("filter_log_events")
            .paginate(logGroupName=stack.outputs[output])
        )
        events = [event for page in pages for event in page["events"]]
    except (BotoCoreError, ClientError) as error:
        return [f"(it cannot be read: {error})"]
    events.sort(key=lambda event: event["timestamp"])
    lines = [line for event in events for line in event["message"].splitlines() if not NOISE.match(line)]
    return [line[:LINE_LIMIT] for line in lines[-LINES:]] or ["(nothing)"]


def _depth(stack: LocalStack, output: str) -> str:
    names = {
        "ApproximateNumberOfMessages": "waiting",
        "ApproximateNumberOfMessagesDelayed": "delayed",
        "ApproximateNumberOfMessagesNotVisible": "being worked on",
    }
    try:
        found = stack.client("sqs").get_queue_attributes(
            QueueUrl=stack.outputs[output], AttributeNames=list(names)
        )["Attributes"]
    except (BotoCoreError, ClientError) as error:
        return f"unknown ({error})"
    return ", ".join(f"{found.get(name, 0)} {word}" for name, word in names.items())
