"""`wellspring logs`: how the fetches of a source went."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from wellspring import catalog, timestamps
from wellspring_cli import cadence, log_pages, log_rows, log_summary, output
from wellspring_cli.commands.sources import AsJson, SourceName
from wellspring_cli.errors import WrongUse
from wellspring_cli.log_pages import LogPage
from wellspring_cli.output import say
from wellspring_cli.target import Target, with_target

USUAL = 20
MOST = 1_000
WHEN = "A span, like 2d, or a moment, like 2026-11-18T09:30Z."


@with_target
def logs(
    target: Target,
    source: SourceName,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="How many to show at most.")] = USUAL,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    since: Annotated[str | None, typer.Option(metavar="TIME", help=f"Not older than this. {WHEN}")] = None,
    before: Annotated[str | None, typer.Option(metavar="TIME", help="Only older than this.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how the fetches of a source went, the newest last: it stands above the prompt.

    Below them: how long each took and how it ended, from left to right, and all in a sentence.

    wellspring logs example.org
    wellspring logs example.org --failed --since 2d
    wellspring logs example.org --json
    """
    now = timestamps.now()
    earliest, latest = moment(since, now=now), moment(before, now=now)
    stack = target.open()
    found = catalog.find(source, stack.sources)
    page = log_pages.of_source(
        found.source_id, stack.logs, limit=limit, before=latest, since=earliest, failed=failed, now=now
    )
    if as_json:
        rows = [log_rows.fields(log) for log in reversed(page.logs)]
        output.print_json({"logs": rows, "before": output.moment(page.before)})
        return
    name = output.printable(found.source_id)
    say(Text.assemble((name, "bold"), f"  {output.printable(found.shown_url)}"))
    if page.logs:
        _show(page, failed=failed, now=now)
    elif failed or since or before:
        say("No fetch log fits." if page.before is None else "None fits so far.")
    else:
        say(f"It was not fetched yet, or long ago: no log is left. Fetch it now: wellspring fetch {name}")
    if page.before:
        options = [
            *(["--failed"] if failed else []),
            *([f"--since {since}"] if since else []),
            *([f"--limit {limit}"] if limit != USUAL else []),
        ]
        asked = " ".join(("wellspring logs", name, *options, "--before", timestamps.to_text(page.before)))
        say(f"Older ones: {asked}")


def moment(text: str | None, *, now: datetime) -> datetime | None:
    """Read a moment, or how long ago it was."""
    if text is None:
        return None
    try:
        return timestamps.from_text(text)
    except ValueError:
        pass
    try:
        return now - cadence.span(text)
    except (WrongUse, OverflowError):
        raise WrongUse(f"{text!r} is no time. {WHEN}") from None


def _show(page: LogPage, *, failed: bool, now: datetime) -> None:
    attempts = page.logs[::-1]
    output.show(log_rows.table(attempts))
    console = output.console()
    knows_blocks = console.encoding.startswith("utf")
    blocks = log_summary.BLOCKS if knows_blocks else log_summary.PLAIN_BLOCKS
    room = max(console.width // 2, 1)
    say("")
    say(log_summary.durations(attempts, room=room, blocks=blocks))
    if failed:
        say(log_summary.told_of_failures(attempts))
        return
    say(log_summary.results(attempts, room=room))
    say(log_summary.told(attempts, now=now))
