"""What the command says about posts, and what it asks of the client."""

import json

import pytest

from builders import NOON, SETTINGS, a_post, an_entry, at
from wellspring.client import Client, Page, Tally
from wellspring.errors import InvalidInput
from wellspring.memory import MemoryPosts, MemorySources
from wellspring_cli import posts
from wellspring_cli.errors import CliError


@pytest.fixture
def client():
    stored = MemoryPosts()
    for number in range(250):
        stored.put(a_post(f"s-{number % 7}", f"{number}"))
    return Client(MemorySources(), stored, SETTINGS, clock=lambda: NOON)


def shown(page):
    return "\n".join(line.plain for line in posts.lines(page))


def test_a_post_is_shown_with_the_name_that_it_is_processed_by():
    text = shown(Page((a_post("news", "ab", entry=an_entry(title="Hello", published_at=at(-1))),)))
    assert "2026-11-18 11:59  Hello\n" in text
    assert text.endswith(" news/ab")


def test_what_a_publisher_wrote_does_not_steer_the_terminal():
    text = shown(Page((a_post("news", "ab", entry=an_entry(title="\x1b[2Jgone\x07\r\u202e")),)))
    assert text.replace("\n", "").isprintable()
    assert "gone" in text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(Page(()), "No posts wait to be processed.", id="nothing"),
        pytest.param(
            Page((), "abc"), "More: wellspring posts list --cursor abc", id="nothing yet, but more pages"
        ),
        pytest.param(Page((a_post(entry=an_entry(title="")),)), "(no title)", id="no title"),
    ],
)
def test_an_odd_page_is_told(page, text):
    assert text in shown(page)


def test_json_holds_whole_posts_and_the_cursor():
    found = json.loads(posts.as_json(Page((a_post("news", "ab", entry=an_entry(published_at=None)),), "c")))
    (post,) = found["posts"]
    assert (post["source_id"], post["content_hash"], post["published_at"]) == ("news", "ab", None)
    assert post["body"].startswith("Body 1.")
    assert found["cursor"] == "c"


def test_everything_that_is_listed_is_processed(client):
    assert posts.process(client, [], everything=True) == Tally(done=250)
    assert posts.process(client, [], everything=True) == Tally()


def test_named_posts_are_processed(client):
    assert posts.process(client, ["s-0/0", "s-0/nowhere"], everything=False) == Tally(done=1, unknown=1)


@pytest.mark.parametrize(("names", "everything"), [([], False), (["a/b"], True)])
def test_either_names_or_all(client, names, everything):
    with pytest.raises(CliError, match="or say --all"):
        posts.process(client, names, everything=everything)


def test_a_name_that_is_none_is_told_before_anything_is_processed(client):
    with pytest.raises(InvalidInput, match="found 'x'"):
        posts.process(client, ["s-0/0", "x"], everything=False)
    assert posts.process(client, ["s-0/0"], everything=False) == Tally(done=1)


@pytest.mark.parametrize(
    ("tally", "sentence"),
    [
        pytest.param(Tally(1), "1 post marked as processed.", id="one"),
        pytest.param(Tally(), "0 posts marked as processed.", id="none"),
        pytest.param(
            Tally(2, 3, 4), "2 posts marked as processed, 3 had been before, 4 not found.", id="of all kinds"
        ),
    ],
)
def test_the_tally_is_a_sentence(tally, sentence):
    assert posts.told(tally) == sentence
