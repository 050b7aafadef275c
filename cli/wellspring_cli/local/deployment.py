"""Builds the stack for the local cloud and deploys it there, with the SAM CLI."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from wellspring_cli.errors import CliError
from wellspring_cli.local import emulator_gaps, project
from wellspring_cli.local.interpreter import Interpreter, of_ministack

STACK = "wellspring"
BUCKET_STACK = "aws-sam-cli-managed-default"
FINISHED = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"}
NEVER_CREATED = {
    "REVIEW_IN_PROGRESS",
    "CREATE_IN_PROGRESS",
    "CREATE_FAILED",
    "ROLLBACK_IN_PROGRESS",
    "ROLLBACK_FAILED",
    "ROLLBACK_COMPLETE",
    "DELETE_IN_PROGRESS",
}
DELETE_SECONDS = 60.0

Say = Callable[[str], object]


@dataclass(frozen=True)
class LocalStack:
    """The deployed stack, and clients that speak to it alone."""

    endpoint_url: str
    region: str
    outputs: Mapping[str, str]

    def client(self, service: str) -> Any:
        return client(self.endpoint_url, service)


def build(
    build_dir: Path, *, log: Path, interpreter: Interpreter | None = None, tools: Path = project.TOOLS
) -> None:
    """Build the layer for the interpreter and the processor that run the local functions."""
    chosen = interpreter or of_ministack(tools)
    command = ["build", "--build-dir", str(build_dir), "--parameter-overrides"]
    _sam(
        [*command, f"LambdaRuntime={chosen.runtime}", f"LambdaArchitecture={chosen.architecture}"],
        {
            "LAMBDA_RUNTIME": chosen.runtime,
            "LAMBDA_ARCHITECTURE": chosen.architecture,
            **chosen.wheels,
            "UV": str(project.ROOT / ".venv" / "bin" / "uv"),
        },
        log=log,
        tools=tools,
    )


def deploy(
    build_dir: Path,
    endpoint_url: str,
    *,
    log: Path,
    say: Say,
    parameters: Mapping[str, str] | None = None,
    interpreter: Interpreter | None = None,
    has_gaps: bool = True,
    tools: Path = project.TOOLS,
) -> LocalStack:
    """Create or update the stack in the local cloud and return it. Only MiniStack's gaps are known to us."""
    cloudformation = client(endpoint_url, "cloudformation")
    for name in (BUCKET_STACK, STACK):
        clear_unfinished(cloudformation, name, say=say)
    chosen = interpreter or of_ministack(tools)
    overrides = {
        "LambdaRuntime": chosen.runtime,
        "LambdaArchitecture": chosen.architecture,
        "AllowAddresses": "127.0.0.0/8",
        **(parameters or {}),
    }
    _sam(
        [
            "deploy",
            # The settings lie next to the project's template, not next to the built one.
            *("--config-file", str(project.ROOT / "samconfig.toml")),
            *("--template-file", str(build_dir / "template.yaml")),
            *("--stack-name", STACK, "--region", project.REGION),
            *("--no-confirm-changeset", "--no-fail-on-empty-changeset"),
            *("--parameter-overrides", *(f"{key}={value}" for key, value in overrides.items())),
        ],
        {"AWS_ENDPOINT_URL": endpoint_url},
        log=log,
        tools=tools,
    )
    outputs = read_outputs(endpoint_url)
    if outputs is None:
        raise CliError(f"The stack was deployed, yet the local cloud does not know it. The log: {log}")
    stack = LocalStack(endpoint_url, project.REGION, outputs)
    if has_gaps:
        emulator_gaps.expire_items(stack.client("dynamodb"), outputs)
        emulator_gaps.limit_fetchers(stack.client("lambda"), outputs)
    return stack


def read_outputs(endpoint_url: str) -> dict[str, str] | None:
    """Return the outputs of the deployed stack; None when there is none, or it is not finished."""
    stack = _describe(client(endpoint_url, "cloudformation"), STACK)
    if stack is None or stack["StackStatus"] not in FINISHED:
        return None
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def clear_unfinished(cloudformation: Any, name: str, *, say: Say) -> None:
    """Delete a stack that never finished being created; refuse to go on with any other broken one."""
    stack = _describe(cloudformation, name)
    status = stack["StackStatus"] if stack else "DELETE_COMPLETE"
    if status == "DELETE_COMPLETE" or status in FINISHED:
        return
    if status not in NEVER_CREATED:
        raise CliError(
            f"The local stack {name} was left in the state {status} by an earlier run and cannot be "
            "updated. Forget the local state, its posts too, and begin anew: wellspring local reset, "
            "or make clean && make run"
        )
    say(f"An earlier run left the stack {name} half made ({status}); it is made anew.")
    cloudformation.delete_stack(StackName=name)
    deadline = time.monotonic() + DELETE_SECONDS
    while (stack := _describe(cloudformation, name)) and stack["StackStatus"] != "DELETE_COMPLETE":
        if stack["StackStatus"] == "DELETE_FAILED" or time.monotonic() > deadline:
            raise CliError(
                f"The half-made local stack {name} could not be deleted ({stack['StackStatus']}). "
                "Forget the local state and begin anew: wellspring local reset, or make clean && make run"
            )
        time.sleep(0.5)


def _describe(cloudformation: Any, name: str) -> dict[str, Any] | None:
    try:
        stacks = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise CliError(f"The local cloud could not say how the stack {name} is: {error}") from error
    except BotoCoreError as error:
        raise CliError(f"The local cloud does not answer: {error}") from error
    return dict(stacks[0]) if stacks else None


def _sam(arguments: list[str], environment: Mapping[str, str], *, log: Path, tools: Path) -> None:
    sam = project.tool(tools, "sam", "sam")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        done = subprocess.run(
            [sam, *arguments],
            cwd=project.ROOT,
            env=project.clean_environment({"SAM_CLI_TELEMETRY": "0", **environment}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise CliError(f"sam {arguments[0]} failed. Its log, {log}, ends with:\n{project.last_lines(log)}")


def client(endpoint_url: str, service: str, *, attempts: int = 3, patience_seconds: float = 60) -> Any:
    """Return a boto3 client of the local cloud, whatever the user's own AWS settings are."""
    # The user's profile is not looked at: it may not exist, or name an endpoint of its own.
    nothing: dict[str, Any] = {
        "profile": (None, [], None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    session = boto3.Session(botocore_session=botocore.session.Session(session_vars=nothing))
    return session.client(  # type: ignore[call-overload]
        service,
        endpoint_url=endpoint_url,
        region_name=project.REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(
            proxies={},
            retries={"total_max_attempts": attempts},
            connect_timeout=5,
            read_timeout=patience_seconds,
            max_pool_connections=20,
        ),
    )
