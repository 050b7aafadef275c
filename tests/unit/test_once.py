"""Every entry is a post exactly once, whatever a publisher does to its document meanwhile."""

from dataclasses import replace
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from hypothesis import given
from hypothesis import strategies as st

from builders import SETTINGS, Clock, a_message, a_source, a_world, an_entry, at
from wellspring import identity
from wellspring.fetch import fetch_source
from wellspring.identity import Novelty

LONG = "A text that tells this entry from all others, since it is long enough to do that by itself: "
NUMBERS = st.lists(st.integers(0, 40), min_size=1, max_size=20, unique=True)


def feed(entries, *, build="", tracking=()):
    """Return a feed of (number, text, has an id) entries; links carry these tracking parameters."""
    items = "".join(
        "<item>"
        + (f'<guid isPermaLink="false">tag:{number}</guid>' if has_id else "")
        + f"<title>Title {number}</title>"
        + f"<link>https://example.org/{number}?{escape(urlencode([('page', number), *tracking]))}</link>"
        + f"<pubDate>Wed, 18 Nov 2026 11:{number % 60:02d}:00 GMT</pubDate>"
        + f"<description>{escape(text)}</description></item>"
        for number, text, has_id in entries
    )
    head = f"<title>Feed</title><lastBuildDate>{build}</lastBuildDate>"
    return f'<rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()


def polled(*documents):
    """Poll once for each document; return the world and the logs."""
    clock = Clock()
    world = a_world(*documents, clock=clock)
    world.sources.add(a_source(config={"backfill": True}))
    logs = []
    for turn in range(len(documents)):
        clock.now = at(turn * 10)
        message = a_message().model_copy(update={"due_at": clock.now, "window_end": clock.now})
        logs.append(fetch_source(message, world, SETTINGS, message_id="m").log)
    return world, logs


@st.composite
def two_lists(draw):
    """Entries, and the same ones served again: in another order, with others before and between them."""
    has_id = draw(st.booleans())
    numbers = draw(NUMBERS)
    short = draw(st.booleans())
    first = [(number, "Comments" if short else f"{LONG}{number}", has_id) for number in numbers]
    others = [number for number in draw(NUMBERS) if number not in numbers]
    more = [(number, "Comments" if short else f"{LONG}{number}", has_id) for number in others]
    return first, draw(st.permutations(first)), draw(st.permutations([*first, *more])), len(more)


TRACKING = st.permutations([("utm_source", "rss"), ("utm_medium", "feed"), ("fbclid", "x")])


@given(two_lists(), TRACKING, TRACKING, st.text("abc", max_size=3))
def test_another_order_other_tracking_and_another_build_date_make_no_post(lists, before, after, build):
    first, again, _, _ = lists
    world, logs = polled(feed(first, tracking=before), feed(again, tracking=after[:2], build=build))
    assert len(world.posts.rows) == len(first)
    assert (logs[1].created, logs[1].updated) == (0, 0)


@given(two_lists())
def test_what_joins_a_feed_is_stored_once_and_nothing_else_is(lists):
    first, _, grown, added = lists
    world, logs = polled(feed(first), feed(grown), feed(first), feed(grown))
    assert len(world.posts.rows) == len(first) + added
    assert [log.created for log in logs] == [len(first), added, 0, 0]
    assert sum(log.updated for log in logs) == 0


@given(two_lists(), st.data())
def test_a_changed_body_is_exactly_one_revision(lists, data):
    first, again, _, _ = lists
    number = data.draw(st.sampled_from(first))[0]
    edited = [(n, f"{LONG} edited {n}" if n == number else text, has_id) for n, text, has_id in again]
    world, logs = polled(feed(first), feed(edited), feed(edited, build="later"), feed(edited))
    assert [log.updated for log in logs] == [0, 1, 0, 0]
    (revision,) = (post for post in world.posts.rows.values() if post.revision_of)
    followed = world.posts.rows["a", revision.revision_of]
    assert followed.entry.url == revision.entry.url
    assert len(world.posts.rows) == len(first) + 1


def test_an_edit_that_is_taken_back_makes_no_third_post():
    one, other = [(1, LONG, True)], [(1, LONG + "edited", True)]
    world, _ = polled(feed(one), feed(other), feed(one, build="x"), feed(other, build="y"))
    assert len(world.posts.rows) == 2


def test_entries_with_the_same_short_body_both_live():
    world, _ = polled(feed([(1, "Comments", True), (2, "Comments", True)]))
    assert len(world.posts.rows) == 2


def test_a_late_entry_is_kept_although_newer_ones_were_seen():
    _, logs = polled(feed([(30, LONG, True)]), feed([(30, LONG, True), (2, LONG + "late", True)]))
    assert logs[1].created == 1


def test_entries_on_one_page_are_told_apart_by_their_fragment():
    one, two = (
        an_entry(n, entry_id=None, url=f"https://example.org/changes#v{n}", body="Fixes.") for n in (1, 2)
    )
    seen = identity.sightings([one, two], {})
    assert [one.novelty for one in seen] == [Novelty.NEW, Novelty.NEW]
    assert len({one.content_hash for one in seen}) == 2


def test_an_id_that_is_an_address_may_carry_other_tracking():
    one = an_entry(1, entry_id="https://example.org/1?utm_source=rss&id=1")
    window = {seen.id_print: seen.content_print for seen in identity.sightings([one], {})}
    other = replace(one, entry_id="https://example.org/1?id=1&utm_source=feed")
    assert [seen.novelty for seen in identity.sightings([other], window)] == [Novelty.KNOWN]


def test_an_id_that_all_entries_share_names_none_of_them():
    entries = [an_entry(number, entry_id="the-same") for number in (1, 2, 3)]
    assert [seen.novelty for seen in identity.sightings(entries, {})] == [Novelty.NEW] * 3


def test_two_documents_that_are_served_in_turn_cost_no_put_and_bring_no_post():
    one, other = [(n, f"{LONG}{n}", True) for n in range(10)], [(n, f"{LONG}{n}", True) for n in range(5, 15)]
    world, logs = polled(feed(one), feed(other), feed(one, build="a"), feed(other, build="b"))
    assert [log.created for log in logs] == [10, 5, 0, 0]
    tried = []
    world.posts.put = lambda post: tried.append(post) or False
    message = a_message().model_copy(update={"due_at": at(90), "window_end": at(90)})
    world.http.answers = [feed(one, build="c")]
    world.clock.now = at(90)
    assert fetch_source(message, world, SETTINGS, message_id="m").log.unchanged == 10
    assert tried == []


def test_an_entry_that_shared_its_text_and_comes_back_alone_is_no_new_one():
    both, alone = [(1, LONG, True), (2, LONG, True)], [(2, LONG, True)]
    _, logs = polled(feed(both), feed([(3, "Short.", True)]), feed([*alone, (3, "Short.", True)]))
    assert [log.created for log in logs] == [2, 1, 0]


def test_a_feed_of_many_thousands_is_read_to_its_end():
    entries = [(n, f"{LONG}{n}", True) for n in range(5_200)]
    long = feed(entries).replace(b"11:", b"10:")
    _, logs = polled(*[long] * 7)
    assert [log.created for log in logs] == [1_000] * 5 + [200, 0]
    assert [log.status for log in logs][-2:] == ["ok", "not_modified"]
