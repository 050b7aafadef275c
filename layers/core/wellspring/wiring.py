"""Owns the composition: the deployed stack's ports, made once for each function instance."""

import time
from functools import cache
from uuid import uuid4

import boto3
from botocore.config import Config

from wellspring import settings, timestamps
from wellspring.aws.gates import DynamoGates
from wellspring.aws.logs import DynamoFetchLogs
from wellspring.aws.posts import DynamoPosts
from wellspring.aws.queue import SqsQueue
from wellspring.aws.secrets import SsmSecrets
from wellspring.aws.sources import DynamoSources
from wellspring.http import HttpClient
from wellspring.ports import World
from wellspring.robots import Robots
from wellspring.sandbox import Sandbox
from wellspring.settings import Settings

# A call that hangs must fail well before the function's own timeout; ten fetches share the connections.
AWS = Config(
    connect_timeout=3,
    read_timeout=10,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=20,
)


@cache
def deployed() -> tuple[World, Settings]:
    """Return the world of the stack that this function belongs to."""
    chosen = settings.from_environment()
    return world(chosen), chosen


def world(chosen: Settings) -> World:
    session = boto3.Session()
    dynamodb = session.client("dynamodb", config=AWS)
    sqs = session.client("sqs", config=AWS)
    http = HttpClient(chosen)
    return World(
        sources=DynamoSources(dynamodb, chosen.sources_table, shards=chosen.shards),
        posts=DynamoPosts(dynamodb, chosen.posts_table, shards=chosen.shards),
        logs=DynamoFetchLogs(dynamodb, chosen.fetch_logs_table),
        queue=SqsQueue(sqs, chosen.queue_url, chosen.dead_letter_url),
        gates=DynamoGates(dynamodb, chosen.gates_table),
        http=http,
        robots=Robots(http, timestamps.now),
        secrets=SsmSecrets(lambda: session.client("ssm", config=AWS), chosen.owner_keys),
        parse=Sandbox(chosen.parse_timeout).parse,
        clock=timestamps.now,
        pause=lambda span: time.sleep(span.total_seconds()),  # noqa: TID251 - the one place that may wait
        new_id=lambda: uuid4().hex,
    )
