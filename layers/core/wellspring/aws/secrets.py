"""Owns the owners' keys: encrypted parameters, read when they are needed and kept nowhere."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from wellspring import config
from wellspring.aws.faults import code, told_as_unavailable

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

MISSING = {"ParameterNotFound", "ParameterVersionNotFound"}


class SsmSecrets:
    """Keys in the Parameter Store. The client is made at the first use: few fetchers need one."""

    def __init__(self, connect: Callable[[], "SSMClient"], path: str) -> None:
        self._connect = connect
        self._path = path
        self._client: SSMClient | None = None
        self._lock = threading.Lock()

    def x_api_key(self, owner_id: str) -> str | None:
        """Return the owner's key of the X API; None when there is none."""
        if not config.OWNER.fullmatch(owner_id):
            return None
        with told_as_unavailable("Reading an owner's key"):
            with self._lock:
                self._client = self._client or self._connect()
            try:
                answer = self._client.get_parameter(Name=parameter(self._path, owner_id), WithDecryption=True)
            except ClientError as error:
                if code(error) not in MISSING:
                    raise
                return None
        return answer["Parameter"].get("Value", "").strip() or None


def parameter(path: str, owner_id: str) -> str:
    """Return the parameter that an owner's key of the X API lies in."""
    return f"{path}/{owner_id}/x-api-key"
