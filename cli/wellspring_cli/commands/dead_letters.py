"""`wellspring dead-letters`: the messages that nobody could work off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from wellspring import timestamps
from wellspring.aws.dead_letters import Letter
from wellspring.model import Source
from wellspring_cli import dead_letters, output
from wellspring_cli.commands.sources import AsJson, Yes, confirm
from wellspring_cli.dead_letters import LOOK, WORK, Hands, Redriven
from wellspring_cli.errors import CliError, WrongUse
from wellspring_cli.output import note, plural, say
from wellspring_cli.stack import Stack
from wellspring_cli.target import Target, with_target

app = typer.Typer(
    help="Messages that failed too often, or that nobody can read: see them, send them again, drop them.",
    no_args_is_help=True,
)

READ_AT_ONCE = 100
HIDDEN = "somebody is at work on them, or was stopped at it: they come back within a quarter of an hour"
Names = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids, or unique beginnings of ids.")]
Everything = Annotated[bool, typer.Option("--all", help="All that are there.")]


@app.command("list")
@with_target
def list_(
    target: Target,
    limit: Annotated[int, typer.Option(min=1, help="How many to show at most.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List the dead letters, the oldest first: what they say, and why they are there.

    All of them stay there. Each look counts as one more time that a message was received.

    wellspring dead-letters list
    wellspring dead-letters list --limit 1000 --json
    """
    stack = target.open()
    letters, is_late = _looked_at(stack, limit)
    depth = stack.dead_letters.depth()
    more = is_late or (len(letters) >= limit and depth.waiting > len(letters))
    sources = _sources(stack, letters)
    tries = stack.dead_letters.tries() if any(letter.reason is None for letter in letters) else None
    if as_json:
        now = timestamps.now()
        rows = [dead_letters.fields(letter, sources, tries=tries, now=now) for letter in letters]
        output.print_json({"dead_letters": rows, "more": more, "hidden": depth.hidden})
        return
    for letter in letters:
        say(dead_letters.told(letter, sources, tries=tries))
    if more:
        say(f"There are more, about {depth.waiting:,} in all: --limit shows more of them.")
    if depth.hidden:
        say(f"{plural(depth.hidden, 'more is', 'more are')} out of sight: {HIDDEN}.")
    if letters:
        say("Send them again: wellspring dead-letters redrive ID. Drop them: wellspring dead-letters drop ID")
    elif not depth.hidden:
        say(f"There are no dead letters in {stack.place}.")


@app.command()
@with_target
def redrive(target: Target, ids: Names = None, everything: Everything = False) -> None:
    """Put dead letters back on the fetch queue, once what made them fail is mended.

    Those that cannot be read would only come back; they are left where they are.

    wellspring dead-letters redrive 3f2a
    wellspring dead-letters redrive --all
    """
    _check(ids, everything=everything)
    stack = target.open()
    done, now = Redriven(), timestamps.now()
    with Hands(stack.dead_letters, WORK) as hands:
        try:
            for batch in _taken(hands, ids, "Sending dead letters again"):
                done.send(batch, hands, stack.queue, now=now)
        finally:
            # Whatever ends it, what was done by then is told.
            if done:
                _tell(done, stack)
    if not done:
        say(f"There are no dead letters in {stack.place}.")
    _tell_if_late(hands)
    if done.refused or (ids and done.unreadable):
        raise typer.Exit(CliError.code)


@app.command()
@with_target
def drop(target: Target, ids: Names = None, everything: Everything = False, yes: Yes = False) -> None:
    """Delete dead letters for good.

    wellspring dead-letters drop 3f2a 77c0
    wellspring dead-letters drop --all
    """
    _check(ids, everything=everything)
    stack = target.open()
    if everything and not yes:
        depth = stack.dead_letters.depth()
        confirm(f"Drop all dead letters, about {depth.waiting + depth.hidden:,}, from {stack.place}?")
    dropped = 0
    with Hands(stack.dead_letters, WORK) as hands:
        try:
            for batch in _taken(hands, ids, "Dropping dead letters"):
                if ids and not yes:
                    names = ", ".join(letter.message_id for letter in batch)
                    confirm(f"Drop {plural(len(batch), 'dead letter')} from {stack.place}: {names}?")
                dropped += hands.delete(batch)
        finally:
            if dropped or everything:
                say(f"Dropped {plural(dropped, 'dead letter')} from {stack.place}.")
    _tell_if_late(hands)


def _check(ids: Sequence[str] | None, *, everything: bool) -> None:
    if bool(ids) is everything:
        also = ", but not both" if everything else ""
        raise WrongUse(f"Name dead letters by their ids, or say --all{also}. wellspring dead-letters list")


def _looked_at(stack: Stack, limit: int) -> tuple[list[Letter], bool]:
    """Return dead letters, the oldest first, and whether there was no time for more; all stay there."""
    found: list[Letter] = []
    with Hands(stack.dead_letters, LOOK) as hands:
        for batch in _watched(hands.batches(), "Looking at dead letters"):
            found += batch
            if len(found) >= limit:
                break
    return sorted(found[:limit], key=lambda letter: letter.sent_at), hands.is_late


def _taken(hands: Hands, ids: Sequence[str] | None, doing: str) -> Iterator[Sequence[Letter]]:
    """Yield the letters that are meant: those that are named at once, or all of them as they come."""
    if ids:
        yield hands.find(ids)
    else:
        yield from _watched(hands.batches(), doing)


def _watched(batches: Iterator[list[Letter]], doing: str) -> Iterator[list[Letter]]:
    """Show a person how far it is."""
    number = 0
    with output.console(stderr=True).status(doing) as status:
        for batch in batches:
            yield batch
            number += len(batch)
            status.update(f"{doing}: {number:,}")


def _tell(done: Redriven, stack: Stack) -> None:
    say(f"Put {plural(done.sent, 'message')} back on the fetch queue, in {stack.place}.")
    if done.unreadable:
        names = [
            letter.message_id[: dead_letters.SHORT_ID]
            for letter in done.unreadable[: dead_letters.MOST_NAMED]
        ]
        more = " ..." if len(done.unreadable) > len(names) else ""
        note(
            f"{plural(len(done.unreadable), 'message')} cannot be read and would only come back: left there. "
            f"To delete: wellspring dead-letters drop {' '.join(names)}{more}"
        )
    if done.refused:
        note(f"{plural(done.refused, 'message')} the fetch queue did not take: left there. Try again.")


def _tell_if_late(hands: Hands) -> None:
    if hands.is_late:
        note("The time was over before all were seen. Say it again for the rest.")


def _sources(stack: Stack, letters: Sequence[Letter]) -> dict[str, Source]:
    """Return the sources that messages name, by their ids."""
    names = [name for name in {dead_letters.named(letter.body) for letter in letters} if name]
    found: list[Source] = []
    for start in range(0, len(names), READ_AT_ONCE):
        found += stack.sources.read(names[start : start + READ_AT_ONCE])
    return {source.source_id: source for source in found}
