"""Owns following a table's stream from now on: its shards, and those that take their place."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from wellspring.aws.faults import code, told_as_unavailable
from wellspring.errors import Unavailable

Record = dict[str, Any]

WHAT = "Reading the stream"
EXPIRED = "ExpiredIteratorException"
TRIMMED = "TrimmedDataAccessException"
GONE = "ResourceNotFoundException"
LOST = (EXPIRED, TRIMMED, GONE)
LOOK_EVERY = 30


@dataclass(slots=True)
class _Shard:
    """How far a shard was read."""

    shard_id: str
    was_there: bool = False
    """It has records from before anybody followed it."""
    iterator: str | None = None
    """Where to go on; None when that has to be asked for."""
    last: str | None = None
    """The sequence number of the last record that was read."""
    since: datetime | None = None
    """Where nothing but the time tells what is new: from when on it is."""


class Stream:
    """Follows a stream: what comes into its open shards from now on, and all that is in later ones."""

    def __init__(self, client: Any, arn: str, *, now: datetime) -> None:
        self._client = client
        self._arn = arn
        # Records know their time to the second.
        self._began_at = now.replace(microsecond=0)
        self._shards: dict[str, _Shard] = {}
        self._known: set[str] = set()
        self._rounds = 0
        for found in self._describe():
            self._known.add(found["ShardId"])
            if "EndingSequenceNumber" not in found.get("SequenceNumberRange", {}):
                shard = _Shard(found["ShardId"], was_there=True)
                with told_as_unavailable(WHAT):
                    shard.iterator = self._iterator(shard, "LATEST")
                self._shards[shard.shard_id] = shard

    def read(self) -> Iterator[Record]:
        """Yield what came into each shard since the last time.

        Raises Unavailable when AWS does not answer; the next time goes on where this one ended.
        """
        self._rounds += 1
        open_before = len(self._shards)
        for shard in list(self._shards.values()):
            yield from self._read(shard)
        # Successors of a closed shard are there at once; others, if there are any, can wait a little.
        if len(self._shards) < max(open_before, 1) or self._rounds % LOOK_EVERY == 0:
            self._look_for_shards()

    def _read(self, shard: _Shard) -> list[Record]:
        """Return the next new records; those that are old are passed over at once."""
        while True:
            with told_as_unavailable(WHAT):
                try:
                    answer = self._client.get_records(ShardIterator=shard.iterator or self._position(shard))
                except ClientError as error:
                    if code(error) not in LOST:
                        raise
                    self._lose(shard, code(error))
                    return []
                except BotoCoreError:
                    # An emulator that comes up again counts from the beginning: its iterators mean nothing.
                    self._lose(shard, EXPIRED)
                    raise
            records = answer["Records"]
            if records:
                shard.last = records[-1]["dynamodb"]["SequenceNumber"]
            shard.iterator = answer.get("NextShardIterator")
            if shard.iterator is None:
                del self._shards[shard.shard_id]
            new = [record for record in records if not (shard.since and _came_at(record) < shard.since)]
            if new or not records or shard.iterator is None:
                return new

    def _lose(self, shard: _Shard, why: str) -> None:
        """Note that a position is lost: next is what follows the last record, or the oldest that is left."""
        if why == GONE:
            del self._shards[shard.shard_id]
        if why == TRIMMED:
            shard.last = None
        if shard.was_there and shard.last is None:
            shard.since = self._began_at
        shard.iterator = None

    def _position(self, shard: _Shard) -> str:
        if shard.last:
            return self._iterator(shard, "AFTER_SEQUENCE_NUMBER", SequenceNumber=shard.last)
        return self._iterator(shard, "TRIM_HORIZON")

    def _iterator(self, shard: _Shard, kind: str, **given: str) -> str:
        answer = self._client.get_shard_iterator(
            StreamArn=self._arn, ShardId=shard.shard_id, ShardIteratorType=kind, **given
        )
        return str(answer["ShardIterator"])

    def _look_for_shards(self) -> None:
        """Follow new shards from their beginning, each once its parent was read to its end."""
        new = [found for found in self._describe() if found["ShardId"] not in self._known]
        unread = self._shards.keys() | {found["ShardId"] for found in new}
        for found in new:
            if found.get("ParentShardId") not in unread:
                self._known.add(found["ShardId"])
                self._shards[found["ShardId"]] = _Shard(found["ShardId"])

    def _describe(self) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = []
        after: dict[str, str] = {}
        while True:
            with told_as_unavailable(WHAT):
                page = self._client.describe_stream(StreamArn=self._arn, **after)["StreamDescription"]
            shards += page["Shards"]
            if "LastEvaluatedShardId" not in page:
                break
            after = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
        if page["StreamStatus"].startswith("DISABL") and not self._shards:
            raise Unavailable(f"{WHAT} failed: it was switched off.")
        return shards


def arn_of(dynamodb: Any, table: str) -> str | None:
    """Return the name of a table's stream; None when there is none, or it was switched off."""
    with told_as_unavailable("Looking for the table's stream"):
        described: dict[str, Any] = dynamodb.describe_table(TableName=table)["Table"]
    enabled = described.get("StreamSpecification", {}).get("StreamEnabled")
    return described.get("LatestStreamArn") if enabled else None


def _came_at(record: Record) -> datetime:
    came_at: datetime = record["dynamodb"]["ApproximateCreationDateTime"]
    return came_at
