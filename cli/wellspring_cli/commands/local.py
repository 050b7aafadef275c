"""`wellspring local`: the whole stack on this computer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wellspring_cli.errors import WrongUse
from wellspring_cli.local import cloud, project
from wellspring_cli.output import say

app = typer.Typer(help="The local cloud: the whole stack on this computer.", no_args_is_help=True)


def read_port(given: str | int) -> int:
    """Return the port that a person named."""
    text = str(given).strip()
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535):
        raise WrongUse(f"{text!r} is not a port. Name a number between 1024 and 65535: make run PORT=4577")
    return int(text)


Port = Annotated[
    int, typer.Option(parser=read_port, metavar="PORT", help="Where the local cloud listens, on 127.0.0.1.")
]
StateDir = Annotated[Path, typer.Option(help="Where the local cloud keeps its state.", show_default=False)]


@app.command()
def up(port: Port = project.DEFAULT_PORT, state_dir: StateDir = project.STATE_DIR) -> None:
    """Start the local cloud and deploy the stack there; what was stored is kept."""
    stack = cloud.up(state_dir, port, say=say)
    say(f"The stack is deployed. The local cloud answers at {stack.endpoint_url} until: make down")


@app.command()
def down(state_dir: StateDir = project.STATE_DIR) -> None:
    """Stop the local cloud; what was stored is kept."""
    if cloud.down(state_dir):
        say("The local cloud is stopped; its state is kept.")
    else:
        say("No local cloud was running.")


@app.command()
def status(state_dir: StateDir = project.STATE_DIR) -> None:
    """Say whether the local cloud runs, and what is deployed there."""
    running = cloud.running(state_dir)
    if running is None:
        say("No local cloud is running. Start it: make run")
        return
    say(f"The local cloud runs at {running.endpoint_url} (process {running.pid}).")
    stack = cloud.find(state_dir)
    if stack is None:
        say("No finished stack is deployed there.")
        return
    for name, value in sorted(stack.outputs.items()):
        say(f"  {name:<20} {value}")
