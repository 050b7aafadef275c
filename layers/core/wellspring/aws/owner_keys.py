"""Owns the owners' keys as an operator keeps them: set, listed and removed, and never read."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from wellspring.aws.faults import code, told_as_unavailable
from wellspring.aws.secrets import MISSING, parameter

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

PAGE = 50


@dataclass(frozen=True, slots=True)
class OwnerKey:
    """That an owner has a key, and since when; not the key."""

    owner_id: str
    set_at: datetime


class SsmOwnerKeys:
    """The encrypted parameters below a path, one for each owner."""

    def __init__(self, client: "SSMClient", path: str) -> None:
        self._client = client
        self._path = path

    def put(self, owner_id: str, key: str) -> bool:
        """Set an owner's key, encrypted; False when it replaced one."""
        with told_as_unavailable("Setting an owner's key"):
            answer = self._client.put_parameter(
                Name=parameter(self._path, owner_id), Value=key, Type="SecureString", Overwrite=True
            )
        return answer["Version"] == 1

    def every(self) -> Iterator[OwnerKey]:
        """Yield the owners who have a key. What they are described by holds no values, not even encrypted."""
        pages = self._client.get_paginator("describe_parameters").paginate(
            ParameterFilters=[{"Key": "Path", "Option": "Recursive", "Values": [self._path]}],
            PaginationConfig={"PageSize": PAGE},
        )
        with told_as_unavailable("Listing the owners' keys"):
            for found in (found for page in pages for found in page["Parameters"]):
                owner_id = found["Name"].removeprefix(f"{self._path}/").rpartition("/")[0]
                if found["Name"] == parameter(self._path, owner_id):
                    yield OwnerKey(owner_id, found["LastModifiedDate"].astimezone(UTC))

    def remove(self, owner_id: str) -> bool:
        """Delete an owner's key; False when there is none."""
        with told_as_unavailable("Removing an owner's key"):
            try:
                self._client.delete_parameter(Name=parameter(self._path, owner_id))
            except ClientError as error:
                if code(error) not in MISSING:
                    raise
                return False
        return True
