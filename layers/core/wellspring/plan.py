"""Owns planning: find the due sources, put them on the queue, move their next time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil

from wellspring import cleaning, reconcile, schedule
from wellspring.errors import Unavailable
from wellspring.hosts import Spacing
from wellspring.message import FetchMessage
from wellspring.model import Source
from wellspring.ports import DueRef, Outgoing, World
from wellspring.schedule import UNCHANGED
from wellspring.settings import Defaults, Settings

GATE = "planner"
SEND_LIMIT = 10
LONGEST_DELAY = timedelta(seconds=900)
UNREADABLE_WAIT = timedelta(hours=1)
FAILED_SENDS_TO_HALT = 3
NOW = timedelta(0)
OUT_OF_TIME = "out of time: the rest stays due for the next run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the planner does with one row of the due index, and why."""

    ref: DueRef
    url: str
    reasons: tuple[str, ...]
    send_after: int | None = None
    """Delay in seconds; None when nothing is sent."""
    next_at: datetime | None = None
    """The next time; None takes the source out of the index."""
    skipped: str | None = None
    viewed_at: datetime | None = None
    """When somebody looked last, as far as this run knows."""
    place: timedelta | None = None
    """Its place among the sources of its host."""
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class PlanReport:
    """What a run of the planner did."""

    window_end: datetime
    busy: bool = False
    frozen: bool = False
    due: int = 0
    enqueued: int = 0
    delayed: int = 0
    not_sent: int = 0
    failed_in_a_row: int = 0
    moved_meanwhile: int = 0
    repaired: int = 0
    cleaned: int = 0
    halted: str | None = None
    oldest_seconds: float = 0.0
    skipped: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    """Kept in a dry run alone."""


def plan(window_end: datetime, world: World, settings: Settings, *, deadline: datetime) -> PlanReport:
    """Send every source that is due at the window end; only one planner works at a time."""
    report = PlanReport(window_end)
    owner, now = world.new_id(), world.clock()
    if not world.gates.acquire(GATE, owner, now=now, until=now + settings.planner_lease):
        report.busy = True
        return report
    try:
        _clean(world, settings, report, now=now, deadline=deadline)
        for decisions, hosts in _decisions(window_end, world, settings, report):
            report.frozen = bool(hosts) and world.gates.open_window(window_end, hosts)
            _carry_out(decisions, world, report, deadline)
            if report.halted:
                break
        if not report.halted:
            report.repaired = reconcile.go_on(world, settings, now=now, deadline=deadline)
    finally:
        world.gates.release(GATE, owner)
    return report


def rehearse(window_end: datetime, world: World, settings: Settings, *, limit: int) -> PlanReport:
    """Say what a run would do, and write nothing."""
    report = PlanReport(window_end)
    for decisions, _ in _decisions(window_end, world, settings, report):
        report.decisions += decisions
        if len(report.decisions) >= limit:
            report.halted = f"only the first {limit} decisions are listed"
            report.decisions = report.decisions[:limit]
            break
    report.enqueued = sum(made.send_after is not None for made in report.decisions)
    report.delayed = sum(bool(made.send_after) for made in report.decisions)
    return report


def decide(
    ref: DueRef,
    source: Source,
    *,
    window_end: datetime,
    defaults: Defaults,
    host_free: timedelta = NOW,
    span: timedelta = LONGEST_DELAY,
) -> Decision:
    """Say what happens to a source that the index lists as due."""

    def decision(reasons: tuple[str, ...], **fields: object) -> Decision:
        return Decision(
            ref=ref,
            url=source.shown_url,
            reasons=reasons,
            viewed_at=source.viewed_at,
            warnings=source.warnings,
            **fields,  # type: ignore[arg-type]
        )

    if not source.url:
        return decision(("the source has no url",), skipped="no_url", next_at=window_end + UNREADABLE_WAIT)
    due = schedule.due(source, now=window_end, defaults=defaults)
    if due is None:
        why = "left_out" if source.enabled else "disabled"
        return decision((why,), skipped=why)
    if due.at > window_end:
        return decision((*due.reasons, "not due yet"), skipped="not_due", next_at=due.at)
    free = schedule.free_at(source, defaults=defaults)
    wait = max(free - window_end, NOW) if free else NOW
    if wait > LONGEST_DELAY:
        return decision((*due.reasons, "min-interval"), skipped="min_interval", next_at=free)
    place = max(wait, host_free)
    if host_free and place >= span:
        why = f"the host is taken for {ceil(host_free.total_seconds())} s"
        return decision((*due.reasons, why), skipped="host_busy", next_at=window_end + place, place=place)
    after = schedule.after_poll(source, UNCHANGED, now=window_end, defaults=defaults)
    predicted = schedule.due(after, now=window_end, defaults=defaults)
    return decision(
        due.reasons,
        send_after=ceil(place.total_seconds()),
        next_at=max(predicted.at, _free_again(source, window_end + place, defaults)) if predicted else None,
        place=place,
    )


def _free_again(source: Source, starts_at: datetime, defaults: Defaults) -> datetime:
    """Return when a source that starts then may start again; sooner it would only be sent for nothing."""
    return starts_at + schedule.min_interval(source, defaults=defaults)


def _clean(
    world: World, settings: Settings, report: PlanReport, *, now: datetime, deadline: datetime
) -> None:
    cleaned = cleaning.clean(world, settings, now=now, deadline=deadline)
    report.cleaned = cleaned.deleted
    if cleaned.warning:
        report.warnings.append(cleaned.warning)


def _decisions(
    window_end: datetime, world: World, settings: Settings, report: PlanReport
) -> Iterator[tuple[list[Decision], int]]:
    """Yield decisions page by page, each with the number of hosts so far."""
    spacing = Spacing(settings.plan_span)
    for refs in _pages(window_end, world, settings):
        found = {source.source_id: source for source in world.sources.read([ref.source_id for ref in refs])}
        decisions = []
        for ref in refs:
            if source := found.get(ref.source_id):
                decisions.append(_placed(ref, source, spacing, window_end, settings.defaults))
            else:
                report.skipped["not_read"] += 1
        _count(decisions, report)
        yield decisions, spacing.hosts


def _placed(
    ref: DueRef, source: Source, spacing: Spacing, window_end: datetime, defaults: Defaults
) -> Decision:
    host = source.host
    try:
        made = decide(
            ref,
            source,
            window_end=window_end,
            defaults=defaults,
            host_free=spacing.free(host),
            span=spacing.span,
        )
    except Exception as error:
        # One source that nobody foresaw must not stop all the others.
        warning = f"no decision could be made: {type(error).__name__}"
        return Decision(
            ref=ref,
            url=source.shown_url,
            reasons=(warning,),
            skipped="undecided",
            next_at=window_end + UNREADABLE_WAIT,
            warnings=(warning,),
        )
    if made.place is not None:
        spacing.take(host, made.place, schedule.host_delay(source, defaults=defaults))
    return made


def _pages(window_end: datetime, world: World, settings: Settings) -> Iterator[Sequence[DueRef]]:
    # Each run begins with another shard, so that a planner short of time starves none of them.
    first = int(window_end.timestamp()) // 60
    for shard in ((first + number) % settings.shards for number in range(settings.shards)):
        after: str | None = None
        while True:
            page = world.sources.due(shard, window_end, after=after)
            if page.refs:
                yield page.refs
            if not page.after:
                break
            after = page.after


def _count(decisions: Sequence[Decision], report: PlanReport) -> None:
    for made in decisions:
        report.warnings += [f"{made.url or made.ref.source_id}: {warning}" for warning in made.warnings]
        if made.skipped:
            report.skipped[made.skipped] += 1
        else:
            report.due += 1
            age = (report.window_end - made.ref.due_at).total_seconds()
            report.oldest_seconds = max(report.oldest_seconds, age)


def _carry_out(decisions: Sequence[Decision], world: World, report: PlanReport, deadline: datetime) -> None:
    """Send first, then move: a crash in between sends twice, never zero times."""
    for made in decisions:
        if made.skipped:
            if world.clock() >= deadline:
                report.halted = OUT_OF_TIME
                return
            _settle(made, world, report)
    to_send = [made for made in decisions if made.send_after is not None]
    for first in range(0, len(to_send), SEND_LIMIT):
        if world.clock() >= deadline:
            report.halted = OUT_OF_TIME
            return
        batch = to_send[first : first + SEND_LIMIT]
        taken = _send(batch, world, report)
        report.failed_in_a_row = 0 if any(taken) else report.failed_in_a_row + 1
        for made, sent in zip(batch, taken, strict=True):
            if sent:
                report.enqueued += 1
                report.delayed += bool(made.send_after)
                _settle(made, world, report)
            else:
                report.not_sent += 1
        if report.failed_in_a_row == FAILED_SENDS_TO_HALT:
            report.halted = (
                f"{FAILED_SENDS_TO_HALT} sends in a row failed: the rest stays due for the next run"
            )
            return


def _send(batch: Sequence[Decision], world: World, report: PlanReport) -> list[bool]:
    outgoing = [
        Outgoing(
            FetchMessage(
                source_id=made.ref.source_id,
                due_at=made.ref.due_at,
                window_end=report.window_end,
                frozen=report.frozen,
            ),
            made.send_after or 0,
        )
        for made in batch
    ]
    try:
        return world.queue.send(outgoing)
    except Unavailable as error:
        report.warnings.append(str(error))
        return [False] * len(batch)


def _settle(made: Decision, world: World, report: PlanReport) -> None:
    sources, ref = world.sources, made.ref
    if made.next_at:
        kept = sources.move(ref, made.next_at)
    else:
        kept = sources.unlist(ref, if_disabled=made.skipped == "disabled", viewed_at=made.viewed_at)
    report.moved_meanwhile += not kept
