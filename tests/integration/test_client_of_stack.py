"""The client on tables that it found by the outputs of a stack, as moto plays them; the guide's examples."""

import re
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs

import boto3
import pytest

from builders import a_post, a_source, an_entry
from template import ROOT
from wellspring import timestamps
from wellspring.aws.posts import DynamoPosts
from wellspring.aws.sources import DynamoSources
from wellspring.client import Client, PostKey, Tally
from wellspring.errors import InvalidInput, Unavailable

TABLES = ("SourcesTable", "PostsTable", "FetchLogsTable", "GatesTable")
QUEUES = {"FetchQueueUrl": "https://queue", "DeadLetterQueueUrl": "https://dead"}


class CloudFormation(BaseHTTPRequestHandler):
    """Plays the one call that finds a stack; moto's own needs half of AWS to be installed."""

    def do_POST(self):
        asked = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        (name,) = asked["StackName"]
        found = self.server.stacks.get(name)
        self.send_response(200 if found else 400)
        self.end_headers()
        self.wfile.write((found or MISSING.format(name)).encode())

    def log_message(self, *args):
        pass


MISSING = (
    "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>"
    "<Message>Stack with id {} does not exist</Message></Error></ErrorResponse>"
)


def described(outputs, parameters):
    def members(kind, found):
        return "".join(
            f"<member><{kind}Key>{key}</{kind}Key><{kind}Value>{value}</{kind}Value></member>"
            for key, value in found.items()
        )

    return (
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackStatus>CREATE_COMPLETE</StackStatus>"
        f"<Outputs>{members('Output', outputs)}</Outputs>"
        f"<Parameters>{members('Parameter', parameters)}</Parameters>"
        "</member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
    )


@pytest.fixture
def cloudformation(monkeypatch):
    """A CloudFormation that knows our stack, with two parameters of its own, and another one."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), CloudFormation)
    tables = {name: name for name in TABLES}
    server.stacks = {
        "wellspring": described(tables | QUEUES, {"DueShards": "2", "ActivitySteps": "1d=1h"}),
        "other": described({}, {}),
    }
    thread = Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", f"http://127.0.0.1:{server.server_port}")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def now():
    return timestamps.now()


@pytest.fixture
def stack(aws, now, cloudformation):
    """A stack with three posts of two sources, one of which nobody has looked at for long."""
    dynamodb = aws.client("dynamodb")
    posts = DynamoPosts(dynamodb, "PostsTable", shards=2)
    for number, source_id in enumerate(("a", "b", "a")):
        entry = an_entry(number, published_at=now - timedelta(hours=number))
        posts.put(a_post(source_id, f"{number}", entry=entry))
    sources = DynamoSources(dynamodb, "SourcesTable", shards=2)
    sources.add(
        a_source("a", cadence={"mode": "activity"}, created_at=now - timedelta(days=2), last_fetch_at=now)
    )
    return aws


def source(session, source_id):
    (found,) = DynamoSources(session.client("dynamodb"), "SourcesTable", shards=2).read([source_id])
    return found


def test_a_stack_is_found_by_its_name(stack):
    client = Client.of_stack("wellspring", session=stack)
    found = client.pending(limit=2)
    assert [post.content_hash for post in found.posts] == ["2", "1"]
    assert [post.content_hash for post in client.pending(cursor=found.cursor).posts] == ["0"]
    assert client.mark_processed([*found.posts, PostKey("a", "nowhere")]) == Tally(2, 0, 1)
    assert client.mark_processed(found.posts) == Tally(0, 2, 0)
    assert [post.content_hash for post in client.pending().posts] == ["0"]


def test_a_view_goes_by_the_stacks_own_parameters(stack, now):
    """This stack polls each hour what was just looked at; the usual table says six."""
    dynamodb = stack.client("dynamodb")
    sources = DynamoSources(dynamodb, "SourcesTable", shards=2)
    ref = next(ref for shard in (0, 1) for ref in sources.due(shard, now + timedelta(days=1)).refs)
    sources.unlist(ref)
    assert Client.of_stack(session=stack).viewed("a")
    assert source(stack, "a").viewed_at >= now
    assert source(stack, "a").next_fetch_at - source(stack, "a").cursor.last_fetch_at < timedelta(hours=1.2)
    assert not Client.of_stack(session=stack).viewed("nobody")


def test_a_stack_that_is_not_there_is_told_with_what_to_do(aws, cloudformation):
    with pytest.raises(InvalidInput, match=r"no stack 'elsewhere' in us-east-1\. Deploy it"):
        Client.of_stack("elsewhere", session=aws)


def test_a_stack_of_something_else_is_told(aws, cloudformation):
    with pytest.raises(InvalidInput, match="not a finished Wellspring stack"):
        Client.of_stack("other", session=aws)


def test_a_missing_region_is_told_with_what_to_do(aws, monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(InvalidInput, match="Set AWS_DEFAULT_REGION"):
        Client.of_stack(session=boto3.Session())


def test_an_account_that_does_not_answer_is_an_outage(aws):
    with pytest.raises(Unavailable, match="Looking for the stack wellspring failed"):
        Client.of_stack(session=boto3.Session(region_name="us-east-1"), endpoint_url="http://127.0.0.1:1")


def examples():
    text = (ROOT / "docs" / "consumers.md").read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_examples_of_the_guide_work(stack, capsys):
    names = {}
    for example in examples():
        exec(example, names)  # the guide's own code
    assert Client.of_stack(session=stack).pending().posts == ()
    assert capsys.readouterr().out.splitlines() == [f"Title {number}" for number in (2, 1, 0)]
    assert source(stack, "a").viewed_at
