"""Owns the Sources table: the due index, the lease, and what an attempt leaves on a source."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from wellspring import schedule, timestamps
from wellspring.aws import items
from wellspring.aws import source_items as stored
from wellspring.aws.faults import CONDITION_FAILED, code, told_as_unavailable
from wellspring.aws.writes import put_if, update_if
from wellspring.model import Lease, Source
from wellspring.ports import DuePage, DueRef, Refused, Started

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

INDEX = "due"
READ_ROUNDS = 5

MAY_START = (
    "attribute_exists(#source_id)"
    " AND (attribute_not_exists(#enabled) OR #enabled <> :no)"
    " AND (attribute_not_exists(#lease.#until) OR #lease.#until <= :now)"
    " AND (attribute_not_exists(#lease.#free_at) OR #lease.#free_at <= :now)"
)
NOT_DONE = " AND (attribute_not_exists(#cursor.#due_at) OR #cursor.#due_at < :due_at)"


class DynamoSources:
    """The sources of a stack."""

    def __init__(self, client: "DynamoDBClient", table: str, *, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards

    def add(self, source: Source) -> bool:
        """Store a new source; one without a next time is due at once."""
        shard = source.due_shard or str(schedule.shard_of(source.source_id, self._shards))
        next_at = source.next_fetch_at or source.created_at or timestamps.now()
        item = stored.item_of(replace(source, due_shard=shard, next_fetch_at=next_at))
        condition = "attribute_not_exists(#source_id)"
        return put_if(self._client, self._table, item, condition, what="Adding a source")

    def due(self, shard: int, until: datetime, *, after: str | None = None, limit: int = 100) -> DuePage:
        condition = "#due_shard = :shard AND #next_fetch_at <= :until"
        start: dict[str, Any] = {"ExclusiveStartKey": json.loads(after)} if after else {}
        with told_as_unavailable("Reading the due index"):
            page = self._client.query(
                TableName=self._table,
                IndexName=INDEX,
                KeyConditionExpression=condition,
                ExpressionAttributeNames=items.names(condition),
                ExpressionAttributeValues=items.encode({":shard": str(shard), ":until": until}),
                Limit=limit,
                **start,
            )
        last = page.get("LastEvaluatedKey")
        refs = tuple(_ref(items.decode(row), until) for row in page["Items"])
        return DuePage(refs, json.dumps(last) if last else None)

    def read(self, source_ids: Sequence[str]) -> list[Source]:
        wanted: Any = {self._table: {"Keys": [items.encode({"source_id": name}) for name in source_ids]}}
        found: list[Source] = []
        with told_as_unavailable("Reading sources"):
            for _ in range(READ_ROUNDS):
                if not wanted:
                    break
                answer = self._client.batch_get_item(RequestItems=wanted)
                found += [stored.source_of(item) for item in answer["Responses"].get(self._table, ())]
                wanted = answer.get("UnprocessedKeys")
        return found

    def move(self, ref: DueRef, to: datetime) -> bool:
        return self._update(
            ref.source_id,
            "SET #next_fetch_at = :to",
            "#next_fetch_at = :mark",
            {":to": to, ":mark": ref.mark},
            what="Moving a source's next time",
        )

    def unlist(self, ref: DueRef) -> bool:
        return self._update(
            ref.source_id,
            "REMOVE #due_shard, #next_fetch_at",
            "#next_fetch_at = :mark",
            {":mark": ref.mark},
            what="Taking a source out of the schedule",
        )

    def start(self, source_id: str, lease: Lease, *, due_at: datetime | None) -> Started | Refused:
        update = "SET #lease = :lease"
        condition = MAY_START + NOT_DONE if due_at else MAY_START
        values = {":no": False, ":now": lease.started_at, ":lease": stored.lease_fields(lease)}
        with told_as_unavailable("Starting a fetch"):
            try:
                answer = self._client.update_item(
                    TableName=self._table,
                    Key=items.encode({"source_id": source_id}),
                    UpdateExpression=update,
                    ConditionExpression=condition,
                    ExpressionAttributeNames=items.names(update, condition),
                    ExpressionAttributeValues=items.encode(values | ({":due_at": due_at} if due_at else {})),
                    ReturnValues="ALL_OLD",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
            except ClientError as error:
                if code(error) != CONDITION_FAILED:
                    raise
                item: Any = error.response.get("Item")
                return Refused(stored.source_of(item) if item else None)
        return Started(stored.source_of(answer["Attributes"]))

    def release(self, source_id: str, token: str, lease: Lease | None) -> bool:
        return self._update(
            source_id,
            "SET #lease = :lease" if lease else "REMOVE #lease",
            "#lease.#token = :token",
            {":token": token} | ({":lease": stored.lease_fields(lease)} if lease else {}),
            what="Giving a lease back",
        )

    def finish(self, source: Source, token: str) -> bool:
        """Write the whole maps: nobody else writes them while the lease is held."""
        fields = {
            "cursor": stored.cursor_fields(source.cursor),
            "health": stored.health_fields(source.health),
            "pace": stored.pace_fields(source),
            "lease": stored.lease_fields(source.lease) if source.lease else None,
            "next_fetch_at": source.next_fetch_at,
            "due_shard": source.due_shard,
            "title": source.title,
        }
        kept = {name: found for name, found in fields.items() if found is not None}
        return self._update(
            source.source_id,
            "SET " + ", ".join(f"#{name} = :{name}" for name in kept),
            "#lease.#token = :token",
            {f":{name}": found for name, found in kept.items()} | {":token": token},
            what="Finishing a fetch",
        )

    def _update(
        self, source_id: str, update: str, condition: str, values: Mapping[str, object], *, what: str
    ) -> bool:
        key = {"source_id": source_id}
        return update_if(self._client, self._table, key, update, condition, values, what=what)


def _ref(row: dict[str, Any], until: datetime) -> DueRef:
    mark = row["next_fetch_at"]
    try:
        due_at = timestamps.from_text(mark)
    except ValueError:
        due_at = until
    return DueRef(row["source_id"], due_at, mark)
