"""The same ports twice: in memory, and on DynamoDB and SQS as moto plays them."""

import pytest

from wellspring import memory
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
        self.queue = memory.MemoryQueue()
        self.gates = memory.MemoryGates()

    def sent(self):
        return [outgoing.message.to_text() for outgoing in self.queue.sent]

    def buried(self):
        return [body for body, _ in self.queue.buried]

    def logged(self):
        return len(self.logs.rows)


class OnAws:
    """The AWS ports on moto."""

    def __init__(self, session):
        dynamodb, self.sqs = session.client("dynamodb"), session.client("sqs")
        self.dynamodb = dynamodb
        self.urls = [self.sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("fetch", "dead")]
        self.sources = DynamoSources(dynamodb, "SourcesTable", shards=4)
        self.posts = DynamoPosts(dynamodb, "PostsTable", shards=4)
        self.logs = DynamoFetchLogs(dynamodb, "FetchLogsTable")
        self.queue = SqsQueue(self.sqs, *self.urls)
        self.gates = DynamoGates(dynamodb, "GatesTable")

    def sent(self):
        return self._bodies(self.urls[0])

    def buried(self):
        return self._bodies(self.urls[1])

    def logged(self):
        return self.dynamodb.scan(TableName="FetchLogsTable")["Count"]

    def _bodies(self, url):
        received = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return [message["Body"] for message in received.get("Messages", ())]


@pytest.fixture(params=["memory", "aws"])
def ports(request):
    return InMemory() if request.param == "memory" else OnAws(request.getfixturevalue("aws"))
