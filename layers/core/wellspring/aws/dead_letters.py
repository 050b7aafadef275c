"""Owns the dead letters as an operator handles them: taken up, given back, deleted, ten at a time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from wellspring.aws.faults import told_as_unavailable

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

MOST_AT_ONCE = 10
PATIENCE = 1
"""Seconds of waiting that make SQS ask all of its servers: an empty answer then means an empty queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message that was taken up; `handle` is what it is given back or deleted by."""

    message_id: str
    body: str
    sent_at: datetime
    received: int
    """How often it was received before, looks of operators included."""
    reason: str | None = None
    """Why it was buried at once; None when it failed too often."""
    handle: str = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Depth:
    """About how many messages there are."""

    waiting: int
    hidden: int
    """Taken up by somebody who has not given them back yet."""


class SqsDeadLetters:
    """The dead-letter queue of a fetch queue."""

    def __init__(
        self, client: "SQSClient", url: str, queue_url: str, *, patience_seconds: int = PATIENCE
    ) -> None:
        self._client = client
        self._url = url
        self._queue_url = queue_url
        self._patience_seconds = patience_seconds

    def receive(self, *, hidden: timedelta) -> list[Letter]:
        """Take up at most ten messages, which nobody else sees for a while; none when there are none."""
        with told_as_unavailable("Reading the dead letters"):
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=MOST_AT_ONCE,
                VisibilityTimeout=int(hidden.total_seconds()),
                WaitTimeSeconds=self._patience_seconds,
                MessageAttributeNames=["reason"],
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
            )
        return [_letter(message) for message in answer.get("Messages", ())]

    def give_back(self, letters: Sequence[Letter]) -> None:
        """Let everybody see at most ten messages again; one that is seen again already stays so."""
        with told_as_unavailable("Giving dead letters back"):
            self._client.change_message_visibility_batch(
                QueueUrl=self._url,
                Entries=[
                    {"Id": str(number), "ReceiptHandle": letter.handle, "VisibilityTimeout": 0}
                    for number, letter in enumerate(letters)
                ],
            )

    def delete(self, letters: Sequence[Letter]) -> list[bool]:
        """Delete at most ten messages; the answer says for each whether it is gone."""
        with told_as_unavailable("Deleting dead letters"):
            answer = self._client.delete_message_batch(
                QueueUrl=self._url,
                Entries=[
                    {"Id": str(number), "ReceiptHandle": letter.handle}
                    for number, letter in enumerate(letters)
                ],
            )
        gone = {done["Id"] for done in answer.get("Successful", ())}
        return [str(number) in gone for number in range(len(letters))]

    def depth(self) -> Depth:
        with told_as_unavailable("Counting the dead letters"):
            found = self._client.get_queue_attributes(
                QueueUrl=self._url,
                AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
            )["Attributes"]
        return Depth(
            waiting=int(found.get("ApproximateNumberOfMessages", 0)),
            hidden=int(found.get("ApproximateNumberOfMessagesNotVisible", 0)),
        )

    def tries(self) -> int | None:
        """Return how often the fetch queue has a message tried before it is given up."""
        with told_as_unavailable("Reading the fetch queue's settings"):
            answer = self._client.get_queue_attributes(
                QueueUrl=self._queue_url, AttributeNames=["RedrivePolicy"]
            )
        found = answer.get("Attributes", {})
        tries = json.loads(found.get("RedrivePolicy", "{}")).get("maxReceiveCount")
        return int(tries) if tries else None


def _letter(message: "MessageTypeDef") -> Letter:
    told = message.get("Attributes", {})
    buried = message.get("MessageAttributes", {}).get("reason")
    return Letter(
        message_id=message["MessageId"],
        body=message["Body"],
        sent_at=datetime.fromtimestamp(int(told.get("SentTimestamp", 0)) / 1000, UTC),
        # This very look is counted, too.
        received=int(told.get("ApproximateReceiveCount", 1)) - 1,
        reason=buried.get("StringValue") if buried else None,
        handle=message["ReceiptHandle"],
    )
