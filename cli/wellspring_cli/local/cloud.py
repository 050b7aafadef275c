"""The local cloud as a whole: the emulator's process with the deployed stack in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wellspring_cli.local import deployment, project
from wellspring_cli.local.deployment import LocalStack, Say
from wellspring_cli.local.emulator import Running, running, start, stop

__all__ = ["LocalStack", "Running", "down", "find", "running", "start", "stop", "up"]


def up(
    state_dir: Path,
    port: int = project.DEFAULT_PORT,
    *,
    build_dir: Path | None = None,
    say: Say = print,
    parameters: Mapping[str, str] | None = None,
) -> LocalStack:
    """Start the local cloud if it is not running, build the stack, deploy it; data is kept."""
    state_dir = state_dir.resolve()
    for tool in ("ministack", "sam"):
        project.tool(project.TOOLS, tool, tool)
    build_dir = build_dir or state_dir / "build"
    say("Starting the local cloud (MiniStack).")
    cloud = start(state_dir, port)
    say("Building the functions and their layer.")
    deployment.build(build_dir, log=state_dir / "sam-build.log")
    say("Deploying the stack (about a quarter of a minute the first time).")
    return deployment.deploy(
        build_dir, cloud.endpoint_url, log=state_dir / "sam-deploy.log", say=say, parameters=parameters
    )


def down(state_dir: Path) -> bool:
    """Stop the local cloud; its state stays in the folder. False when it was not running."""
    return stop(state_dir)


def find(state_dir: Path) -> LocalStack | None:
    """Return the stack in the running local cloud, without deploying anything."""
    cloud = running(state_dir)
    outputs = deployment.read_outputs(cloud.endpoint_url) if cloud else None
    if cloud is None or outputs is None:
        return None
    return LocalStack(cloud.endpoint_url, project.REGION, outputs)
