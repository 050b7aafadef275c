"""The `wellspring` command: what a person can type, and how a mistake is told."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError

from wellspring.catalog import UnknownSource
from wellspring.errors import Denied, InvalidInput, NotSignedIn, Unavailable
from wellspring_cli import cadence, errors, output, trying
from wellspring_cli.commands import (
    adding,
    dead_letters,
    doctor,
    fetching,
    importing,
    keys,
    local,
    logs,
    posts,
    sources,
    status,
    watch,
)
from wellspring_cli.demo import run as demo_run
from wellspring_cli.errors import CliError
from wellspring_cli.local import project

TRACEBACK = "WELLSPRING_TRACEBACK"

app = typer.Typer(
    help="Wellspring polls feeds when they are due and stores every new post once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(local.app, name="local")
sources.app.command()(adding.add)
sources.app.command()(adding.edit)
sources.app.command("import")(importing.import_)
sources.app.command("export")(importing.export)
app.add_typer(sources.app, name="sources")
app.add_typer(posts.app, name="posts")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(keys.app, name="keys")
app.command()(status.status)
app.command()(doctor.doctor)
app.command()(fetching.fetch)
app.command()(fetching.explain)
app.command()(fetching.plan)
app.command()(fetching.viewed)
app.command()(logs.logs)
app.command()(watch.watch)


@app.command()
def demo(
    once: Annotated[bool, typer.Option("--once", help="End by itself after the first posts.")] = False,
    port: local.Port = project.DEFAULT_PORT,
    state_dir: local.StateDir = project.STATE_DIR,
) -> None:
    """Show the whole stack at work on this computer, with living feeds, until Ctrl-C.

    wellspring demo
    wellspring demo --once --port 4577
    """
    demo_run.run(state_dir.resolve(), port, once=once, console=output.console())


@app.command("try")
def try_(
    what: Annotated[
        str, typer.Argument(metavar="URL-OR-FILE", help="A URL, a file, or - for what comes in.")
    ],
    kind: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="rss, website or twitter; left out, it is found out."),
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", metavar="BASE", help="Where a file comes from, for its links.")
    ] = None,
    header: cadence.Headers = None,
    max_age_days: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Entries older than this are left out. [default: 7]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what a poll of a URL or a file would store, and what it would leave out and why.

    Nothing is stored and no stack is needed. X wants your key in the
    environment variable X_API_KEY. Ends with 0 when the document could be
    read, with 1 when not.

    wellspring try https://example.org/feed.xml
    wellspring try saved.html --type website --url https://example.org/article --json
    """
    tried = trying.run(what, kind=kind, base=url, headers=cadence.headers(header), max_age_days=max_age_days)
    if as_json:
        output.print_json(trying.fields(tried))
    else:
        with output.written():
            trying.show(tried, output.console())
    raise typer.Exit(0 if trying.is_good(tried) else 1)


def main() -> None:
    """Run the command; what a person can mend is told in a sentence, without a traceback."""
    _open_what_is_closed()
    try:
        app()
    except (CliError, InvalidInput, Unavailable, ClientError, BotoCoreError) as error:
        sentence, code = told(error)
        output.note(sentence, style="red")
        sys.exit(code)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        output.note(
            f"This is a mistake of Wellspring's own ({what}). {TRACEBACK}=1 shows where it is.", style="red"
        )
        sys.exit(errors.BUG)


def _open_what_is_closed() -> None:
    """Give a command that was started with closed streams, as some schedulers do, empty ones."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def told(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code of an error."""
    match error:
        case CliError():
            return str(error), error.code
        case UnknownSource():
            return str(error), errors.NotThere.code
        case InvalidInput():
            return str(error), errors.WrongUse.code
        case NotSignedIn():
            return f"{error} Sign in to AWS, or name a profile: --profile", errors.NoStack.code
        case Denied():
            return f"{error} wellspring doctor says what your credentials lack.", errors.UNAVAILABLE
        case Unavailable():
            return f"{error} Try again; wellspring doctor looks for the cause.", errors.UNAVAILABLE
    return f"AWS refused: {error} wellspring doctor looks for the cause.", errors.UNAVAILABLE
