"""One message in, one source polled: what is stored, counted, recorded, and in which order."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, Clock, a_message, a_source, a_world, an_entry, at, by_hand, every, rss
from wellspring.errors import ErrorClass, FetchError, Unavailable
from wellspring.fetch import fetch_source
from wellspring.http import Reply
from wellspring.intake import BODY_LIMIT, CUT
from wellspring.memory import MemoryPosts, MemoryQueue
from wellspring.model import Lease, Status
from wellspring.sources import Document

BROKEN = FetchError(ErrorClass.HTTP_5XX, "The server answered 500.", http_status=500)
HOURLY = every(60)


def fetched(world, message=None):
    return fetch_source(message or a_message(), world, SETTINGS, message_id="m-1")


def polls(*answers, source=None, times=None):
    """Fetch once for each answer, an hour apart; return the world and the runs."""
    clock = Clock()
    world = a_world(*answers, clock=clock)
    world.sources.add(source or a_source(cadence=HOURLY))
    runs = []
    for turn in range(len(answers)):
        clock.now = at(60 * turn)
        message = replace_times(a_message(), clock.now)
        runs.append(fetch_source(message, world, SETTINGS, message_id=f"m-{turn}"))
    return world, runs


def replace_times(message, moment):
    return message.model_copy(update={"due_at": moment, "window_end": moment})


def titles(world):
    return sorted(post.entry.title for post in world.posts.rows.values())


def test_the_first_poll_stores_the_posts_and_the_validators():
    world, (run,) = polls(rss(1, 2))
    assert run.status is Status.OK
    assert titles(world) == ["Title 1", "Title 2"]
    source = world.sources.rows["a"]
    assert source.cursor.etag == '"1"'
    assert (source.cursor.last_fetch_at, source.cursor.last_polled_at, source.cursor.due_at) == (
        NOON,
        NOON,
        NOON,
    )
    assert source.next_fetch_at == at(60)
    assert source.title == "A feed"
    assert source.lease == Lease(started_at=NOON, free_at=at(seconds=1)), "the lease is free again"


def test_an_answer_304_costs_no_parsing_and_counts_as_a_success():
    world, runs = polls(rss(1), 304)
    assert world.http.asked[1].etag == '"1"'
    assert [run.status for run in runs] == [Status.OK, Status.NOT_MODIFIED]
    assert world.sources.rows["a"].cursor.last_fetch_at == at(60)
    assert world.sources.rows["a"].cursor.etag == '"1"', "validators stay"


def test_the_same_body_again_is_not_modified():
    world, runs = polls(rss(1), rss(1))
    assert runs[1].status is Status.NOT_MODIFIED
    assert runs[1].log.http_status == 200
    assert world.sources.rows["a"].cursor.etag == '"2"', "a 200 stores the validators that it sent"


def test_a_new_entry_is_one_new_post():
    world, runs = polls(rss(1, 2), rss(3, 1, 2))
    assert (runs[1].log.created, runs[1].log.unchanged) == (1, 2)
    assert titles(world) == ["Title 1", "Title 2", "Title 3"]


def test_another_order_makes_no_post_and_writes_no_window():
    world, runs = polls(rss(1, 2), rss(2, 1, build="today"))
    assert (runs[1].status, runs[1].log.created, runs[1].log.unchanged) == (Status.OK, 0, 2)
    assert world.posts.windows["a"][0] == NOON


def test_an_edit_is_a_revision_that_names_the_one_it_follows():
    edited = "Another text that is long enough to tell one entry from any other entry, at last."
    world, runs = polls(rss(1, 2), rss(1, 2, body_2=edited))
    (first,) = (
        post for post in world.posts.rows.values() if post.entry.body.startswith("Body of entry number 2")
    )
    (revision,) = (post for post in world.posts.rows.values() if post.entry.body == edited)
    assert revision.revision_of == first.content_hash
    assert (runs[1].log.created, runs[1].log.updated) == (0, 1)


def test_a_post_that_was_deleted_while_listed_does_not_come_back():
    clock = Clock()
    world = a_world(rss(1), rss(2, 1), clock=clock)
    world.sources.add(a_source())
    fetched(world)
    world.posts.rows.clear()
    clock.now = at(60)
    fetched(world, replace_times(a_message(), clock.now))
    assert titles(world) == ["Title 2"]


@pytest.mark.parametrize(
    ("error", "http_status"),
    [
        pytest.param(BROKEN, 500, id="the server is broken"),
        pytest.param(FetchError(ErrorClass.TIMEOUT, "Too slow."), None, id="no answer in time"),
    ],
)
def test_a_failure_is_recorded_and_backs_off(error, http_status):
    world, (run,) = polls(error)
    assert run.status is Status.FAILED
    assert (run.log.error_class, run.log.http_status) == (error.error_class, http_status)
    source = world.sources.rows["a"]
    assert (source.health.failures, source.health.error_class) == (1, error.error_class)
    assert source.next_fetch_at == at(120)
    assert source.cursor.last_fetch_at is None
    assert len(world.logs.rows) == 1


def test_a_success_after_failures_is_a_fresh_start():
    world, _ = polls(BROKEN, BROKEN, rss(1))
    assert world.sources.rows["a"].health.failures == 0
    assert world.sources.rows["a"].next_fetch_at == at(180)


def test_what_is_not_a_feed_keeps_the_validators_that_worked():
    page = Reply(
        url="https://example.org/feed.xml", status=200, headers={"etag": '"page"'}, body=b"<html><p>hello"
    )
    world, runs = polls(rss(1), page)
    assert runs[1].log.error_class is ErrorClass.NOT_FEED
    assert "not a feed" in runs[1].log.error_message
    assert world.sources.rows["a"].cursor.etag == '"1"'


def test_our_own_bug_on_a_document_fails_this_source_alone():
    _, (run,) = polls(RuntimeError("secret"))
    assert run.log.error_class is ErrorClass.INTERNAL
    assert "secret" not in run.log.error_message
    assert "RuntimeError" in run.backtrace


def test_an_unknown_type_says_which_are_known():
    world, (run,) = polls(rss(1), source=a_source(type="gopher"))
    assert run.log.error_message == 'The type "gopher" is not known; use one of: rss, twitter, website.'
    assert world.http.asked == []


def test_validators_of_another_url_are_not_kept():
    moved = Reply(url="https://example.org/new", status=200, headers={"etag": '"x"'}, body=rss(1))
    world, _ = polls(moved)
    assert world.sources.rows["a"].cursor.etag is None


def test_a_planned_double_is_skipped_and_counts_nothing():
    world = a_world()
    world.sources.add(a_source())
    fetched(world)
    before = world.sources.rows["a"]
    run = fetched(world)
    assert (run.status, run.reason) == (Status.SKIPPED, "already_done")
    assert world.sources.rows["a"] == before
    assert len(world.http.asked) == len(world.logs.rows) == 1


@pytest.mark.parametrize(
    ("source", "message", "status", "reason", "delay"),
    [
        pytest.param(None, by_hand(), Status.SKIPPED, "unknown_source", None, id="no such source"),
        pytest.param(
            a_source(enabled=False), by_hand(), Status.SKIPPED, "disabled", None, id="disabled, by hand"
        ),
        pytest.param(
            a_source(lease=Lease(started_at=at(-1), token="t", until=at(1))),
            by_hand(),
            Status.DEFERRED,
            "in_flight",
            20,
            id="being fetched, by hand: later",
        ),
        pytest.param(
            a_source(lease=Lease(started_at=at(-1), token="t", until=at(1))),
            a_message(),
            Status.SKIPPED,
            "in_flight",
            None,
            id="being fetched, planned: dropped",
        ),
        pytest.param(
            a_source(lease=Lease(started_at=at(-1), free_at=at(seconds=4.2))),
            by_hand(),
            Status.DEFERRED,
            "too_soon",
            5,
            id="too soon by hand: the remaining seconds",
        ),
        pytest.param(
            a_source(lease=Lease(started_at=NOON), config={"min_interval_seconds": 3600}),
            a_message(),
            Status.SKIPPED,
            "too_soon",
            None,
            id="a longer interval than at the last start counts at once; the planner comes again",
        ),
        pytest.param(
            a_source(lease=Lease(started_at=NOON), config={"min_interval_seconds": 3600}),
            by_hand(),
            Status.DEFERRED,
            "too_soon",
            900,
            id="by hand it waits on the queue, at most 900 at once",
        ),
        pytest.param(
            a_source(url=""),
            by_hand(),
            Status.SKIPPED,
            'The source has no "url": write one to its item in the Sources table.',
            None,
            id="an item without a url",
        ),
    ],
)
def test_what_may_not_start_sends_no_request_and_holds_no_lease(source, message, status, reason, delay):
    world = a_world()
    if source:
        world.sources.add(source)
    before = dict(world.sources.rows)
    run = fetched(world, message)
    assert (run.status, run.reason, run.delay_seconds) == (status, reason, delay)
    assert [(out.message, out.delay_seconds) for out in world.queue.sent] == (
        [(message, delay)] if delay else []
    )
    assert world.sources.rows == before
    assert world.http.asked == []
    assert world.logs.rows == {}


class FullQueue(MemoryQueue):
    def send(self, batch):
        return [False] * len(batch)


def test_a_deferral_that_the_queue_does_not_take_is_not_lost():
    world = replace(a_world(), queue=FullQueue())
    world.sources.add(a_source(lease=Lease(started_at=at(-1), free_at=at(1))))
    with pytest.raises(Unavailable):
        fetched(world, by_hand())


def test_a_manual_fetch_counts_for_its_own_start():
    clock = Clock(at(7))
    world = a_world(clock=clock)
    world.sources.add(a_source(cadence=HOURLY))
    fetched(world, by_hand())
    assert world.sources.rows["a"].cursor.last_fetch_at == at(7)
    assert world.sources.rows["a"].next_fetch_at == at(67)


def test_a_planned_fetch_counts_for_its_window_however_late_it_runs():
    world = a_world(clock=Clock(at(7)))
    world.sources.add(a_source(cadence=HOURLY))
    fetched(world, a_message())
    assert world.sources.rows["a"].next_fetch_at == at(60)


class PickyPosts:
    """Refuses one title, like a table refuses a row."""

    def __init__(self, inner, title):
        self.inner = inner
        self.title = title

    def put(self, post):
        if post.entry.title == self.title:
            raise ValueError("too large")
        return self.inner.put(post)

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_one_entrys_failure_stops_no_other_and_keeps_the_validators_back():
    world = a_world(rss(1, 2, 3), clock=Clock())
    world.sources.add(a_source())
    picky = replace(world, posts=PickyPosts(world.posts, "Title 2"))
    run = fetch_source(a_message(), picky, SETTINGS, message_id="m")
    assert run.status is Status.PARTIAL
    assert titles(world) == ["Title 1", "Title 3"]
    assert run.log.entry_errors == ({"guid": "id-2", "title": "Title 2", "error": "too large"},)
    cursor = world.sources.rows["a"].cursor
    assert (cursor.etag, cursor.signature) == (None, None)
    fetched(world, by_hand_later(world))
    assert titles(world) == ["Title 1", "Title 2", "Title 3"], "the next poll stores what was missing"


def by_hand_later(world):
    world.clock.now = at(5)
    return by_hand()


def test_at_most_a_thousand_new_posts_in_one_run_the_rest_next_time():
    clock = Clock()
    world = a_world(rss(*range(1, 1101)), clock=clock)
    world.sources.add(a_source())
    run = fetched(world)
    assert (run.status, run.log.created, run.log.filtered) == (Status.PARTIAL, 1000, {"over_limit": 100})
    clock.now = at(1)
    run = fetched(world, by_hand())
    assert (run.status, run.log.created) == (Status.OK, 100)
    assert len(world.posts.rows) == 1100


def test_a_huge_text_is_cut_and_marked():
    world, _ = polls(rss(1, body_1="ä" * BODY_LIMIT))
    (post,) = world.posts.rows.values()
    assert post.entry.body.endswith(CUT)
    assert len(post.entry.body.encode()) <= BODY_LIMIT + len(CUT.encode())


@pytest.mark.parametrize("port", ["posts.put", "posts.put_window", "logs.put", "sources.finish"])
def test_an_outage_brings_the_message_back_and_the_retry_stores_everything_once(port):
    clock = Clock()
    world = a_world(rss(1, 2), clock=clock)
    world.sources.add(a_source())
    owner, method = port.split(".")
    out = replace(world, **{owner: Failing(getattr(world, owner), method)})
    with pytest.raises(Unavailable):
        fetch_source(a_message(), out, SETTINGS, message_id="m")
    source = world.sources.rows["a"]
    assert (source.health.failures, source.cursor.etag) == (0, None), (
        "nobody is blamed, validators stay behind"
    )
    clock.now = at(5)
    assert fetched(world).status is Status.OK
    assert titles(world) == ["Title 1", "Title 2"]


class Failing:
    """A port of which one method is out of order."""

    def __init__(self, inner, method):
        self.inner = inner
        self.method = method

    def __getattr__(self, name):
        if name == self.method:
            return self._fail
        return getattr(self.inner, name)

    def _fail(self, *args, **kwargs):
        raise Unavailable("Throttled.")


def test_a_fetcher_that_lost_its_lease_writes_nothing_to_the_source():
    world = a_world()
    world.sources.add(a_source())

    class Slow:
        def get(self, request):
            stolen = Lease(started_at=at(5), token="thief", until=at(9))
            world.sources.rows["a"] = replace(world.sources.rows["a"], lease=stolen)
            return world.http.get(request)

    run = fetch_source(a_message(), replace(world, http=Slow()), SETTINGS, message_id="m")
    assert not run.kept_lease
    assert world.sources.rows["a"].lease.token == "thief"
    assert world.sources.rows["a"].cursor.etag is None


def test_retry_after_holds_for_planned_and_manual_fetches_alike():
    limited = FetchError(
        ErrorClass.RATE_LIMITED, "The server answered 429.", http_status=429, headers={"retry-after": "600"}
    )
    clock = Clock()
    world = a_world(limited, clock=clock)
    world.sources.add(a_source(cadence=every(1)))
    fetched(world)
    assert world.sources.rows["a"].next_fetch_at == at(10)
    clock.now = at(5)
    run = fetched(world, by_hand())
    assert (run.status, run.reason, run.delay_seconds) == (Status.DEFERRED, "too_soon", 300)


def test_retry_after_on_another_status_means_nothing():
    odd = FetchError(ErrorClass.HTTP_4XX, "404", http_status=404, headers={"retry-after": "600"})
    world, _ = polls(odd, source=a_source(cadence=every(1)))
    assert world.sources.rows["a"].next_fetch_at == at(2)


def test_a_move_is_followed_for_a_week_and_then_stored():
    moved = Reply(
        url="https://example.org/new", status=200, headers={"etag": '"x"'}, body=rss(1), hops=(301,)
    )
    world, runs = polls(*[moved] * (7 * 24 + 1))
    source = world.sources.rows["a"]
    assert (source.url, source.previous_url) == ("https://example.org/new", "https://example.org/feed.xml")
    assert source.cursor.etag == '"x"', "the validators belong to the new URL now"
    assert runs[-1].news == ("moved",)
    assert len(world.posts.rows) == 1


def test_what_an_operator_wants_to_hear_is_told_once():
    _, runs = polls(*[BROKEN] * 11, rss(1), source=a_source())
    assert [run.news for run in runs if run.news] == [("quarantined",), ("recovered",)]
    assert runs[9].news == ("quarantined",)


@pytest.mark.parametrize(
    ("documents", "interval"),
    [
        pytest.param([rss(1), rss(1, build="now")], 56.25, id="a new build date is no change"),
        pytest.param(
            [rss(1), rss(1, body_1="Another text altogether, and a rather long one. " * 3)],
            56.25,
            id="an edit is none",
        ),
        pytest.param([rss(1), rss(2, 1)], 33.75, id="a new entry is one"),
        pytest.param([rss(1, 2), rss(1)], 33.75, id="an entry that left is one"),
    ],
)
def test_changed_means_that_the_set_of_entry_ids_changed(documents, interval):
    world, _ = polls(*documents, source=a_source(cadence={"mode": "adaptive"}))
    assert world.sources.rows["a"].pace.interval == timedelta(minutes=interval)


def test_a_document_that_lists_nothing_forgets_nothing():
    _, runs = polls(rss(1), rss(), rss(1, 2))
    assert [run.log.created for run in runs] == [1, 0, 1]


def test_a_late_message_sets_nothing_back():
    clock = Clock(at(30))
    world = a_world(clock=clock)
    world.sources.add(a_source(cadence=HOURLY))
    fetched(world, by_hand())
    clock.now = at(40)
    fetched(world, a_message())
    assert world.sources.rows["a"].cursor.last_fetch_at == at(30)


def test_a_document_that_we_cannot_cope_with_fails_and_backs_off():
    class Full:
        def put_window(self, *args, **kwargs):
            raise ValueError(secret)

        def __getattr__(self, name):
            return getattr(world.posts, name)

    secret = "of the document"
    world = a_world()
    world.sources.add(a_source(cadence=HOURLY))
    run = fetch_source(a_message(), replace(world, posts=Full()), SETTINGS, message_id="m")
    assert run.log.error_class is ErrorClass.INTERNAL
    assert secret not in run.backtrace
    assert world.sources.rows["a"].next_fetch_at == at(120)


def test_huge_titles_and_validators_are_not_kept_on_the_source():
    body = rss(1).replace(b"A feed", b"x" * 100_000)
    huge = Reply(url="https://example.org/feed.xml", status=200, headers={"etag": "y" * 60_000}, body=body)
    world, _ = polls(huge)
    source = world.sources.rows["a"]
    assert (len(source.title), source.cursor.etag) == (200, None)


def a_page(text):
    body = f"<html><title>A page</title><body><article><p>{text * 10}</p></article></body></html>".encode()
    return Reply(
        url="https://example.org/feed.xml", status=200, headers={"content-type": "text/html"}, body=body
    )


def test_a_page_whose_text_changes_is_polled_more_often_and_one_that_does_not_less():
    source = a_source(type="website", cadence={"mode": "adaptive"})
    world, runs = polls(a_page("The first text. "), a_page("The second text. "), source=source)
    assert (runs[0].log.created, runs[1].log.updated) == (1, 1)
    assert world.sources.rows["a"].pace.interval == timedelta(minutes=60 * 0.75 * 0.75)


def test_a_page_whose_main_text_is_the_same_makes_no_post():
    again = a_page("The same text. ")
    again = replace(again, body=again.body.replace(b"A page", b"Another title"))
    world, runs = polls(a_page("The same text. "), again, source=a_source(type="website", cadence=HOURLY))
    assert (len(world.posts.rows), runs[1].log.unchanged) == (1, 1)


def test_a_page_asks_for_no_full_text_of_itself():
    source = a_source(type="website", cadence=HOURLY, config={"full_text": True})
    world, _ = polls(a_page("The same text. "), source=source)
    assert world.queue.sent == []


def test_where_many_publish_a_limit_leaves_no_mark_on_the_host():
    limited = FetchError(ErrorClass.RATE_LIMITED, "The server answered 429.", http_status=429)
    source = a_source(url="https://someone.medium.com/feed", cadence=HOURLY)
    world, _ = polls(limited, source=source)
    state = world.gates.hosts["someone.medium.com"]
    assert (state.failing, state.brake_until) == (None, None)
    assert world.sources.rows["a"].health.failures == 1


def test_a_document_that_is_cut_and_could_not_be_stored_keeps_its_place():
    class Broken(MemoryPosts):
        def put(self, post):
            raise OverflowError

    cut = Document(entries=(an_entry(),), parser="x", cut=True, bookmark={"until_id": "9"})
    world = replace(a_world(), posts=Broken(), parse=lambda kind, reply: cut)
    world.sources.add(a_source())
    assert fetched(world).status is Status.FAILED
    assert world.sources.rows["a"].cursor.bookmark == {}
