"""Owns the Gates table: named leases, the hosts' places and brakes, the outage guard, checkpoints."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from wellspring import timestamps
from wellspring.aws import items
from wellspring.aws.faults import CONDITION_FAILED, code, told_as_unavailable
from wellspring.aws.writes import update_if
from wellspring.hosts import HostState
from wellspring.outage import is_outage
from wellspring.ports import Checkpoint, Slot

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT = timedelta(days=30)
OUTAGE = "outage"
HOST_FIELDS = ("brake_until", "brakes", "failing", "others", "failed_window")


class DynamoGates:
    """The gates of a stack."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def acquire(self, gate: str, owner: str, *, now: datetime, until: datetime) -> bool:
        return update_if(
            self._client,
            self._table,
            {"gate": gate},
            "SET #owner = :owner, #until = :until, #expires_at = :expires_at",
            "attribute_not_exists(#until) OR #until <= :now OR #owner = :owner",
            {":owner": owner, ":until": until, ":now": now, ":expires_at": _expiry(until)},
            what="Taking a lease",
        )

    def release(self, gate: str, owner: str) -> bool:
        return update_if(
            self._client,
            self._table,
            {"gate": gate},
            "REMOVE #owner, #until",
            "#owner = :owner",
            {":owner": owner},
            what="Giving a lease back",
        )

    def take_slot(self, host: str, *, now: datetime, until: datetime) -> Slot:
        found = self._change(
            _host_key(host),
            "SET #next_slot = :until, #expires_at = :expires_at",
            "(attribute_not_exists(#next_slot) OR #next_slot <= :now)"
            " AND (attribute_not_exists(#brake_until) OR #brake_until <= :now)",
            {":until": until, ":now": now, ":expires_at": _expiry(until)},
            returned="ALL_OLD",
        )
        return Slot(found.done, _host_state(found.item))

    def reserve_slot(self, host: str, *, at: datetime, until: datetime) -> Slot:
        found = self._change(
            _host_key(host),
            "SET #next_slot = :until, #expires_at = :expires_at",
            "#next_slot = :at AND (attribute_not_exists(#brake_until) OR #brake_until <= :at)",
            {":until": until, ":at": at, ":expires_at": _expiry(until)},
            returned="ALL_OLD",
        )
        return Slot(found.done, _host_state(found.item))

    def host(self, host: str) -> HostState:
        return _host_state(self._read(_host_key(host), "Reading what is known of a host"))

    def host_failed(self, host: str, source_id: str, *, window: datetime | None) -> HostState:
        update = "SET #failing = if_not_exists(#failing, :source)"
        values: dict[str, object] = {":source": source_id}
        if window:
            update += ", #failed_window = :window"
            values[":window"] = window
        return _host_state(self._change(_host_key(host), update, None, values, returned="ALL_OLD").item)

    def brake(self, host: str, *, until: datetime, brakes: int, others: bool) -> None:
        self._change(
            _host_key(host),
            "SET #brake_until = :until, #brakes = :brakes, #others = :others",
            None,
            {":until": until, ":brakes": brakes, ":others": others},
        )

    def host_recovered(self, host: str) -> None:
        fields = ", ".join(f"#{name}" for name in HOST_FIELDS)
        self._change(_host_key(host), f"REMOVE {fields}", None, {})

    def open_window(self, window_end: datetime, hosts: int) -> bool:
        self._change(
            _window_key(window_end),
            "SET #hosts = :hosts, #expires_at = :expires_at",
            None,
            {":hosts": hosts, ":expires_at": _expiry(window_end)},
        )
        return self.is_frozen()

    def report_down(self, window_end: datetime) -> bool:
        window = self._change(_window_key(window_end), "ADD #down :one", None, {":one": 1}).item
        if is_outage(down=int(window.get("down", 0)), hosts=int(window.get("hosts", 0))):
            self._change(OUTAGE, "SET #frozen = :yes", None, {":yes": True})
            return True
        return False

    def thaw(self) -> None:
        self._change(OUTAGE, "REMOVE #frozen", None, {})

    def is_frozen(self) -> bool:
        return bool(self._read(OUTAGE, "Reading whether failures are frozen").get("frozen"))

    def checkpoint(self, gate: str) -> Checkpoint:
        found = self._read(gate, "Reading a checkpoint")
        began_at = found.get("began_at")
        return Checkpoint(timestamps.from_text(began_at) if began_at else None, found.get("after"))

    def put_checkpoint(self, gate: str, checkpoint: Checkpoint) -> None:
        item = {"gate": gate, "began_at": checkpoint.began_at, "after": checkpoint.after}
        with told_as_unavailable("Writing a checkpoint"):
            self._client.put_item(TableName=self._table, Item=items.encode(item))

    def _read(self, gate: str, what: str) -> dict[str, Any]:
        with told_as_unavailable(what):
            answer = self._client.get_item(TableName=self._table, Key=items.encode({"gate": gate}))
        return items.decode(answer.get("Item", {}))

    def _change(
        self,
        gate: str,
        update: str,
        condition: str | None,
        values: dict[str, object],
        *,
        returned: str = "ALL_NEW",
    ) -> "_Changed":
        given: dict[str, Any] = {}
        if condition:
            given = {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        if values:
            given["ExpressionAttributeValues"] = {name: items.value(found) for name, found in values.items()}
        with told_as_unavailable("Changing a gate"):
            try:
                answer = self._client.update_item(
                    TableName=self._table,
                    Key=items.encode({"gate": gate}),
                    UpdateExpression=update,
                    ExpressionAttributeNames=items.names(update, condition or ""),
                    ReturnValues=returned,  # type: ignore[arg-type]
                    **given,
                )
            except ClientError as error:
                if code(error) != CONDITION_FAILED:
                    raise
                item: Any = error.response.get("Item", {})
                return _Changed(False, items.decode(item))
        return _Changed(True, items.decode(answer.get("Attributes", {})))


class _Changed:
    def __init__(self, done: bool, item: dict[str, Any]) -> None:
        self.done = done
        self.item = item


def _host_key(host: str) -> str:
    return f"host#{host}"


def _window_key(window_end: datetime) -> str:
    return f"{OUTAGE}#{timestamps.to_text(window_end)}"


def _expiry(moment: datetime) -> int:
    return int((moment + KEPT).timestamp())


def _host_state(item: dict[str, Any]) -> HostState:
    def moment(name: str) -> datetime | None:
        return timestamps.from_text(item[name]) if item.get(name) else None

    return HostState(
        next_slot=moment("next_slot"),
        brake_until=moment("brake_until"),
        brakes=int(item.get("brakes", 0)),
        failing=item.get("failing"),
        others=bool(item.get("others", False)),
        failed_window=moment("failed_window"),
    )
