"""What the command says about posts, how they are named, and how a source's posts are walked."""

from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, a_post, an_entry, at
from wellspring.client import Client, Tally
from wellspring.errors import InvalidInput
from wellspring.intake import EXPIRY_MARGIN
from wellspring.memory import MemoryPosts, MemorySources
from wellspring.model import FullText, PostKey
from wellspring_cli import post_names, post_pages, post_rows
from wellspring_cli.errors import NotThere

HOSTILE = "\x1b[2Jgone\x07\r\u202e\x9b31m\ud800\u2028end"
OVER = NOON + EXPIRY_MARGIN


@pytest.fixture
def posts():
    return MemoryPosts()


def client_of(posts):
    return Client(MemorySources(), posts, SETTINGS, clock=lambda: NOON)


def stored(posts, *names, source_id="news", **fields):
    """Store posts, each a minute newer than the one before."""
    for minute, name in enumerate(names):
        posts.put(a_post(source_id, name, entry=an_entry(published_at=at(minute)), **fields))


def walked(posts, limit, **given):
    """Return the pages of a source, as lists of hashes."""
    pages, cursor = [], None
    while True:
        page = post_pages.of_source("news", posts, limit=limit, cursor=cursor, now=NOON, **given)
        pages.append([post.content_hash for post in page.posts])
        cursor = page.cursor
        if cursor is None:
            return pages


def shown(*found):
    return "\n".join(line.plain for line in post_rows.lines(found))


def test_a_post_is_shown_with_a_name_that_can_be_typed():
    text = shown(a_post("news", "ab" * 32, entry=an_entry(title="Hello", published_at=at(-1))))
    assert text == "2026-11-18 11:59  Hello\n                  news/abababababab"


@pytest.mark.parametrize(
    ("fields", "mark"),
    [
        pytest.param({}, "news/ab", id="nothing special"),
        pytest.param({"processed_at": NOON}, "news/ab  processed", id="processed"),
        pytest.param({"revision_of": "cd"}, "news/ab  changed", id="a new version of another"),
        pytest.param({"processed_at": NOON, "revision_of": "cd"}, "news/ab  processed, changed", id="both"),
    ],
)
def test_what_is_special_about_a_post_stands_in_words(fields, mark):
    assert shown(a_post("news", "ab", **fields)).endswith(f" {mark}")


@pytest.mark.parametrize(
    ("title", "told"),
    [
        pytest.param("", "(no title)", id="none"),
        pytest.param(" \r\n\t ", "(no title)", id="nothing but white space"),
        pytest.param("a\r\n\n b", "a b", id="of several lines"),
        pytest.param("a" * 5_000, "a" * 160 + " [...]", id="very long"),
        pytest.param(HOSTILE, "[2Jgone 31m end", id="made to steer the terminal"),
    ],
)
def test_a_title_is_one_printable_line(title, told):
    assert post_rows.title(a_post(entry=an_entry(title=title))) == told


@pytest.mark.parametrize("field", ["title", "url", "body", "author", "entry_id"])
def test_nothing_that_a_publisher_wrote_steers_the_terminal(field):
    post = a_post("news\x1b", "ab", entry=an_entry(**{field: HOSTILE}), full_text=HOSTILE)
    told = [value if isinstance(value, str) else value.plain for _, value in post_rows.details(post)]
    told += [line.plain for line in post_rows.texts(post)]
    told += [post_rows.arrival(post, HOSTILE).plain, *shown(post).split("\n")]
    assert all(line.isprintable() for line in told)
    assert any("gone" in line for line in told)


def test_a_post_is_shown_whole():
    post = a_post(
        "news",
        "ab" * 32,
        entry=an_entry(body="One.\n\nTwo.", author="Ann", published_at=None),
        revision_of="cd" * 32,
        truncated=True,
        expires_at=NOON + EXPIRY_MARGIN,
        full_text_status=FullText.OK,
        full_text="Three.",
    )
    facts = {
        name: value if isinstance(value, str) else value.plain for name, value in post_rows.details(post)
    }
    assert facts["name"] == f"news/{'ab' * 32}"
    assert facts["revision of"] == "news/cdcdcdcdcdcd"
    assert facts["published"] == "the publisher does not say when"
    assert facts["kept until"] == "2026-11-18 12:00:00Z; once it is processed, for good"
    assert facts["processed"] == "no"
    assert (facts["author"], facts["full text"]) == ("Ann", "fetched, below")
    assert "too long" in facts["cut"]
    lines = [line.plain for line in post_rows.texts(post)]
    assert lines == ["", "One.", "", "Two.", "", "The full text, of its page:", "Three."]


def test_a_post_without_text_says_so():
    assert [line.plain for line in post_rows.texts(a_post(entry=an_entry(body="")))] == ["", "(no text)"]


def test_what_arrives_is_told_in_one_line():
    post = a_post("news", "ab", entry=an_entry(title="Hello", url="https://example.org/1?page=2"))
    assert post_rows.arrival(post, "The News").plain == (
        "2026-11-18 12:00:00Z  news (The News)  Hello  https://example.org/1?page=2"
    )
    bare = a_post("news", "ab", entry=an_entry(title="Hello", url=None))
    assert post_rows.arrival(bare, "").plain == "2026-11-18 12:00:00Z  news  Hello"


def test_programs_get_whole_posts():
    post = a_post("news", "ab", entry=an_entry(published_at=None), processed_at=at(1))
    found = post_rows.fields(post)
    assert (found["name"], found["published_at"]) == ("news/ab", None)
    assert found["processed_at"] == "2026-11-18T12:01:00.000Z"
    assert found["body"] == post.entry.body


@pytest.mark.parametrize(
    ("name", "content_hash"),
    [
        pytest.param("news/" + "ab" * 32, "ab" * 32, id="its whole hash"),
        pytest.param("news/" + "ab" * 6, "ab" * 32, id="the beginning that lists show"),
        pytest.param("news/1", "1", id="a hash that is the beginning of another one"),
        pytest.param("news/12", "123", id="a beginning that only one has"),
    ],
)
def test_a_post_is_named_by_the_beginning_of_its_hash(posts, name, content_hash):
    stored(posts, "ab" * 32, "1", "123")
    stored(posts, "ab" * 31 + "cc", source_id="other")
    assert post_names.find(name, posts) == PostKey("news", content_hash)


def test_a_sources_id_may_have_slashes(posts):
    stored(posts, "ab", source_id="a/b")
    assert post_names.find("a/b/ab", posts) == PostKey("a/b", "ab")


def test_a_beginning_that_two_posts_share_is_refused_before_anything_is_done(posts):
    stored(posts, "ab1", "ab2", "cd")
    with pytest.raises(NotThere, match="'news/ab' is the beginning of news/ab1 and news/ab2"):
        post_names.find_all(["news/cd", "news/ab"], posts)


class Strict(MemoryPosts):
    """Posts that refuse to be asked for what no table can hold."""

    def hash_like(self, source_id, prefix, *, after=None):
        assert max(len(source_id.encode()), len(prefix.encode())) <= 1_024
        return super().hash_like(source_id, prefix, after=after)


@pytest.mark.parametrize(
    "name", ["news/nothing", "nobody/ab", "news/" + "a" * 3_000, "a" * 3_000 + "/ab", "news/\ud800"]
)
def test_a_post_that_is_not_there_is_told(name):
    posts = Strict()
    stored(posts, "ab")
    with pytest.raises(NotThere, match="There is no post '"):
        post_names.find(name, posts)


@pytest.mark.parametrize("name", ["news", "news/", "/ab", ""])
def test_a_name_that_is_none_is_told(posts, name):
    with pytest.raises(InvalidInput, match="A post is named SOURCE_ID/CONTENT_HASH"):
        post_names.find_all(["news/ab", name], posts)


def test_of_many_names_each_post_is_found_once_and_the_unknown_are_named(posts):
    stored(posts, "ab", "cd")
    keys, unknown = post_names.find_all(["news/ab", "news/a", "news/x", "news/cd", "news/ab"], posts)
    assert keys == [PostKey("news", "ab"), PostKey("news", "cd")]
    assert unknown == ["news/x"]


def test_a_sources_posts_come_the_newest_first_page_by_page(posts):
    stored(posts, *"abcde")
    stored(posts, "z", source_id="other")
    assert walked(posts, 2) == [["e", "d"], ["c", "b"], ["a"]]
    assert walked(posts, 100) == [["e", "d", "c", "b", "a"]]


def test_only_the_pending_ones_fill_the_pages(posts):
    stored(posts, *(f"{number:03}" for number in range(250)))
    for number in range(250):
        if number % 40:
            posts.mark_processed(PostKey("news", f"{number:03}"), NOON)
    assert walked(posts, 2, pending=True) == [["240", "200"], ["160", "120"], ["080", "040"], ["000"]]
    assert [len(page) for page in walked(posts, 100)] == [100, 100, 50], "processed ones are shown, too"


def test_a_page_that_found_nothing_in_its_share_of_rows_still_leads_on(posts):
    stored(posts, *(f"{number:05}" for number in range(post_pages.ROWS * post_pages.ROUNDS + 1)))
    for number in range(1, post_pages.ROWS * post_pages.ROUNDS + 1):
        posts.mark_processed(PostKey("news", f"{number:05}"), NOON)
    assert walked(posts, 20, pending=True) == [[], ["00000"]]


def test_what_has_had_its_time_is_not_shown(posts):
    stored(posts, "over", expires_at=OVER)
    stored(posts, "young", expires_at=OVER + timedelta(seconds=1))
    stored(posts, "kept", expires_at=OVER)
    posts.mark_processed(PostKey("news", "kept"), NOON)
    assert walked(posts, 10) == [["young", "kept"]]
    assert post_pages.one(PostKey("news", "over"), posts, now=NOON) is None
    assert post_pages.one(PostKey("news", "kept"), posts, now=NOON).content_hash == "kept"


def test_a_cursor_is_believed_for_its_own_source_only(posts):
    stored(posts, *"abc")
    cursor = post_pages.of_source("news", posts, limit=1, now=NOON).cursor
    assert cursor.isascii()
    for source_id, given in [
        ("other", cursor),
        ("news", cursor[:-2]),
        ("news", "?"),
        ("news", "é"),
        ("news", "\ud800"),
        ("news", "AAAA"),
    ]:
        with pytest.raises(InvalidInput, match="The cursor cannot be read"):
            post_pages.of_source(source_id, posts, limit=1, cursor=given, now=NOON)


def test_all_pages_are_marked(posts):
    stored(posts, *(f"{number:03}" for number in range(250)))
    stored(posts, "z", source_id="other")
    client = client_of(posts)

    def pending(cursor):
        return post_pages.of_source("news", posts, limit=100, cursor=cursor, pending=True, now=NOON)

    assert post_pages.mark_all(client, pending) == Tally(done=250)
    assert post_pages.mark_all(client, pending) == Tally()
    assert [str(post.key) for post in client.pending().posts] == ["other/z"]
    assert post_pages.mark_all(client, lambda cursor: client.pending(100, cursor)) == Tally(done=1)


@pytest.mark.parametrize(
    ("tally", "unknown", "sentence"),
    [
        pytest.param(Tally(1), [], "1 post marked as processed.", id="one"),
        pytest.param(Tally(), [], "0 posts marked as processed.", id="none"),
        pytest.param(
            Tally(2_000, 3),
            ["a/b", "a/\x1b"],
            "2,000 posts marked as processed, 3 had been before, 2 not found: a/b, a/ .",
            id="of all kinds",
        ),
        pytest.param(Tally(unknown=1), [], "0 posts marked as processed, 1 not found.", id="gone in between"),
    ],
)
def test_the_tally_is_a_sentence(tally, unknown, sentence):
    assert post_rows.told(tally, unknown) == sentence


def test_the_tally_is_told_to_programs():
    assert post_rows.tally_fields(Tally(2, 3, 1), ["a/b"]) == {
        "processed": 2,
        "already_processed": 3,
        "not_found": 2,
        "unknown": ["a/b"],
    }
