"""`wellspring status`: one screen that says how a stack is, and what to see to."""

from __future__ import annotations

import typer
from rich.text import Text

from wellspring import timestamps
from wellspring_cli import errors, output, overview, status_rows, verdict
from wellspring_cli.commands.sources import AsJson
from wellspring_cli.output import say
from wellspring_cli.overview import Overview
from wellspring_cli.stack import Stack
from wellspring_cli.target import Target, with_target


@with_target
def status(target: Target, as_json: AsJson = False) -> None:
    """Say on one screen how the stack is: sources, what is late, polls, posts, the queue, failing hosts.

    The last lines say what needs a person, the most urgent first, and the command that helps.
    Ends with 0 when all is well, with 1 when something needs a person, with 5 when AWS did not tell all.

    wellspring status
    wellspring status --json
    """
    stack = target.open()
    found = overview.gather(stack, now=timestamps.now())
    problems = verdict.problems(found)
    if as_json:
        output.print_json({"stack": stack.name, "place": stack.place} | status_rows.fields(found))
    else:
        _show(stack, found)
    if problems:
        raise typer.Exit(1)
    raise typer.Exit(errors.UNAVAILABLE if found.unread else 0)


def _show(stack: Stack, found: Overview) -> None:
    problems = verdict.problems(found)
    say(Text.assemble((stack.name, "bold"), f", {stack.place}, at {output.clock(found.at)}"))
    say("")
    output.show(output.facts(status_rows.rows(found)))
    if found.census and found.census.hosts:
        say("")
        output.show(status_rows.hosts(found.census.hosts, now=found.at))
    say("")
    for finding in problems:
        say(str(finding), style="red")
    for sentence in found.unread.values():
        say(f"{sentence} What is missing: wellspring doctor", style="yellow")
    if not problems and not found.unread:
        say(verdict.all_is_well(found), style="green")
    for finding in verdict.notes(found):
        say(str(finding))
