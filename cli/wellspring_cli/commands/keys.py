"""`wellspring keys`: the keys of the X API, one for each owner. They are written, and never shown."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from wellspring import config
from wellspring_cli import output
from wellspring_cli.commands.sources import AsJson, Yes, confirm
from wellspring_cli.errors import NotThere, WrongUse
from wellspring_cli.output import say
from wellspring_cli.target import Target, with_target

app = typer.Typer(
    help="The keys that X timelines are read with: set, list and remove them. None is ever shown.",
    no_args_is_help=True,
)

LONGEST = 4_096
FLAWS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("is empty", lambda key: not key),
    ("has more than one line", lambda key: len(key.splitlines()) > 1),
    ("has spaces in it: it goes without 'Bearer' and without quotes", lambda key: len(key.split()) > 1),
    ("is over 4 KB long, which no key is", lambda key: len(key) > LONGEST),
    ("has characters in it that no key has", lambda key: not (key.isascii() and key.isprintable())),
)
Owner = Annotated[str, typer.Argument(metavar="OWNER", help="Who: the --owner of sources.")]


@app.command("set", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@with_target
def set_(target: Target, context: typer.Context, owner: Owner) -> None:
    """Set or replace an owner's key; the next fetch uses it.

    The key is asked for and not shown, or read from a pipe. It is
    never typed behind the command, where the shell's history would
    keep it. It is stored encrypted, in SSM.

    wellspring keys set me
    wellspring keys set me < key.txt
    """
    if context.args:
        # What was typed may be the key itself, and is not repeated.
        raise WrongUse(
            "A key is never typed behind the command: the shell's history would keep it, and may do so now. "
            "Type only `wellspring keys set OWNER`; the key is asked for, or read from a pipe."
        )
    _check(owner)
    stack = target.open()
    key = checked(_typed(owner) if sys.stdin.isatty() else sys.stdin.buffer.read(LONGEST * 2))
    if stack.owner_keys.put(owner, key):
        say(f"Set the key of {owner}, in {stack.place}.")
        say(f"Add a timeline: wellspring sources add https://x.com/USERNAME --owner {owner}")
    else:
        say(f"Replaced the key of {owner}, in {stack.place}; the next fetch uses it.")


@app.command("list")
@with_target
def list_(target: Target, as_json: AsJson = False) -> None:
    """List who has a key, and when it was set; no keys.

    wellspring keys list
    """
    stack = target.open()
    found = sorted(stack.owner_keys.every(), key=lambda key: key.owner_id)
    if as_json:
        output.print_json({"keys": [{"owner_id": key.owner_id, "set_at": key.set_at} for key in found]})
        return
    if not found:
        say(f"No owner has a key in {stack.place}. Set one: wellspring keys set OWNER")
        return
    table = output.table("Owner", "Key set")
    for key in found:
        table.add_row(output.printable(key.owner_id), output.clock(key.set_at))
    output.show(table)


@app.command()
@with_target
def remove(target: Target, owner: Owner, yes: Yes = False) -> None:
    """Remove an owner's key; the owner's timelines fail until there is another one.

    wellspring keys remove me
    """
    _check(owner)
    stack = target.open()
    missing = NotThere(f"{owner} has no key in {stack.place}. See who has: wellspring keys list")
    if owner not in {key.owner_id for key in stack.owner_keys.every()}:
        raise missing
    if not yes:
        confirm(f"Remove the key of {owner} from {stack.place}?")
    if not stack.owner_keys.remove(owner):
        raise missing
    say(f"Removed the key of {owner} from {stack.place}. X timelines of this owner fail from now on.")


def checked(given: str | bytes) -> str:
    """Return the key in what was typed or piped. Raises WrongUse without repeating it."""
    text = given if isinstance(given, str) else given.decode("utf-8-sig", "replace")
    key = text.strip()
    for flaw, has_it in FLAWS:
        if has_it(key):
            raise WrongUse(f"The key {flaw}. Nothing was set.")
    return key


def _typed(owner: str) -> str:
    try:
        return getpass.getpass(f"The key of {owner} (it is not shown): ")
    except EOFError:
        return ""


def _check(owner: str) -> None:
    if not config.OWNER.fullmatch(owner):
        raise WrongUse("An owner is named by letters, digits and . _ - alone, 200 at most.")
