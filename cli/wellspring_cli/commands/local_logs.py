"""`wellspring local logs`: what the functions, and the emulator itself, have logged on this computer."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from wellspring import timestamps
from wellspring_cli import cadence, output
from wellspring_cli.errors import NoStack, NotThere, WrongUse
from wellspring_cli.local import cloud, folder, log_lines, project
from wellspring_cli.local.function_logs import GROUPS, FunctionLogs, Line
from wellspring_cli.output import note, say

LOOK_EVERY = 1.0
LAST_LINES = 50
StateDir = Annotated[
    Path,
    typer.Option(metavar="FOLDER", help="Where the local cloud keeps its state.", show_default=False),
]


class Function(StrEnum):
    """Whose log."""

    PLANNER = "planner"
    FETCHER = "fetcher"


def logs(
    function: Annotated[Function | None, typer.Argument(help="Only this one's.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it comes, until Ctrl-C.")] = False,
    since: Annotated[str, typer.Option(metavar="SPAN", help="How far back.")] = "10m",
    errors: Annotated[bool, typer.Option("--errors", help="Only errors and failed fetches.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with all fields.")] = False,
    of_emulator: Annotated[
        bool, typer.Option("--emulator", help="The end of MiniStack's own log instead.")
    ] = False,
    state_dir: StateDir = project.STATE_DIR,
) -> None:
    """Show what the planner and the fetchers have logged in the local cloud, a line for each thing.

    wellspring local logs --since 1h --errors
    wellspring local logs fetcher --follow
    wellspring local logs --emulator
    """
    span = cadence.span(since)
    if of_emulator:
        if function or follow or errors or as_json:
            raise WrongUse("--emulator shows the end of one log as it is, and goes with nothing else.")
        _show_emulator(state_dir)
        return
    stack = cloud.find(state_dir)
    if stack is None:
        what = (
            "No finished stack is in the local cloud"
            if cloud.running(state_dir)
            else "No local cloud is running"
        )
        raise NoStack(f"{what}. Start it: wellspring local up{suffix(state_dir)}")
    functions = (function.value,) if function else tuple(GROUPS)
    log = FunctionLogs(stack, functions, timestamps.now() - span)
    try:
        shown = _show(log, errors=errors, as_json=as_json)
        while follow:
            time.sleep(LOOK_EVERY)
            shown += _show(log, errors=errors, as_json=as_json)
    except KeyboardInterrupt:
        if not follow:
            raise
        # That is how one ends it.
        return
    if not shown and not as_json:
        what = "No error was logged" if errors else "Nothing was logged"
        note(f"{what} in the last {since}. See further back: --since 1d")


def suffix(state_dir: Path) -> str:
    """Return what a command needs to mean the same local cloud."""
    return "" if state_dir.resolve() == project.STATE_DIR else f" --state-dir {state_dir}"


def _show(log: FunctionLogs, *, errors: bool, as_json: bool) -> int:
    """Show what is new, and say how many lines that were."""
    shown = 0
    while new := log.look():
        wanted = [line for line in new if line.is_error or not errors]
        for line in wanted:
            _print(line, as_json=as_json)
        shown += len(wanted)
    return shown


def _print(line: Line, *, as_json: bool) -> None:
    if as_json:
        output.print_json_line(log_lines.fields(line))
    else:
        say(log_lines.told(line))


def _show_emulator(state_dir: Path) -> None:
    if isinstance(found := cloud.running(state_dir), cloud.Elsewhere):
        raise NotThere(
            f"The emulator at {found.endpoint_url} was not started by Wellspring: its log is not here."
        )
    log = folder.log_file(state_dir)
    if not log.exists():
        raise NotThere(f"There is no log {log}: no local cloud has run there.")
    for line in project.last_lines(log, LAST_LINES).splitlines():
        say(output.printable(line))
