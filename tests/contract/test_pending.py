"""What every store of posts must do for consumers and for the cleaning."""

import pytest

from builders import NOON, a_post, an_entry, at
from wellspring.aws import items, post_items
from wellspring.aws.posts import DynamoPosts
from wellspring.aws.sources import DynamoSources
from wellspring.errors import Unavailable
from wellspring.model import PostKey
from wellspring.ports import Marking, PendingRef
from wellspring.schedule import shard_of
from wellspring.timestamps import to_text

SHARD = shard_of("a", 4)
NOWHERE = PostKey("a", "nowhere")


def put(ports, name, minutes, **fields):
    """Store a post that was published so many minutes after noon."""
    post = a_post("a", name, entry=an_entry(published_at=at(minutes)), **fields)
    assert ports.posts.put(post)
    return post


def listed(ports, shard=SHARD, **given):
    """Return what the index lists, page by page, and how many rows were looked at."""
    found, seen, after = [], 0, None
    for _ in range(20):
        page = ports.posts.pending(shard, after=after, **given)
        found += [ref.key.content_hash for ref in page.refs]
        seen += page.seen
        after = page.after
        if after is None:
            return found, seen
    raise AssertionError("the pages do not end")


def test_the_oldest_comes_first_and_only_of_its_shard(ports):
    for name, minutes in (("late", -1), ("early", -9), ("middle", -5)):
        put(ports, name, minutes)
    elsewhere = next(name for name in "bcdefgh" if shard_of(name, 4) != SHARD)
    ports.posts.put(a_post(elsewhere))
    assert listed(ports) == (["early", "middle", "late"], 3)
    assert listed(ports, shard=shard_of(elsewhere, 4))[0] == ["ab" * 32]


def test_a_row_of_the_index_says_when_it_expires(ports):
    put(ports, "dated", -2, expires_at=at(60))
    put(ports, "undated", -1)
    refs = ports.posts.pending(SHARD).refs
    assert refs == (
        PendingRef(PostKey("a", "dated"), to_text(at(-2)), at(60)),
        PendingRef(PostKey("a", "undated"), to_text(at(-1)), None),
    )


def test_equal_times_are_neither_lost_nor_repeated_between_pages(ports):
    names = [f"{number:02}" for number in range(17)]
    for name in names:
        put(ports, name, -5)
    found, _ = listed(ports, limit=3)
    assert sorted(found) == names


def test_any_row_is_a_position_even_one_that_is_gone(ports):
    for name in ("one", "two", "three"):
        put(ports, name, {"one": -3, "two": -2, "three": -1}[name])
    second = ports.posts.pending(SHARD).refs[1]
    ports.posts.mark_processed(second.key, NOON)
    assert [ref.key.content_hash for ref in ports.posts.pending(SHARD, after=second).refs] == ["three"]


def test_a_stretch_of_time_is_listed_its_ends_included(ports):
    for minutes in range(-9, 0):
        put(ports, f"{-minutes}", minutes)
    assert listed(ports, since=at(-7), until=at(-4))[0] == ["7", "6", "5", "4"]
    assert listed(ports, since=at(-7), until=at(-4), limit=2)[0] == ["7", "6", "5", "4"]
    assert listed(ports, since=at(-2))[0] == ["2", "1"]
    assert listed(ports, until=at(-8))[0] == ["9", "8"]


def test_what_does_not_expire_in_time_is_looked_at_and_left_out(ports):
    put(ports, "never", -9)
    put(ports, "now", -8, expires_at=NOON)
    put(ports, "later", -7, expires_at=at(1))
    assert listed(ports, expires_by=NOON) == (["now"], 3)
    assert listed(ports, expires_by=NOON, limit=1) == (["now"], 3), "a page may be empty before the end"


def test_an_empty_index_shows_that_nothing_was_seen(ports):
    ports.posts.put_window("a", {b"12345678": b"abcdefgh"}, started_at=NOON)
    assert listed(ports) == ([], 0)


def test_a_post_is_read_as_it_was_stored(ports):
    full = a_post(
        entry=an_entry(author="Ann"), expires_at=at(60), revision_of="cd" * 32, content_hash="ef" * 32
    )
    bare = a_post(entry=an_entry(entry_id=None, title="", url=None, body="", published_at=None))
    for post in (full, bare):
        ports.posts.put(post)
    found = ports.posts.read([full.key, bare.key, NOWHERE])
    assert sorted(found, key=lambda post: post.content_hash) == [bare, full]


def test_a_processed_post_leaves_the_list_and_never_expires(ports):
    post = put(ports, "x", -5, expires_at=at(60))
    assert ports.posts.mark_processed(post.key, at(1)) is Marking.DONE
    (found,) = ports.posts.read([post.key])
    assert (found.processed_at, found.expires_at) == (at(1), None)
    assert found.entry == post.entry
    assert listed(ports) == ([], 0)


def test_marking_again_changes_nothing(ports):
    post = put(ports, "x", -5)
    ports.posts.mark_processed(post.key, at(1))
    assert ports.posts.mark_processed(post.key, at(2)) is Marking.ALREADY
    assert ports.posts.read([post.key])[0].processed_at == at(1)


def test_what_is_not_there_is_not_created_by_marking_it(ports):
    ports.posts.put_window("a", {b"12345678": b"abcdefgh"}, started_at=NOON)
    assert ports.posts.mark_processed(NOWHERE, NOON) is Marking.UNKNOWN
    assert ports.posts.mark_processed(PostKey("a", "window"), NOON) is Marking.UNKNOWN
    assert ports.posts.read([NOWHERE]) == []
    assert ports.posts.window("a"), "the window is no post"


@pytest.mark.parametrize(
    ("fields", "processed", "deleted"),
    [
        pytest.param({"expires_at": NOON}, False, True, id="the boundary itself"),
        pytest.param({"expires_at": at(seconds=1)}, False, False, id="still young"),
        pytest.param({}, False, False, id="undated"),
        pytest.param({"expires_at": NOON}, True, False, id="processed"),
    ],
)
def test_only_what_is_old_and_not_processed_is_deleted(ports, fields, processed, deleted):
    post = put(ports, "x", -5, **fields)
    if processed:
        ports.posts.mark_processed(post.key, NOON)
    assert ports.posts.delete_unprocessed(post.key, expires_by=NOON) is deleted
    assert bool(ports.posts.read([post.key])) is not deleted


def test_nothing_is_deleted_twice_nor_a_window(ports):
    ports.posts.put_window("a", {b"12345678": b"abcdefgh"}, started_at=NOON)
    assert not ports.posts.delete_unprocessed(NOWHERE, expires_by=NOON)
    assert not ports.posts.delete_unprocessed(PostKey("a", "window"), expires_by=NOON)
    assert ports.posts.window("a")


class Throttled:
    """A client whose table reads one post at a time, and sometimes none for ever."""

    def __init__(self, client, *, answers):
        self.client = client
        self.answers = answers
        self.asked = 0

    def batch_get_item(self, RequestItems):
        self.asked += 1
        ((table, wanted),) = RequestItems.items()
        first, rest = wanted["Keys"][: self.answers], wanted["Keys"][self.answers :]
        assert wanted["ConsistentRead"]
        responses = {table: []}
        if first:
            answer = self.client.batch_get_item(RequestItems={table: wanted | {"Keys": first}})
            responses = answer["Responses"]
        return {"Responses": responses, "UnprocessedKeys": {table: wanted | {"Keys": rest}} if rest else {}}


def test_posts_that_a_busy_table_left_out_are_asked_for_again(aws):
    dynamodb = aws.client("dynamodb")
    keys = [PostKey("a", f"{number}") for number in range(5)]
    for key in keys:
        DynamoPosts(dynamodb, "PostsTable", shards=4).put(a_post(key.source_id, key.content_hash))
    slow, stuck = Throttled(dynamodb, answers=1), Throttled(dynamodb, answers=0)
    found = DynamoPosts(slow, "PostsTable", shards=4).read(keys)
    assert sorted(post.key for post in found) == keys
    with pytest.raises(Unavailable, match="Reading posts failed"):
        DynamoPosts(stuck, "PostsTable", shards=4).read(keys)
    assert stuck.asked < 20, "not for ever, and what is missing is never passed over in silence"


@pytest.mark.parametrize(
    ("fields", "processed"),
    [
        pytest.param({}, False, id="only its key"),
        pytest.param({"title": 5, "body": ["x"], "url": {"a": 1}}, False, id="no texts"),
        pytest.param({"fetched_at": "yesterday", "published_at": 5, "posted_at": "?"}, False, id="no times"),
        pytest.param({"expires_at": "tomorrow"}, False, id="no expiry"),
        pytest.param({"expires_at": 10**14}, False, id="an expiry beyond all time"),
        pytest.param({"processed_at": "yes"}, True, id="processed, at no time"),
    ],
)
def test_a_post_that_a_person_spoilt_can_still_be_read(fields, processed):
    item = items.encode({"source_id": "a", "content_hash": "x"} | fields)
    post = post_items.post_of(item)
    assert (post.source_id, post.entry.title, post.expires_at) == ("a", "", None)
    assert bool(post.processed_at) is processed
    assert to_text(post.posted_at)


@pytest.mark.parametrize("found", [5, "some day", {"when": "now"}, True])
def test_a_view_replaces_what_a_person_wrote_instead_of_a_time(aws, found):
    dynamodb = aws.client("dynamodb")
    item = items.encode({"source_id": "a", "url": "https://example.org/", "viewed_at": found})
    dynamodb.put_item(TableName="SourcesTable", Item=item)
    sources = DynamoSources(dynamodb, "SourcesTable", shards=4)
    assert sources.view("a", NOON, unless_since=at(-1)).noted
