"""Owns the fetch queue and its dead letters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellspring.aws.faults import told_as_unavailable
from wellspring.ports import Outgoing, QueueDepth

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsQueue:
    """The queue between planner and fetchers."""

    def __init__(self, client: "SQSClient", queue_url: str, dead_letter_url: str) -> None:
        self._client = client
        self._queue_url = queue_url
        self._dead_letter_url = dead_letter_url

    def send(self, batch: Sequence[Outgoing]) -> list[bool]:
        with told_as_unavailable("Sending to the fetch queue"):
            answer = self._client.send_message_batch(
                QueueUrl=self._queue_url,
                Entries=[
                    {
                        "Id": str(number),
                        "MessageBody": outgoing.message.to_text(),
                        "DelaySeconds": outgoing.delay_seconds,
                    }
                    for number, outgoing in enumerate(batch)
                ],
            )
        taken = {done["Id"] for done in answer.get("Successful", ())}
        return [str(number) in taken for number in range(len(batch))]

    def bury(self, body: str, reason: str) -> None:
        with told_as_unavailable("Sending to the dead-letter queue"):
            self._client.send_message(
                QueueUrl=self._dead_letter_url,
                MessageBody=body,
                MessageAttributes={"reason": {"DataType": "String", "StringValue": reason}},
            )

    def depth(self) -> QueueDepth:
        with told_as_unavailable("Counting what is on the fetch queue"):
            found = self._client.get_queue_attributes(
                QueueUrl=self._queue_url,
                AttributeNames=[
                    "ApproximateNumberOfMessages",
                    "ApproximateNumberOfMessagesDelayed",
                    "ApproximateNumberOfMessagesNotVisible",
                ],
            )["Attributes"]
        return QueueDepth(
            waiting=int(found.get("ApproximateNumberOfMessages", 0)),
            delayed=int(found.get("ApproximateNumberOfMessagesDelayed", 0)),
            in_flight=int(found.get("ApproximateNumberOfMessagesNotVisible", 0)),
        )
