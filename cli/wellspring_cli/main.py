"""The `wellspring` command: what a person can type, and how a mistake is told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wellspring.errors import WellspringError
from wellspring_cli import posts as inbox
from wellspring_cli import trying
from wellspring_cli.demo import run as demo_run
from wellspring_cli.errors import CliError
from wellspring_cli.local import cloud, project

app = typer.Typer(
    help="Wellspring polls feeds when they are due and stores every new post once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
local = typer.Typer(help="The local cloud: the whole stack on this computer.", no_args_is_help=True)
app.add_typer(local, name="local")
posts = typer.Typer(help="The posts of the local cloud that nobody has processed.", no_args_is_help=True)
app.add_typer(posts, name="posts")


def read_port(given: str | int) -> int:
    """Return the port that a person named."""
    text = str(given).strip()
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535):
        raise CliError(f"{text!r} is not a port. Name a number between 1024 and 65535: make run PORT=4577")
    return int(text)


Port = Annotated[
    int, typer.Option(parser=read_port, metavar="PORT", help="Where the local cloud listens, on 127.0.0.1.")
]
StateDir = Annotated[Path, typer.Option(help="Where the local cloud keeps its state.", show_default=False)]


@app.command()
def demo(
    once: Annotated[bool, typer.Option("--once", help="End by itself after the first posts.")] = False,
    port: Port = project.DEFAULT_PORT,
    state_dir: StateDir = project.STATE_DIR,
) -> None:
    """Show the whole stack at work on this computer, with living feeds, until Ctrl-C."""
    demo_run.run(state_dir.resolve(), port, once=once, console=_console())


@app.command()
def fetch(source_id: str, state_dir: StateDir = project.STATE_DIR) -> None:
    """Fetch a source of the local cloud now, whatever its schedule says."""
    demo_run.fetch_by_hand(_stack(state_dir), source_id)
    _console().print(f"Asked for a fetch of {source_id}.")


@app.command()
def viewed(source_id: str, state_dir: StateDir = project.STATE_DIR) -> None:
    """Note that somebody looked at a source of the local cloud; the activity cadence goes by it."""
    inbox.view(inbox.open_client(_stack(state_dir)), source_id)
    _console().print(f"Noted a view of {source_id}.")


@posts.command("list")
def list_posts(
    limit: Annotated[int, typer.Option(help="How many to show at most.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Whole posts, for programs.")] = False,
    state_dir: StateDir = project.STATE_DIR,
) -> None:
    """List posts that nobody has processed, the oldest first."""
    page = inbox.open_client(_stack(state_dir)).pending(limit=limit, cursor=cursor)
    if as_json:
        typer.echo(inbox.as_json(page))
        return
    for line in inbox.lines(page):
        _console().print(line, soft_wrap=True)


@posts.command()
def process(
    names: Annotated[list[str] | None, typer.Argument(metavar="SOURCE_ID/CONTENT_HASH...")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every post that is listed.")] = False,
    state_dir: StateDir = project.STATE_DIR,
) -> None:
    """Mark posts as processed: they are listed no more, and kept."""
    tally = inbox.process(inbox.open_client(_stack(state_dir)), names or [], everything=everything)
    if tally.unknown:
        raise CliError(inbox.told(tally))
    _console().print(inbox.told(tally))


@app.command("try")
def try_(
    what: Annotated[
        str, typer.Argument(metavar="URL-OR-FILE", help="A URL, a file, or - for what comes in.")
    ],
    kind: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="rss, website or twitter; left out, it is found out."),
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", metavar="BASE", help="Where a file comes from, for its links.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A header of the request; may be repeated.")
    ] = None,
    max_age_days: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Entries older than this are left out. [default: 7]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what a poll of a URL or a file would store, and what it would leave out and why.

    Nothing is stored and no stack is needed. X wants your key in the environment variable X_API_KEY.
    Ends with 0 when the document could be read, with 1 when not.

    \b
    wellspring try https://example.org/feed.xml
    wellspring try saved.html --type website --url https://example.org/article --json
    """
    tried = trying.run(what, kind=kind, base=url, headers=header or (), max_age_days=max_age_days)
    if as_json:
        print(trying.as_json(tried))
    else:
        trying.show(tried, _console())
    raise typer.Exit(0 if trying.is_good(tried) else 1)


@local.command()
def up(port: Port = project.DEFAULT_PORT, state_dir: StateDir = project.STATE_DIR) -> None:
    """Start the local cloud and deploy the stack there; what was stored is kept."""
    console = _console()
    stack = cloud.up(state_dir, port, say=lambda text: console.print(text, soft_wrap=True))
    console.print(f"The stack is deployed. The local cloud answers at {stack.endpoint_url} until: make down")


@local.command()
def down(state_dir: StateDir = project.STATE_DIR) -> None:
    """Stop the local cloud; what was stored is kept."""
    if cloud.down(state_dir):
        _console().print("The local cloud is stopped; its state is kept.")
    else:
        _console().print("No local cloud was running.")


@local.command()
def status(state_dir: StateDir = project.STATE_DIR) -> None:
    """Say whether the local cloud runs, and what is deployed there."""
    console = _console()
    running = cloud.running(state_dir)
    if running is None:
        console.print("No local cloud is running. Start it: make run")
        return
    console.print(f"The local cloud runs at {running.endpoint_url} (process {running.pid}).")
    stack = cloud.find(state_dir)
    if stack is None:
        console.print("No finished stack is deployed there.")
        return
    for name, value in sorted(stack.outputs.items()):
        console.print(f"  {name:<20} {value}", soft_wrap=True)


def _stack(state_dir: Path) -> cloud.LocalStack:
    stack = cloud.find(state_dir)
    if stack is None:
        raise CliError("No local cloud with a deployed stack is running. Start it: make run")
    return stack


def _console() -> Console:
    return Console(highlight=False, markup=False)


def main() -> None:
    """Run the command; what a person can mend is told in a sentence, without a traceback."""
    try:
        app()
    except (CliError, WellspringError) as error:
        Console(stderr=True).print(Text(str(error), style="red"), soft_wrap=True)
        sys.exit(1)
