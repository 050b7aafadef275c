"""The client of programs: what it adds to the use cases."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, Clock, a_post, a_source, an_entry, at
from template import template
from wellspring import client as module
from wellspring.aws.stacks import variable
from wellspring.client import Client, Tally
from wellspring.errors import Unavailable
from wellspring.memory import MemoryPosts, MemorySources

DAY = timedelta(days=1)
LONG_AGO = NOON - 200 * DAY


class CountingSources(MemorySources):
    def __init__(self):
        super().__init__()
        self.calls = Counter()
        self.broken = False

    def view(self, *args, **given):
        self.calls["view"] += 1
        if self.broken:
            raise Unavailable("Noting a view failed: Throttled.")
        return super().view(*args, **given)

    def relist(self, *args, **given):
        self.calls["relist"] += 1
        return super().relist(*args, **given)

    def read(self, source_ids):
        raise AssertionError("a view reads nothing")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sources():
    return CountingSources()


@pytest.fixture
def client(sources, clock):
    return Client(sources, MemoryPosts(), SETTINGS, clock=clock)


def asleep(**fields):
    """Return a source that nobody has looked at for long, so that the schedule left it out."""
    return a_source(
        cadence={"mode": "activity"},
        created_at=LONG_AGO,
        last_fetch_at=LONG_AGO,
        last_polled_at=LONG_AGO,
        **fields,
    )


def test_a_view_makes_a_source_that_was_left_out_due_at_once(client, sources):
    sources.rows["a"] = asleep()
    assert client.viewed("a")
    assert (sources.rows["a"].viewed_at, sources.rows["a"].next_fetch_at) == (NOON, NOON)
    assert sources.calls == {"view": 1, "relist": 1}


def test_a_source_in_the_schedule_costs_one_write(client, sources):
    sources.add(a_source(next_fetch_at=NOON))
    assert client.viewed("a")
    assert sources.calls == {"view": 1}


def test_a_busy_page_costs_no_call_within_a_minute(client, sources, clock):
    sources.add(a_source(next_fetch_at=NOON))
    for second in range(60):
        clock.now = at(seconds=second)
        assert client.viewed("a")
    assert sources.calls["view"] == 1
    clock.now = at(1)
    client.viewed("a")
    assert sources.calls["view"] == 2
    assert sources.rows["a"].viewed_at == at(1)


def test_of_many_processes_one_writes_and_the_others_are_told_so(sources, clock):
    sources.rows["a"] = asleep(viewed_at=at(seconds=-1))
    for _ in range(3):
        assert Client(sources, MemoryPosts(), SETTINGS, clock=clock).viewed("a")
    assert sources.rows["a"].viewed_at == at(seconds=-1)
    assert sources.calls == {"view": 3}, "nothing else is read or written then"


def test_a_view_in_the_future_counts_as_now_and_blocks_nothing(client, sources):
    sources.rows["a"] = a_source(viewed_at=NOON + 9 * DAY, next_fetch_at=NOON)
    assert client.viewed("a")
    assert sources.rows["a"].viewed_at == NOON


def test_an_unknown_source_is_told_and_asked_for_again(client, sources):
    assert not client.viewed("a")
    sources.add(a_source())
    assert client.viewed("a"), "it was added a moment later"


def test_a_view_that_failed_is_not_remembered(client, sources):
    sources.add(a_source())
    sources.broken = True
    with pytest.raises(Unavailable):
        client.viewed("a")
    sources.broken = False
    client.viewed("a")
    assert sources.rows["a"].viewed_at == NOON


def test_a_clock_that_jumps_back_hides_no_view(client, sources, clock):
    sources.add(a_source())
    client.viewed("a")
    clock.now = at(-600)
    client.viewed("a")
    assert sources.rows["a"].viewed_at == at(-600), "what lies in the future now counts for nothing"


def test_a_client_does_not_remember_without_end(client, sources):
    for number in range(module.REMEMBERED + 50):
        sources.rows[f"s-{number}"] = a_source(f"s-{number}", next_fetch_at=NOON)
        client.viewed(f"s-{number}")
    assert len(client._views) <= module.REMEMBERED


def test_posts_and_keys_can_be_marked_alike(sources, clock):
    posts = MemoryPosts()
    client = Client(sources, posts, SETTINGS, clock=clock)
    for name in ("one", "two"):
        posts.put(a_post("a", name, entry=an_entry(published_at=at(-5))))
    one, two = client.pending().posts
    assert client.mark_processed([one, two.key]) == Tally(2, 0, 0)
    assert client.pending().posts == ()


def test_pages_go_on_with_a_cursor(sources, clock):
    posts = MemoryPosts()
    client = Client(sources, posts, replace(SETTINGS, shards=2), clock=clock)
    posts.shards = 2
    for number in range(5):
        posts.put(a_post(f"s-{number}", "x"))
    first = client.pending(limit=3)
    second = client.pending(limit=3, cursor=first.cursor)
    assert (len(first.posts), len(second.posts)) == (3, 2)


def test_the_template_names_its_parameters_and_outputs_like_the_variables():
    """A client reads from them what the functions read from their environment."""
    found = template()
    variables = set(found["Globals"]["Function"]["Environment"]["Variables"])
    told = {variable(name) for name in (*found["Parameters"], *found["Outputs"])}
    ours = {name for name in variables if not name.startswith("POWERTOOLS_")}
    assert ours - told == {"OWNER_KEYS"}, "made of the stack's name"
