"""What consumers see: every post that nobody has processed, once, in the order of time."""

import json
from base64 import urlsafe_b64encode
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from zlib import crc32

import pytest

from builders import NOON, a_post, an_entry, at
from wellspring import inbox, pending
from wellspring.errors import InvalidInput, Unavailable
from wellspring.inbox import Tally
from wellspring.memory import MemoryPosts
from wellspring.model import PostKey
from wellspring.ports import Marking
from wellspring.schedule import shard_of

DAY = timedelta(days=1)
MARGIN = 2 * DAY


class CountingPosts(MemoryPosts):
    """Counts calls. Its index lists posts of one time in an order that nobody can guess."""

    def __init__(self):
        super().__init__()
        self.calls = Counter()

    def pending(self, shard, **given):
        self.calls["pending"] += 1
        return super().pending(shard, **given)

    def read(self, keys):
        self.calls["read"] += 1
        return super().read(keys)

    @staticmethod
    def _order(ref):
        return ref.mark, crc32(str(ref.key).encode())


@pytest.fixture
def posts():
    return CountingPosts()


def put(posts, source_id, name, minutes=-5, **fields):
    post = a_post(source_id, name, entry=an_entry(published_at=at(minutes)), **fields)
    assert posts.put(post)
    return post


def page(posts, limit=100, cursor=None, now=NOON):
    return inbox.pending(posts, shards=4, limit=limit, cursor=cursor, now=now)


def walked(posts, limit, between=lambda shown: None):
    """Return all posts, page by page, and how many there were on each."""
    shown, sizes, cursor = [], [], None
    for _ in range(1_000):
        found = page(posts, limit, cursor)
        shown += found.posts
        sizes.append(len(found.posts))
        between(found.posts)
        cursor = found.cursor
        if cursor is None:
            return shown, sizes
    raise AssertionError("the pages do not end")


def fill(posts, sources=9, each=7):
    """Store posts of many sources, many of them at the same times."""
    return [
        put(posts, f"s-{source}", f"{number}", -(number % 3) - 10 * (source % 2))
        for source in range(sources)
        for number in range(each)
    ]


def by_time(posts):
    return sorted(posts, key=lambda post: (post.posted_at, post.key))


def test_posts_of_all_shards_come_in_the_order_of_time(posts):
    stored = fill(posts)
    assert {shard_of(post.source_id, 4) for post in stored} == {0, 1, 2, 3}
    found = page(posts)
    assert list(found.posts) == by_time(stored)
    assert found.cursor is None


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10, 62, 63, 64])
def test_page_by_page_nothing_is_lost_and_nothing_repeated(posts, limit):
    stored = fill(posts)
    shown, sizes = walked(posts, limit)
    assert Counter(post.key for post in shown) == Counter(post.key for post in stored)
    times = [post.posted_at for post in shown]
    assert times == sorted(times)
    assert set(sizes[:-1]) <= {limit}, "pages are full"


@pytest.mark.parametrize("limit", [1, 5, 20])
def test_processing_between_the_pages_moves_no_other_post(posts, limit):
    stored = fill(posts)

    def process(shown):
        inbox.mark_processed([post.key for post in shown], posts, at=NOON)

    shown, _ = walked(posts, limit, between=process)
    assert Counter(post.key for post in shown) == Counter(post.key for post in stored)
    assert page(posts).posts == ()


def test_a_post_that_arrives_late_is_on_the_next_walk(posts):
    put(posts, "a", "first", -5)
    put(posts, "a", "third", -3)
    cursor = page(posts, limit=1).cursor
    put(posts, "a", "before", -9)
    put(posts, "a", "second", -4)
    assert [post.content_hash for post in page(posts, cursor=cursor).posts] == ["second", "third"]
    assert [post.content_hash for post in page(posts).posts] == ["before", "first", "second", "third"]


class LaggingPosts(CountingPosts):
    """Its index still lists what has been processed or deleted a moment ago."""

    def _index(self, *stretch):
        now = self.rows
        self.rows = now | getattr(self, "before", {})
        try:
            return super()._index(*stretch)
        finally:
            self.rows = now


def test_what_the_index_has_not_heard_of_is_not_shown_and_the_page_is_filled_all_the_same():
    posts = LaggingPosts()
    for number in range(30):
        put(posts, "a", f"{number:02}", -60 + number)
    posts.before = dict(posts.rows)
    for number in range(10):
        posts.mark_processed(PostKey("a", f"{number:02}"), NOON)
    del posts.rows["a", "10"]
    found = page(posts, limit=12)
    assert [post.content_hash for post in found.posts] == [f"{number}" for number in range(11, 23)]


@pytest.mark.parametrize(
    ("expires_at", "shown"),
    [
        pytest.param(None, True, id="undated"),
        pytest.param(NOON + MARGIN + timedelta(seconds=1), True, id="young enough"),
        pytest.param(NOON + MARGIN, False, id="at its maximum age"),
        pytest.param(NOON, False, id="expired"),
        pytest.param(NOON - 9 * DAY, False, id="expired long ago, not deleted yet"),
    ],
)
def test_what_is_too_old_is_never_shown(posts, expires_at, shown):
    post = put(posts, "a", "x", expires_at=expires_at)
    assert page(posts).posts == ((post,) if shown else ())


def test_a_row_that_got_old_since_it_was_indexed_is_not_shown(posts):
    class Stale(CountingPosts):
        def _index(self, *stretch):
            return [replace(ref, expires_at=None) for ref in super()._index(*stretch)]

    stale = Stale()
    put(stale, "a", "x", expires_at=NOON)
    assert page(stale).posts == ()


def test_thousands_that_are_too_old_are_passed_over_without_being_read(posts):
    for number in range(5_000):
        put(posts, "a", f"old-{number}", -9_000, expires_at=NOON)
    young = put(posts, "a", "young")
    assert page(posts, limit=10).posts == (young,)
    assert posts.calls == {"pending": 4 + 5, "read": 1}


def test_a_listing_is_bounded_and_its_cursor_goes_on(posts):
    for number in range(12_000):
        put(posts, "a", f"old-{number}", -9_000, expires_at=NOON)
    young = put(posts, "a", "young")
    first = page(posts, limit=10)
    assert (first.posts, posts.calls["pending"]) == ((), 14)
    assert page(posts, limit=10, cursor=first.cursor).posts == (young,)


def test_an_empty_index_costs_a_query_a_shard(posts):
    assert page(posts) == inbox.Page((), None)
    assert posts.calls == {"pending": 4}


@pytest.mark.parametrize("limit", [0, -1, 1_001])
def test_a_page_has_a_sensible_size(posts, limit):
    with pytest.raises(InvalidInput, match="1 to 1000"):
        page(posts, limit=limit)


def encoded(found):
    return urlsafe_b64encode(json.dumps(found).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        pytest.param("?", id="no base64"),
        pytest.param("ö", id="no ascii"),
        pytest.param("abc", id="no json"),
        pytest.param("A" * 300_000, id="far too long"),
        pytest.param(urlsafe_b64encode(b"[" * 90_000).decode(), id="far too deep"),
        pytest.param(encoded([]), id="a list"),
        pytest.param(encoded({"4": ["t", "a", "b"]}), id="a shard that there is not"),
        pytest.param(encoded({"x": ["t", "a", "b"]}), id="no shard"),
        pytest.param(encoded({"0": ["t", "a"]}), id="too few parts"),
        pytest.param(encoded({"0": ["t", "a", 5]}), id="a number"),
        pytest.param(encoded({"0": ["t", "", "b"]}), id="an empty name"),
        pytest.param(encoded({"0": ["t", "a", "x" * 1_025]}), id="a name that is too long"),
        pytest.param(encoded({"0": ["t", "a", "\ud800"]}), id="half a letter"),
        pytest.param(encoded({"0": None}), id="nothing"),
    ],
)
def test_a_spoilt_cursor_is_told_in_a_sentence(posts, cursor):
    with pytest.raises(InvalidInput, match="The cursor cannot be read"):
        page(posts, cursor=cursor)


def test_a_cursor_survives_a_change_of_one_letter_or_is_refused(posts):
    fill(posts)
    cursor = page(posts, limit=5).cursor
    for place in range(len(cursor)):
        try:
            page(posts, cursor=cursor[:place] + "!" + cursor[place + 1 :])
        except InvalidInput:
            continue
        raise AssertionError("a letter that is none was read")


def test_a_cursor_is_small_and_needs_no_quoting(posts):
    for source in range(40):
        put(posts, f"source-with-a-name-{source}", "ab" * 32)
    cursor = page(posts, limit=20).cursor
    assert len(cursor) < 800
    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert len(pending.read_cursor(cursor, shards=4)) == 4


def test_a_stack_with_more_shards_goes_on_from_a_cursor_of_fewer(posts):
    fill(posts)
    cursor = page(posts, limit=5).cursor
    assert pending.read_cursor(cursor, shards=8) == pending.read_cursor(cursor, shards=4)


class TestMarking:
    def test_each_is_done_once(self, posts):
        keys = [post.key for post in fill(posts)]
        unknown = PostKey("nobody", "x")
        assert inbox.mark_processed([*keys[:5], unknown], posts, at=NOON) == Tally(5, 0, 1)
        assert inbox.mark_processed(iter(keys), posts, at=at(1)) == Tally(len(keys) - 5, 5, 0)
        assert inbox.mark_processed(keys, posts, at=at(2)) == Tally(0, len(keys), 0)
        assert posts.rows["s-0", "0"].processed_at == NOON, "the first time stays"

    def test_who_names_a_post_twice_marks_it_once(self, posts):
        key = put(posts, "a", "x").key
        assert inbox.mark_processed([key, key], posts, at=NOON) == Tally(1, 0, 0)

    def test_nothing_is_nothing(self, posts):
        assert inbox.mark_processed([], posts, at=NOON) == Tally()

    def test_an_empty_name_is_told_before_anything_is_written(self, posts):
        key = put(posts, "a", "x").key
        with pytest.raises(InvalidInput, match="is empty"):
            inbox.mark_processed([key, PostKey("a", "")], posts, at=NOON)
        assert posts.rows["a", "x"].processed_at is None

    def test_an_outage_says_how_many_were_marked_and_repeating_ends_it(self, posts):
        keys = [post.key for post in fill(posts)]
        failing = FailingPosts(posts, after=20)
        with pytest.raises(Unavailable) as told:
            inbox.mark_processed(keys, failing, at=NOON)
        marked = sum(post.processed_at is not None for post in posts.rows.values())
        assert str(told.value) == (
            f"Marking failed: Throttled. {marked} of {len(keys)} posts were marked; repeating it is safe."
        )
        assert marked == 20
        assert failing.tried <= 20 + inbox.SIDE_BY_SIDE, "it does not go on against a wall"
        rest = inbox.mark_processed(keys, posts, at=at(1))
        assert rest == Tally(len(keys) - marked, marked, 0)

    def test_a_bug_is_not_told_as_an_outage(self, posts):
        class Broken(MemoryPosts):
            def mark_processed(self, key, at):
                raise KeyError(key)

        with pytest.raises(KeyError):
            inbox.mark_processed([PostKey("a", "x")], Broken(), at=NOON)


class FailingPosts:
    """Marks so many posts and then fails."""

    def __init__(self, posts, *, after):
        self.posts = posts
        self.left = after
        self.tried = 0
        self.lock = Lock()

    def mark_processed(self, key, at) -> Marking:
        with self.lock:
            self.tried += 1
            self.left -= 1
            if self.left < 0:
                raise Unavailable("Marking failed: Throttled.")
        return self.posts.mark_processed(key, at)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param("a/b", PostKey("a", "b"), id="plain"),
        pytest.param("https://a.example/x/b", PostKey("https://a.example/x", "b"), id="slashes in the id"),
    ],
)
def test_a_key_is_written_and_read(text, key):
    assert PostKey.from_text(text) == key
    assert str(key) == text


@pytest.mark.parametrize("text", ["", "a", "/b", "a/"])
def test_half_a_key_is_none(text):
    with pytest.raises(InvalidInput, match="SOURCE_ID/CONTENT_HASH"):
        PostKey.from_text(text)
