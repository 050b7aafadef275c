"""A stream is followed from now on: across shards that end, positions that are lost, and outages."""

from datetime import timedelta

import pytest
from botocore.exceptions import EndpointConnectionError

from stream import ARN, NOON, FakeStreams
from wellspring.aws.post_stream import new_posts
from wellspring.aws.streams import LOOK_EVERY, Stream
from wellspring.errors import Denied, Unavailable

BEFORE, AFTER = NOON - timedelta(seconds=1), NOON + timedelta(seconds=1)


@pytest.fixture
def client():
    made = FakeStreams()
    made.open("first")
    return made


def following(client):
    return Stream(client, ARN, now=NOON)


def seen(stream, rounds=1):
    return [record["name"] for _ in range(rounds) for record in stream.read()]


def test_what_comes_from_now_on_is_read_once_and_in_order(client):
    client.put("first", "old", came_at=BEFORE)
    stream = following(client)
    assert seen(stream) == []
    client.put("first", "a", "b", "c")
    assert seen(stream, rounds=2) == ["a", "b", "c"]
    assert seen(stream, rounds=2) == []


def test_all_open_shards_are_followed_however_many_pages_they_fill(client):
    for name in ("second", "third", "fourth", "fifth"):
        client.open(name)
    stream = following(client)
    for name in client.shards:
        client.put(name, name)
    assert seen(stream) == ["first", "second", "third", "fourth", "fifth"]


def test_what_lies_in_shards_that_were_closed_before_is_old(client):
    client.put("first", "old", came_at=BEFORE)
    client.open("second", parent="first")
    client.put("second", "old too", came_at=BEFORE)
    stream = following(client)
    client.put("second", "new")
    assert seen(stream, rounds=3) == ["new"]
    assert client.asked.count("get_shard_iterator") == 1, "nobody asks where a closed shard ends"


def test_a_closed_shard_is_read_to_its_end_and_its_successors_from_their_beginning(client):
    stream = following(client)
    client.put("first", "a", "b", "c")
    for name in ("left", "right"):
        client.open(name, parent="first")
    client.put("left", "d")
    client.put("right", "e")
    assert seen(stream, rounds=3) == ["a", "b", "c", "d", "e"]
    client.put("left", "f")
    assert seen(stream) == ["f"]


def test_generations_that_came_and_went_between_two_looks_are_read_in_their_order(client):
    stream = following(client)
    client.put("first", "a")
    for parent, name in (("first", "second"), ("second", "third")):
        client.open(name, parent=parent)
        client.put(name, name)
    # However the shards are listed: a successor waits until its parent was read.
    client.shards = dict(reversed(client.shards.items()))
    assert seen(stream, rounds=4) == ["a", "second", "third"]
    client.put("third", "b")
    assert seen(stream) == ["b"]


def test_a_successor_that_is_listed_late_is_found_as_soon_as_it_is(client):
    stream = following(client)
    client.shards["first"].closed = True
    assert seen(stream, rounds=3) == []
    client.open("second", parent="first")
    client.put("second", "a")
    assert seen(stream, rounds=2) == ["a"]


def test_a_shard_without_a_parent_is_found_too(client):
    stream = following(client)
    client.open("newcomer")
    client.put("newcomer", "a")
    assert seen(stream, rounds=LOOK_EVERY + 1) == ["a"]


def test_shards_are_not_looked_for_at_every_round(client):
    stream = following(client)
    client.asked.clear()
    seen(stream, rounds=LOOK_EVERY - 1)
    assert set(client.asked) == {"get_records"}


def test_an_expired_iterator_is_replaced_by_one_behind_the_last_record(client):
    client.put("first", "old", came_at=BEFORE)
    stream = following(client)
    client.put("first", "a")
    assert seen(stream) == ["a"]
    client.put("first", "b")
    client.expire_iterators()
    assert seen(stream, rounds=2) == ["b"]


def test_without_a_last_record_the_time_tells_what_is_new(client):
    client.put("first", "old", "older", "oldest", came_at=BEFORE)
    stream = following(client)
    client.put("first", "a", came_at=AFTER)
    client.expire_iterators()
    assert seen(stream, rounds=2) == ["a"], "what is old is passed over in one round"
    client.put("first", "b", came_at=AFTER)
    assert seen(stream) == ["b"]


def test_where_data_was_trimmed_the_oldest_that_is_left_is_next(client):
    stream = following(client)
    client.put("first", "a", "b")
    assert seen(stream) == ["a", "b"]
    client.put("first", "lost", "c")
    client.trim("first", 3)
    assert seen(stream, rounds=2) == ["c"]
    client.put("first", "lost", "d")
    client.trim("first", 5)
    client.expire_iterators()
    assert seen(stream, rounds=3) == ["d"], "the last record is gone as well"


def test_a_shard_that_is_gone_takes_no_other_with_it(client):
    client.open("second")
    stream = following(client)
    del client.shards["first"]
    client.put("second", "a")
    assert seen(stream, rounds=2) == ["a"]


def test_a_throttled_read_loses_nothing(client):
    client.open("second")
    stream = following(client)
    client.put("first", "a")
    client.put("second", "b")
    client.fail("LimitExceededException")
    with pytest.raises(Unavailable, match="Reading the stream failed: LimitExceededException"):
        seen(stream)
    assert seen(stream) == ["a", "b"]


def test_after_a_lost_connection_the_position_is_asked_for_again(client):
    stream = following(client)
    client.put("first", "a")
    assert seen(stream) == ["a"]
    client.put("first", "b")
    client.fail(EndpointConnectionError(endpoint_url="http://127.0.0.1:4566"))
    with pytest.raises(Unavailable, match="cannot be reached"):
        seen(stream)
    client.expire_iterators()
    assert seen(stream) == ["b"]


def test_a_refusal_is_told_as_one(client):
    client.fail("AccessDeniedException")
    with pytest.raises(Denied):
        following(client)


def test_a_stream_that_was_switched_off_is_told(client):
    stream = following(client)
    client.put("first", "a")
    client.shards["first"].closed = True
    client.status = "DISABLED"
    found = []
    with pytest.raises(Unavailable, match="switched off"):
        for record in stream.read():
            found.append(record["name"])
    assert found == ["a"], "what it still had was read"


def test_only_new_posts_are_posts():
    def record(content_hash, event="INSERT", image="NewImage"):
        row = {"source_id": {"S": "a"}, "content_hash": {"S": content_hash}, "title": {"S": "Hello"}}
        return {"eventName": event, "dynamodb": {image: row}}

    records = [
        record("window"),
        record("waiting"),
        record("ab"),
        record("ab", "MODIFY"),
        record("cd", "REMOVE", "OldImage"),
    ]
    (post,) = new_posts(records)
    assert (str(post.key), post.entry.title) == ("a/ab", "Hello")
