"""Owns the Sources table: the due index, the lease, and what an attempt leaves on a source."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from wellspring import schedule, timestamps
from wellspring.aws import items
from wellspring.aws import source_items as stored
from wellspring.aws.faults import CONDITION_FAILED, code, told_as_unavailable
from wellspring.aws.writes import delete_if, put_if, update_and_tell, update_if
from wellspring.model import Lease, Source
from wellspring.ports import DuePage, DueRef, Refused, SourcePage, Started, Viewed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

INDEX = "due"
READ_ROUNDS = 5

NOT_FETCHED = "(attribute_not_exists(#lease.#until) OR #lease.#until <= :now)"
MAY_START = (
    "attribute_exists(#source_id)"
    " AND (attribute_not_exists(#enabled) OR #enabled <> :no)"
    f" AND {NOT_FETCHED}"
    " AND (attribute_not_exists(#lease.#free_at) OR #lease.#free_at <= :now)"
)
# What a person wrote there instead of a time counts as no view, like a time in the future.
MAY_VIEW = (
    "attribute_exists(#source_id)"
    " AND (NOT attribute_type(#viewed_at, :text) OR #viewed_at <= :since OR #viewed_at > :viewed_at)"
)
MAPS: dict[str, Callable[[Any], object]] = {
    "cursor": stored.cursor_fields,
    "health": stored.health_fields,
    "pace": stored.pace_fields,
    "lease": stored.lease_fields,
    "moved": stored.moved_fields,
    "config": stored.config_fields,
}
FETCHED = ("cursor", "health", "pace", "lease", "moved", "url", "previous_url", "title", "enabled")
EDITABLE = (*(name for name in FETCHED if name != "lease"), "type", "owner_id", "config")
NOT_PASSED = " AND (attribute_not_exists(#cursor.#last_polled_at) OR #cursor.#last_polled_at < :window_end)"
NOT_DONE = " AND (attribute_not_exists(#cursor.#due_at) OR #cursor.#due_at < :due_at)"


class DynamoSources:
    """The sources of a stack."""

    def __init__(self, client: "DynamoDBClient", table: str, *, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards

    def add(self, source: Source) -> bool:
        """Store a new source; one without a next time is due at once, unless it is disabled."""
        if source.enabled or source.next_fetch_at:
            shard = source.due_shard or str(schedule.shard_of(source.source_id, self._shards))
            next_at = source.next_fetch_at or source.created_at or timestamps.now()
            source = replace(source, due_shard=shard, next_fetch_at=next_at)
        else:
            source = replace(source, due_shard=None)
        item = stored.item_of(source)
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

    def count_due(self, shard: int, until: datetime) -> int:
        condition = "#due_shard = :shard AND #next_fetch_at <= :until"
        number, start = 0, dict[str, Any]()
        with told_as_unavailable("Counting what is due"):
            while True:
                page = self._client.query(
                    TableName=self._table,
                    IndexName=INDEX,
                    Select="COUNT",
                    KeyConditionExpression=condition,
                    ExpressionAttributeNames=items.names(condition),
                    ExpressionAttributeValues=items.encode({":shard": str(shard), ":until": until}),
                    **start,
                )
                number += page["Count"]
                if not page.get("LastEvaluatedKey"):
                    return number
                start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

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

    def unlist(self, ref: DueRef, *, if_disabled: bool = False, viewed_at: datetime | None = None) -> bool:
        values: dict[str, object] = {":mark": ref.mark}
        if if_disabled:
            unless = "#enabled = :no"
            values[":no"] = False
        elif viewed_at:
            unless = "(attribute_not_exists(#viewed_at) OR #viewed_at <= :viewed_at)"
            values[":viewed_at"] = viewed_at
        else:
            unless = "attribute_not_exists(#viewed_at)"
        return self._update(
            ref.source_id,
            "REMOVE #due_shard, #next_fetch_at",
            f"#next_fetch_at = :mark AND {unless}",
            values,
            what="Taking a source out of the schedule",
        )

    def start(
        self,
        source_id: str,
        lease: Lease,
        *,
        due_at: datetime | None = None,
        window_end: datetime | None = None,
    ) -> Started | Refused:
        update, condition = "SET #lease = :lease", MAY_START
        values = {":no": False, ":now": lease.started_at, ":lease": stored.lease_fields(lease)}
        for moment, clause, name in ((due_at, NOT_DONE, ":due_at"), (window_end, NOT_PASSED, ":window_end")):
            if moment:
                condition += clause
                values[name] = moment
        with told_as_unavailable("Starting a fetch"):
            try:
                answer = self._client.update_item(
                    TableName=self._table,
                    Key=items.encode({"source_id": source_id}),
                    UpdateExpression=update,
                    ConditionExpression=condition,
                    ExpressionAttributeNames=items.names(update, condition),
                    ExpressionAttributeValues=items.encode(values),
                    ReturnValues="ALL_OLD",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
            except ClientError as error:
                if code(error) != CONDITION_FAILED:
                    raise
                item: Any = error.response.get("Item")
                return _refused_or_ours(stored.source_of(item) if item else None, lease)
        return Started(stored.source_of(answer["Attributes"]))

    def release(
        self, source_id: str, token: str, lease: Lease | None, *, next_fetch_at: datetime | None = None
    ) -> bool:
        fields: dict[str, object] = {"lease": stored.lease_fields(lease) if lease else None}
        if next_fetch_at:
            fields["next_fetch_at"] = next_fetch_at
        return self._write(source_id, token, fields, what="Giving a lease back")

    def finish(self, before: Source, after: Source, token: str) -> bool:
        fields: dict[str, object] = {
            "next_fetch_at": after.next_fetch_at,
            "due_shard": after.due_shard if after.next_fetch_at else None,
        }
        fields |= _differences(before, after, FETCHED)
        return self._write(after.source_id, token, fields, what="Finishing a fetch")

    def edit(self, before: Source, after: Source, *, now: datetime) -> bool:
        listed = after.next_fetch_at is not None
        fields: dict[str, object] = {
            "next_fetch_at": after.next_fetch_at,
            "due_shard": str(schedule.shard_of(after.source_id, self._shards)) if listed else None,
        }
        fields |= _differences(before, after, EDITABLE)
        unmoved = "#next_fetch_at = :mark" if before.mark else "attribute_not_exists(#next_fetch_at)"
        update, values = _setting(fields)
        return self._update(
            after.source_id,
            update,
            f"attribute_exists(#source_id) AND {unmoved} AND {NOT_FETCHED}",
            values | {":now": now} | ({":mark": before.mark} if before.mark else {}),
            what="Changing a source",
        )

    def remove(self, source_id: str) -> bool:
        return delete_if(
            self._client,
            self._table,
            {"source_id": source_id},
            "attribute_exists(#source_id)",
            {},
            what="Removing a source",
        )

    def heal(self, source: Source) -> None:
        lease = stored.lease_fields(source.lease) if source.lease else {}
        self._update(
            source.source_id,
            "SET #cursor = :cursor, #lease = :lease",
            "attribute_exists(#source_id)",
            {":cursor": stored.cursor_fields(source.cursor), ":lease": lease},
            what="Mending a source",
        )

    def view(self, source_id: str, viewed_at: datetime, *, unless_since: datetime) -> Viewed:
        answer = update_and_tell(
            self._client,
            self._table,
            {"source_id": source_id},
            "SET #viewed_at = :viewed_at",
            MAY_VIEW,
            {":viewed_at": viewed_at, ":since": unless_since, ":text": "S"},
            what="Noting a view",
        )
        return Viewed(answer.done, stored.source_of(answer.item) if answer.item else None)

    def relist(self, source: Source, *, to: datetime) -> bool:
        shard = str(schedule.shard_of(source.source_id, self._shards))
        unmoved = "#next_fetch_at = :mark" if source.mark else "attribute_not_exists(#next_fetch_at)"
        return self._update(
            source.source_id,
            "SET #due_shard = :shard, #next_fetch_at = :to",
            f"attribute_exists(#source_id) AND {unmoved}",
            {":shard": shard, ":to": to} | ({":mark": source.mark} if source.mark else {}),
            what="Entering a source in the schedule",
        )

    def scan(self, *, after: str | None = None, limit: int = 100) -> SourcePage:
        start: dict[str, Any] = {"ExclusiveStartKey": items.encode({"source_id": after})} if after else {}
        with told_as_unavailable("Reading the sources one after the other"):
            page = self._client.scan(TableName=self._table, Limit=limit, **start)
        found = tuple(stored.source_of(item) for item in page["Items"])
        last = items.decode(page.get("LastEvaluatedKey", {}))
        return SourcePage(found, last.get("source_id"))

    def _write(self, source_id: str, token: str, fields: Mapping[str, object], *, what: str) -> bool:
        """Set fields and remove those that are None, as long as the lease is ours."""
        update, values = _setting(fields)
        return self._update(
            source_id, update, "#lease.#token = :token", values | {":token": token}, what=what
        )

    def _update(
        self, source_id: str, update: str, condition: str, values: Mapping[str, object], *, what: str
    ) -> bool:
        key = {"source_id": source_id}
        return update_if(self._client, self._table, key, update, condition, values, what=what)


def _setting(fields: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Return the update that sets fields and removes those that are None, and its values."""
    kept = {name: found for name, found in fields.items() if found is not None}
    gone = [name for name, found in fields.items() if found is None]
    sets = "SET " + ", ".join(f"#{name} = :{name}" for name in kept) if kept else ""
    removes = "REMOVE " + ", ".join(f"#{name}" for name in gone) if gone else ""
    return f"{sets} {removes}".strip(), {f":{name}": found for name, found in kept.items()}


def _differences(before: Source, after: Source, names: Iterable[str]) -> dict[str, object]:
    """Return the fields that differ, as they are stored."""
    changed = {name: getattr(after, name) for name in names if getattr(before, name) != getattr(after, name)}
    return {name: MAPS[name](new) if new and name in MAPS else new for name, new in changed.items()}


def _refused_or_ours(source: Source | None, lease: Lease) -> Started | Refused:
    """Tell a refusal from our own start whose answer was lost: the client tries again by itself."""
    if source and source.lease and source.lease.token == lease.token:
        return Started(replace(source, lease=None))
    return Refused(source)


def _ref(row: dict[str, Any], until: datetime) -> DueRef:
    mark = row["next_fetch_at"]
    try:
        due_at = timestamps.from_text(mark)
    except ValueError:
        due_at = until
    return DueRef(row["source_id"], due_at, mark)
