"""Owns a batch of queue records: worked off side by side, each one's failure its own."""

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from wellspring import message
from wellspring.articles import fetch_article
from wellspring.errors import InvalidInput, WellspringError
from wellspring.fetch import fetch_source
from wellspring.ports import World
from wellspring.record import Run
from wellspring.settings import Settings

SIDE_BY_SIDE = 10


@dataclass(slots=True)
class BatchReport:
    """How a batch went. What is in `hand_back` comes again after its visibility timeout."""

    runs: list[Run] = field(default_factory=list)
    buried: list[tuple[str, str]] = field(default_factory=list)
    outages: list[tuple[str, str]] = field(default_factory=list)
    bugs: list[tuple[str, BaseException]] = field(default_factory=list)
    hand_back: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Buried:
    """A record that nobody can work off; it lies on the dead-letter queue."""

    reason: str


def work_off(
    records: Sequence[Mapping[str, Any]], world: World, settings: Settings, *, within: timedelta
) -> BatchReport:
    """Work off the records; those that are not done in time are handed back."""
    report = BatchReport()
    deadline = world.clock() + within
    pool = ThreadPoolExecutor(SIDE_BY_SIDE)
    try:
        waiting = {pool.submit(work_one, record, world, settings): record["messageId"] for record in records}
        while waiting and (left := (deadline - world.clock()).total_seconds()) > 0:
            done, _ = wait(waiting, timeout=left, return_when=FIRST_COMPLETED)
            for future in done:
                _note(future, waiting.pop(future), report)
        report.hand_back += waiting.values()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return report


def work_one(record: Mapping[str, Any], world: World, settings: Settings) -> Run | Buried:
    """Work off one record; a body that cannot be read is buried at once, since no retry would help."""
    try:
        asked = message.parse(record["body"], now=world.clock())
    except InvalidInput as error:
        world.queue.bury(record["body"], str(error))
        return Buried(str(error))
    work = fetch_article if asked.content_hash else fetch_source
    return work(asked, world, settings, message_id=record["messageId"])


def _note(future: Future[Run | Buried], message_id: str, report: BatchReport) -> None:
    error = future.exception()
    if error is None:
        result = future.result()
        if isinstance(result, Buried):
            report.buried.append((message_id, result.reason))
        else:
            report.runs.append(result)
        return
    report.hand_back.append(message_id)
    if isinstance(error, WellspringError):
        report.outages.append((message_id, str(error)))
    else:
        report.bugs.append((message_id, error))
