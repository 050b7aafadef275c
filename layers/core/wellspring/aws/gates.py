"""Owns the Gates table: named leases that one owner at a time holds."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from wellspring.aws.writes import update_if

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT = timedelta(days=30)


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
            {
                ":owner": owner,
                ":until": until,
                ":now": now,
                ":expires_at": int((until + KEPT).timestamp()),
            },
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
