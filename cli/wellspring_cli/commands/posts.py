"""`wellspring posts`: what was stored, and what waits to be processed."""

from __future__ import annotations

from typing import Annotated

import typer

from wellspring_cli import posts as inbox
from wellspring_cli.errors import NotThere
from wellspring_cli.output import say
from wellspring_cli.target import Target, with_target

app = typer.Typer(help="The posts that nobody has processed.", no_args_is_help=True)


@app.command("list")
@with_target
def list_(
    target: Target,
    limit: Annotated[int, typer.Option(help="How many to show at most.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Whole posts, for programs.")] = False,
) -> None:
    """List posts that nobody has processed, the oldest first."""
    page = target.open().consumer.pending(limit=limit, cursor=cursor)
    if as_json:
        typer.echo(inbox.as_json(page))
        return
    for line in inbox.lines(page):
        say(line)


@app.command()
@with_target
def process(
    target: Target,
    names: Annotated[list[str] | None, typer.Argument(metavar="SOURCE_ID/CONTENT_HASH...")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every post that is listed.")] = False,
) -> None:
    """Mark posts as processed: they are listed no more, and kept."""
    tally = inbox.process(target.open().consumer, names or [], everything=everything)
    if tally.unknown:
        raise NotThere(inbox.told(tally))
    say(inbox.told(tally))
