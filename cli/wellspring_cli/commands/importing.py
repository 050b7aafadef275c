"""`wellspring sources import` and `export`: many sources at once, from files and into files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from wellspring import catalog, config, timestamps
from wellspring.model import Source
from wellspring.sources import KINDS
from wellspring_cli import bulk, cadence, errors, import_told, output, source_files
from wellspring_cli.bulk import Ready, Tally
from wellspring_cli.commands.sources import AsJson
from wellspring_cli.errors import CliError, WrongUse
from wellspring_cli.output import note, plural, say
from wellspring_cli.source_files import STANDARD, Format, disk, rows
from wellspring_cli.source_files.rows import Unsaid
from wellspring_cli.stack import Stack
from wellspring_cli.target import Target, with_target

MOST_NAMED = 5
ADAPTIVE = {"mode": "adaptive"}
PLAIN = {"cadence": ADAPTIVE}
"""The settings that a source gets which names none."""
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT", help=f"{', '.join(source_files.FORMATS)}; else the file's ending tells."
    ),
]


@with_target
def import_(
    target: Target,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for what comes in.")],
    every: cadence.Every = None,
    adaptive: cadence.AdaptiveFlag = False,
    activity: cadence.ActivityFlag = False,
    always: cadence.AlwaysFlag = False,
    kind: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="rss, website or twitter, for rows that name none."),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner", metavar="OWNER", help="Whose key reads X timelines, for rows that name none."
        ),
    ] = None,
    form: FormatName = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be added; nothing is written.")
    ] = False,
    skip_errors: Annotated[
        bool, typer.Option("--skip-errors", help="Add the good rows although there are bad ones.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add the sources of an OPML, CSV or JSON file; safe to repeat.

    All rows are checked first: with a bad one among them nothing is written.
    Sources that are there already stay as they are. Nothing is fetched from
    here; first polls are spread over the sources' intervals.

    CSV begins with a line of column names: url, and as you like id, type,
    title, owner, enabled, created_at, cadence (a mode, or JSON), every (30m)
    and settings, like max_age_days. JSON is a list of objects with url, id,
    type, title, owner, enabled, created_at, config. Rows without a cadence
    get the one that is named here, else adaptive.

    wellspring sources import subscriptions.opml
    wellspring sources import sources.csv --every 30m --dry-run
    cat sources.json | wellspring sources import - --format json
    """
    chosen = source_files.format_of(file, form)
    how = cadence.chosen(every, adaptive=adaptive, activity=activity, always=always) or ADAPTIVE
    config.parse({"cadence": how})
    if kind is not None and kind not in KINDS:
        raise WrongUse(f'The type "{kind}" is not known. Use one of: {", ".join(sorted(KINDS))}')
    given = source_files.read(file, chosen)
    stack = target.open()
    unsaid = Unsaid(cadence=how, type=kind, owner=owner)
    checked = bulk.check(given, unsaid, stack.settings, now=timestamps.now())
    refused = bool(checked.problems) and not skip_errors
    tally = Tally() if refused else _add(checked.ready, stack, dry_run=dry_run)
    if as_json:
        output.print_json(import_told.fields(checked, tally, dry_run=dry_run))
    else:
        import_told.problems(checked, disk.called(file), is_refused=refused)
        if not refused:
            import_told.outcome(checked, tally, stack.place, dry_run=dry_run)
    if isinstance(tally.stopped_by, KeyboardInterrupt):
        raise typer.Exit(errors.INTERRUPTED)
    if tally.stopped_by:
        raise tally.stopped_by
    if refused:
        raise typer.Exit(WrongUse.code)
    if checked.problems or tally.refused:
        raise typer.Exit(CliError.code)


@with_target
def export(
    target: Target,
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE|-]", show_default=False, help="A file; left out or -, JSON is printed."
        ),
    ] = STANDARD,
    form: FormatName = None,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="With the values of headers, in a file for you alone.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write all sources into a file that can be imported again, or print it.

    URLs are written whole, with keys that may be in them; the values of
    headers only --with-secrets. What was learned (intervals, validators,
    failures) is left out, and so are posts.

    wellspring sources export sources.json
    wellspring sources export sources.csv --with-secrets
    wellspring sources export --format opml > sources.opml
    """
    printed = file == STANDARD
    chosen = source_files.format_of(file, form or "json" if printed else form)
    if not printed:
        disk.check_writable(Path(file), force=force)
    stack = target.open()
    found = sorted(catalog.every(stack.sources), key=lambda source: source.source_id)
    whole = [source for source in found if source.url]
    data = chosen.write([rows.fields(source, with_secrets=with_secrets) for source in whole]).encode()
    if printed:
        disk.write_out(data)
    else:
        disk.write(Path(file), data, private=with_secrets)
        mine = ", readable for you alone" if with_secrets else ""
        say(f"Wrote {plural(len(whole), 'source')} from {stack.place} to {file}{mine}.")
    _tell_left_out(whole, chosen, with_secrets=with_secrets)
    if unreadable := [source for source in found if not source.url]:
        what = plural(len(unreadable), "source that has no readable URL", "sources that have no readable URL")
        note(f"Left out: {what}: {_listed(unreadable)}", style="red")
        raise typer.Exit(CliError.code)


def _add(ready: Sequence[Ready], stack: Stack, *, dry_run: bool) -> Tally:
    """Add them with a bar that shows how far it is, if somebody looks."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(
        *columns, console=output.console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    )
    with bar:
        task = bar.add_task("Looking" if dry_run else "Adding", total=len(ready))
        return bulk.add(
            ready, stack.sources, dry_run=dry_run, advance=lambda number: bar.advance(task, number)
        )


def _tell_left_out(sources: Sequence[Source], chosen: Format, *, with_secrets: bool) -> None:
    """Tell beside the file what is not in it."""
    if spoilt := [source for source in sources if source.warnings]:
        note(f"What cannot be read of {plural(len(spoilt), 'source')} was left out: {_listed(spoilt)}")
    if not chosen.holds_settings:
        if more := sum(_is_more_than_a_link(source) for source in sources):
            note(
                f"OPML holds URL, title and type alone: cadence, owner and settings of "
                f"{plural(more, 'source')} were left out. JSON and CSV hold them."
            )
        return
    headers = sum(bool(source.config.headers) for source in sources)
    if headers and not with_secrets:
        note(f"The headers of {plural(headers, 'source')} were left out; --with-secrets writes them.")


def _is_more_than_a_link(source: Source) -> bool:
    found = rows.fields(source, with_secrets=True)
    return found["config"] != PLAIN or not source.enabled or source.owner_id is not None


def _listed(sources: Sequence[Source]) -> str:
    names = [output.printable(source.source_id) for source in sources]
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
