"""Owns the conditional writes of DynamoDB: done, refused by their condition, or an error of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from wellspring.aws import items
from wellspring.aws.faults import CONDITION_FAILED, INVALID, code, told_as_unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


TELLING = {"ReturnValues": "ALL_NEW", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether an update was done. `item` is as it is now, None when there is none."""

    done: bool
    item: items.Item | None


def put_if(
    client: "DynamoDBClient",
    table: str,
    item: items.Item,
    condition: str,
    values: Mapping[str, object] | None = None,
    *,
    what: str,
) -> bool:
    """Put an item; False when the condition does not hold. An item that is too large is a ValueError."""
    given: dict[str, Any] = {"ExpressionAttributeValues": items.encode(values)} if values else {}
    with told_as_unavailable(what):
        try:
            client.put_item(
                TableName=table,
                Item=item,
                ConditionExpression=condition,
                ExpressionAttributeNames=items.names(condition),
                **given,
            )
        except ClientError as error:
            if code(error) == INVALID:
                raise ValueError(f"{what} was refused: {error.response['Error'].get('Message')}") from error
            if code(error) != CONDITION_FAILED:
                raise
            return False
    return True


def update_if(
    client: "DynamoDBClient",
    table: str,
    key: Mapping[str, str],
    update: str,
    condition: str,
    values: Mapping[str, object],
    *,
    what: str,
) -> bool:
    """Update an item; False when the condition does not hold."""
    return _update(client, table, key, update, condition, values, what=what).done


def update_and_tell(
    client: "DynamoDBClient",
    table: str,
    key: Mapping[str, str],
    update: str,
    condition: str,
    values: Mapping[str, object],
    *,
    what: str,
) -> Answer:
    """Update an item; the answer brings it along, whether the condition holds or not, without a read."""
    return _update(client, table, key, update, condition, values, what=what, **TELLING)


def _update(
    client: "DynamoDBClient",
    table: str,
    key: Mapping[str, str],
    update: str,
    condition: str,
    values: Mapping[str, object],
    *,
    what: str,
    **telling: Any,
) -> Answer:
    with told_as_unavailable(what):
        try:
            answer = client.update_item(
                TableName=table,
                Key=items.encode(key),
                UpdateExpression=update,
                ConditionExpression=condition,
                ExpressionAttributeNames=items.names(update, condition),
                ExpressionAttributeValues={name: items.value(found) for name, found in values.items()},
                **telling,
            )
        except ClientError as error:
            if code(error) != CONDITION_FAILED:
                raise
            item: Any = error.response.get("Item")
            return Answer(False, item or None)
    return Answer(True, answer.get("Attributes"))


def delete_if(
    client: "DynamoDBClient",
    table: str,
    key: Mapping[str, str],
    condition: str,
    values: Mapping[str, object],
    *,
    what: str,
) -> bool:
    """Delete an item; False when the condition does not hold."""
    given: dict[str, Any] = {"ExpressionAttributeValues": items.encode(values)} if values else {}
    with told_as_unavailable(what):
        try:
            client.delete_item(
                TableName=table,
                Key=items.encode(key),
                ConditionExpression=condition,
                ExpressionAttributeNames=items.names(condition),
                **given,
            )
        except ClientError as error:
            if code(error) != CONDITION_FAILED:
                raise
            return False
    return True
