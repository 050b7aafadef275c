"""`wellspring local`: the whole stack on this computer."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wellspring_cli import errors, output
from wellspring_cli.commands import local_logs
from wellspring_cli.commands.sources import AsJson, Yes, confirm
from wellspring_cli.errors import CliError, WrongUse
from wellspring_cli.local import cloud, elsewhere, folder, project, standing
from wellspring_cli.local.cloud import Elsewhere
from wellspring_cli.local.progress import Timed
from wellspring_cli.local.standing import Standing
from wellspring_cli.output import note, say

app = typer.Typer(help="The local cloud: the whole stack on this computer.", no_args_is_help=True)

START = "Start it: wellspring local up (make run starts it and shows it at work)."
NEXT = (
    ("wellspring sources add URL", "poll a feed, a page or a timeline"),
    ("wellspring status", "see how everything stands"),
    ("wellspring local logs --follow", "see what the functions do"),
    ("wellspring local down", "stop it; what is stored is kept"),
)
NEXT_ELSEWHERE = (*NEXT[:-1], ("wellspring local down", "forget this emulator, which goes on"))


def read_port(given: str | int) -> int:
    """Return the port that a person named."""
    text = str(given).strip()
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535):
        raise WrongUse(f"{text!r} is not a port. Name a number between 1024 and 65535, like 4577.")
    return int(text)


Port = Annotated[
    int, typer.Option(parser=read_port, metavar="PORT", help="Where the local cloud listens, on 127.0.0.1.")
]
StateDir = local_logs.StateDir
Wait = Annotated[
    bool,
    typer.Option("--wait/--no-wait", help="Wait until the schedule has woken the planner, 90 s at most."),
]


@app.command()
def up(
    port: Annotated[
        int | None,
        typer.Option(
            parser=read_port,
            metavar="PORT",
            help=f"Where it listens, on 127.0.0.1; else {project.DEFAULT_PORT}, or where it runs already.",
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Deploy to the emulator that runs there, like LocalStack, instead."),
    ] = None,
    wait: Wait = True,
    state_dir: StateDir = project.STATE_DIR,
) -> None:
    """Start the local cloud and deploy the stack there; what was stored is kept.

    Said again, it deploys what has changed in the project since.

    wellspring local up
    wellspring local up --port 4577 --no-wait
    wellspring local up --endpoint http://127.0.0.1:4566
    """
    if port is not None and endpoint is not None:
        raise WrongUse("--port says where MiniStack is started; with --endpoint none is. Say one of them.")
    bring_up(state_dir, port, elsewhere.checked(endpoint) if endpoint is not None else None, wait=wait)


@app.command()
def down(state_dir: StateDir = project.STATE_DIR) -> None:
    """Stop the local cloud; what was stored is kept.

    wellspring local down
    """
    found = cloud.running(state_dir)
    if not cloud.down(state_dir):
        say("No local cloud was running.")
    elif isinstance(found, Elsewhere):
        say(
            f"The emulator at {found.endpoint_url} was not started by Wellspring: it goes on, with the stack "
            "in it. It is only forgotten here."
        )
    else:
        say("The local cloud is stopped; its state is kept.")


@app.command()
def status(as_json: AsJson = False, state_dir: StateDir = project.STATE_DIR) -> None:
    """Say whether the local cloud runs, since when, and what is deployed there.

    Ends with 0 when it runs with a finished stack, with 1 when not.

    wellspring local status --json
    """
    found = standing.of(state_dir)
    if as_json:
        output.print_json(asdict(found) | {"is_good": found.is_good})
    else:
        _tell(found)
    raise typer.Exit(0 if found.is_good else CliError.code)


@app.command()
def reset(yes: Yes = False, wait: Wait = True, state_dir: StateDir = project.STATE_DIR) -> None:
    """Forget everything that is stored in the local cloud; if it runs, it begins anew, with a fresh stack.

    An emulator that was not started by Wellspring is left alone.

    wellspring local reset --yes
    """
    found = cloud.running(state_dir)
    if isinstance(found, Elsewhere):
        raise CliError(
            f"The emulator at {found.endpoint_url} was not started by Wellspring, and may hold other things: "
            "nothing was done. Restart or empty it yourself, then: wellspring local up"
        )
    if found is None and not folder.has_state(state_dir):
        say(f"Nothing is stored in {state_dir.resolve()}.")
        return
    if not yes:
        confirm(f"Forget all sources, posts and keys that are stored in {state_dir.resolve()}?")
    cloud.reset(state_dir)
    say(f"Forgot all that was stored in {state_dir.resolve()}.")
    if found:
        bring_up(state_dir, found.port, None, wait=wait)


app.command("logs")(local_logs.logs)


def bring_up(state_dir: Path, port: int | None, endpoint_url: str | None, *, wait: bool) -> None:
    """Deploy the stack, step by step, and say what to do next."""
    shown = Timed(output.console())
    stack = None
    try:
        stack = cloud.up(state_dir, port, endpoint_url=endpoint_url, progress=shown)
        if wait:
            with shown.step("Waiting for the schedule to wake the planner, 90 s at most"):
                cloud.wait_for_planner(state_dir, stack)
    except KeyboardInterrupt:
        note(_interrupted(state_dir, is_deployed=stack is not None))
        raise typer.Exit(errors.INTERRUPTED) from None
    works = " and works" if wait else ""
    say(f"The stack is deployed{works}, in the local cloud at {stack.endpoint_url}. What next:")
    suffix = local_logs.suffix(state_dir)
    following = NEXT_ELSEWHERE if isinstance(cloud.running(state_dir), Elsewhere) else NEXT
    width = max(len(command) for command, _ in following) + len(suffix)
    for command, what in following:
        say(f"  {command + suffix:<{width}}  {what}")


def _interrupted(state_dir: Path, *, is_deployed: bool) -> str:
    found, suffix = cloud.running(state_dir), local_logs.suffix(state_dir)
    if found is None:
        return "Stopped. No local cloud is running."
    stop = f"To stop it: wellspring local down{suffix}"
    where = f"Stopped. The local cloud goes on at {found.endpoint_url}"
    if is_deployed:
        return f"{where} with the stack in it; only the waiting has ended. {stop}"
    return f"{where}, but the deployment was not finished. To go on: wellspring local up{suffix}. {stop}"


def _tell(found: Standing) -> None:
    if found.endpoint_url is None:
        kept = f" What an earlier one stored is kept in {found.state_dir}." if found.keeps_state else ""
        say(f"No local cloud is running.{kept} {START}")
        return
    since = f" since {output.clock(found.since)}" if found.since else ""
    who = f"process {found.pid}" if found.is_ours else "not started by Wellspring"
    runs = (
        f"runs at {found.endpoint_url}{since}" if found.runs else f"at {found.endpoint_url} does not answer"
    )
    say(f"The local cloud {runs} ({who}).", style=None if found.runs else "red")
    if found.is_ours:
        say(f"Its state lies in {found.state_dir}, its log in {found.log_file}.")
    else:
        say(f"That it is the one to talk to is remembered in {found.state_dir}.")
    if not found.runs:
        say("Stop it and start it again: wellspring local down, wellspring local up")
    elif not found.outputs:
        say("No finished stack is deployed there. Deploy it: wellspring local up", style="red")
    else:
        say("The stack is deployed there:")
        output.show(output.facts((f"  {name}", value) for name, value in sorted(found.outputs.items())))
