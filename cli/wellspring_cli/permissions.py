"""Owns what the command must be allowed to do: each right is tried out in a way that changes nothing.

Reads ask for one row. Writes name a key that no source can have under a condition that never holds,
or leave out what AWS wants of them: it says whether they are allowed before it says what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from wellspring.aws import streams
from wellspring.aws.faults import DENIED, NOT_SIGNED_IN, code, told_as_unavailable
from wellspring.aws.secrets import parameter
from wellspring.errors import Denied
from wellspring_cli.stack import Stack

SIDE_BY_SIDE = 10
SERVICES = ("dynamodb", "dynamodbstreams", "sqs", "lambda", "ssm")
NOBODY = {"S": " "}
"""No source's id is a space, and no post's hash."""
NO_OWNER = "nobody/here"
"""No owner's name has a slash."""
NO_RECEIPT = "nothing was received"
COUNTED = ["ApproximateNumberOfMessages"]
NEVER = "attribute_exists(source_id) AND attribute_not_exists(source_id)"

Clients = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Right:
    """Something that AWS allows or not, what needs it, and how it is tried out."""

    action: str
    resource: str
    commands: str
    attempt: Callable[[Stack, Clients], object]


def missing(stack: Stack) -> list[Right]:
    """Return the rights that these credentials do not have. Raises Unavailable when AWS does not say."""
    # Made before the threads begin: a session may not make two clients at once.
    clients = {service: stack.client(service) for service in SERVICES}
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        allowed = list(pool.map(lambda right: _is_allowed(right, stack, clients), RIGHTS))
    return [right for right, is_allowed in zip(RIGHTS, allowed, strict=True) if not is_allowed]


def _is_allowed(right: Right, stack: Stack, clients: Clients) -> bool:
    with told_as_unavailable(f"Trying {right.action}"):
        try:
            right.attempt(stack, clients)
        except Denied:
            return False
        except ClientError as error:
            found = code(error)
            if found in NOT_SIGNED_IN:
                raise
            # All else, like a condition that does not hold, is said to those alone who may ask.
            return found not in DENIED
    return True


def _query(table: str, index: str | None, key: str) -> Callable[[Stack, Clients], object]:
    """Ask for one row of nobody's."""

    def attempt(stack: Stack, clients: Clients) -> object:
        return clients["dynamodb"].query(
            TableName=stack.outputs[table],
            KeyConditionExpression=f"{key} = :nobody",
            ExpressionAttributeValues={":nobody": NOBODY},
            Limit=1,
            **({"IndexName": index} if index else {}),
        )

    return attempt


def _read(table: str, *key: str) -> Callable[[Stack, Clients], object]:
    def attempt(stack: Stack, clients: Clients) -> object:
        keys = {"Keys": [dict.fromkeys(key, NOBODY)]}
        return clients["dynamodb"].batch_get_item(RequestItems={stack.outputs[table]: keys})

    return attempt


def _update(table: str, *key: str) -> Callable[[Stack, Clients], object]:
    def attempt(stack: Stack, clients: Clients) -> object:
        return clients["dynamodb"].update_item(
            TableName=stack.outputs[table],
            Key=dict.fromkeys(key, NOBODY),
            UpdateExpression="SET title = :nobody",
            ConditionExpression=NEVER,
            ExpressionAttributeValues={":nobody": NOBODY},
        )

    return attempt


def _scan_sources(stack: Stack, clients: Clients) -> object:
    return clients["dynamodb"].scan(TableName=stack.outputs["SourcesTable"], Limit=1)


def _put_source(stack: Stack, clients: Clients) -> object:
    return clients["dynamodb"].put_item(
        TableName=stack.outputs["SourcesTable"], Item={"source_id": NOBODY}, ConditionExpression=NEVER
    )


def _delete_source(stack: Stack, clients: Clients) -> object:
    return clients["dynamodb"].delete_item(
        TableName=stack.outputs["SourcesTable"], Key={"source_id": NOBODY}, ConditionExpression=NEVER
    )


def _delete_posts(stack: Stack, clients: Clients) -> object:
    delete = {"DeleteRequest": {"Key": {"source_id": NOBODY, "content_hash": NOBODY}}}
    return clients["dynamodb"].batch_write_item(RequestItems={stack.outputs["PostsTable"]: [delete]})


def _read_gate(stack: Stack, clients: Clients) -> object:
    return clients["dynamodb"].get_item(TableName=stack.outputs["GatesTable"], Key={"gate": NOBODY})


def _read_stream(stack: Stack, clients: Clients) -> None:
    arn = streams.arn_of(clients["dynamodb"], stack.settings.posts_table)
    if arn is None:
        return
    client = clients["dynamodbstreams"]
    for shard in client.describe_stream(StreamArn=arn, Limit=1)["StreamDescription"]["Shards"]:
        place = client.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )
        client.get_records(ShardIterator=place["ShardIterator"], Limit=1)


def _send(stack: Stack, clients: Clients) -> object:
    return clients["sqs"].send_message_batch(QueueUrl=stack.settings.queue_url, Entries=[])


def _look_at_queue(stack: Stack, clients: Clients) -> object:
    return clients["sqs"].get_queue_attributes(QueueUrl=stack.settings.queue_url, AttributeNames=COUNTED)


def _look_at_dead_letters(stack: Stack, clients: Clients) -> object:
    url = stack.settings.dead_letter_url
    return clients["sqs"].get_queue_attributes(QueueUrl=url, AttributeNames=COUNTED)


def _receive(stack: Stack, clients: Clients) -> object:
    # Everybody else still sees the message; that it was looked at once more is all that is left of it.
    return clients["sqs"].receive_message(
        QueueUrl=stack.settings.dead_letter_url, MaxNumberOfMessages=1, VisibilityTimeout=0
    )


def _give_back(stack: Stack, clients: Clients) -> object:
    entry = {"Id": "0", "ReceiptHandle": NO_RECEIPT, "VisibilityTimeout": 0}
    return clients["sqs"].change_message_visibility_batch(
        QueueUrl=stack.settings.dead_letter_url, Entries=[entry]
    )


def _drop(stack: Stack, clients: Clients) -> object:
    entry = {"Id": "0", "ReceiptHandle": NO_RECEIPT}
    return clients["sqs"].delete_message_batch(QueueUrl=stack.settings.dead_letter_url, Entries=[entry])


def _invoke(stack: Stack, clients: Clients) -> object:
    return clients["lambda"].invoke(FunctionName=stack.outputs["PlannerFunction"], InvocationType="DryRun")


def _set_key(stack: Stack, clients: Clients) -> object:
    # A new parameter must say its type; this one does not, so nothing is stored.
    return clients["ssm"].put_parameter(Name=parameter(stack.settings.owner_keys, NO_OWNER), Value="-")


def _list_keys(stack: Stack, clients: Clients) -> object:
    return clients["ssm"].describe_parameters(MaxResults=1)


def _remove_key(stack: Stack, clients: Clients) -> object:
    return clients["ssm"].delete_parameter(Name=parameter(stack.settings.owner_keys, NO_OWNER))


SOURCES, POSTS, LOGS, GATES = "SourcesTable", "PostsTable", "FetchLogsTable", "GatesTable"
QUEUE, DEAD, KEYS = "the fetch queue", "the dead-letter queue", "the parameters of owners' keys"
POST = ("source_id", "content_hash")
RIGHTS = (
    Right("dynamodb:BatchGetItem", SOURCES, "every command that names a source", _read(SOURCES, "source_id")),
    Right("dynamodb:Scan", SOURCES, "status, sources list and export", _scan_sources),
    Right("dynamodb:Query", f"index due of {SOURCES}", "status", _query(SOURCES, "due", "due_shard")),
    Right("dynamodb:PutItem", SOURCES, "sources add and import", _put_source),
    Right(
        "dynamodb:UpdateItem",
        SOURCES,
        "sources edit, enable and disable, viewed",
        _update(SOURCES, "source_id"),
    ),
    Right("dynamodb:DeleteItem", SOURCES, "sources remove", _delete_source),
    Right("dynamodb:Query", POSTS, "posts show", _query(POSTS, None, "source_id")),
    Right(
        "dynamodb:Query",
        f"index by_time of {POSTS}",
        "sources list and show, posts list",
        _query(POSTS, "by_time", "source_id"),
    ),
    Right(
        "dynamodb:Query",
        f"index pending of {POSTS}",
        "posts list and process",
        _query(POSTS, "pending", "pending_shard"),
    ),
    Right("dynamodb:BatchGetItem", POSTS, "posts list and show", _read(POSTS, *POST)),
    Right("dynamodb:UpdateItem", POSTS, "posts process", _update(POSTS, *POST)),
    Right("dynamodb:BatchWriteItem", POSTS, "sources remove --with-posts", _delete_posts),
    Right(
        "dynamodb:DescribeStream, GetShardIterator and GetRecords",
        f"the stream of {POSTS}",
        "watch",
        _read_stream,
    ),
    Right("dynamodb:Query", LOGS, "logs, explain, fetch", _query(LOGS, None, "source_id")),
    Right("dynamodb:GetItem", GATES, "status, explain, fetch", _read_gate),
    Right("sqs:SendMessage", QUEUE, "fetch, dead-letters redrive", _send),
    Right("sqs:GetQueueAttributes", QUEUE, "status", _look_at_queue),
    Right("sqs:GetQueueAttributes", DEAD, "status, dead-letters list", _look_at_dead_letters),
    Right("sqs:ReceiveMessage", DEAD, "dead-letters list, redrive and drop", _receive),
    Right("sqs:ChangeMessageVisibility", DEAD, "dead-letters list", _give_back),
    Right("sqs:DeleteMessage", DEAD, "dead-letters redrive and drop", _drop),
    Right("lambda:InvokeFunction", "the planner", "plan", _invoke),
    Right("ssm:PutParameter", KEYS, "keys set", _set_key),
    Right("ssm:DescribeParameters", "all parameters", "keys list", _list_keys),
    Right("ssm:DeleteParameter", KEYS, "keys remove", _remove_key),
)
