"""`wellspring fetch`, `explain`, `plan` and `viewed`: when sources are fetched, and why."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.text import Text

from wellspring import catalog, explanation, timestamps
from wellspring.aws.faults import told_as_unavailable
from wellspring.explanation import Explanation
from wellspring.message import FetchMessage
from wellspring.model import FetchLog, Source
from wellspring.ports import Outgoing
from wellspring_cli import cadence, log_rows, output
from wellspring_cli.commands.sources import AsJson, SourceName
from wellspring_cli.errors import CliError, NotThere
from wellspring_cli.output import plural, say
from wellspring_cli.stack import Stack
from wellspring_cli.target import Target, with_target

LOOK_EVERY = 0.5
RECENT = 5


@with_target
def fetch(
    target: Target,
    source: SourceName,
    wait: Annotated[bool, typer.Option("--wait", help="Follow it, and tell how it ended.")] = False,
    patience: Annotated[str, typer.Option(metavar="SPAN", help="How long --wait waits.")] = "60s",
    as_json: AsJson = False,
) -> None:
    """Fetch a source now, whatever its schedule says: puts a message on the queue.

    Its min-interval, its host's pause and a Retry-After still count: then the
    message waits. With --wait it ends with 0 when the fetch succeeded, else 1.

    wellspring fetch example.org --wait
    """
    longest = cadence.span(patience).total_seconds()
    stack = target.open()
    found = catalog.find(source, stack.sources)
    if not found.enabled:
        why = f" ({found.health.reason})" if found.health.reason else ""
        raise CliError(
            f"{found.source_id} is disabled{why}, and is not fetched. "
            f"Enable it first: wellspring sources enable {found.source_id}"
        )
    before = _newest(stack, found)
    message = FetchMessage(source_id=found.source_id, manual=True)
    if stack.queue.send([Outgoing(message)]) != [True]:
        raise CliError("The queue did not take the message. Try again.")
    if not (as_json and wait):
        told = _explained(stack, found, before).by_hand
        asked = {"source_id": found.source_id, "asked": True, "expected": told}
        if as_json:
            output.print_json(asked)
        else:
            say(f"Asked for a fetch of {found.source_id}, in {stack.place}: {told}.")
    if wait:
        _follow(stack, found, before, longest, as_json=as_json)


@with_target
def explain(target: Target, source: SourceName, as_json: AsJson = False) -> None:
    """Say why a source was or was not fetched, and when it will be, reason by reason.

    wellspring explain example.org
    """
    stack = target.open()
    found = catalog.find(source, stack.sources)
    told = _explained(stack, found, _newest(stack, found))
    if as_json:
        output.print_json({"source_id": found.source_id, "url": found.shown_url} | asdict(told))
        return
    say(Text.assemble((output.printable(found.source_id), "bold"), f"  {found.shown_url}"))
    pairs: list[tuple[str, str | Text]] = [
        ("state", f"{told.state}: {told.why}"),
        ("cadence", cadence.told(found.config)),
        ("last", output.printable(told.last)),
        ("next", told.next),
        *(("because" if not place else "", reason) for place, reason in enumerate(told.reasons)),
        *(
            ("in the way" if not place else "", Text(one, "yellow"))
            for place, one in enumerate(told.obstacles)
        ),
        ("by hand", told.by_hand),
    ]
    output.show(output.facts(pairs))


@with_target
def plan(
    target: Target,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent, and why.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many decisions to show at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Run the planner now: it puts what is due on the queue. With --dry-run nothing is sent or written.

    wellspring plan --dry-run
    """
    stack = target.open()
    report = invoke_planner(stack, {"dry_run": True} if dry_run else {})
    if as_json:
        output.print_json(report)
        return
    decisions = report.get("decisions", ())
    for made in decisions[:limit]:
        say(_decision(made))
    if len(decisions) > limit:
        say(f"... and {len(decisions) - limit:,} more; --limit shows more of them.")
    out = ", ".join(f"{number} {why}" for why, number in sorted(report["skipped"].items()))
    sent = "would be put on the queue" if dry_run else "put on the queue"
    delayed = f", {report['delayed']} of them with a delay" if report["delayed"] else ""
    say(
        f"{plural(report['enqueued'], 'source')} {sent}{delayed}, in {stack.place}"
        + (f"; left out: {out}" if out else "")
        + "."
    )
    for name in ("note", "busy", "halted", "frozen"):
        if name in report:
            say(report[name], style="yellow")


@with_target
def viewed(target: Target, source: SourceName) -> None:
    """Note that somebody looked at a source; the activity cadence goes by it.

    wellspring viewed example.org
    """
    stack = target.open()
    found = catalog.find(source, stack.sources)
    if not stack.consumer.viewed(found.source_id):
        raise NotThere(f"{found.source_id} was removed a moment ago.")
    say(f"Noted a view of {found.source_id}, in {stack.place}.")


def invoke_planner(stack: Stack, event: dict[str, Any]) -> Any:
    """Run the planner and return its report."""
    with told_as_unavailable("Running the planner"):
        answer = stack.client("lambda").invoke(
            FunctionName=stack.outputs["PlannerFunction"], Payload=json.dumps(event).encode()
        )
    report = json.loads(answer["Payload"].read() or b"null")
    if "FunctionError" in answer or not isinstance(report, dict) or "skipped" not in report:
        told = report.get("errorMessage") or report.get("error") if isinstance(report, dict) else report
        raise CliError(
            f"The planner failed: {told}. Its log says more: sam logs --stack-name {stack.name} --tail"
        )
    return report


def _follow(stack: Stack, source: Source, before: FetchLog | None, longest: float, *, as_json: bool) -> None:
    deadline = time.monotonic() + longest
    while (log := _made_since(stack, source, before)) is None:
        if time.monotonic() > deadline:
            source = catalog.find(source.source_id, stack.sources)
            obstacles = "; ".join(_explained(stack, source, before).obstacles)
            raise CliError(
                f"{source.source_id} was not fetched within {longest:.0f} s"
                + (f": {obstacles}" if obstacles else "")
                + f". The message stays on the queue; later: wellspring logs {source.source_id}"
            )
        time.sleep(LOOK_EVERY)
    good = log.status in log_rows.SUCCESSES
    if as_json:
        output.print_json(log_rows.fields(log))
    else:
        say(
            f"{output.clock(log.started_at)}  {output.printable(explanation.outcome(log))}",
            style="green" if good else "red",
        )
        if log.next_fetch_at:
            say(f"Next at {output.clock(log.next_fetch_at)}: {'; '.join(log.reasons)}")
    raise typer.Exit(0 if good else 1)


def _made_since(stack: Stack, source: Source, before: FetchLog | None) -> FetchLog | None:
    """Return the first fetch by hand that began after the newest one of before."""
    newest = stack.logs.newest(source.source_id, limit=RECENT)
    made = [log for log in newest if log.manual and (before is None or log.started_at > before.started_at)]
    return made[-1] if made else None


def _explained(stack: Stack, source: Source, last: FetchLog | None) -> Explanation:
    return explanation.explain(
        source,
        last=last,
        host=stack.gates.host(source.host),
        now=timestamps.now(),
        defaults=stack.settings.defaults,
    )


def _newest(stack: Stack, source: Source) -> FetchLog | None:
    return next(iter(stack.logs.newest(source.source_id, limit=1)), None)


def _decision(made: dict[str, Any]) -> str:
    does = (
        f"sent after {made['delay_seconds']} s" if "delay_seconds" in made else f"skipped: {made['skipped']}"
    )
    following = f"; next {made['next_fetch_at']}" if "next_fetch_at" in made else ""
    return f"{made['source_id']}  {made['url']}  {does} ({'; '.join(made['reasons'])}){following}"
