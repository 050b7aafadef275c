"""Dead letters of the deployed stack: seen, sent again, dropped."""

import json

import pytest

from builders import every, rss
from deployed import eventually, now
from publisher import Page


@pytest.fixture
def dead_url(deployed, operator):
    operator.well("dead-letters", "drop", "--all", "--yes")
    return deployed.stack.outputs["DeadLetterQueueUrl"]


def put(deployed, url, *bodies):
    return [deployed.sqs.send_message(QueueUrl=url, MessageBody=body)["MessageId"] for body in bodies]


def listed(operator, *arguments):
    return operator.well("dead-letters", "list", "--json", *arguments).data


def test_what_the_fetcher_cannot_read_is_listed_with_its_reason_until_it_is_dropped(
    deployed, operator, dead_url
):
    deployed.send('{"source_id": "nobody", "due_at": "yesterday"}')
    (found,) = eventually(lambda: listed(operator)["dead_letters"])
    assert (found["source_id"], found["url"], found["readable"]) == ("nobody", None, False)
    assert '"due_at"' in found["reason"]
    told = operator.well("dead-letters", "list").out
    assert found["id"][:8] in told and "there is no such source" in told

    again = operator("dead-letters", "redrive", found["id"][:8])
    assert (again.code, "0 messages" in again.out) == (1, True)
    assert "cannot be read and would only come back" in again.err
    assert len(listed(operator)["dead_letters"]) == 1, "a look leaves it there"

    unanswered = operator("dead-letters", "drop", found["id"])
    assert unanswered.code == 2 and "say --yes" in unanswered.err and "local cloud" in unanswered.err
    refused = operator("dead-letters", "drop", found["id"], answers="n\n")
    assert (refused.code, refused.err) == (1, "Nothing was done.\n")
    assert "Dropped 1 dead letter" in operator.well("dead-letters", "drop", found["id"], answers="y\n").out
    assert "There are no dead letters" in operator.well("dead-letters", "list").out


def test_a_message_that_is_sent_again_is_worked_off(deployed, operator, publisher, dead_url):
    publisher.pages["/feed"] = Page(rss(1, 2))
    deployed.add(
        "second-try", publisher.url("/feed"), cadence=every(60), next_fetch_at=now().replace(year=2099)
    )
    message = json.dumps({"source_id": "second-try", "manual": True})
    (name,) = put(deployed, dead_url, message)
    (found,) = listed(operator)["dead_letters"]
    assert (found["id"], found["url"], found["reason"]) == (
        name,
        publisher.url("/feed"),
        "failed 5 times; the fetcher's log says why",
    )
    assert "Put 1 message back" in operator.well("dead-letters", "redrive", name[:8]).out
    eventually(lambda: len(deployed.posts("second-try")) == 2)
    assert listed(operator)["dead_letters"] == []


def test_many_are_listed_sent_again_and_dropped(deployed, operator, dead_url):
    put(
        deployed,
        dead_url,
        *(json.dumps({"source_id": f"nobody-{n}", "manual": True}) for n in range(45)),
        "{",
    )
    page = listed(operator, "--limit", "30")
    assert (len(page["dead_letters"]), page["more"], page["hidden"]) == (30, True, 0)
    assert "There are more, about 46 in all" in operator.well("dead-letters", "list", "--limit", "30").out
    told = operator.well("dead-letters", "redrive", "--all")
    assert "Put 45 messages back on the fetch queue" in told.out
    assert "1 message cannot be read" in told.err
    (left,) = listed(operator)["dead_letters"]
    assert left["body"] == "{"
    assert "Dropped 1 dead letter" in operator.well("dead-letters", "drop", "--all", "--yes").out
    assert "Dropped 0 dead letters" in operator.well("dead-letters", "drop", "--all", "--yes").out
    assert "There are no dead letters" in operator.well("dead-letters", "redrive", "--all").out


@pytest.mark.parametrize("what", ["redrive", "drop"])
@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        pytest.param([], 2, "or say --all", id="nothing named"),
        pytest.param(["abc", "--all"], 2, "but not both", id="names and all"),
        pytest.param(["zzz"], 3, "There is no dead letter 'zzz'; nothing was done.", id="unknown"),
    ],
)
def test_bad_names_are_told(operator, what, arguments, code, told):
    said = operator("dead-letters", what, *arguments)
    assert (said.code, said.out) == (code, "")
    assert told in said.err and len(said.err.splitlines()) == 1
