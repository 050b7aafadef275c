"""`wellspring sources add` and `edit`: what a source is, as a person says it."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from wellspring import catalog, config, timestamps
from wellspring.catalog import Wanted
from wellspring.model import Source
from wellspring.sources.discovery import kind_of_url
from wellspring_cli import cadence, output, source_rows, trying
from wellspring_cli.commands.sources import AsJson, SourceName, changed, say_next
from wellspring_cli.errors import CliError, WrongUse
from wellspring_cli.output import say
from wellspring_cli.stack import Stack
from wellspring_cli.target import Target, with_target

Type = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="rss, website or twitter; left out, it is found out."),
]
Owner = Annotated[str | None, typer.Option("--owner", metavar="OWNER", help="Whose key reads an X timeline.")]


@with_target
def add(
    target: Target,
    url: Annotated[str, typer.Argument(metavar="URL", help="A feed, a page, or https://x.com/username.")],
    every: cadence.Every = None,
    adaptive: cadence.AdaptiveFlag = False,
    activity: cadence.ActivityFlag = False,
    always: cadence.AlwaysFlag = False,
    kind: Type = None,
    owner: Owner = None,
    title: Annotated[str | None, typer.Option(help="What to call it; else the feed's own title.")] = None,
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Store what it lists from before today, too.")
    ] = False,
    full_text: Annotated[bool, typer.Option("--full-text", help="Fetch the page of each new post.")] = False,
    header: cadence.Headers = None,
    setting: cadence.Settings = None,
    source_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="An id of your own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a feed, a page or a timeline; it is fetched within a minute.

    Without --type the URL is fetched once from here, to find out what it is.
    Without a cadence it is adaptive: polled as often as it brings something new.

    wellspring sources add https://example.org/feed.xml
    wellspring sources add https://example.org/blog --every 30m --full-text
    wellspring sources add https://x.com/username --owner me --every 1h
    """
    stack = target.open()
    given = cadence.settings(setting) | {
        name: value
        for name, value in (
            ("headers", cadence.headers(header)),
            ("backfill", backfill),
            ("full_text", full_text),
        )
        if value
    }
    how = cadence.chosen(every, adaptive=adaptive, activity=activity, always=always)
    given.setdefault("cadence", how or {"mode": "adaptive"})
    wanted = Wanted(url=url, source_id=source_id, type=kind, title=title, owner_id=owner, config=given)
    now = timestamps.now()
    # Whatever is wrong with the rest is told before the URL is asked.
    source = catalog.new(wanted, stack.settings, now=now, bulk=False)
    if stack.sources.read([source.source_id]):
        raise CliError(_is_there(source, stack))
    if kind is None and kind_of_url(url) is None:
        source = catalog.new(_found_out(wanted), stack.settings, now=now, bulk=False)
    if not stack.sources.add(source):
        raise CliError(_is_there(source, stack))
    if as_json:
        output.print_json(source_rows.fields(source, now=now, defaults=stack.settings.defaults, posts=0))
        return
    called = f" ({output.printable(source.title)})" if source.title else ""
    say(f"Added {source.source_id}{called}: {source.type}, {cadence.told(source.config)}, in {stack.place}.")
    say(f"It is fetched within a minute; see how it went: wellspring logs {source.source_id}")


@with_target
def edit(
    target: Target,
    source: SourceName,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Another URL.")] = None,
    every: cadence.Every = None,
    adaptive: cadence.AdaptiveFlag = False,
    activity: cadence.ActivityFlag = False,
    always: cadence.AlwaysFlag = False,
    kind: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="rss, website or twitter.")
    ] = None,
    owner: Owner = None,
    title: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    backfill: Annotated[
        bool | None, typer.Option("--backfill/--no-backfill", help="Store older entries at the first poll.")
    ] = None,
    full_text: Annotated[
        bool | None, typer.Option("--full-text/--no-full-text", help="Fetch the page of each new post.")
    ] = None,
    header: cadence.Headers = None,
    setting: cadence.Settings = None,
    as_json: AsJson = False,
) -> None:
    """Change a source; what is not named stays. An empty value takes a header or a setting out.

    Its next time follows from its new cadence.

    wellspring sources edit example.org --every 2h
    wellspring sources edit example.org --set max_age_days=30 --header X-Token=
    """
    stack = target.open()
    how = cadence.chosen(every, adaptive=adaptive, activity=activity, always=always)
    told = {"url": url, "type": kind, "owner_id": owner, "title": title}
    fields = {name: value for name, value in told.items() if value is not None}

    def change(before: Source, now: datetime) -> Source:
        settings = cadence.settings(setting) | {
            name: value
            for name, value in (("cadence", how), ("backfill", backfill), ("full_text", full_text))
            if value is not None
        }
        if header:
            settings["headers"] = cadence.headers(header, before.config.headers)
        moved = {"previous_url": before.url} if fields.get("url", before.url) != before.url else {}
        if moved:
            _check_nobody_is_at(fields["url"], before, stack)
        given = catalog.with_config(before, settings)
        return catalog.edited(before, fields | moved, given, stack.settings, now=now)

    if not (fields or how or header or setting or backfill is not None or full_text is not None):
        raise WrongUse("Nothing was named that should change. wellspring sources edit --help lists what can.")
    after = changed(stack, source, change)
    if as_json:
        output.print_json(source_rows.fields(after, now=timestamps.now(), defaults=stack.settings.defaults))
        return
    say(f"Changed {after.source_id}: {after.type}, {cadence.told(after.config)}, in {stack.place}.")
    say_next(after)


def _check_nobody_is_at(url: str, before: Source, stack: Stack) -> None:
    """Raise CliError when another source has the URL: both would poll it."""
    for other in stack.sources.read([catalog.id_of(url)]):
        if other.source_id != before.source_id and catalog.is_at(other, catalog.id_of(url)):
            raise CliError(
                f"{other.source_id} has this URL already. "
                f"Remove one of the two: wellspring sources remove {before.source_id}"
            )


def _found_out(wanted: Wanted) -> Wanted:
    """Ask the URL what it is: a feed, a page that links to one, or a page."""
    tried = trying.run(wanted.url, headers=config.parse(wanted.config).headers)
    if not trying.is_good(tried):
        unseen = "To add it unseen, name its type: --type rss, or --type website."
        raise CliError(
            f"{catalog.shown(wanted.url)} cannot be read ({tried.error_class}): {tried.error} {unseen}"
        )
    if tried.type == "website" and tried.feeds:
        feed = tried.feeds[0]
        offer = f"{catalog.shown(wanted.url)} is a page. It links to a feed: {feed.url}"
        if not sys.stdin.isatty():
            raise WrongUse(f"{offer} Add that one, or say --type website to watch the page itself.")
        if typer.confirm(f"{offer}\nAdd the feed instead?", default=True):
            return replace(wanted, url=feed.url, type="rss", title=wanted.title or feed.title or None)
    return replace(wanted, type=tried.type, title=wanted.title or tried.title)


def _is_there(source: Source, stack: Stack) -> str:
    return (
        f"{source.source_id} is there already, in {stack.place}. "
        f"Change it: wellspring sources edit {source.source_id}"
    )
