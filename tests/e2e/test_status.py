"""How a stack is, as `wellspring status` and `doctor` tell it, on a stack that nobody else uses."""

import json
from datetime import timedelta

import pytest

from builders import every, rss
from command import Command
from deployed import eventually, now
from publisher import Page
from wellspring.aws import metrics

HEALTHY = (
    "target",
    "credentials",
    "clock",
    "stack",
    "permissions",
    "tables",
    "time to live",
    "schedule",
    "queue",
    "planner",
    "fetcher",
    "due sources",
    "dead letters",
)
EVERYTHING_BUT_THE_QUEUES = [
    "dynamodb:*",
    "cloudformation:*",
    "cloudwatch:*",
    "lambda:*",
    "scheduler:*",
    "ssm:*",
]


@pytest.fixture
def operator(fresh, monkeypatch, capsys, tmp_path):
    """The command, with the keys of somebody who may do all."""
    command = Command(monkeypatch, capsys, *_named(fresh, tmp_path))
    _keys(monkeypatch, "test", "test")
    return command


@pytest.fixture
def limited(fresh, monkeypatch, capsys, tmp_path):
    """Return the command with the keys of somebody who may do these things alone."""
    iam = fresh.stack.client("iam")

    def may(*actions):
        iam.create_user(UserName="limited")
        policy = {"Effect": "Allow", "Action": actions, "Resource": "*"}
        iam.put_user_policy(
            UserName="limited",
            PolicyName="some",
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [policy]}),
        )
        key = iam.create_access_key(UserName="limited")["AccessKey"]
        command = Command(monkeypatch, capsys, *_named(fresh, tmp_path))
        _keys(monkeypatch, key["AccessKeyId"], key["SecretAccessKey"])
        made.append(key)
        return command

    made = []
    yield may
    for key in made:
        iam.delete_access_key(UserName="limited", AccessKeyId=key["AccessKeyId"])
    iam.delete_user_policy(UserName="limited", PolicyName="some")
    iam.delete_user(UserName="limited")


@pytest.fixture
def asleep(fresh):
    """Disable the schedule for a while, and return its name."""
    scheduler = fresh.stack.client("scheduler")
    (name,) = (found["Name"] for found in scheduler.list_schedules()["Schedules"])
    found = scheduler.get_schedule(Name=name)
    fields = ("Name", "ScheduleExpression", "Target", "FlexibleTimeWindow")
    schedule = {field: found[field] for field in fields}
    scheduler.update_schedule(**schedule, State="DISABLED")
    yield name
    scheduler.update_schedule(**schedule, State="ENABLED")


def _named(fresh, tmp_path):
    return ("--state-dir", str(tmp_path), "--endpoint-url", fresh.stack.endpoint_url)


def _keys(monkeypatch, key, secret):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)


def failed(told):
    return {check["name"]: check["text"] for check in told.data["checks"] if not check["ok"]}


def told_of(operator):
    """Return what the status says of the stack."""
    return operator("status", "--json").data


def test_a_stack_that_was_just_deployed_is_well_and_wants_a_source(operator):
    told = operator.well("status")
    assert told.out.startswith("wellspring, http://127.0.0.1:")
    assert told.out.splitlines()[-2:] == [
        "All is well so far.",
        "There are no sources yet. Add one: wellspring sources add URL",
    ]


def test_a_healthy_stack_passes_every_check(operator):
    told = operator.well("doctor")
    assert [line.split("  ")[0] for line in told.out.splitlines()] == ["ok"] * len(HEALTHY)
    assert "account 000000000000, arn:aws:iam::000000000000:root" in told.out
    checks = operator.well("doctor", "--json").data
    assert checks["ok"]
    assert tuple(check["name"] for check in checks["checks"]) == HEALTHY


def test_a_checkup_changes_nothing(fresh, operator):
    tables = [fresh.stack.outputs[name] for name in ("SourcesTable", "PostsTable", "FetchLogsTable")]
    queues = [fresh.stack.outputs[name] for name in ("FetchQueueUrl", "DeadLetterQueueUrl")]
    counted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

    def everything():
        return (
            [fresh.dynamodb.scan(TableName=name)["Items"] for name in tables],
            [
                fresh.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=counted)["Attributes"]
                for url in queues
            ],
            fresh.stack.client("ssm").describe_parameters()["Parameters"],
        )

    fresh.add("kept", "https://example.org/feed.xml", next_fetch_at=now().replace(year=2099))
    fresh.sqs.send_message(QueueUrl=queues[1], MessageBody="{")
    before = everything()
    operator("doctor")
    assert everything() == before
    fresh.sqs.purge_queue(QueueUrl=queues[1])
    fresh.sources.remove("kept")


def test_polls_and_posts_are_counted_by_cloudwatch(fresh, operator, publisher):
    begin = now()
    fresh.stack.client("cloudwatch").put_metric_data(
        Namespace="Wellspring/another-stack",
        MetricData=[
            {"MetricName": "PollsOk", "Value": 1_000, "Dimensions": [{"Name": "service", "Value": "fetcher"}]}
        ],
    )
    publisher.pages["/feed"] = Page(rss(1, 2, 3))
    fresh.add("polled", publisher.url("/feed"), cadence=every(60), next_fetch_at=begin)
    fresh.plan(begin)
    eventually(lambda: fresh.fetch_logs("polled"))
    told = eventually(lambda: (found := told_of(operator))["last_hour"]["polls"] and found)
    assert told["last_hour"] == told["last_day"] == {"polls": 1, "failed": 0, "failed_share": 0.0, "posts": 3}
    assert told["planner"]["last_run_at"] and told["planner"]["runs_in_ten_minutes"] >= 1
    assert (told["sources"]["total"], told["sources"]["states"]["ok"]) == (1, 1)
    assert (told["well"], told["problems"], told["due"]["number"]) == (True, [], 0)
    said = operator.well("status").out
    assert "1 (0.0% failed) in the last hour" in said
    assert "All is well: 1 source, nothing is late, 1 poll in the last hour, 0% of them failed." in said


def test_hosts_of_which_sources_fail_are_named(fresh, operator, publisher):
    begin = now()
    for number in range(2):
        fresh.add(
            f"failing-{number}", publisher.url(f"/none/{number}"), cadence=every(60), next_fetch_at=begin
        )
    fresh.plan(begin)
    eventually(
        lambda: fresh.source("failing-0").health.failures and fresh.source("failing-1").health.error_class
    )
    host = fresh.source("failing-0").host
    (told,) = (found for found in told_of(operator)["failing_hosts"] if found["host"] == host)
    assert (told["sources"], told["error_class"]) == (2, "http_4xx")
    said = operator("status")
    row = next(line for line in said.out.splitlines() if line.startswith(host))
    assert row.split()[:3] == [host, "2", "http_4xx"]
    assert (said.code, "Most sources fail: 2 of 3." in said.out) == (1, True)
    for number in range(2):
        fresh.sources.remove(f"failing-{number}")


def test_a_line_that_only_looks_like_metrics_stays_a_line(fresh):
    logs, group = fresh.logs, fresh.stack.outputs["PlannerLogGroup"]
    moment = int(now().timestamp() * 1000)
    counted = {
        "_aws": {
            "Timestamp": moment,
            "CloudWatchMetrics": [
                {
                    "Namespace": "Looks/like",
                    "Dimensions": [["service"]],
                    "Metrics": [{"Name": "SourcesDue", "Unit": "Count"}],
                }
            ],
        },
        "service": "planner",
        "SourcesDue": [4, 5],
    }
    lines = [
        '{"CloudWatchMetrics"',
        '{"CloudWatchMetrics": 1}',
        '{"_aws": {"CloudWatchMetrics": [{"Metrics": [{"Name": "x"}]}]}}',
        "[" * 100_000 + '"CloudWatchMetrics"',
        json.dumps(counted),
        json.dumps(counted | {"SourcesDue": "none"}),
    ]
    logs.create_log_stream(logGroupName=group, logStreamName="odd")
    events = [{"timestamp": moment, "message": line} for line in lines]
    logs.put_log_events(logGroupName=group, logStreamName="odd", logEvents=events)
    stored = logs.get_log_events(logGroupName=group, logStreamName="odd", startFromHead=True)["events"]
    assert [event["message"] for event in stored] == lines
    found = metrics.recent(
        fresh.stack.client("cloudwatch"), namespace="Looks/like", fetcher="nobody", now=now()
    )
    assert found.runs == 2


def test_a_dead_letter_is_told_with_the_command_that_helps(fresh, operator):
    url = fresh.stack.outputs["DeadLetterQueueUrl"]
    fresh.sqs.send_message(QueueUrl=url, MessageBody="nobody can read this")
    try:
        sentence = "1 message could not be worked off. See why: wellspring dead-letters list"
        told = operator("status")
        assert (told.code, told.out.splitlines()[-1]) == (1, sentence)
        told = operator("doctor", "--json")
        assert (told.code, failed(told)) == (1, {"dead letters": sentence})
    finally:
        fresh.sqs.purge_queue(QueueUrl=url)
    operator.well("doctor")


def test_a_schedule_that_was_disabled_is_told_and_what_it_leaves_undone(fresh, operator, asleep):
    told = operator("doctor", "--json")
    assert (told.code, list(failed(told))) == (1, ["schedule"])
    assert f"The schedule {asleep} is disabled" in failed(told)["schedule"]
    fresh.add("late", "https://example.org/feed.xml", next_fetch_at=now() - timedelta(hours=5))
    sentence = "1 source is due and not on the queue yet, the oldest for 5 h."
    assert f"{sentence} Run the planner by hand: wellspring plan" in operator("status").out
    assert sentence in failed(operator("doctor", "--json"))["due sources"]
    fresh.sources.remove("late")


def test_a_queue_that_nobody_reads_is_told_with_the_command_that_helps(fresh, operator):
    lambdas, function = fresh.lambdas, fresh.stack.outputs["FetcherFunction"]
    (mapping,) = lambdas.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]
    lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        told = operator("doctor")
        assert told.code == 1
        assert told.out.splitlines()[-1] == "1 check failed."
        command = f"aws lambda update-event-source-mapping --uuid {mapping['UUID']} --enabled"
        assert "FAIL  queue         The fetcher does not read the fetch queue" in told.out
        assert command in told.out
    finally:
        lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    operator.well("doctor")


def test_rows_that_would_never_expire_are_told(fresh, operator):
    table = fresh.stack.outputs["PostsTable"]
    switch = {"AttributeName": "expires_at"}
    fresh.dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification={**switch, "Enabled": False})
    try:
        told = operator("doctor", "--json")
        assert "It is off for PostsTable" in failed(told)["time to live"]
    finally:
        fresh.dynamodb.update_time_to_live(
            TableName=table, TimeToLiveSpecification={**switch, "Enabled": True}
        )


def test_frozen_failures_are_told(fresh, operator, asleep):
    gates = fresh.stack.outputs["GatesTable"]
    fresh.dynamodb.put_item(TableName=gates, Item={"gate": {"S": "outage"}, "frozen": {"BOOL": True}})
    told = operator("status")
    fresh.dynamodb.delete_item(TableName=gates, Key={"gate": {"S": "outage"}})
    assert told.code == 1
    assert told.out.splitlines()[-1].startswith("Most hosts were down at once, so failures are not counted")


def test_without_rights_on_the_queues_it_is_said_which_and_what_for(operator, limited):
    command = limited(*EVERYTHING_BUT_THE_QUEUES)
    told = command("doctor")
    missing = [line for line in told.out.splitlines() if line.startswith("FAIL  permissions")]
    assert told.code == 1
    assert len(missing) == 6 and all("sqs:" in line for line in missing)
    assert (
        "FAIL  permissions   sqs:SendMessage on the fetch queue is not allowed; "
        "it is needed for: fetch, dead-letters redrive"
    ) in missing
    assert "arn:aws:iam::000000000000:user/limited" in told.out
    told = command("fetch", "polled")
    assert (told.code, told.out) == (5, "")
    assert "sqs:SendMessage" in told.err and "is not allowed" in told.err and "wellspring doctor" in told.err
    told = command("status")
    assert told.code in (1, 5)
    assert "sqs:GetQueueAttributes is not allowed. What is missing: wellspring doctor" in told.out


def test_without_any_right_the_first_one_is_named(limited):
    told = limited("s3:ListBucket")("doctor", "--json")
    assert told.code == 1
    assert list(failed(told)) == ["stack"]
    assert "cloudformation:DescribeStacks is not allowed" in failed(told)["stack"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param(
            ("--region", "eu-west-1"), "There is no stack 'wellspring' in eu-west-1", id="another region"
        ),
        pytest.param(("--stack", "prod"), "There is no stack 'prod' in us-east-1", id="another name"),
    ],
)
def test_a_stack_that_is_not_there_is_told(operator, options, told):
    said = operator("doctor", *options, "--json")
    assert (said.code, list(failed(said))) == (1, ["stack"])
    assert told in failed(said)["stack"]
    said = operator("status", *options)
    assert (said.code, said.out) == (4, "")
    assert told in said.err
