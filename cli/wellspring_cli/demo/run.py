"""Shows Wellspring at work: the whole stack on this computer, polling feeds that live."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.text import Text

from wellspring import timestamps
from wellspring.errors import InvalidInput, Unavailable
from wellspring.message import FetchMessage
from wellspring_cli.demo import diagnosis, sources, view
from wellspring_cli.demo.publisher import open_publisher
from wellspring_cli.demo.watch import Watch
from wellspring_cli.errors import CliError
from wellspring_cli.local import cloud, emulator, project
from wellspring_cli.local.deployment import LocalStack

POLL_SECONDS = 1.0
PATIENCE = timedelta(seconds=120)


def run(state_dir: Path, port: int, *, once: bool, console: Console) -> None:
    """Show the stack at work until Ctrl-C, or, if only once, until posts have come."""
    # A closed terminal and a polite kill end the demo like Ctrl-C: in order. Started in the
    # background by a script, even SIGINT would be ignored.
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    try:
        _run(state_dir, port, once=once, console=console)
    except KeyboardInterrupt:
        _say(
            console, "Stopped. Everything stored is kept: make run goes on from there, make clean forgets it."
        )
    except (BotoCoreError, ClientError, Unavailable) as error:
        raise CliError(
            f"The local cloud failed, or was stopped from elsewhere: {error} "
            f"Its log: {emulator.log_file(state_dir)}. Try again: make run"
        ) from error


def fetch_by_hand(stack: LocalStack, source_id: str) -> None:
    """Put a message on the queue that fetches the source now, whatever its schedule says."""
    if not sources.open_table(stack).read([source_id]):
        raise InvalidInput(f"There is no source {source_id!r}. The demo has: {', '.join(sources.SOURCE_IDS)}")
    message = FetchMessage(source_id=source_id, manual=True)
    stack.client("sqs").send_message(QueueUrl=stack.outputs["FetchQueueUrl"], MessageBody=message.to_text())


def is_done(watch: Watch, added: Collection[str]) -> bool:
    """Say whether the stack has shown that it works in this run.

    Sources of an earlier run may be waiting for their turn, so that only new ones must have been tried.
    """
    tried = {attempt.source_id for attempt in watch.attempts}
    polled = any(attempt.succeeded for attempt in watch.attempts)
    return polled and tried.issuperset(added) and watch.has_posts()


def _run(state_dir: Path, port: int, *, once: bool, console: Console) -> None:
    began = timestamps.now()
    # The feeds come first and go last: a fetcher that found them closed would blame them for it.
    with open_publisher(state_dir) as publisher, _stack(state_dir, port, console) as stack:
        _say(console, f"Six feeds live at {publisher.home}: good, quiet, moved and broken ones.")
        sources.wake(stack, publisher.home, now=timestamps.now())
        added = sources.add_missing(stack, publisher.home, now=timestamps.now())
        for source in added:
            _say(console, f"  {source.source_id:<{view.SOURCE_WIDTH}} {source.shows}")
        if not added:
            _say(console, "They are stored as sources since an earlier run, which this one goes on from.")
        _wake_planner(stack, console)
        watch = Watch(stack, sources.SOURCE_IDS, since=began)
        if once:
            _show_until_done(watch, stack, state_dir, [source.source_id for source in added], console)
            console.print(view.summary_table(watch.summaries()))
            _tell_what_next(console)
        else:
            _tell_what_to_try(stack, state_dir, console)
            while True:
                _show_news(watch, console)
                time.sleep(POLL_SECONDS)


@contextmanager
def _stack(state_dir: Path, port: int, console: Console) -> Iterator[LocalStack]:
    emulator.start(state_dir, port)
    try:
        yield cloud.up(state_dir, port, say=lambda text: _say(console, text))
    finally:
        interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            _say(console, "Stopping the local cloud; it saves its state.")
        finally:
            cloud.down(state_dir)
            signal.signal(signal.SIGINT, interrupted)


def _wake_planner(stack: LocalStack, console: Console) -> None:
    _say(
        console,
        "The schedule wakes the planner each minute. This once it is woken by hand, to save the wait: "
        "it puts every due source on the queue, and the fetchers take them from there.",
    )
    answer = stack.client("lambda").invoke(
        FunctionName=stack.outputs["PlannerFunction"],
        Payload=json.dumps({"window_end": timestamps.to_text(timestamps.now())}).encode(),
    )
    told = answer["Payload"].read().decode(errors="replace")
    if "FunctionError" in answer or "error" in json.loads(told):
        log = "\n".join(diagnosis.log_tail(stack, "PlannerLogGroup"))
        raise CliError(f"The planner failed: {told}\nIts log ends with:\n{log}")


def _show_until_done(
    watch: Watch, stack: LocalStack, state_dir: Path, added: Collection[str], console: Console
) -> None:
    deadline = timestamps.now() + PATIENCE
    while True:
        _show_news(watch, console)
        if is_done(watch, added):
            return
        if timestamps.now() > deadline:
            for line in diagnosis.report(stack, watch, state_dir):
                _say(console, line)
            raise CliError(diagnosis.complaint(watch, added, PATIENCE))
        time.sleep(POLL_SECONDS)


def _show_news(watch: Watch, console: Console) -> None:
    for planned in watch.look_at_planner():
        _say(console, view.planned_line(planned))
    for attempt, posts in watch.look():
        _say(console, view.attempt_line(attempt))
        for post in posts:
            _say(console, view.post_line(post))


def _tell_what_to_try(stack: LocalStack, state_dir: Path, console: Console) -> None:
    source_id = sources.SOURCE_IDS[0]
    message = FetchMessage(source_id=source_id, manual=True).to_text()
    elsewhere = "" if state_dir == project.STATE_DIR else f" --state-dir {state_dir}"
    _say(console, "What to try meanwhile, in another terminal: a fetch by hand,")
    _say(console, f"  .venv/bin/wellspring fetch {source_id}{elsewhere}")
    _say(console, "which is but a message on the queue, so that the AWS CLI does the same:")
    _say(
        console,
        f"  AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test aws --endpoint-url {stack.endpoint_url} "
        f"--region {stack.region} sqs send-message --queue-url {stack.outputs['FetchQueueUrl']} "
        f"--message-body '{message}'",
    )
    _say(console, "Ctrl-C ends it. What happens, as it happens:")


def _tell_what_next(console: Console) -> None:
    _say(console, "It works. What next:")
    for command, what in (
        ("make run", "the same until Ctrl-C, with what is stored already"),
        ("make test", "every test"),
        ("make down", "stop a local cloud that was left running; this one stops now"),
        ("make clean", "forget the stored state and everything that was built"),
    ):
        _say(console, f"  {command:<11} {what}")


def _say(console: Console, line: str | Text) -> None:
    console.print(line, soft_wrap=True)
