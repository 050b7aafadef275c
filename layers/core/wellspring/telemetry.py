"""Owns what the functions tell: structured log lines, and metrics for CloudWatch."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from wellspring import timestamps
from wellspring.batch import BatchReport
from wellspring.model import Status
from wellspring.plan import Decision, PlanReport
from wellspring.record import Run

UNITS = {"OldestDueAge": MetricUnit.Seconds}
PAGE_STATUSES = (Status.OK, Status.FAILED, Status.DEFERRED, Status.SKIPPED)


@cache
def logger() -> Logger:
    return Logger()


@cache
def metrics() -> Metrics:
    # The namespace is the stack's own, from the environment: POWERTOOLS_METRICS_NAMESPACE.
    return Metrics()


def planned(report: PlanReport) -> dict[str, Any]:
    """Log and count what a planner run did; the same summary is the function's answer."""
    summary = {
        "window_end": timestamps.to_text(report.window_end),
        "due": report.due,
        "enqueued": report.enqueued,
        "delayed": report.delayed,
        "not_sent": report.not_sent,
        "skipped": {reason: number for reason, number in report.skipped.items() if number},
        "oldest_due_seconds": round(report.oldest_seconds, 3),
    }
    if report.repaired:
        summary["repaired"] = report.repaired
    if report.cleaned:
        summary["cleaned"] = report.cleaned
    if report.frozen:
        summary["frozen"] = "Most hosts were down: failures are not counted until a fetch succeeds."
    if report.busy:
        summary["busy"] = "Another planner is at work; this one did nothing."
    if report.halted:
        summary["halted"] = report.halted
    for warning in report.warnings:
        logger().warning(warning)
    logger().info("planned", extra=summary)
    # Sent by every run that planned, zero or not: they say that the planner lives, and that nothing is late.
    always = {} if report.busy else {"SourcesDue": report.due, "OldestDueAge": report.oldest_seconds}
    _count(
        {
            "SourcesEnqueued": report.enqueued,
            "SourcesDelayed": report.delayed,
            "SourcesNotSent": report.not_sent,
            "SourcesSkipped": sum(report.skipped.values()),
            "SourcesRepaired": report.repaired,
            "PostsCleaned": report.cleaned,
            "PlannerBusy": int(report.busy),
            "OutageGuard": int(report.frozen),
            "PlannerHalted": int(bool(report.halted)),
        },
        always,
    )
    return summary


def rehearsed(report: PlanReport) -> dict[str, Any]:
    """Return what a run would do; nothing is logged or counted."""
    return {
        "dry_run": True,
        "window_end": timestamps.to_text(report.window_end),
        "enqueued": report.enqueued,
        "delayed": report.delayed,
        "skipped": {reason: number for reason, number in report.skipped.items() if number},
        "decisions": [_decision(made) for made in report.decisions],
    } | ({"note": report.halted} if report.halted else {})


def _decision(made: Decision) -> dict[str, Any]:
    fields = {
        "source_id": made.ref.source_id,
        "url": made.url,
        "due_at": made.ref.mark,
        "delay_seconds": made.send_after,
        "skipped": made.skipped,
        "next_fetch_at": timestamps.to_text(made.next_at) if made.next_at else None,
        "reasons": list(made.reasons),
    }
    return {name: value for name, value in fields.items() if value is not None}


def refused(sentence: str) -> dict[str, str]:
    """Log a tick that cannot be planned; the sentence is the function's answer."""
    logger().error(sentence)
    return {"error": sentence}


def fetched(report: BatchReport) -> dict[str, Any]:
    """Log and count how a batch went; the answer names the messages that must come again."""
    for run in report.runs:
        _tell(run)
    for message_id, reason in report.buried:
        logger().error(f"Moved to the dead-letter queue: {reason}", extra={"message_id": message_id})
    for message_id, reason in report.outages:
        logger().error(f"{reason} The message comes again.", extra={"message_id": message_id})
    for message_id, error in report.bugs:
        logger().error(
            "Unexpected error; the message comes again.", exc_info=error, extra={"message_id": message_id}
        )
    logs = [run.log for run in report.runs if run.log]
    polls = Counter(run.status for run in report.runs if not run.content_hash)
    pages = Counter(run.status for run in report.runs if run.content_hash)
    _count(
        {f"Polls{status.title().replace('_', '')}": polls[status] for status in Status}
        | {f"FullTexts{status.title()}": pages[status] for status in PAGE_STATUSES}
        | {
            "PostsCreated": sum(log.created for log in logs),
            "PostsUpdated": sum(log.updated for log in logs),
            "SourcesQuarantined": sum("quarantined" in run.news for run in report.runs),
            "EntriesFailed": sum(log.failed for log in logs),
            "MessagesBuried": len(report.buried),
            "MessagesHandedBack": len(report.hand_back),
        }
    )
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in report.hand_back]}


def _tell(run: Run) -> None:
    fields: dict[str, Any] = {"source_id": run.source_id, "url": run.url, "status": run.status}
    for warning in run.warnings:
        logger().warning(f"{run.url or run.source_id}: {warning}", extra={"source_id": run.source_id})
    if run.content_hash:
        fields["content_hash"] = run.content_hash
    if run.reason:
        fields["reason"] = run.reason
    if run.delay_seconds is not None:
        fields["delay_seconds"] = run.delay_seconds
    if log := run.log:
        fields |= {
            "http_status": log.http_status,
            "posts_created": log.created,
            "posts_updated": log.updated,
            "error_class": log.error_class,
            "error": log.error_message,
            "next_fetch_at": timestamps.to_text(log.next_fetch_at) if log.next_fetch_at else None,
            "reasons": list(log.reasons),
        }
    for news in run.news:
        logger().warning(f"source {news}", extra={"source_id": run.source_id, "url": run.url})
    if not run.kept_lease:
        fields["lost_lease"] = True
    if run.backtrace:
        fields["backtrace"] = run.backtrace
    logger().info("fetched", extra={name: value for name, value in fields.items() if value is not None})


def _count(counts: Mapping[str, int], always: Mapping[str, float] = {}) -> None:
    """Send what was counted. Zeros are left out but for those that matter: each metric sent is paid for."""
    sent = {**{name: number for name, number in counts.items() if number}, **always}
    for name, number in sent.items():
        metrics().add_metric(name=name, unit=UNITS.get(name, MetricUnit.Count), value=number)
    if sent:
        metrics().flush_metrics()
