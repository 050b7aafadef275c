"""The local cloud as a whole: an emulator, ours or somebody else's, with the deployed stack in it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from wellspring import timestamps
from wellspring_cli.errors import CliError
from wellspring_cli.local import deployment, elsewhere, emulator, fingerprint, folder, function_logs, project
from wellspring_cli.local.deployment import LocalStack
from wellspring_cli.local.elsewhere import Elsewhere
from wellspring_cli.local.emulator import Running, start, stop
from wellspring_cli.local.interpreter import of_containers, of_ministack
from wellspring_cli.local.progress import Progress, Said, Say

__all__ = [
    "Elsewhere",
    "LocalStack",
    "Running",
    "broke_off",
    "down",
    "find",
    "reset",
    "running",
    "start",
    "stop",
    "up",
    "wait_for_planner",
]

LATELY = timedelta(minutes=2)
PATIENCE = timedelta(seconds=90)
LOOK_EVERY = 1.0


def up(
    state_dir: Path,
    port: int | None = None,
    *,
    endpoint_url: str | None = None,
    build_dir: Path | None = None,
    say: Say = print,
    progress: Progress | None = None,
    parameters: Mapping[str, str] | None = None,
) -> LocalStack:
    """Start the local cloud if it is not running, build the stack, deploy it; data is kept.

    With an endpoint it is deployed to the emulator that runs there. A stack that is deployed as it stands
    in the project, and works, is left as it is.
    """
    state_dir = state_dir.resolve()
    shown = progress or Said(say)
    project.tool(project.TOOLS, "sam", "sam")
    with folder.alone(state_dir):
        place = _open(state_dir, port, endpoint_url, shown)
        is_ministack = isinstance(place, Running) or elsewhere.is_ministack(place.endpoint_url)
        interpreter = of_ministack() if is_ministack else of_containers()
        made = fingerprint.of(interpreter, parameters or {}, str(place))
        if fingerprint.is_deployed(state_dir, made) and (stack := _working(state_dir)):
            shown.say("The stack is deployed already, as it stands in the project.")
            return stack
        fingerprint.forget(state_dir)
        build_dir = build_dir or state_dir / "build"
        with shown.step("Building the functions and their layer"):
            deployment.build(build_dir, log=state_dir / "sam-build.log", interpreter=interpreter)
        with shown.step("Deploying the stack (about a quarter of a minute the first time)"):
            stack = deployment.deploy(
                build_dir,
                place.endpoint_url,
                log=state_dir / "sam-deploy.log",
                say=shown.say,
                parameters=parameters,
                interpreter=interpreter,
                has_gaps=is_ministack,
            )
        fingerprint.remember(state_dir, made)
        return stack


def wait_for_planner(state_dir: Path, stack: LocalStack) -> datetime:
    """Wait until the schedule has woken the planner since the deployment, and return when that was."""
    since = max(fingerprint.remembered_at(state_dir), timestamps.now() - LATELY)
    deadline = time.monotonic() + PATIENCE.total_seconds()
    while (ran_at := function_logs.last_planned(stack, since=since)) is None:
        if time.monotonic() > deadline:
            raise CliError(
                "The stack is deployed, but the schedule brought the planner to no end of a run within "
                f"{PATIENCE.seconds} s. See why: wellspring local logs, or wellspring local logs --emulator"
            )
        time.sleep(LOOK_EVERY)
    return ran_at


def down(state_dir: Path) -> bool:
    """Stop the local cloud; its state stays in the folder. False when it was not running.

    An emulator elsewhere is only forgotten.
    """
    return stop(state_dir) or elsewhere.forget(state_dir)


def reset(state_dir: Path) -> None:
    """Stop our local cloud and forget all that is stored in it."""
    state_dir = state_dir.resolve()
    with folder.alone(state_dir):
        stop(state_dir)
        folder.forget_state(state_dir)


def running(state_dir: Path) -> Running | Elsewhere | None:
    """Return the local cloud of a state folder: our own, if it is alive, else the one that it is bound to."""
    return emulator.running(state_dir) or elsewhere.bound(state_dir)


def broke_off(state_dir: Path) -> bool:
    """Say whether a local cloud was started here, is gone, and was stopped by nobody."""
    return folder.record_file(state_dir).exists() and running(state_dir) is None


def find(state_dir: Path) -> LocalStack | None:
    """Return the stack in the running local cloud, without deploying anything."""
    cloud = running(state_dir)
    outputs = deployment.read_outputs(cloud.endpoint_url) if cloud else None
    if cloud is None or outputs is None:
        return None
    return LocalStack(cloud.endpoint_url, project.REGION, outputs)


def _open(
    state_dir: Path, port: int | None, endpoint_url: str | None, shown: Progress
) -> Running | Elsewhere:
    own, bound = emulator.running(state_dir), elsewhere.bound(state_dir)
    if own and endpoint_url:
        raise CliError(
            f"The local cloud runs already at {own.endpoint_url}. Stop it first: wellspring local down"
        )
    if bound and not own and (port or endpoint_url not in (None, bound.endpoint_url)):
        raise CliError(
            f"The local cloud of this folder is the one at {bound.endpoint_url}. "
            "Forget it first: wellspring local down"
        )
    if endpoint_url is None and (own or not bound):
        project.tool(project.TOOLS, "ministack", "ministack")
        with shown.step("Starting the local cloud (MiniStack)"):
            return start(state_dir, port or (own.port if own else project.DEFAULT_PORT))
    url = endpoint_url or (bound.endpoint_url if bound else "")
    with shown.step(f"Asking the emulator at {url}"):
        elsewhere.check(url)
    return bound or elsewhere.bind(state_dir, url, now=timestamps.now())


def _working(state_dir: Path) -> LocalStack | None:
    """Return the deployed stack if its planner has run lately."""
    stack = find(state_dir)
    if stack and function_logs.last_planned(stack, since=timestamps.now() - LATELY):
        return stack
    return None
