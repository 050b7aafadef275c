"""`wellspring sources`: what is polled, and how often."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Any

import typer

from wellspring import catalog, timestamps
from wellspring.model import Source
from wellspring.standing import State, is_fetched, state_of
from wellspring_cli import output, source_rows
from wellspring_cli.errors import CliError, WrongUse
from wellspring_cli.output import plural, say
from wellspring_cli.stack import Stack
from wellspring_cli.target import Target, with_target

app = typer.Typer(help="Add, list, change and remove what is polled.", no_args_is_help=True)

PATIENCE = 30.0
MOST_COUNTED = 100
"""More rows than this are listed without their numbers of posts: each number is a query."""
SourceName = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Its id, the beginning of its id, or its URL.")
]
SourceNames = Annotated[
    list[str], typer.Argument(metavar="SOURCE", help="Ids, the beginnings of ids, or URLs.")
]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.command("list")
@with_target
def list_(
    target: Target,
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help=f"One of {', '.join(State)}; may be repeated.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only this type.")] = None,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Only this host.")] = None,
    text: Annotated[
        str | None, typer.Option("--match", metavar="TEXT", help="Only those with this in id, URL or title.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many to show at most.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last page ended.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, without numbers of posts.")] = False,
    as_json: AsJson = False,
) -> None:
    """List sources: how each stands, how its last poll ended, when it is polled next.

    wellspring sources list --state failing --state quarantined
    wellspring sources list --host example.org --json
    """
    stack, now = target.open(), timestamps.now()
    defaults = stack.settings.defaults
    wanted = _states(state)

    def fits(source: Source) -> bool:
        return (
            (not wanted or state_of(source, now=now, defaults=defaults) in wanted)
            and (kind is None or source.type == kind)
            and (host is None or source.host == host.lower())
            and (text is None or _mentions(source, text.lower()))
        )

    if everything:
        found, following = [source for source in catalog.every(stack.sources) if fits(source)], None
    else:
        found, following = _page(stack, fits, limit, cursor)
    shown = sorted(found, key=lambda source: (source.host, source.source_id))
    few = not everything and len(shown) <= MOST_COUNTED
    numbers = source_rows.counts(shown, stack.posts) if few else None
    if as_json:
        rows = [
            source_rows.fields(source, now=now, defaults=defaults, posts=numbers[place] if numbers else None)
            for place, source in enumerate(shown)
        ]
        output.print_json({"sources": rows, "cursor": following})
        return
    if shown:
        output.show(source_rows.table(shown, numbers, now=now, defaults=defaults))
    elif following is None:
        say(
            "No source fits."
            if (wanted or kind or host or text)
            else "There are no sources. Add one: wellspring sources add URL"
        )
    if following:
        say(f"There may be more: --cursor {following}")


@app.command()
@with_target
def show(target: Target, source: SourceName, as_json: AsJson = False) -> None:
    """Show all that is known of a source.

    wellspring sources show example.org
    """
    stack, now = target.open(), timestamps.now()
    found = catalog.find(source, stack.sources)
    (posts,) = source_rows.counts([found], stack.posts)
    defaults = stack.settings.defaults
    if as_json:
        output.print_json(source_rows.fields(found, now=now, defaults=defaults, posts=posts))
        return
    output.show(output.facts(source_rows.details(found, posts, now=now, defaults=defaults)))


@app.command()
@with_target
def enable(target: Target, sources: SourceNames) -> None:
    """Put sources back into the schedule, as if nothing had gone wrong before.

    wellspring sources enable example.org
    """
    stack = target.open()
    for name in sources:
        after = changed(stack, name, lambda before, now: catalog.enabled(before, stack.settings, now=now))
        say(f"Enabled {after.source_id}, in {stack.place}.")
        say_next(after)


@app.command()
@with_target
def disable(target: Target, sources: SourceNames) -> None:
    """Take sources out of the schedule; what is stored of them stays.

    wellspring sources disable example.org
    """
    stack = target.open()
    for name in sources:
        after = changed(stack, name, lambda before, now: catalog.disabled(before))
        say(
            f"Disabled {after.source_id}, in {stack.place}. "
            f"Enable it again: wellspring sources enable {after.source_id}"
        )


@app.command()
@with_target
def remove(
    target: Target,
    sources: SourceNames,
    with_posts: Annotated[bool, typer.Option("--with-posts", help="Delete its posts as well.")] = False,
    yes: Yes = False,
) -> None:
    """Remove sources. Their posts stay, unless --with-posts deletes them; fetch logs go by themselves.

    wellspring sources remove example.org --with-posts
    """
    stack = target.open()
    named = [catalog.find(name, stack.sources) for name in sources]
    found = list({source.source_id: source for source in named}.values())
    if not yes:
        what = f"{plural(len(found), 'source')}{' and all their posts' if with_posts else ''}"
        names = ", ".join(source.source_id for source in found)
        confirm(f"Remove {what} from {stack.place}: {names}?")
    for source in found:
        gone = stack.sources.remove(source.source_id)
        erased = stack.posts.erase(source.source_id) if with_posts else 0
        posts = f" and {plural(erased, 'post')}" if with_posts else ""
        removed = (
            f"Removed {source.source_id}{posts}" if gone else f"{source.source_id} was gone already{posts}"
        )
        say(f"{removed}, from {stack.place}.")


def changed(stack: Stack, name: str, change: Callable[[Source, datetime], Source]) -> Source:
    """Change a source in one write; one that is being fetched is waited for."""
    deadline = time.monotonic() + PATIENCE
    before = catalog.find(name, stack.sources)
    while True:
        now = timestamps.now()
        after = change(before, now)
        if stack.sources.edit(before, after, now=now):
            return after
        if time.monotonic() > deadline:
            raise CliError(
                f"{before.source_id} is being fetched all the time; nothing was changed. Try again."
            )
        time.sleep(0.5 if is_fetched(before, now=now) else 0)
        before = catalog.find(before.source_id, stack.sources)


def confirm(question: str) -> None:
    """Ask before something is lost; a program must say --yes, since nobody answers there."""
    if not sys.stdin.isatty():
        raise WrongUse(f"{question} Nobody can answer here: say --yes if it is meant.")
    if not typer.confirm(output.printable(question)):
        raise CliError("Nothing was done.")


def say_next(after: Source) -> None:
    now = timestamps.now()
    if after.next_fetch_at is None:
        say("It is not in the schedule.")
    elif after.next_fetch_at <= now:
        say("It is due now.")
    else:
        far = output.relative(after.next_fetch_at, now=now)
        say(f"It is due next at {output.clock(after.next_fetch_at)}, {far}.")


def _page(
    stack: Stack, fits: Callable[[Source], bool], limit: int, cursor: str | None
) -> tuple[list[Source], str | None]:
    """Return so many sources that fit, and the id behind which there may be more."""
    page = stack.sources.scan(after=cursor, limit=limit)
    found: list[Source] = []
    while True:
        for source in page.sources:
            if fits(source):
                found.append(source)
                if len(found) == limit:
                    return found, None if source is page.sources[-1] and not page.after else source.source_id
        if page.after is None:
            return found, None
        page = stack.sources.scan(after=page.after, limit=catalog.PAGE)


def _states(given: Iterable[str] | None) -> set[State]:
    unknown = [name for name in given or () if name not in set(State)]
    if unknown:
        raise WrongUse(f"{unknown[0]!r} is no state. There are: {', '.join(State)}")
    return {State(name) for name in given or ()}


def _mentions(source: Source, text: str) -> bool:
    told: list[Any] = [source.source_id, source.shown_url, source.title or ""]
    return any(text in part.lower() for part in told)
