"""Owns the checks of a deployed stack: each looks at one thing and says how it is, or what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from botocore.exceptions import ClientError

from wellspring.aws.faults import code, told_as_unavailable
from wellspring.aws.metrics import Recent
from wellspring.cadences import shown
from wellspring_cli import verdict
from wellspring_cli.output import plural
from wellspring_cli.overview import Overview
from wellspring_cli.stack import Stack

TABLES = ("SourcesTable", "PostsTable", "FetchLogsTable", "GatesTable")
EXPIRING = ("PostsTable", "FetchLogsTable", "GatesTable")
GONE = "ResourceNotFoundException"
SCHEDULE = "PlannerFunctionTick"
RESTORE = "Somebody deleted it; DynamoDB keeps a backup of it for 35 days: see Backups in its console."
DEPLOY = "Deploy the stack again: make deploy"


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether it is as it should be, and in words how it is or what to do."""

    ok: bool
    text: str


def tables(stack: Stack) -> Answer:
    for name in TABLES:
        with told_as_unavailable(f"Looking at {name}"):
            try:
                table = stack.dynamodb.describe_table(TableName=stack.outputs[name])["Table"]
            except ClientError as error:
                if code(error) != GONE:
                    raise
                return Answer(False, f"{name} is gone. {RESTORE}")
        if (state := table["TableStatus"]) not in ("ACTIVE", "UPDATING"):
            return Answer(False, f"{name} is {state.lower()}. Wait until DynamoDB is done with it.")
    return Answer(True, f"all {len(TABLES)} are active")


def time_to_live(stack: Stack) -> Answer:
    off = []
    for name in EXPIRING:
        with told_as_unavailable(f"Looking at the time to live of {name}"):
            answer = stack.dynamodb.describe_time_to_live(TableName=stack.outputs[name])
        if answer["TimeToLiveDescription"].get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
            off.append(name)
    if off:
        names = ", ".join(off)
        return Answer(
            False,
            f"It is off for {names}: old rows stay and cost. Switch it on for the attribute expires_at: "
            f"aws dynamodb update-time-to-live --table-name {stack.outputs[off[0]]} "
            "--time-to-live-specification Enabled=true,AttributeName=expires_at",
        )
    return Answer(True, "old posts, logs and gates go by themselves")


def schedule(stack: Stack) -> Answer:
    with told_as_unavailable("Looking for the schedule"):
        found = stack.client("cloudformation").describe_stack_resource(
            StackName=stack.name, LogicalResourceId=SCHEDULE
        )
    name = found["StackResourceDetail"]["PhysicalResourceId"]
    with told_as_unavailable("Looking at the schedule"):
        state = stack.client("scheduler").get_schedule(Name=name)
    often = state.get("ScheduleExpression", "")
    if state.get("State") == "DISABLED":
        return Answer(
            False,
            f"The schedule {name} is disabled, so nobody wakes the planner. "
            "Enable it in the console: Amazon EventBridge, Scheduler, Schedules.",
        )
    return Answer(True, f"wakes the planner, {often}")


def queue(stack: Stack) -> Answer:
    with told_as_unavailable("Looking at what reads the queue"):
        found = stack.client("lambda").list_event_source_mappings(
            FunctionName=stack.outputs["FetcherFunction"]
        )["EventSourceMappings"]
    if not found:
        return Answer(False, f"Nothing reads the fetch queue: its event source mapping is gone. {DEPLOY}")
    mapping = found[0]
    if mapping["State"] in ("Enabled", "Enabling", "Creating", "Updating"):
        return Answer(True, "the fetcher reads it")
    return Answer(
        False,
        f"The fetcher does not read the fetch queue: the event source mapping is {mapping['State'].lower()}. "
        f"Enable it: aws lambda update-event-source-mapping --uuid {mapping['UUID']} --enabled",
    )


def planner(found: Overview) -> Answer:
    recent = found.recent or Recent()
    if verdict.planner_is_silent(found):
        return Answer(False, f"It has not run {verdict.silence(found)}. {_log(found, 'PlannerFunction')}")
    if recent.planned_at is None:
        return Answer(True, "has not run yet")
    return Answer(True, f"ran last at {recent.planned_at:%H:%M}Z")


def fetcher(found: Overview) -> Answer:
    recent = found.recent or Recent()
    log = _log(found, "FetcherFunction")
    if recent.crashes:
        return Answer(False, f"It crashed {plural(recent.crashes, 'time')} within ten minutes. {log}")
    if verdict.fetcher_is_silent(found):
        sent = plural(recent.sent, "source was", "sources were")
        return Answer(False, f"It works nothing off, although {sent} put on the queue. {log}")
    if not recent.worked_off:
        return Answer(True, "had nothing to do for ten minutes")
    return Answer(True, f"worked off {plural(recent.worked_off, 'message')} within ten minutes")


def due(found: Overview) -> Answer:
    if not (verdict.is_late(found) and found.due and found.lag):
        return Answer(True, "nothing is late")
    number = plural(found.due.number, "source is", "sources are")
    return Answer(
        False,
        f"{number} due and not on the queue yet, the oldest for {shown(found.lag)}. "
        "Run the planner by hand, it says what is in its way: wellspring plan",
    )


def dead_letters(found: Overview) -> Answer:
    letters = found.dead_letters
    if not letters or not (number := letters.waiting + letters.hidden):
        return Answer(True, "none")
    told = plural(number, "message")
    return Answer(False, f"{told} could not be worked off. See why: wellspring dead-letters list")


def _log(found: Overview, function: str) -> str:
    return f"Its log says why: sam logs --stack-name {found.stack} --name {function}"


OF_THE_STACK: dict[str, Callable[[Stack], Answer]] = {
    "tables": tables,
    "time to live": time_to_live,
    "schedule": schedule,
    "queue": queue,
}
OF_ITS_NUMBERS: dict[str, tuple[str, Callable[[Overview], Answer]]] = {
    "planner": ("recent", planner),
    "fetcher": ("recent", fetcher),
    "due sources": ("due", due),
    "dead letters": ("dead_letters", dead_letters),
}
"""With the part of the overview that they look at."""
