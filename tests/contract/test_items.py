"""What stands in the tables: items that people write by hand are read, rows stay small."""

import pytest

from builders import NOON, a_post, a_source, an_entry, at, every
from wellspring.aws import items, source_items
from wellspring.aws.logs import item_of as log_item
from wellspring.aws.sources import DynamoSources
from wellspring.config import Always
from wellspring.errors import Unavailable
from wellspring.model import FetchLog, Lease, Status
from wellspring.ports import Refused, Started


@pytest.mark.parametrize(
    ("item", "warned"),
    [
        pytest.param({}, [], id="only an id"),
        pytest.param({"url": 5}, ["url"], id="a number for the url"),
        pytest.param({"created_at": "yesterday"}, ["created_at"], id="no time"),
        pytest.param({"cursor": "x", "health": "x", "lease": 1}, ["cursor", "health", "lease"], id="no maps"),
        pytest.param({"enabled": "false"}, ["enabled"], id="text for a truth value"),
        pytest.param({"pace": {"reasons": 5}}, [], id="a number for reasons"),
        pytest.param({"created_at": "0001-01-01T00:00:00+01:00"}, ["created_at"], id="the beginning of time"),
        pytest.param(
            {"cursor": {"last_fetch_at": "9999-12-31T00:00:00Z"}}, ["cursor.last_fetch_at"], id="its end"
        ),
        pytest.param({"health": {"failures": "many"}}, ["health.failures"], id="no count"),
        pytest.param({"config": {"cadence": {"mode": "?"}}}, ["config.cadence"], id="a malformed cadence"),
        pytest.param({"config": "hourly"}, ["config"], id="a configuration that is no map"),
    ],
)
def test_an_item_written_by_hand_is_read_with_warnings(item, warned):
    source = source_items.source_of(items.encode({"source_id": "a"} | item))
    assert source.source_id == "a"
    assert source.enabled
    assert isinstance(source.config.cadence, Always)
    assert [warning.partition(":")[0] for warning in source.warnings] == warned


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="an id and nothing else"),
        pytest.param({"cursor": {}, "lease": {}}, id="empty maps"),
        pytest.param({"cursor": "x", "lease": "y"}, id="text where maps belong"),
    ],
)
def test_an_item_written_by_hand_can_be_started_and_finished(aws, fields):
    dynamodb = aws.client("dynamodb")
    sources = DynamoSources(dynamodb, "SourcesTable", shards=4)
    item = {"source_id": {"S": "a"}} | {name: items.value(value) for name, value in fields.items()}
    dynamodb.put_item(TableName="SourcesTable", Item=item)
    started = sources.start("a", Lease(started_at=NOON, token="t", until=at(1)), due_at=NOON)
    assert isinstance(started, Started)
    assert sources.finish(a_source(), a_source(next_fetch_at=at(1), due_shard="3"), "t")
    assert [ref.source_id for ref in sources.due(3, at(1)).refs] == ["a"], "now the schedule finds it"


def test_a_time_that_a_person_wrote_can_be_moved(aws):
    dynamodb = aws.client("dynamodb")
    sources = DynamoSources(dynamodb, "SourcesTable", shards=4)
    for name, text in (("a", "2026-11-18T10:00:00+00:00"), ("b", "2026, some day")):
        item = {"source_id": name, "due_shard": "0", "next_fetch_at": text}
        dynamodb.put_item(TableName="SourcesTable", Item=items.encode(item))
    refs = sources.due(0, NOON).refs
    assert {ref.source_id: ref.due_at for ref in refs} == {"a": at(-120), "b": NOON}
    assert all(sources.move(ref, at(5)) for ref in refs)


def test_a_source_stays_under_a_kilobyte():
    """Every update of an item is billed by its whole size."""
    source = a_source(
        "0c6ab0c7a1b24f6d8f5e",
        url="https://www.example.org/some/rather/long/path/to/a/feed.xml?format=rss&category=news",
        cadence=every(60),
        title="A feed with a title of a usual length",
        etag='W/"5f1d7a84e3b0c44298fc1c149afbf4c8"',
        last_modified="Wed, 18 Nov 2026 11:22:33 GMT",
        signature="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        last_fetch_at=NOON,
        last_polled_at=NOON,
        due_at=NOON,
        failures=3,
        reasons=("interval 1 h", "3 failures in a row: waits 8 h since the last poll"),
        lease=Lease(started_at=NOON, token="0123456789abcdef" * 2, until=at(2), free_at=at(1)),
        next_fetch_at=at(60),
        due_shard="3",
    )
    assert size(source_items.item_of(source)) < 1000


def test_a_fetch_log_stays_under_a_kilobyte():
    log = FetchLog(
        source_id="0c6ab0c7a1b24f6d8f5e",
        started_at=NOON,
        finished_at=at(seconds=1),
        status=Status.OK,
        url="https://www.example.org/some/rather/long/path/to/a/feed.xml?...",
        attempt_id="0123456789abcdef" * 2,
        message_id="0c6ab0c7-a1b2-4f6d-8f5e-0c6ab0c7a1b2",
        manual=False,
        expires_at=at(90 * 1440),
        http_status=200,
        headers={
            "etag": 'W/"5f1d7a84e3b0c44298fc1c149afbf4c8"',
            "last-modified": "Wed, 18 Nov 2026 11:22:33 GMT",
            "content-type": "application/rss+xml; charset=utf-8",
            "cache-control": "max-age=300, public",
            "date": "Wed, 18 Nov 2026 11:22:33 GMT",
        },
        bytes=48_000,
        entries=30,
        created=1,
        unchanged=29,
        parser="feedparser 6.0.14 rss20",
        signature="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        next_fetch_at=at(60),
        reasons=("interval 1 h since the last success",),
    )
    assert size(log_item(log)) < 1024


def size(item):
    """Count an item's bytes as they are billed: names and values, one byte and three for each map or list."""
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _size(value):
    ((kind, found),) = value.items()
    match kind:
        case "S":
            return len(found.encode())
        case "N":
            return len(found) // 2 + 2
        case "M":
            return 3 + sum(1 + len(name.encode()) + _size(inner) for name, inner in found.items())
        case "L":
            return 3 + sum(1 + _size(inner) for inner in found)
        case _:
            return 1


def test_a_post_too_large_for_a_row_is_the_entrys_fault(aws):
    from wellspring.aws.posts import DynamoPosts

    posts = DynamoPosts(aws.client("dynamodb"), "PostsTable", shards=4)
    with pytest.raises(ValueError, match="size"):
        posts.put(a_post(entry=an_entry(body="x" * 500_000)))


def test_an_outage_is_ours_and_names_what_was_tried(aws):
    sources = DynamoSources(aws.client("dynamodb"), "NoSuchTable", shards=4)
    with pytest.raises(Unavailable, match=r"^Starting a fetch failed: ResourceNotFoundException\.$"):
        sources.start("a", Lease(started_at=NOON, token="t", until=at(1)), due_at=None)
    with pytest.raises(Unavailable, match="Reading the due index failed"):
        sources.due(0, NOON)


def test_an_unknown_source_by_hand_is_refused(aws):
    sources = DynamoSources(aws.client("dynamodb"), "SourcesTable", shards=4)
    assert sources.start("nobody", Lease(started_at=NOON, token="t", until=at(1)), due_at=None) == Refused(
        None
    )


SECRETS = [
    {"config": '{"headers": {"Authorization": "secret"}}'},
    {"config": {"cadence": {"mode": "interval", "headers": {"Authorization": "secret"}}}},
    {"config": {"headers": {"Authorization": ["secret"]}}},
    {"config": {"max_age_days": "secret"}},
    {"url": ["https://example.org/?token=secret"]},
    {"created_at": "secret"},
]


@pytest.mark.parametrize("item", SECRETS)
def test_a_warning_never_shows_what_was_written(item):
    source = source_items.source_of(items.encode({"source_id": "a"} | item))
    assert source.warnings
    assert "secret" not in str(source.warnings)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"lease": {"until": "tomorrow", "started_at": "x"}}, id="a lease until some day"),
        pytest.param({"lease": {"free_at": "tomorrow"}}, id="free some day"),
        pytest.param({"cursor": {"due_at": "soon"}}, id="due some day"),
    ],
)
def test_what_can_never_start_is_mended(aws, fields):
    dynamodb = aws.client("dynamodb")
    sources = DynamoSources(dynamodb, "SourcesTable", shards=4)
    item = items.encode({"source_id": "a", "url": "https://example.org/"} | fields)
    dynamodb.put_item(TableName="SourcesTable", Item=item)
    lease = Lease(started_at=NOON, token="t", until=at(1))
    refused = sources.start("a", lease, due_at=NOON)
    assert isinstance(refused, Refused)
    sources.heal(refused.source)
    assert isinstance(sources.start("a", lease, due_at=NOON), Started)
