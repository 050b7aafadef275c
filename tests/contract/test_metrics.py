"""What CloudWatch says of a stack's last day, on CloudWatch as moto plays it."""

from datetime import UTC, datetime, timedelta

import pytest

from wellspring.aws import metrics
from wellspring.aws.metrics import Polls, Recent

OWN = "Wellspring/mine"
NOW = datetime.now(UTC).replace(second=30, microsecond=0)


@pytest.fixture
def cloudwatch(aws):
    return aws.client("cloudwatch")


def recent(cloudwatch):
    return metrics.recent(cloudwatch, namespace=OWN, fetcher="f", now=NOW)


def put(cloudwatch, metric, service, minutes_ago, value=1, namespace=OWN):
    is_function = namespace == "AWS/Lambda"
    cloudwatch.put_metric_data(
        Namespace=namespace,
        MetricData=[
            {
                "MetricName": metric,
                "Dimensions": [{"Name": "FunctionName" if is_function else "service", "Value": service}],
                "Timestamp": NOW - timedelta(minutes=minutes_ago),
                "Value": value,
            }
        ],
    )


def test_a_stack_that_has_done_nothing_has_no_numbers(cloudwatch):
    assert recent(cloudwatch) == Recent()


def test_polls_are_added_up_for_the_hour_and_the_day(cloudwatch):
    for metric, minutes, number in (
        ("PollsOk", 5, 3),
        ("PollsNotModified", 20, 4),
        ("PollsPartial", 40, 1),
        ("PollsFailed", 10, 2),
        ("PollsFailed", 300, 8),
        ("PollsOk", 1_380, 10),
        ("PollsOk", 1_500, 100),
        ("PostsCreated", 5, 7),
        ("PostsCreated", 500, 30),
    ):
        put(cloudwatch, metric, "fetcher", minutes, number)
    found = recent(cloudwatch)
    assert found.hour == Polls(good=8, failed=2, posts=7)
    assert (found.hour.total, found.hour.failed_share) == (10, 0.2)
    assert found.day == Polls(good=18, failed=10, posts=37)


def test_the_planners_runs_are_counted_whatever_they_found(cloudwatch):
    for minutes, due in ((2, 0), (3, 9), (12, 5)):
        put(cloudwatch, "SourcesDue", "planner", minutes, due)
    found = recent(cloudwatch)
    assert found.runs == 2
    assert found.planned_at == NOW.replace(second=0) - timedelta(minutes=2)


def test_what_was_sent_long_enough_ago_and_without_a_delay_should_be_worked_off(cloudwatch):
    for minutes, number in ((1, 100), (5, 7), (8, 2), (30, 1_000)):
        put(cloudwatch, "SourcesEnqueued", "planner", minutes, number)
    put(cloudwatch, "SourcesDelayed", "planner", 5, 4)
    assert recent(cloudwatch).sent == 5


def test_messages_that_were_worked_off_are_counted_however_they_ended(cloudwatch):
    for number, status in enumerate(("Ok", "Partial", "NotModified", "Failed", "Deferred", "Skipped")):
        put(cloudwatch, f"Polls{status}", "fetcher", 2, 10**number)
    put(cloudwatch, "PollsOk", "fetcher", 30, 7_000_000)
    assert recent(cloudwatch).worked_off == 111_111


def test_runs_of_the_fetcher_that_crashed_are_counted(cloudwatch):
    put(cloudwatch, "Errors", "f", 2, 3, "AWS/Lambda")
    put(cloudwatch, "Errors", "f", 20, 50, "AWS/Lambda")
    assert recent(cloudwatch).crashes == 3


def test_another_functions_numbers_are_not_ours(cloudwatch):
    put(cloudwatch, "PollsOk", "planner", 5)
    put(cloudwatch, "SourcesDue", "fetcher", 5)
    put(cloudwatch, "Errors", "g", 2, 5, "AWS/Lambda")
    assert recent(cloudwatch) == Recent()
