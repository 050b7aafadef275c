"""Owns finding a deployed stack: its settings as its functions have them, from its parameters and outputs."""

import re
from typing import Any

from botocore.exceptions import ClientError

from wellspring import settings
from wellspring.aws.faults import code, told_as_unavailable
from wellspring.errors import InvalidInput
from wellspring.settings import Settings

MISSING = "ValidationError"


def settings_of(cloudformation: Any, name: str) -> Settings:
    """Return the settings of a stack; the template names its parameters and outputs like the variables."""
    with told_as_unavailable(f"Looking for the stack {name}"):
        try:
            (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        except ClientError as error:
            if code(error) != MISSING:
                raise
            raise InvalidInput(_no_stack(name, cloudformation.meta.region_name)) from None
    given = {found["ParameterKey"]: found["ParameterValue"] for found in stack.get("Parameters", ())}
    given |= {found["OutputKey"]: found["OutputValue"] for found in stack.get("Outputs", ())}
    if "PostsTable" not in given:
        status = stack["StackStatus"]
        raise InvalidInput(f"The stack {name!r} is not a finished Wellspring stack: its state is {status}.")
    return settings.from_environment({variable(key): value for key, value in given.items()})


def variable(name: str) -> str:
    """Return the environment variable that a parameter or an output is passed on in."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


def _no_stack(name: str, region: str) -> str:
    return (
        f"There is no stack {name!r} in {region}. Deploy it (make deploy), or name the stack, the region"
        " and the account that you mean."
    )
