"""What concerns all sources of a host: brakes, blame, moves."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, Clock, a_message, a_source, a_world, at
from wellspring import blame, hosts, moves, turns
from wellspring.errors import ErrorClass
from wellspring.hosts import HostState, Verdict
from wellspring.http import Reply
from wellspring.model import Moved
from wellspring.outage import is_outage

WEEK = 7 * 24 * 60
QUIET = HostState()


def judged(before=QUIET, source_id="a", error_class=ErrorClass.TIMEOUT, **fields):
    given = {"host": "example.org", "now": NOON, "retry_at": None, "longest": timedelta(days=1)}
    return hosts.judge(before, source_id, error_class, **given | fields)


def test_the_first_source_to_fail_is_charged_and_the_host_not_braked():
    assert judged() == Verdict(True, None)


def test_a_host_with_one_source_never_takes_the_blame():
    assert judged(HostState(failing="a")) == Verdict(True, None)
    limited = judged(HostState(failing="a", brakes=1), error_class=ErrorClass.RATE_LIMITED)
    assert limited == Verdict(True, at(30)), "a limit brakes it, and longer each time"


def test_when_another_one_fails_too_the_host_is_charged_and_braked():
    assert judged(HostState(failing="a"), "b", ErrorClass.HTTP_5XX) == Verdict(False, at(10))
    again = judged(HostState(failing="a", others=True, brakes=1), "a", ErrorClass.HTTP_5XX)
    assert again == Verdict(False, at(20)), "until one succeeds, and longer each time"


def test_a_brake_has_an_end():
    assert judged(HostState(failing="a", others=True, brakes=10**6)).brake_until == at(24 * 60)


@pytest.mark.parametrize(
    ("fields", "until"),
    [
        pytest.param({}, at(15), id="429 brakes the host"),
        pytest.param({"retry_at": at(99)}, at(99), id="for as long as it says"),
    ],
)
def test_a_limit_brakes_the_host_at_once(fields, until):
    assert judged(error_class=ErrorClass.RATE_LIMITED, **fields).brake_until == until


@pytest.mark.parametrize("host", ["example.substack.com", "medium.com", "a.b.blogspot.com"])
def test_where_many_publish_a_limit_concerns_the_source_alone(host):
    limited = judged(HostState(failing="b"), error_class=ErrorClass.RATE_LIMITED, host=host)
    assert limited == Verdict(True, None)
    assert judged(HostState(failing="b"), host=host).brake_until, "a server that is down is down for all"


@pytest.mark.parametrize(
    "error_class", [ErrorClass.HTTP_4XX, ErrorClass.NOT_FEED, ErrorClass.GONE, ErrorClass.PARSE]
)
def test_what_a_document_does_wrong_says_nothing_about_others(error_class):
    world = a_world()
    for source_id in ("a", "b"):
        source = a_source(source_id, url="https://example.org/")
        assert charged(world, source, error_class)
    assert world.gates.hosts == {}


def charged(world, source, error_class=ErrorClass.DNS, **fields):
    message = a_message().model_copy(update=fields)
    return blame.source_is_charged(source, error_class, message, world, SETTINGS, now=NOON, retry_at=None)


def test_a_host_reports_that_it_is_down_once_in_a_window():
    world = a_world()
    world.gates.open_window(NOON, 4)
    for _ in range(3):
        charged(world, a_source())
    assert world.gates.windows == {NOON: (4, 1)}
    charged(world, a_source("b"), manual=True)
    assert world.gates.windows == {NOON: (4, 1)}, "a fetch by hand has no window"
    charged(world, a_source("b"), error_class=ErrorClass.HTTP_5XX)
    assert world.gates.windows == {NOON: (4, 1)}, "a server that answers is not down"


def test_while_failures_are_frozen_nothing_is_written_about_a_host():
    world = a_world()
    assert not charged(world, a_source(), frozen=True)
    assert world.gates.hosts == {}


@pytest.mark.parametrize(
    ("down", "hosts_", "outage"),
    [
        pytest.param(3, 4, True, id="most"),
        pytest.param(2, 4, False, id="half is not most"),
        pytest.param(3, 3, False, id="with so few hosts nobody can tell"),
    ],
)
def test_our_own_outage(down, hosts_, outage):
    assert is_outage(down=down, hosts=hosts_) is outage


def reply(*hops, url="https://new.example/feed"):
    return Reply(url=url, status=200, headers={}, hops=hops)


OLD = "https://old.example/feed"


class TestMoves:
    def moved(self, source, answer, now=NOON):
        return moves.after_reply(source, answer, now=now)

    @pytest.mark.parametrize("hops", [(302,), (301, 302), (307,), (303,)])
    def test_a_passing_redirect_is_never_stored(self, hops):
        assert self.moved(a_source(url=OLD), reply(*hops)) == a_source(url=OLD)

    def test_a_permanent_one_is_on_probation_first(self):
        after = self.moved(a_source(url=OLD), reply(301, 308))
        assert (after.url, after.moved) == (OLD, Moved(url="https://new.example/feed", since=NOON))

    def test_after_seven_days_the_url_changes_and_the_old_one_is_kept(self):
        source = a_source(url=OLD, moved=Moved(url="https://new.example/feed", since=at(-WEEK)))
        after = self.moved(source, reply(301))
        assert (after.url, after.previous_url, after.moved) == ("https://new.example/feed", OLD, None)

    def test_another_target_begins_anew(self):
        source = a_source(url=OLD, moved=Moved(url="https://other.example/", since=at(-WEEK)))
        assert self.moved(source, reply(301)).moved.since == NOON

    def test_an_answer_without_a_redirect_ends_the_probation(self):
        source = a_source(url=OLD, moved=Moved(url="https://new.example/feed", since=at(-WEEK)))
        assert self.moved(source, reply(url=OLD)).moved is None

    def test_the_same_url_with_https_is_taken_at_once(self):
        after = self.moved(a_source(url="http://e.org/f?x=1"), reply(301, url="https://e.org/f?x=1"))
        assert after.url == "https://e.org/f?x=1"

    def test_but_not_back_to_http(self):
        assert (
            self.moved(a_source(url="https://e.org/f"), reply(301, url="http://e.org/f")).url
            == "https://e.org/f"
        )

    def test_secrets_stay_with_the_server_that_they_are_for(self):
        source = a_source(
            url=OLD,
            config={"headers": {"Authorization": "x"}},
            moved=Moved(url="https://new.example/feed", since=at(-WEEK)),
        )
        assert self.moved(source, reply(301)).url == OLD
        near = reply(301, url="https://old.example/other")
        since = Moved(url="https://old.example/other", since=at(-WEEK))
        assert self.moved(replace(source, moved=since), near).url == "https://old.example/other"


def test_a_place_that_begins_while_it_is_reserved_is_not_waited_for():
    """Writing the reservation down takes a while, and waiting for less than nothing is an error."""
    clock = Clock()
    world = a_world(clock=clock)
    world.gates.hosts["example.org"] = HostState(next_slot=at(seconds=1))
    reserve, waited = world.gates.reserve_slot, []

    def slowly(*args, **fields):
        clock.now = at(seconds=3)
        return reserve(*args, **fields)

    world.gates.reserve_slot = slowly
    slot = turns.take("example.org", timedelta(seconds=1), replace(world, pause=waited.append))
    assert (slot.taken, waited) == (True, [timedelta(0)])
