"""Full texts: each new post's page, through the same queue and the same limits."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise

import pytest

from builders import NOON, SETTINGS, Clock, a_message, a_source, at, every, rss
from wellspring import memory
from wellspring.articles import fetch_article
from wellspring.errors import ErrorClass, FetchError, Unavailable
from wellspring.fetch import fetch_source
from wellspring.http import Reply
from wellspring.message import FetchMessage
from wellspring.model import FullText, Lease, Status

FEED = "https://example.org/feed.xml"
LIMITED = FetchError(ErrorClass.RATE_LIMITED, "The server answered 429.", http_status=429)


def page(number):
    return f"<html><body><article><p>{f'The whole of article {number}. ' * 20}</p></article></body></html>"


@dataclass
class Site:
    """Answers by URL: a feed of so many entries, and a page for each."""

    feed: bytes = rss(1, 2, 3)
    others: dict[str, object] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)

    def get(self, request):
        if request.check:
            request.check(request.url)
        self.asked.append(request.url)
        self.headers[request.url] = dict(request.headers)
        answer = self.others.get(request.url)
        if isinstance(answer, Exception):
            raise answer
        body = self.feed if request.url == FEED else answer or page(request.url[-1]).encode()
        kind = "application/rss+xml" if request.url == FEED else "text/html"
        return Reply(url=request.url, status=200, headers={"content-type": kind}, body=body)


def a_site(site=None, **config):
    clock = Clock()
    world = memory.world(site or Site(), clock, clock.wait)
    world.sources.add(a_source(cadence=every(60), config={"full_text": True, **config}))
    return world, clock


def poll(world, moment=NOON):
    message = a_message().model_copy(update={"due_at": moment, "window_end": moment})
    return fetch_source(message, world, SETTINGS, message_id="poll")


def deliver(world, clock, *, most=500):
    """Deliver what is on the queue, each message when its delay is over, until nothing is left."""
    due = []
    runs = []
    while (world.queue.sent or due) and len(runs) < most:
        due += [(clock() + timedelta(seconds=one.delay_seconds), one.message) for one in world.queue.sent]
        world.queue.sent.clear()
        due.sort(key=lambda one: one[0])
        moment, message = due.pop(0)
        clock.now = max(clock.now, moment)
        runs.append((clock.now, fetch_article(message, world, SETTINGS, message_id="m")))
    return runs


def statuses(world):
    return {post.entry.url[-1]: post.full_text_status for post in world.posts.rows.values()}


def test_each_new_post_gets_the_text_of_its_page():
    world, clock = a_site()
    poll(world)
    assert set(statuses(world).values()) == {FullText.WANTED}
    runs = deliver(world, clock)
    assert [run.status for _, run in runs] == [Status.OK] * 3
    assert statuses(world) == dict.fromkeys("123", FullText.OK)
    for post in world.posts.rows.values():
        assert post.full_text.startswith(f"The whole of article {post.entry.url[-1]}.")
        assert post.entry.body.startswith("Body of entry"), "the feed's own text stays"
    assert world.posts.backlog("a").queued == {}


def test_a_source_that_does_not_ask_for_it_queues_nothing():
    world, _ = a_site(full_text=False)
    poll(world)
    assert world.queue.sent == []
    assert set(statuses(world).values()) == {None}
    assert world.posts.backlogs == {}


def test_known_posts_are_not_fetched_again():
    world, clock = a_site()
    poll(world)
    deliver(world, clock)
    clock.now = at(60)
    poll(world, at(60))
    assert world.queue.sent == []


def test_an_edit_is_a_post_of_its_own_and_gets_its_page_too():
    site = Site()
    world, clock = a_site(site)
    poll(world)
    deliver(world, clock)
    site.feed = rss(1, 2, 3, body_2="Another text that is long enough to tell one entry from any other one.")
    clock.now = at(60)
    poll(world, at(60))
    assert len(world.queue.sent) == 1


def test_each_attempt_leaves_a_log_that_names_the_post():
    world, clock = a_site()
    poll(world)
    deliver(world, clock)
    logs = [log for log in world.logs.rows.values() if log.content_hash]
    assert {log.content_hash for log in logs} == {name for _, name in world.posts.rows}
    assert {log.status for log in logs} == {Status.OK}


def test_pages_are_fetched_an_interval_apart_and_never_within_one_of_the_poll():
    world, clock = a_site(min_interval_seconds=10)
    poll(world)
    deliver(world, clock)
    starts = sorted(log.started_at for log in world.logs.rows.values())
    assert min(later - earlier for earlier, later in pairwise(starts)) >= timedelta(seconds=10)
    assert world.sources.rows["a"].lease.started_at == starts[-1], "the newest start is the newest log's"


def test_no_more_than_the_limit_are_on_the_queue_at_once_and_all_come_in_the_end():
    world, clock = a_site(Site(feed=rss(*range(1, 60))), max_in_flight=5)
    poll(world)
    assert len(world.queue.sent) == 5
    runs = deliver(world, clock)
    assert len([run for _, run in runs if run.status is Status.OK]) == 59
    assert set(statuses(world).values()) == {FullText.OK}


def test_one_that_comes_too_soon_is_put_off_and_spaced():
    world, clock = a_site(min_interval_seconds=30)
    poll(world)
    early = [one.message for one in world.queue.sent]
    world.queue.sent.clear()
    clock.now = at(seconds=5)
    runs = [fetch_article(message, world, SETTINGS, message_id="m") for message in early]
    assert [run.status for run in runs] == [Status.DEFERRED] * 3
    delays = [one.delay_seconds for one in world.queue.sent]
    assert min(later - earlier for earlier, later in pairwise(sorted(delays))) >= 30, "not bunched"
    assert len(world.http.asked) == 1, "no page was asked for"


def test_a_message_that_comes_twice_fetches_once():
    world, clock = a_site(Site(feed=rss(1)))
    poll(world)
    message = world.queue.sent[0].message
    deliver(world, clock)
    clock.now = at(5)
    again = fetch_article(message, world, SETTINGS, message_id="m")
    assert (again.status, again.reason) == (Status.SKIPPED, "already_done")
    assert len(world.http.asked) == 2


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param(
            FetchError(ErrorClass.HTTP_4XX, "404.", http_status=404), FullText.FAILED, id="not there"
        ),
        pytest.param(b"<html><script>x()</script></html>", FullText.FAILED, id="no text"),
        pytest.param(FetchError(ErrorClass.ROBOTS, "No."), FullText.SKIPPED, id="robots may not"),
    ],
)
def test_a_page_that_cannot_be_had_is_told_on_the_post_and_not_charged_to_the_source(answer, status):
    world, clock = a_site(Site(feed=rss(1), others={"https://example.org/1": answer}))
    poll(world)
    deliver(world, clock)
    assert statuses(world) == {"1": status}
    source = world.sources.rows["a"]
    assert (source.health.failures, source.next_fetch_at) == (0, at(60))


def test_a_page_that_robots_may_not_fetch_is_not_asked_for():
    world, clock = a_site(Site(feed=rss(1)))
    world.robots.closed.add("https://example.org/1")
    poll(world)
    deliver(world, clock)
    assert statuses(world) == {"1": FullText.SKIPPED}
    assert world.http.asked == [FEED]


def test_a_host_that_limits_us_is_left_alone_by_the_others_and_asked_again_later():
    site = Site(others={"https://example.org/1": LIMITED})
    world, clock = a_site(site)
    poll(world)
    (first, *others) = deliver(world, clock, most=3)
    assert first[1].status is Status.FAILED
    assert {run.status for _, run in others} == {Status.DEFERRED}
    assert site.asked == [FEED, "https://example.org/1"]
    site.others.clear()
    for hours in (1, 2, 3):
        clock.now = at(60 * hours)
        poll(world, clock.now)
        deliver(world, clock)
    assert statuses(world) == dict.fromkeys("123", FullText.OK)


def test_a_host_that_is_braked_for_days_does_not_stop_pages_of_other_hosts():
    feed = rss(1, 2, 3, 4).replace(b"https://example.org/1", b"https://elsewhere.example/1")
    long = FetchError(
        ErrorClass.RATE_LIMITED, "429.", http_status=429, headers={"retry-after": str(6 * 86_400)}
    )
    world, clock = a_site(Site(feed=feed, others={"https://elsewhere.example/1": long}))
    poll(world)
    deliver(world, clock)
    clock.now = at(120)
    poll(world, clock.now)
    deliver(world, clock)
    assert statuses(world) == {"1": FullText.WANTED} | dict.fromkeys("234", FullText.OK)


def test_where_many_publish_a_limit_is_waited_for_by_the_source():
    feed = rss(*range(1, 9)).replace(b"https://example.org/", b"https://medium.com/p/")
    others = {f"https://medium.com/p/{n}": LIMITED for n in range(1, 9)}
    world, clock = a_site(Site(others={"https://medium.com/feed": feed, **others}))
    world.sources.rows["a"] = replace(world.sources.rows["a"], url="https://medium.com/feed")
    poll(world)
    deliver(world, clock, most=4)
    assert len(world.http.asked) == 2, "one page was asked for, and no other"


@pytest.mark.parametrize("kind", [ErrorClass.TIMEOUT, ErrorClass.HTTP_5XX])
def test_what_may_pass_is_tried_again_and_given_up_in_the_end(kind):
    broken = FetchError(kind, "Not now.", http_status=500)
    world, clock = a_site(Site(feed=rss(1), others={"https://example.org/1": broken}))
    poll(world)
    deliver(world, clock)
    for hours in range(1, 12):
        clock.now = at(60 * hours)
        poll(world, clock.now)
        deliver(world, clock)
    assert statuses(world) == {"1": FullText.FAILED}
    assert world.http.asked.count("https://example.org/1") == 3


def test_a_pause_longer_than_the_queue_can_hide_a_message_brings_all_texts_all_the_same():
    world, clock = a_site(min_interval_seconds=1_000)
    poll(world)
    deliver(world, clock)
    assert statuses(world) == dict.fromkeys("123", FullText.OK)


def test_links_that_lead_to_no_page_take_no_place():
    feed = (
        rss(*range(1, 40))
        .replace(b"https://example.org/", b"magnet:?xt=")
        .replace(b"<link>magnet:?xt=7</link>", b"<link>https://example.org/7</link>")
    )
    world, clock = a_site(Site(feed=feed))
    poll(world)
    assert len(world.queue.sent) == 1
    deliver(world, clock)
    found = [post.full_text_status for post in world.posts.rows.values()]
    assert (found.count(FullText.OK), found.count(FullText.SKIPPED)) == (1, 38)


def test_messages_that_were_not_taken_are_sent_by_the_retry():
    world, clock = a_site()
    send = world.queue.send
    world.queue.send = lambda batch: [False] * len(batch)
    with pytest.raises(Unavailable):
        poll(world)
    world.queue.send = send
    clock.now = at(12)
    poll(world)
    deliver(world, clock)
    assert statuses(world) == dict.fromkeys("123", FullText.OK)


def test_a_step_whose_answer_was_lost_knows_its_own():
    world, clock = a_site()
    put, lost = world.posts.put_backlog, []

    def answer_is_lost(*args, **fields):
        done = put(*args, **fields)
        lost.append(done)
        return done and len(lost) > 1

    world.posts.put_backlog = answer_is_lost
    poll(world)
    assert len(world.queue.sent) == 3
    deliver(world, clock)
    assert statuses(world) == dict.fromkeys("123", FullText.OK)


def test_a_text_that_failed_can_be_asked_for_by_hand():
    site = Site(feed=rss(1), others={"https://example.org/1": b"<html></html>"})
    world, clock = a_site(site)
    poll(world)
    deliver(world, clock)
    site.others.clear()
    clock.now = at(5)
    (post,) = world.posts.rows.values()
    message = FetchMessage(source_id="a", content_hash=post.content_hash, manual=True)
    assert fetch_article(message, world, SETTINGS, message_id="m").status is Status.OK
    assert statuses(world) == {"1": FullText.OK}


def test_a_poll_that_ended_its_fetcher_is_still_counted_after_a_page():
    world, clock = a_site(Site(feed=rss(1)))
    poll(world)
    crashed = Lease(started_at=at(5), token="t", until=at(8))
    world.sources.rows["a"] = replace(world.sources.rows["a"], lease=crashed)
    clock.now = at(30)
    ((_, run),) = deliver(world, clock)
    assert run.status is Status.OK
    clock.now = at(60)
    poll(world, at(60))
    assert ErrorClass.CRASHED in [log.error_class for log in world.logs.rows.values()]


def test_a_page_holds_no_lease_so_that_polls_need_not_wait_for_it():
    world, _ = a_site(Site(feed=rss(1)))
    poll(world)
    seen = []

    class Looking(Site):
        def get(self, request):
            seen.append(world.sources.rows["a"].lease)
            return super().get(request)

    looking = replace(world, http=Looking(feed=rss(1)))
    looking.clock.now = at(1)
    fetch_article(world.queue.sent[0].message, looking, SETTINGS, message_id="m")
    assert [(lease.started_at, lease.until) for lease in seen] == [(at(1), None)]


def test_a_source_that_is_disabled_meanwhile_skips_what_waits():
    world, clock = a_site(Site(feed=rss(1)))
    poll(world)
    world.sources.rows["a"] = replace(world.sources.rows["a"], enabled=False)
    clock.now = at(5)
    ((_, run),) = deliver(world, clock)
    assert (run.status, run.reason) == (Status.SKIPPED, "disabled")
    assert statuses(world) == {"1": FullText.SKIPPED}
    assert world.posts.backlog("a").queued == {}


def test_a_post_that_is_gone_meanwhile_is_no_error():
    world, clock = a_site(Site(feed=rss(1)))
    poll(world)
    world.posts.rows.clear()
    ((_, run),) = deliver(world, clock)
    assert (run.status, run.reason) == (Status.SKIPPED, "unknown_post")


def test_a_crash_between_the_post_and_its_message_is_healed_by_the_retry():
    world, clock = a_site()
    posts = world.posts

    class Throttled(memory.MemoryPosts):
        def put_backlog(self, *args, **kwargs):
            raise Unavailable("Throttled.")

    broken = Throttled(rows=posts.rows, windows=posts.windows, backlogs=posts.backlogs)
    with pytest.raises(Unavailable):
        poll(replace(world, posts=broken))
    assert (len(posts.rows), posts.windows) == (3, {}), "posts first, and no window before the messages"
    clock.now = at(10)
    poll(world)
    assert len(world.queue.sent) == 3
    deliver(world, clock)
    assert statuses(world) == dict.fromkeys("123", FullText.OK)


def test_messages_that_were_lost_are_sent_again_by_a_later_poll_even_without_news():
    world, clock = a_site()
    poll(world)
    world.queue.sent.clear()
    clock.now = at(120)
    assert poll(world, at(120)).status is Status.NOT_MODIFIED
    assert len(world.queue.sent) == 3


def test_headers_of_the_source_go_to_its_own_origin_alone():
    feed = rss(1, 2).replace(b"https://example.org/2", b"https://elsewhere.example/2")
    site = Site(feed=feed)
    world, clock = a_site(site, headers={"Authorization": "Bearer secret"})
    poll(world)
    deliver(world, clock)
    assert site.headers["https://example.org/1"] == {"Authorization": "Bearer secret"}
    assert site.headers["https://elsewhere.example/2"] == {}


def test_a_full_text_that_is_too_long_for_the_row_is_cut_and_marked():
    long = "<article>" + "".join(f"<p>Paragraph {n} of a very long page indeed.</p>" for n in range(12_000))
    world, clock = a_site(Site(feed=rss(1), others={"https://example.org/1": long.encode()}))
    poll(world)
    deliver(world, clock)
    (post,) = world.posts.rows.values()
    assert post.full_text.endswith("[…]")
    assert len(post.full_text.encode()) < 400_000


def test_a_post_without_a_page_wants_none():
    feed = rss(1).replace(b"<link>https://example.org/1</link>", b"")
    world, _ = a_site(Site(feed=feed))
    poll(world)
    (post,) = world.posts.rows.values()
    assert (post.full_text_status, world.queue.sent) == (FullText.SKIPPED, [])


def test_a_post_can_be_asked_for_by_hand():
    world, clock = a_site(Site(feed=rss(1)), full_text=False)
    poll(world)
    (post,) = world.posts.rows.values()
    clock.now = at(1)
    message = FetchMessage(source_id="a", content_hash=post.content_hash)
    assert fetch_article(message, world, SETTINGS, message_id="m").status is Status.OK
    assert world.posts.read([post.key])[0].full_text_status is FullText.OK
