"""Owns finding a deployed stack: its settings as its functions have them, from its parameters and outputs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError, ParamValidationError

from wellspring import settings
from wellspring.aws.faults import code, told_as_unavailable
from wellspring.errors import InvalidInput
from wellspring.settings import Settings

MISSING = "ValidationError"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A deployed stack."""

    outputs: Mapping[str, str]
    settings: Settings
    stack_id: str
    status: str
    schedule: str
    """How often the planner runs, as the template's parameter says it."""
    changed_at: datetime | None = None
    """When it was deployed last."""


def settings_of(cloudformation: Any, name: str) -> Settings:
    """Return the settings of a stack."""
    return find(cloudformation, name).settings


def find(cloudformation: Any, name: str) -> Found:
    """Return a stack; the template names its parameters and outputs like its functions' variables."""
    with told_as_unavailable(f"Looking for the stack {name}"):
        try:
            (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        except ClientError as error:
            if code(error) != MISSING:
                raise
            raise InvalidInput(_no_stack(name, cloudformation.meta.region_name)) from None
        except ParamValidationError:
            raise InvalidInput(f"{name!r} is no name that a stack can have.") from None
    outputs = {found["OutputKey"]: found["OutputValue"] for found in stack.get("Outputs", ())}
    given = {found["ParameterKey"]: found["ParameterValue"] for found in stack.get("Parameters", ())}
    status = stack["StackStatus"]
    if "PostsTable" not in outputs:
        raise InvalidInput(f"The stack {name!r} is not a finished Wellspring stack: its state is {status}.")
    variables = {variable(key): value for key, value in (given | outputs).items()}
    # The one variable that the template makes of the stack's name.
    variables["OWNER_KEYS"] = f"/{stack.get('StackName', name)}/owners"
    return Found(
        outputs=outputs,
        settings=settings.from_environment(variables),
        stack_id=stack.get("StackId", ""),
        status=status,
        schedule=given.get("ScheduleExpression", ""),
        changed_at=stack.get("LastUpdatedTime") or stack.get("CreationTime"),
    )


def variable(name: str) -> str:
    """Return the environment variable that a parameter or an output is passed on in."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


def _no_stack(name: str, region: str) -> str:
    return (
        f"There is no stack {name!r} in {region}. Deploy it (make deploy), or name the stack, the region"
        " and the account that you mean."
    )
