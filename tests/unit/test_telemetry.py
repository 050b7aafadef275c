"""What is counted: the metrics that a run of the planner and a batch of the fetcher send."""

import json

import pytest

from builders import NOON, at
from wellspring import telemetry
from wellspring.batch import BatchReport
from wellspring.model import FetchLog, Status
from wellspring.plan import PlanReport
from wellspring.record import Run


@pytest.fixture
def sent(monkeypatch, capsys):
    """Tell what was sent since it was asked last: each metric with its value."""
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "tested")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Wellspring/mine")
    telemetry.metrics.cache_clear()

    def read():
        found = {}
        for line in capsys.readouterr().out.splitlines():
            told = json.loads(line)
            for group in told.get("_aws", {}).get("CloudWatchMetrics", ()):
                assert (group["Namespace"], group["Dimensions"]) == ("Wellspring/mine", [["service"]])
                found |= {metric["Name"]: told[metric["Name"]] for metric in group["Metrics"]}
        return found

    yield read
    telemetry.metrics.cache_clear()


def a_run(status, *, page=None, **fields):
    log = FetchLog(
        source_id="a",
        started_at=NOON,
        finished_at=at(1),
        status=status,
        url="https://example.org/feed.xml",
        attempt_id="t",
        message_id="m",
        manual=False,
        expires_at=at(9),
        **fields,
    )
    return Run(source_id="a", status=status, content_hash=page, log=log)


@pytest.mark.parametrize(
    ("report", "metrics"),
    [
        pytest.param(
            PlanReport(NOON),
            {"SourcesDue": [0], "OldestDueAge": [0.0]},
            id="a run with nothing to do says that the planner lives and nothing is late",
        ),
        pytest.param(PlanReport(NOON, busy=True), {"PlannerBusy": [1]}, id="a run that did not plan says so"),
        pytest.param(
            PlanReport(NOON, due=3, enqueued=2, not_sent=1, oldest_seconds=42.5, frozen=True),
            {
                "SourcesDue": [3],
                "SourcesEnqueued": [2],
                "SourcesNotSent": [1],
                "OldestDueAge": [42.5],
                "OutageGuard": [1],
            },
            id="what did not happen is not sent",
        ),
    ],
)
def test_a_run_of_the_planner(sent, report, metrics):
    telemetry.planned(report)
    assert sent() == metrics


@pytest.mark.parametrize(
    ("report", "metrics"),
    [
        pytest.param(BatchReport(), {}, id="a batch without a message sends nothing"),
        pytest.param(BatchReport([a_run(Status.NOT_MODIFIED)]), {"PollsNotModified": [1]}, id="a quiet poll"),
        pytest.param(
            BatchReport(
                [a_run(Status.OK, created=4), a_run(Status.OK, created=1), a_run(Status.FAILED)],
                buried=[("m", "why")],
            ),
            {"PollsOk": [2], "PollsFailed": [1], "PostsCreated": [5], "MessagesBuried": [1]},
            id="polls by how they ended",
        ),
        pytest.param(BatchReport([a_run(Status.OK, page="c")]), {"FullTextsOk": [1]}, id="a page is no poll"),
    ],
)
def test_a_batch_of_the_fetcher(sent, report, metrics):
    telemetry.fetched(report)
    assert sent() == metrics
