"""Owns an opened stack: its clients, its settings, and its tables and queues as ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wellspring.aws.dead_letters import SqsDeadLetters
from wellspring.aws.gates import DynamoGates
from wellspring.aws.logs import DynamoFetchLogs
from wellspring.aws.owner_keys import SsmOwnerKeys
from wellspring.aws.posts import DynamoPosts
from wellspring.aws.queue import SqsQueue
from wellspring.aws.sources import DynamoSources
from wellspring.aws.stacks import Found
from wellspring.client import Client
from wellspring.settings import Settings


@dataclass(frozen=True)
class Stack:
    """A deployed stack, wherever it is."""

    name: str
    place: str
    """Where it is, in words."""
    region: str
    client: Callable[[str], Any]
    found: Found

    @property
    def outputs(self) -> Mapping[str, str]:
        return self.found.outputs

    @property
    def settings(self) -> Settings:
        return self.found.settings

    @cached_property
    def dynamodb(self) -> Any:
        return self.client("dynamodb")

    @cached_property
    def sqs(self) -> Any:
        return self.client("sqs")

    @cached_property
    def cloudwatch(self) -> Any:
        return self.client("cloudwatch")

    @cached_property
    def sources(self) -> DynamoSources:
        return DynamoSources(self.dynamodb, self.settings.sources_table, shards=self.settings.shards)

    @cached_property
    def posts(self) -> DynamoPosts:
        return DynamoPosts(self.dynamodb, self.settings.posts_table, shards=self.settings.shards)

    @cached_property
    def logs(self) -> DynamoFetchLogs:
        return DynamoFetchLogs(self.dynamodb, self.settings.fetch_logs_table)

    @cached_property
    def gates(self) -> DynamoGates:
        return DynamoGates(self.dynamodb, self.settings.gates_table)

    @cached_property
    def queue(self) -> SqsQueue:
        return SqsQueue(self.sqs, self.settings.queue_url, self.settings.dead_letter_url)

    @cached_property
    def dead_letters(self) -> SqsDeadLetters:
        return SqsDeadLetters(self.sqs, self.settings.dead_letter_url, self.settings.queue_url)

    @cached_property
    def owner_keys(self) -> SsmOwnerKeys:
        return SsmOwnerKeys(self.client("ssm"), self.settings.owner_keys)

    @cached_property
    def consumer(self) -> Client:
        """The stack as its consumers see it."""
        return Client(self.sources, self.posts, self.settings)
