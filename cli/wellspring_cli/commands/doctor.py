"""`wellspring doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.text import Text

from wellspring_cli import checkup, output
from wellspring_cli.checks import OF_ITS_NUMBERS
from wellspring_cli.checkup import Check
from wellspring_cli.commands.sources import AsJson
from wellspring_cli.errors import NoStack
from wellspring_cli.output import plural, say
from wellspring_cli.target import Target, with_target

WIDEST = 12


@with_target
def doctor(target: Target, as_json: AsJson = False) -> None:
    """Look for what is wrong: settings, credentials and their rights, the stack, its schedule and queue.

    Nothing is changed. Each check is a line: ok, or FAIL and what to do.
    Ends with 0 when all is ok, with 1 when not, with 4 when nothing could be asked.

    wellspring doctor
    wellspring doctor --profile work --region eu-west-1 --json
    """
    made: list[Check] = []
    for check in checkup.run(target):
        made.append(check)
        if not as_json:
            mark = ("ok  ", "green") if check.ok else ("FAIL", "bold red")
            say(Text.assemble(mark, f"  {check.name:<{WIDEST}}  {output.printable(check.text)}"))
    failed = [check for check in made if not check.ok]
    if as_json:
        output.print_json({"ok": not failed, "checks": [asdict(check) for check in made]})
    elif failed:
        rest = "" if made[-1].name in OF_ITS_NUMBERS else "; the rest could not be checked"
        say(f"{plural(len(failed), 'check')} failed{rest}.", style="red")
    if not failed:
        raise typer.Exit(0)
    raise typer.Exit(1 if checkup.was_anything_asked(made) else NoStack.code)
