"""A DynamoDB stream that a test drives: it does what AWS documents of shards, iterators and their ends."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from botocore.exceptions import ClientError

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/Posts/stream/2026-11-18T12:00:00.000"
NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


@dataclass
class Shard:
    parent: str | None = None
    records: list = field(default_factory=list)
    trimmed: int = 0
    """So many of its oldest records are gone."""
    closed: bool = False


class FakeStreams:
    """The client of DynamoDB Streams, with one stream; `asked` is what was called, by name."""

    def __init__(self, *, shards_a_page=2, records_a_page=2):
        self.shards = {}
        self.status = "ENABLED"
        self.asked = []
        self._iterators = {}
        self._faults = []
        self._shards_a_page, self._records_a_page = shards_a_page, records_a_page
        self._numbers = iter(range(100, 10_000))

    def open(self, shard_id, *, parent=None):
        if parent:
            self.shards[parent].closed = True
        self.shards[shard_id] = Shard(parent)

    def put(self, shard_id, *names, event="INSERT", came_at=NOON):
        shard = self.shards[shard_id]
        assert not shard.closed, "nothing comes into a closed shard"
        for name in names:
            change = {
                "SequenceNumber": str(next(self._numbers)),
                "ApproximateCreationDateTime": came_at.replace(microsecond=0),
            }
            shard.records.append({"eventName": event, "name": name, "dynamodb": change})

    def trim(self, shard_id, count):
        self.shards[shard_id].trimmed = count

    def expire_iterators(self):
        self._iterators = dict.fromkeys(self._iterators)

    def fail(self, *faults):
        """Answer the next calls with these: codes of AWS, or exceptions."""
        self._faults += faults

    def describe_stream(self, *, StreamArn, ExclusiveStartShardId=None):
        self._called("describe_stream", StreamArn)
        names = list(self.shards)
        first = names.index(ExclusiveStartShardId) + 1 if ExclusiveStartShardId else 0
        page = names[first : first + self._shards_a_page]
        answer = {"StreamArn": ARN, "StreamStatus": self.status, "Shards": list(map(self._shown, page))}
        if first + len(page) < len(names):
            answer["LastEvaluatedShardId"] = page[-1]
        return {"StreamDescription": answer}

    def get_shard_iterator(self, *, StreamArn, ShardId, ShardIteratorType, SequenceNumber=None):
        self._called("get_shard_iterator", StreamArn)
        if ShardId not in self.shards:
            raise refused("ResourceNotFoundException")
        shard = self.shards[ShardId]
        match ShardIteratorType:
            case "LATEST":
                place = len(shard.records)
            case "TRIM_HORIZON":
                place = shard.trimmed
            case "AFTER_SEQUENCE_NUMBER":
                numbers = [record["dynamodb"]["SequenceNumber"] for record in shard.records]
                place = numbers.index(SequenceNumber) + 1
                if place <= shard.trimmed:
                    raise refused("TrimmedDataAccessException")
        return {"ShardIterator": self._iterator(ShardId, place)}

    def get_records(self, *, ShardIterator):
        self._called("get_records", ARN)
        where = self._iterators[ShardIterator]
        if where is None:
            raise refused("ExpiredIteratorException")
        shard_id, place = where
        if shard_id not in self.shards:
            raise refused("ResourceNotFoundException")
        shard = self.shards[shard_id]
        if place < shard.trimmed:
            raise refused("TrimmedDataAccessException")
        page = shard.records[place : place + self._records_a_page]
        place += len(page)
        if shard.closed and place == len(shard.records):
            return {"Records": page}
        return {"Records": page, "NextShardIterator": self._iterator(shard_id, place)}

    def _called(self, name, arn):
        assert arn == ARN
        self.asked.append(name)
        if self._faults:
            fault = self._faults.pop(0)
            raise refused(fault) if isinstance(fault, str) else fault

    def _iterator(self, shard_id, place):
        name = f"iterator-{len(self._iterators)}"
        self._iterators[name] = (shard_id, place)
        return name

    def _shown(self, shard_id):
        shard = self.shards[shard_id]
        numbers = {"StartingSequenceNumber": "1"} | ({"EndingSequenceNumber": "9"} if shard.closed else {})
        parent = {"ParentShardId": shard.parent} if shard.parent else {}
        return {"ShardId": shard_id, "SequenceNumberRange": numbers} | parent


def refused(code):
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetRecords")
