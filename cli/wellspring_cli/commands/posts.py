"""`wellspring posts`: what was stored, and what waits to be processed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from wellspring import catalog, timestamps
from wellspring.client import Page
from wellspring.inbox import LONGEST_PAGE
from wellspring_cli import output, post_names, post_pages, post_rows
from wellspring_cli.commands.sources import AsJson, Yes, confirm
from wellspring_cli.errors import NotThere, WrongUse
from wellspring_cli.output import say
from wellspring_cli.stack import Stack
from wellspring_cli.target import Target, with_target

app = typer.Typer(help="Read the posts, and mark those that were processed.", no_args_is_help=True)

USUAL = 20
AT_ONCE = 100
WIDEST = 100
"""Longer lines are hard to read, however wide the screen is."""
NAME = "SOURCE_ID/HASH"
Source = Annotated[
    str | None,
    typer.Option("--source", metavar="SOURCE", help="Its id, the beginning of its id, or its URL."),
]


@app.command("list")
@with_target
def list_(
    target: Target,
    source: Source = None,
    pending: Annotated[
        bool, typer.Option("--pending", help="With --source: only those that nobody has processed.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=LONGEST_PAGE, help="How many to show at most.")] = USUAL,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Whole posts, for programs.")] = False,
) -> None:
    """List what nobody has processed, the oldest first; or a source's posts, the newest first.

    The second line of each is the name to show or process it by.

    wellspring posts list
    wellspring posts list --source example.org
    wellspring posts list --source example.org --pending --json
    """
    stack = target.open()
    source_id = catalog.find(source, stack.sources).source_id if source is not None else None
    if source_id is None:
        page = stack.consumer.pending(limit=limit, cursor=cursor)
    else:
        page = post_pages.of_source(
            source_id, stack.posts, limit=limit, cursor=cursor, pending=pending, now=timestamps.now()
        )
    if as_json:
        output.print_json({"posts": [post_rows.fields(post) for post in page.posts], "cursor": page.cursor})
        return
    for line in post_rows.lines(page.posts):
        say(line)
    if not page.posts and not page.cursor:
        say(_nothing(source_id, pending=pending))
    if page.cursor:
        asked = f" --source {output.printable(source_id)}" if source_id else ""
        asked += " --pending" if source_id and pending else ""
        asked += f" --limit {limit}" if limit != USUAL else ""
        say(f"More: wellspring posts list{asked} --cursor {page.cursor}")


@app.command()
@with_target
def show(
    target: Target,
    name: Annotated[str, typer.Argument(metavar=NAME, help="As posts list names it.")],
    as_json: AsJson = False,
) -> None:
    """Show all that is known of a post, and its whole text.

    wellspring posts show example.org-0a1b2c3d4e5f/9f86d081884c
    """
    stack = target.open()
    key = post_names.find(name, stack.posts)
    post = post_pages.one(key, stack.posts, now=timestamps.now())
    if post is None:
        raise NotThere(
            f"The post {output.printable(name)} is too old: it is deleted, or will be in a moment."
        )
    if as_json:
        output.print_json(post_rows.fields(post))
        return
    output.show(output.facts(post_rows.details(post)))
    console = output.console()
    for line in post_rows.texts(post):
        console.print(line, width=min(console.width, WIDEST))


@app.command()
@with_target
def process(
    target: Target,
    names: Annotated[list[str] | None, typer.Argument(metavar=NAME, help="As posts list names them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every post that is pending.")] = False,
    source: Annotated[
        str | None, typer.Option("--source", metavar="SOURCE", help="Every pending post of this source.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Mark posts as processed: they are no longer pending, and kept for good. Repeating it is safe.

    wellspring posts process example.org-0a1b2c3d4e5f/9f86d081884c
    wellspring posts process --source example.org
    wellspring posts process --all --yes
    """
    if bool(names) == (everything or source is not None):
        raise WrongUse(f"Name the posts to process, as {NAME}, or say --all, or --source: one of these.")
    stack = target.open()
    unknown: list[str] = []
    if names:
        keys, unknown = post_names.find_all(names, stack.posts)
        tally = stack.consumer.mark_processed(keys)
    else:
        source_id = catalog.find(source, stack.sources).source_id if source is not None else None
        # A program that says --all has always been believed; nothing is deleted by it.
        if sys.stdin.isatty() and not yes:
            whose = output.printable(source_id) if source_id else "all sources"
            confirm(f"Mark every pending post of {whose} in {stack.place} as processed?")
        tally = post_pages.mark_all(stack.consumer, lambda cursor: _pending(stack, source_id, cursor))
    if as_json:
        output.print_json(post_rows.tally_fields(tally, unknown))
    if tally.unknown or unknown:
        raise NotThere(post_rows.told(tally, unknown))
    if not as_json:
        say(f"In {stack.place}: {post_rows.told(tally, unknown)}")


def _pending(stack: Stack, source_id: str | None, cursor: str | None) -> Page:
    if source_id is None:
        return stack.consumer.pending(limit=AT_ONCE, cursor=cursor)
    now = timestamps.now()
    return post_pages.of_source(source_id, stack.posts, limit=AT_ONCE, cursor=cursor, pending=True, now=now)


def _nothing(source_id: str | None, *, pending: bool) -> str:
    if source_id is None:
        return "No posts wait to be processed."
    name = output.printable(source_id)
    if pending:
        return f"No posts of {name} wait to be processed."
    return f"There are no posts of {name}. How its fetches went: wellspring logs {name}"
