"""Owns how an AWS error becomes one of ours, once, at the edge."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from wellspring.errors import Unavailable

CONDITION_FAILED = "ConditionalCheckFailedException"
INVALID = "ValidationException"


@contextmanager
def told_as_unavailable(what: str) -> Iterator[None]:
    """Turn whatever AWS raises into Unavailable with the name of what was tried."""
    try:
        yield
    except ClientError as error:
        raise Unavailable(f"{what} failed: {code(error)}.") from error
    except BotoCoreError as error:
        raise Unavailable(f"{what} failed: {type(error).__name__}.") from error


def code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "unknown"))
