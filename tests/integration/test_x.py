"""X timelines through the real client: an API that answers like X's, keys from the Parameter Store."""

import json
import logging
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from test_handlers import Context, handler

from builders import NOON, SETTINGS, Clock, a_source, at, by_hand, every
from publisher import Page
from wellspring import config, memory, telemetry, timestamps, wiring
from wellspring.aws.secrets import SsmSecrets
from wellspring.aws.sources import DynamoSources
from wellspring.errors import ErrorClass, Unavailable
from wellspring.fetch import fetch_source
from wellspring.http import HttpClient
from wellspring.model import Source, Status
from wellspring.sources import x_api
from x_server import PROBLEMS, Answer, XServer

KEY = "canary-7f3a9c%3Dkey"
OWNER = "owner-1"
PATH = "/wellspring/owners"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def x(clock):
    with XServer(clock) as running:
        running.keys.add(KEY)
        yield running


@pytest.fixture
def settings(x):
    return replace(SETTINGS, x_api_url=x.url, allow_addresses=(ip_network("127.0.0.0/8"),))


@pytest.fixture
def world(settings, clock):
    made = memory.world(HttpClient(settings), clock, clock.wait)
    made.secrets.keys[OWNER] = KEY
    return made


@pytest.fixture
def person(x):
    return x.add_user("person", "A person")


@pytest.fixture
def poll(world, settings, clock):
    """Poll a source by hand, an hour after the last time."""

    def polled(url="https://x.com/person", *, owner_id=OWNER, **fields):
        if "a" not in world.sources.rows:
            fields = {"cadence": every(60), "created_at": at(-60)} | fields
            world.sources.add(a_source(url=url, type="twitter", owner_id=owner_id, **fields))
        else:
            clock.wait(timedelta(hours=1))
        return fetch_source(by_hand(), world, settings, message_id="m-1")

    return polled


def stored(world):
    """Return the ids of all posts, as often as they were stored."""
    return sorted(post.entry.entry_id for post in world.posts.rows.values())


def outcome(run):
    return run.status, run.log.error_class


def publish_many(x, user, count, *, since=NOON - timedelta(minutes=50)):
    return sorted(
        x.publish(user, f"Number {n}, in words of its own", since + timedelta(seconds=n))
        for n in range(count)
    )


def test_a_poll_stores_the_posts_of_a_user(x, world, person, poll):
    first = x.publish(person, "Hello, world", at(-10))
    run = poll()
    assert outcome(run) == (Status.OK, None)
    assert (run.log.http_status, run.log.created, run.log.parser) == (200, 1, "x api v2")
    (post,) = world.posts.rows.values()
    assert (post.entry.title, post.entry.author) == ("Hello, world", "A person")
    assert (post.entry.url, post.posted_at) == (f"https://x.com/person/status/{first}", at(-10))
    assert world.sources.rows["a"].title == "A person"
    assert x.paths() == ["/2/users/by/username/person", f"/2/users/{person.id}/tweets"]


def test_a_long_post_and_a_repost_are_stored_with_their_whole_text(x, world, person, poll):
    other = x.add_user("other")
    whole = "A long thought. " * 40 + "The end."
    original = x.publish(other, whole, at(-20))
    x.publish(person, whole.replace("thought", "story"), at(-10))
    x.repost(person, original, at(-5))
    poll()
    bodies = sorted(post.entry.body for post in world.posts.rows.values())
    assert bodies == [whole.replace("thought", "story"), f"RT @other: {whole}"]


def test_a_repost_of_what_is_gone_is_stored_with_what_there_is(x, world, person, poll):
    other = x.add_user("other")
    original = x.publish(other, "Soon gone", at(-20))
    x.repost(person, original, at(-5))
    x.delete(other, original)
    assert poll().status is Status.OK
    assert [post.entry.body for post in world.posts.rows.values()] == ["RT @other: Soon gone"]


def test_the_second_poll_asks_for_what_is_new_and_looks_nobody_up(x, world, person, poll):
    first = x.publish(person, "First", at(-10))
    poll()
    x.forget()
    second = x.publish(person, "Second", at(30))
    run = poll()
    assert (run.status, run.log.created, run.log.entries) == (Status.OK, 1, 1)
    (asked,) = x.asked
    assert asked.path == f"/2/users/{person.id}/tweets"
    assert (asked.query["since_id"], "start_time" in asked.query) == (first, False)
    assert stored(world) == [first, second]


def test_a_poll_without_news_leaves_the_mark_where_it_is(x, world, person, poll):
    first = x.publish(person, "First", at(-10))
    runs = [poll(), poll(), poll()]
    assert [run.status for run in runs] == [Status.OK, Status.OK, Status.NOT_MODIFIED]
    assert world.sources.rows["a"].cursor.bookmark["since_id"] == first
    assert stored(world) == [first]


def test_a_timeline_without_posts_is_a_success(x, world, person, poll):
    run = poll()
    assert (run.status, run.log.entries) == (Status.OK, 0)
    assert world.sources.rows["a"].cursor.bookmark == {"name": "person", "user_id": person.id}
    x.forget()
    poll()
    assert len(x.asked) == 1, "the user is known"


def test_all_pages_are_read(x, world, person, poll):
    x.page = 40
    ids = publish_many(x, person, 130)
    run = poll()
    assert (run.status, run.log.created) == (Status.OK, 130)
    assert len(x.timelines()) == 4
    assert {asked.query["start_time"] for asked in x.timelines()} == {"2026-11-18T11:00:00Z"}
    assert stored(world) == ids
    assert world.sources.rows["a"].cursor.bookmark["since_id"] == ids[-1]


def test_a_post_that_two_pages_list_is_stored_once(x, world, person, poll):
    x.page = 10
    ids = publish_many(x, person, 20)
    repeated = {"id": ids[10], "text": "Number 10, in words of its own", "author_id": person.id}
    x.instead[2] = Answer(body={"data": [repeated], "meta": {"result_count": 1}})
    assert poll().log.filtered == {"duplicate_id": 1}
    assert len(stored(world)) == len(set(stored(world))) == 10


@pytest.mark.parametrize("known", [False, True], ids=["at the first poll", "at a later poll"])
def test_a_limit_between_two_pages_loses_nothing_and_stores_nothing_twice(
    x, world, person, poll, clock, known
):
    before = []
    if known:
        before = [x.publish(person, "The first of all", at(-55))]
        poll()
        clock.wait(timedelta(hours=1))
    x.page = 40
    ids = publish_many(x, person, 100, since=clock.now - timedelta(minutes=30))
    x.budget = 2
    run = poll()
    assert (run.status, run.log.created, run.log.filtered) == (Status.PARTIAL, 80, {"cut": 1})
    source = world.sources.rows["a"]
    bookmark = source.cursor.bookmark
    assert bookmark.get("since_id") == (before[0] if known else None), "nothing is passed over"
    assert (bookmark["until_id"], bookmark["newest_id"]) == (ids[20], ids[-1])
    assert source.pace.retry_at == clock.now + timedelta(minutes=15), "X's word on when to come again"
    assert source.health.failures == 0
    assert source.next_fetch_at >= source.pace.retry_at

    x.budget = 900
    newer = x.publish(person, "News meanwhile", clock.now + timedelta(minutes=30))
    assert [(run.status, run.log.created) for run in (poll(), poll())] == [(Status.OK, 20), (Status.OK, 1)]
    assert stored(world) == sorted([*before, *ids, newer])
    kept = world.sources.rows["a"].cursor.bookmark
    assert kept == {"name": "person", "user_id": person.id, "since_id": newer}


def test_a_budget_that_never_lasts_for_all_pages_still_brings_all_posts(x, world, person, poll, clock):
    x.page = 20
    ids = publish_many(x, person, 100)
    created = []
    for _ in range(6):
        x.budget = 1
        created.append(poll().log.created)
        clock.wait(timedelta(minutes=16))
    assert created == [20, 20, 20, 20, 20, 0]
    assert stored(world) == ids


def test_what_is_more_than_a_poll_may_store_is_read_and_paid_for_once(x, world, person, poll):
    ids = publish_many(x, person, 2_350)
    assert [poll().log.created for _ in range(4)] == [1_000, 1_000, 350, 0]
    assert len(x.timelines()) == 10 + 10 + 4 + 1
    assert stored(world) == ids


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        pytest.param(Answer(503), ErrorClass.HTTP_5XX, id="the server is down"),
        pytest.param(Answer(401), ErrorClass.AUTHENTICATION, id="the key is revoked"),
        pytest.param(Answer(body=b'{"data": ['), ErrorClass.PARSE, id="an answer that breaks off"),
        pytest.param(
            Answer(body={"errors": [{"type": f"{PROBLEMS}/something-new"}]}),
            ErrorClass.PARSE,
            id="a problem in a good answer",
        ),
        pytest.param(
            Answer(body={"errors": [{"type": f"{PROBLEMS}/not-authorized-for-resource"}]}),
            ErrorClass.AUTHENTICATION,
            id="the user is protected meanwhile",
        ),
    ],
)
def test_a_page_that_is_refused_passes_nothing_over(x, world, person, poll, answer, error_class):
    x.page = 40
    ids = publish_many(x, person, 100)
    x.instead[2] = answer
    assert outcome(poll()) == (Status.FAILED, error_class)
    assert world.sources.rows["a"].cursor.bookmark == {}
    x.forget()
    assert poll().status is Status.OK
    assert stored(world) == ids


def test_a_429_is_a_limit_with_the_servers_word(x, world, person, poll, clock):
    x.budget = 0
    run = poll()
    assert outcome(run) == (Status.FAILED, ErrorClass.RATE_LIMITED)
    assert (run.log.http_status, len(x.asked)) == (429, 1)
    assert world.sources.rows["a"].pace.retry_at == at(15)


def test_the_last_request_of_a_budget_is_a_word_on_when_to_come_again(x, world, person, poll):
    x.budget = 1
    x.publish(person, "Hello", at(-10))
    assert poll(cadence=every(1)).status is Status.OK
    assert world.sources.rows["a"].pace.retry_at == at(15)
    assert world.sources.rows["a"].next_fetch_at == at(15)


def test_a_limit_that_speaks_of_retry_after_alone_is_heard(x, world, person, poll):
    x.page = 40
    publish_many(x, person, 100)
    x.instead[2] = Answer(429, headers={"Retry-After": "1800"})
    assert poll().status is Status.PARTIAL
    assert world.sources.rows["a"].pace.retry_at == at(30)


@pytest.mark.parametrize(
    "reset",
    [
        pytest.param(str(int(at(-30).timestamp())), id="in the past"),
        pytest.param("0", id="zero"),
        pytest.param("99999999999999999999", id="beyond all time"),
        pytest.param("soon", id="no number"),
    ],
)
def test_a_reset_that_makes_no_sense_stops_nothing_for_good(x, world, person, poll, reset):
    x.instead[0] = Answer(429, headers={"x-rate-limit-remaining": "0", "x-rate-limit-reset": reset})
    assert outcome(poll()) == (Status.FAILED, ErrorClass.RATE_LIMITED)
    assert at(0) < world.sources.rows["a"].next_fetch_at <= at(0) + timedelta(days=7)


@pytest.mark.parametrize(
    ("status", "error_class"),
    [(401, ErrorClass.AUTHENTICATION), (403, ErrorClass.AUTHENTICATION), (400, ErrorClass.HTTP_4XX)],
)
@pytest.mark.parametrize("number", [0, 1], ids=["looking the user up", "reading the posts"])
def test_a_refusal_counts_as_what_it_is(x, world, person, poll, status, error_class, number):
    x.instead[number] = Answer(status, {"title": "Refused", "status": status, "type": "about:blank"})
    run = poll()
    assert outcome(run) == (Status.FAILED, error_class)
    assert (run.log.http_status, world.sources.rows["a"].health.failures) == (status, 1)


def test_a_revoked_key_fails_until_there_is_another_one(x, world, person, poll):
    first = x.publish(person, "First", at(-10))
    poll()
    x.keys.clear()
    second = x.publish(person, "Second", at(20))
    run = poll()
    assert outcome(run) == (Status.FAILED, ErrorClass.AUTHENTICATION)
    assert run.log.http_status == 401
    x.keys.add("another-key")
    world.secrets.keys[OWNER] = "another-key"
    assert poll().status is Status.OK
    assert stored(world) == [first, second]


@pytest.mark.parametrize("known", [False, True], ids=["looked up", "known by id"])
@pytest.mark.parametrize(
    ("fields", "error_class"),
    [
        pytest.param({"suspended": True}, ErrorClass.GONE, id="suspended"),
        pytest.param({"protected": True}, ErrorClass.AUTHENTICATION, id="protected"),
    ],
)
def test_a_user_that_cannot_be_read(x, world, person, poll, known, fields, error_class):
    if known:
        x.publish(person, "Hello", at(-10))
        poll()
    for name, value in fields.items():
        setattr(person, name, value)
    assert outcome(poll()) == (Status.FAILED, error_class)
    assert world.sources.rows["a"].health.gone == (error_class is ErrorClass.GONE)


def test_a_user_that_does_not_exist_is_gone(x, poll):
    run = poll("https://x.com/nobody")
    assert outcome(run) == (Status.FAILED, ErrorClass.GONE)
    assert len(x.asked) == 1


def test_a_renamed_user_is_read_on_by_the_id(x, world, person, poll):
    first = x.publish(person, "First", at(-10))
    poll()
    person.username = "renamed"
    second = x.publish(person, "Second", at(20))
    assert poll().status is Status.OK
    assert stored(world) == [first, second]
    assert f"https://x.com/renamed/status/{second}" in {p.entry.url for p in world.posts.rows.values()}


def test_another_user_in_the_url_is_another_timeline(x, world, person, poll):
    other = x.add_user("other")
    x.publish(other, "Others' words", at(-30))
    x.publish(person, "First", at(-10))
    poll()
    world.sources.rows["a"] = replace(world.sources.rows["a"], url="https://x.com/other")
    x.forget()
    assert poll().log.created == 1
    assert x.paths() == ["/2/users/by/username/other", f"/2/users/{other.id}/tweets"]
    assert "since_id" not in x.asked[1].query
    assert world.sources.rows["a"].cursor.bookmark["user_id"] == other.id


@pytest.mark.parametrize(
    "url",
    [
        "https://x.com/person",
        "https://x.com/@person",
        "https://x.com/Person/",
        "https://x.com/person/with_replies",
        "https://x.com/person?lang=en#top",
        "https://www.twitter.com/person",
        "http://mobile.twitter.com/person/media",
    ],
)
def test_a_user_is_named_in_many_ways(x, person, poll, url):
    x.publish(person, "Hello", at(-10))
    assert poll(url).log.created == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://x.com/",
        "https://x.com/person/status/1",
        "https://x.com/i/lists/5",
        "https://x.com/a/../person",
        "https://x.com/pers%6Fn",
        "https://x.com/a_name_of_sixteen",
        "https://x.com/persön",
        "https://example.org/person",
        "https://x.com.example.org/person",
        "https://[person",
        "person",
    ],
)
def test_a_url_that_names_no_user_is_refused_without_a_request(x, poll, url):
    run = poll(url)
    assert outcome(run) == (Status.FAILED, ErrorClass.BLOCKED_URL)
    assert "https://x.com/username" in run.log.error_message
    assert x.asked == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"owner_id": None}, "owner_id", id="no owner"),
        pytest.param({"owner_id": ""}, "owner_id", id="an owner without a name"),
        pytest.param({"owner_id": "owner-2"}, "owner-2", id="no key"),
        pytest.param({"owner_id": "spoilt"}, "cannot be one", id="a key of two lines"),
    ],
)
def test_without_a_key_no_request_is_sent(x, world, poll, fields, told):
    world.secrets.keys["spoilt"] = "canary\r\nX-Other: 1"
    run = poll(**fields)
    assert outcome(run) == (Status.FAILED, ErrorClass.AUTHENTICATION)
    assert told in run.log.error_message
    assert "canary" not in run.log.error_message
    assert (x.asked, run.log.http_status) == ([], None)


def test_a_source_that_was_added_a_moment_ago_can_be_read(x, world, person, poll):
    """X refuses to begin at a moment that has hardly passed."""
    x.publish(person, "Just before", at(seconds=-3))
    after = x.publish(person, "Just now", NOON)
    run = poll(created_at=at(seconds=-1))
    assert (run.status, run.log.filtered) == (Status.OK, {"before_added": 1})
    assert stored(world) == [after]


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        pytest.param({}, "2026-11-18T11:00:00Z", id="from when it was added"),
        pytest.param({"config": {"backfill": True}}, "2026-11-11T12:00:00Z", id="all that is not too old"),
        pytest.param({"created_at": None}, "2026-11-11T12:00:00Z", id="a source without a date"),
        pytest.param(
            {"config": {"backfill": True, "max_age_days": 36_600}},
            "2010-11-07T00:00:00Z",
            id="as far as X goes",
        ),
        pytest.param({"config": {"max_age_days": 0}}, "2026-11-18T11:59:45Z", id="nothing but the present"),
        pytest.param({"created_at": at(600)}, "2026-11-18T11:59:45Z", id="added in the future"),
    ],
)
def test_nothing_is_read_that_would_be_left_out(x, person, poll, fields, start):
    assert poll(**fields).status is Status.OK
    assert x.asked[1].query["start_time"] == start


@pytest.mark.parametrize("spoilt", ["", "abc", "1&x=2", "9" * 30, "-1", "../../x"])
def test_a_bookmark_that_somebody_spoilt_is_read_anew(x, world, person, poll, spoilt):
    first = x.publish(person, "First", at(-10))
    bookmark = {"name": "person", "user_id": spoilt, "since_id": spoilt}
    assert poll(bookmark=bookmark).status is Status.OK
    assert stored(world) == [first]
    assert world.sources.rows["a"].cursor.bookmark["since_id"] == first


def test_ids_beyond_64_bits_do_not_spoil_the_next_poll(x, world, person, poll):
    posts = [{"id": "9" * 30, "text": "Odd"}, {"id": "5", "text": "Good"}]
    x.instead[1] = Answer(body={"data": posts, "meta": {"result_count": 2}})
    poll()
    assert stored(world) == ["5"]
    x.forget()
    assert poll().status is Status.OK, "X would refuse a mark that is none"


def test_a_mark_that_is_newer_than_what_x_lists_stays(x, world, person, poll):
    first = x.publish(person, "First", at(-10))
    poll()
    x.instead[len(x.asked)] = Answer(body={"data": [{"id": "5", "text": "Of long ago"}]})
    poll()
    assert world.sources.rows["a"].cursor.bookmark["since_id"] == first


def test_pages_in_a_circle_are_left(x, world, person, poll):
    def page(n):
        return Answer(body={"data": [{"id": str(n), "text": "x"}], "meta": {"next_token": f"t{n % 3}"}})

    x.instead.update({n: page(n) for n in range(1, 90)})
    assert outcome(poll()) == (Status.FAILED, ErrorClass.PARSE)
    assert len(x.timelines()) == 4
    assert world.sources.rows["a"].cursor.bookmark == {}


def test_pages_without_end_are_left_and_not_called_whole(x, world, person, poll):
    def page(n):
        return Answer(body={"data": [{"id": str(n), "text": "x"}], "meta": {"next_token": f"t{n}"}})

    x.instead.update({n: page(n) for n in range(1, 90)})
    assert poll().status is Status.PARTIAL
    assert len(x.timelines()) == x_api.MOST_PAGES
    assert len(stored(world)) == x_api.MOST_PAGES
    assert "since_id" not in world.sources.rows["a"].cursor.bookmark


def test_pages_that_are_huge_are_not_all_held(x, world, person, poll):
    def page(n):
        meta = {"next_token": f"t{n}"}
        return Answer(body={"data": [{"id": str(n), "text": "x"}], "meta": meta, "x": "x" * 4_500_000})

    x.instead.update({n: page(n) for n in range(1, 20)})
    assert poll().status is Status.PARTIAL
    assert len(x.timelines()) == 5


def test_pages_that_are_slow_are_left_after_a_while(x, world, person, poll, clock, settings):
    class Slow:
        def __init__(self, http):
            self.http = http

        def get(self, request):
            clock.wait(timedelta(seconds=19))
            return self.http.get(request)

    x.page = 10
    publish_many(x, person, 100)
    world.sources.add(
        a_source(url="https://x.com/person", type="twitter", owner_id=OWNER, created_at=at(-60))
    )
    run = fetch_source(by_hand(), replace(world, http=Slow(world.http)), settings, message_id="m")
    assert (run.status, run.log.created) == (Status.PARTIAL, 30)
    assert clock.now - NOON < timedelta(seconds=90), "a function has two minutes"


def test_an_answer_that_is_too_large_is_refused(x, person, poll):
    x.instead[1] = Answer(body=b'{"data": "' + b"x" * 5_100_000 + b'"}')
    assert outcome(poll()) == (Status.FAILED, ErrorClass.TOO_LARGE)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b"<html>", id="a page"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"data": {"id": 5}}', id="an id that is a number"),
        pytest.param(b'{"data": {"id": "../../1.1/account"}}', id="an id that is a path"),
        pytest.param(b'{"data": [{"id": "5"}]}', id="many users"),
    ],
)
def test_a_user_that_is_none_is_an_error_of_the_document(x, poll, answer):
    x.instead[0] = Answer(body=answer)
    assert outcome(poll()) == (Status.FAILED, ErrorClass.PARSE)
    assert len(x.asked) == 1


def test_the_key_goes_to_the_api_alone(x, world, person, publisher, poll):
    publisher.pages["/elsewhere"] = Page(json.dumps({"data": {"id": person.id}}).encode())
    x.instead[0] = Answer(302, headers={"Location": publisher.url("/elsewhere")})
    assert poll().status is Status.OK
    assert "authorization" not in publisher.asked[0].headers
    assert [asked.headers["authorization"] for asked in x.asked] == [f"Bearer {KEY}"] * 2


def test_the_headers_of_the_source_do_not_reach_the_api(x, person, poll):
    """They are for the source's own site, and must not stand in for the owner's key."""
    poll(config={"headers": {"Authorization": "Basic other", "X-Own": "1"}})
    assert {asked.headers["authorization"] for asked in x.asked} == {f"Bearer {KEY}"}
    assert not any("x-own" in asked.headers for asked in x.asked)


def test_each_owner_pays_with_a_key_of_their_own(x, world, person, poll, settings):
    x.keys.add("second-key")
    world.secrets.keys["owner-2"] = "second-key"
    world.sources.add(a_source("b", url="https://x.com/person", type="twitter", owner_id="owner-2"))
    poll()
    fetch_source(by_hand("b"), world, settings, message_id="m-2")
    assert [asked.headers["authorization"] for asked in x.timelines()] == [
        f"Bearer {KEY}",
        "Bearer second-key",
    ]


@pytest.fixture
def ssm(aws):
    client = aws.client("ssm")
    client.put_parameter(Name=f"{PATH}/{OWNER}/x-api-key", Value=KEY, Type="SecureString")
    return client


def test_the_key_is_read_from_the_parameter_store(x, world, person, poll, ssm, settings):
    x.publish(person, "Hello", at(-10))
    kept = replace(world, secrets=SsmSecrets(lambda: ssm, PATH))
    kept.sources.add(a_source(url="https://x.com/person", type="twitter", owner_id=OWNER))
    run = fetch_source(by_hand(), kept, settings, message_id="m")
    assert (run.status, run.log.created) == (Status.OK, 1)


@pytest.mark.parametrize(
    ("owner_id", "key"),
    [
        pytest.param(OWNER, KEY, id="a key"),
        pytest.param("owner-2", None, id="no parameter"),
        pytest.param("padded", "spaces-around", id="a line break at the end is no part of the key"),
        pytest.param("blank", None, id="nothing but spaces"),
        pytest.param("plain", "not-encrypted", id="a parameter that is not encrypted"),
        pytest.param("", None, id="no name"),
        pytest.param("../owner-1", None, id="a path"),
        pytest.param("x/owner-1", None, id="a path below"),
        pytest.param(f"{OWNER}:1", None, id="a version"),
        pytest.param(f"{OWNER}\n", None, id="a line break"),
        pytest.param("*", None, id="a star"),
        pytest.param("ö", None, id="another script"),
        pytest.param("o" * 3_000, None, id="a long name"),
    ],
)
def test_the_key_of_an_owner(ssm, owner_id, key):
    for name, value in (("padded", " spaces-around \n"), ("blank", "  ")):
        ssm.put_parameter(Name=f"{PATH}/{name}/x-api-key", Value=value, Type="SecureString")
    ssm.put_parameter(Name=f"{PATH}/plain/x-api-key", Value="not-encrypted", Type="String")
    assert SsmSecrets(lambda: ssm, PATH).x_api_key(owner_id) == key


class Failing:
    """A Parameter Store that fails as AWS does."""

    def __init__(self, error):
        self.error = error

    def get_parameter(self, **_):
        raise self.error


def refused_by_aws(code):
    return ClientError({"Error": {"Code": code, "Message": KEY}}, "GetParameter")


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(refused_by_aws("ThrottlingException"), id="throttled"),
        pytest.param(refused_by_aws("AccessDeniedException"), id="not allowed"),
        pytest.param(refused_by_aws("InternalServerError"), id="broken"),
        pytest.param(EndpointConnectionError(endpoint_url="https://ssm.example"), id="out of reach"),
    ],
)
def test_a_store_that_fails_blames_no_source_and_the_message_comes_back(x, world, settings, error):
    kept = replace(world, secrets=SsmSecrets(lambda: Failing(error), PATH))
    kept.sources.add(a_source(url="https://x.com/person", type="twitter", owner_id=OWNER))
    with pytest.raises(Unavailable) as caught:
        fetch_source(by_hand(), kept, settings, message_id="m")
    source = kept.sources.rows["a"]
    assert (source.health.failures, source.lease) == (0, None), "another fetcher may begin at once"
    assert (kept.logs.rows, x.asked) == ({}, [])
    assert KEY not in str(caught.value)


def test_a_store_that_cannot_be_reached_at_all_blames_no_source():
    def connect():
        raise EndpointConnectionError(endpoint_url="https://ssm.example")

    with pytest.raises(Unavailable):
        SsmSecrets(connect, PATH).x_api_key(OWNER)


@pytest.fixture
def stack(aws, ssm, x, person, monkeypatch):
    """The functions with a source for each way in which X can answer."""
    x.clock = timestamps.now
    sqs = aws.client("sqs")
    for name in ("SOURCES", "POSTS", "FETCH_LOGS", "GATES"):
        monkeypatch.setenv(f"{name}_TABLE", "".join(part.title() for part in name.split("_")) + "Table")
    for name in ("FETCH", "DEAD_LETTER"):
        monkeypatch.setenv(f"{name}_QUEUE_URL", sqs.create_queue(QueueName=name)["QueueUrl"])
    monkeypatch.setenv("ALLOW_ADDRESSES", "127.0.0.0/8")
    monkeypatch.setenv("HOST_DELAY_SECONDS", "0")
    monkeypatch.setenv("OWNER_KEYS", PATH)
    monkeypatch.setenv("X_API_URL", x.url)
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", str(uuid4()))
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Wellspring/tested")
    caches = (wiring.deployed, telemetry.logger, telemetry.metrics)
    for made_once in caches:
        made_once.cache_clear()
    yield aws
    wiring.deployed()[0].parse.__self__.close()
    for made_once in caches:
        made_once.cache_clear()


ECHO = {"detail": f"Bearer {KEY}", "title": KEY, "type": f"{PROBLEMS}/{KEY}"}
ODD_ANSWERS = {
    "good": None,
    "refused": Answer(401, ECHO),
    "forbidden": Answer(403, ECHO),
    "limited": Answer(429, ECHO, {"Retry-After": KEY, "x-rate-limit-reset": KEY}),
    "broken": Answer(500, ECHO),
    "no-json": Answer(body=KEY.encode()),
    "problem": Answer(body={"errors": [ECHO]}),
    "suspended": Answer(body={"errors": [ECHO | {"type": f"{PROBLEMS}/resource-not-found"}]}),
    "elsewhere": Answer(302, headers={"Location": f"http://10.0.0.1/?{KEY}"}),
}


def test_no_key_is_ever_written_where_people_look(stack, x, person, ssm, capfd, caplog):
    """Not even if the API itself repeats the key in all that it says."""
    caplog.set_level(logging.DEBUG, logger="wellspring")
    ssm.put_parameter(Name=f"{PATH}/spoilt/x-api-key", Value=f"{KEY}\n{KEY}", Type="SecureString")
    x.publish(person, "Hello")
    sources = DynamoSources(stack.client("dynamodb"), "SourcesTable", shards=4)
    settings = config.parse({"backfill": True})
    owners = {"no-owner": None, "no-key": "owner-2", "spoilt": "spoilt"}
    answers = []
    for name in (*ODD_ANSWERS, *owners):
        owner_id = owners.get(name, OWNER)
        url = "https://x.com/person"
        sources.add(Source(source_id=name, url=url, type="twitter", owner_id=owner_id, config=settings))
        for number in (0, 1):
            x.forget()
            if answer := ODD_ANSWERS.get(name):
                x.instead[number] = answer
            record = {"messageId": name, "body": json.dumps({"source_id": name, "manual": True})}
            answers.append(handler("fetcher")({"Records": [record]}, Context()))
            _make_free(stack, name)
    dynamodb = stack.client("dynamodb")
    rows = {
        name: dynamodb.scan(TableName=f"{name}Table")["Items"] for name in ("Sources", "FetchLogs", "Posts")
    }
    told = capfd.readouterr()
    assert {row["source_id"]["S"] for row in rows["FetchLogs"]} == {*ODD_ANSWERS, *owners}
    assert len(rows["FetchLogs"]) == 2 * len({*ODD_ANSWERS, *owners}), "every way was gone twice"
    assert "fetched" in told.out
    shown = {"log lines": told.out + told.err + caplog.text, "answers": str(answers)}
    shown |= {name: str([_without_the_servers_words(row) for row in found]) for name, found in rows.items()}
    hits = {place: text[max(0, text.find(KEY) - 80) :][:160] for place, text in shown.items() if KEY in text}
    assert hits == {}


def _make_free(stack, name):
    """Let the source and its host be asked again at once, whatever the server wanted."""
    dynamodb = stack.client("dynamodb")
    dynamodb.delete_item(TableName="GatesTable", Key={"gate": {"S": "host#x.com"}})
    dynamodb.update_item(
        TableName="SourcesTable",
        Key={"source_id": {"S": name}},
        UpdateExpression="REMOVE #l",
        ExpressionAttributeNames={"#l": "lease"},
    )


def _without_the_servers_words(row):
    """A few headers of an answer are the server's own and are kept in the log on purpose."""
    return {name: value for name, value in row.items() if name != "headers"}
