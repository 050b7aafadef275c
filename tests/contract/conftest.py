"""The same ports thrice: in memory, and on DynamoDB and SQS as moto and as the local cloud play them."""

import json
import urllib.request

import boto3
import pytest

from local_port import free_port
from simulation.queue import MOST_RECEIVES, DeliveringQueue
from template import tables
from wellspring import memory, timestamps
from wellspring.aws.gates import DynamoGates
from wellspring.aws.logs import DynamoFetchLogs
from wellspring.aws.posts import DynamoPosts
from wellspring.aws.queue import SqsQueue
from wellspring.aws.sources import DynamoSources


class InMemory:
    """The in-memory ports."""

    def __init__(self):
        self.sources = memory.MemorySources()
        self.posts = memory.MemoryPosts()
        self.logs = memory.MemoryFetchLogs()
        self.queue = DeliveringQueue(clock=timestamps.now)
        self.gates = memory.MemoryGates()

    def sent(self):
        return [outgoing.message.to_text() for outgoing in self.queue.sent]

    def buried(self):
        return [body for body, _ in self.queue.buried]

    def received(self, visibility):
        """Receive what there is; each message by its handle, with its body."""
        return {held.message_id: held.body for held in self.queue.receive(visibility=visibility)}

    def deleted(self, handle):
        self.queue.delete(handle)

    def dead(self):
        return [held.body for held in self.queue.dead]

    def logged(self):
        return len(self.logs.rows)


class OnAws:
    """The AWS ports, on whatever plays AWS."""

    def __init__(self, dynamodb, sqs):
        self.dynamodb, self.sqs = dynamodb, sqs
        dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
        named = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]
        redrive = {"deadLetterTargetArn": named["QueueArn"], "maxReceiveCount": MOST_RECEIVES}
        fetch = sqs.create_queue(QueueName="fetch", Attributes={"RedrivePolicy": json.dumps(redrive)})
        self.urls = [fetch["QueueUrl"], dead]
        self.sources = DynamoSources(dynamodb, "SourcesTable", shards=4)
        self.posts = DynamoPosts(dynamodb, "PostsTable", shards=4)
        self.logs = DynamoFetchLogs(dynamodb, "FetchLogsTable")
        self.queue = SqsQueue(self.sqs, *self.urls)
        self.gates = DynamoGates(dynamodb, "GatesTable")

    def sent(self):
        return self._bodies(self.urls[0])

    def buried(self):
        return self._bodies(self.urls[1])

    def received(self, visibility):
        """Receive what there is; each message by its handle, with its body."""
        answer = self.sqs.receive_message(
            QueueUrl=self.urls[0],
            MaxNumberOfMessages=10,
            VisibilityTimeout=int(visibility.total_seconds()),
        )
        return {found["ReceiptHandle"]: found["Body"] for found in answer.get("Messages", ())}

    def deleted(self, handle):
        self.sqs.delete_message(QueueUrl=self.urls[0], ReceiptHandle=handle)

    def dead(self):
        return self._bodies(self.urls[1])

    def logged(self):
        return self.dynamodb.scan(TableName="FetchLogsTable")["Count"]

    def _bodies(self, url):
        received = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return [message["Body"] for message in received.get("Messages", ())]


@pytest.fixture(scope="session")
def emulator(tmp_path_factory):
    """The local cloud, empty: nothing is deployed to it."""
    from wellspring_cli.local import cloud

    state_dir = tmp_path_factory.mktemp("contract")
    try:
        yield cloud.start(state_dir, free_port()).endpoint_url
    finally:
        cloud.stop(state_dir)


@pytest.fixture
def local(emulator):
    """DynamoDB with the stack's tables, and SQS, on the local cloud; what the last test left is gone."""
    urllib.request.urlopen(urllib.request.Request(f"{emulator}/_ministack/reset", method="POST")).close()
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    dynamodb, sqs = (session.client(name, endpoint_url=emulator) for name in ("dynamodb", "sqs"))
    for name, schema in tables().items():
        dynamodb.create_table(TableName=name, **schema)
    return OnAws(dynamodb, sqs)


@pytest.fixture(params=["memory", "aws", pytest.param("local", marks=pytest.mark.local_cloud)])
def ports(request):
    if request.param == "memory":
        return InMemory()
    if request.param == "local":
        return request.getfixturevalue("local")
    session = request.getfixturevalue("aws")
    return OnAws(session.client("dynamodb"), session.client("sqs"))
