"""What people do to sources, and read of posts and attempts, on every implementation of the ports."""

from dataclasses import replace

import pytest

from builders import NOON, a_log, a_post, a_ref, a_source, an_entry, at, every
from wellspring import config, schedule
from wellspring.aws.queue import SqsQueue
from wellspring.backlog import Backlog
from wellspring.errors import ErrorClass
from wellspring.hosts import HostState
from wellspring.message import FetchMessage
from wellspring.model import Health, Lease, Moved, Status
from wellspring.ports import Outgoing, QueueDepth

FETCHED = Lease(started_at=at(-1), token="theirs", until=at(1))


def stored(ports, source_id="a"):
    (source,) = ports.sources.read([source_id])
    return source


def added(ports, **fields):
    ports.sources.add(a_source(**{"next_fetch_at": at(5)} | fields))
    return stored(ports)


def is_listed(ports, source_id, until):
    shard = schedule.shard_of(source_id, 4)
    return [ref.due_at for ref in ports.sources.due(shard, until).refs if ref.source_id == source_id]


def test_an_edit_writes_everything_that_a_person_may_change(ports):
    before = added(ports, title="Old", moved=Moved(url="https://new.example/", since=at(-9)), failures=3)
    after = replace(
        before,
        url="https://other.example/feed",
        type="website",
        title=None,
        owner_id="owner",
        previous_url=before.url,
        moved=None,
        config=config.parse({"cadence": every(5), "headers": {"X-Key": "v"}}),
        cursor=replace(before.cursor, etag='"e"'),
        health=Health(),
        pace=replace(before.pace, reasons=("because",)),
        next_fetch_at=at(7),
    )
    assert ports.sources.edit(before, after, now=NOON)
    assert stored(ports) == replace(after, due_shard=str(schedule.shard_of("a", 4)))
    assert is_listed(ports, "a", at(7)) == [at(7)]


def test_an_edit_leaves_alone_what_it_does_not_change(ports):
    before = added(ports)
    ports.sources.view("a", NOON, unless_since=at(-1))
    assert ports.sources.edit(before, replace(before, title="New"), now=NOON)
    assert (stored(ports).viewed_at, stored(ports).title) == (NOON, "New")


def test_an_edit_can_take_a_source_out_of_the_schedule_and_back(ports):
    before = added(ports)
    assert ports.sources.edit(before, replace(before, enabled=False, next_fetch_at=None), now=NOON)
    unlisted = stored(ports)
    assert (unlisted.enabled, unlisted.next_fetch_at, unlisted.due_shard) == (False, None, None)
    assert is_listed(ports, "a", at(60)) == []
    assert ports.sources.edit(unlisted, replace(unlisted, enabled=True, next_fetch_at=NOON), now=NOON)
    assert is_listed(ports, "a", NOON) == [NOON]


def test_an_edit_of_a_source_that_was_moved_meanwhile_is_refused(ports):
    before = added(ports)
    ports.sources.move(a_ref("a", at(5)), at(9))
    assert not ports.sources.edit(before, replace(before, title="New"), now=NOON)
    assert stored(ports).title is None


def test_an_edit_of_a_source_that_was_listed_meanwhile_is_refused(ports):
    source = added(ports)
    ports.sources.edit(source, replace(source, next_fetch_at=None), now=NOON)
    before = stored(ports)
    ports.sources.relist(before, to=at(9))
    assert not ports.sources.edit(before, replace(before, title="New"), now=NOON)


def test_an_edit_waits_for_the_end_of_a_fetch(ports):
    before = added(ports, lease=FETCHED)
    assert not ports.sources.edit(before, replace(before, title="New"), now=NOON)
    assert ports.sources.edit(before, replace(before, title="New"), now=at(1)), "its lease is over"


def test_a_source_that_is_gone_is_not_made_anew_by_an_edit(ports):
    before = added(ports)
    assert ports.sources.remove("a")
    assert not ports.sources.edit(before, replace(before, title="New"), now=NOON)
    assert ports.sources.read(["a"]) == []


def test_a_source_is_removed_once(ports):
    added(ports)
    assert ports.sources.remove("a")
    assert not ports.sources.remove("a")
    assert is_listed(ports, "a", at(60)) == []


def put(ports, number, source_id="a", **fields):
    entry = an_entry(number, **{"published_at": at(number)} | fields)
    ports.posts.put(a_post(source_id, f"{number:064x}", entry=entry))


def test_a_sources_posts_come_newest_first_and_page_by_page(ports):
    for number in (3, 1, 4, 5, 2):
        put(ports, number)
    put(ports, 9, "b")
    ports.posts.put_window("a", {b"1": b"2"}, started_at=NOON)
    first = ports.posts.newest("a", limit=3)
    assert [int(key.content_hash, 16) for key in first.keys] == [5, 4, 3]
    second = ports.posts.newest("a", after=first.after, limit=3)
    assert [int(key.content_hash, 16) for key in second.keys] == [2, 1]
    assert second.after is None
    assert {key.source_id for key in first.keys} == {"a"}


def test_a_sources_posts_are_counted_without_what_else_lies_there(ports):
    for number in range(30):
        put(ports, number)
    ports.posts.put_window("a", {b"1": b"2"}, started_at=NOON)
    ports.posts.put_backlog("a", Backlog(version=1), over=0)
    assert (ports.posts.count("a"), ports.posts.count("nobody")) == (30, 0)


def test_all_that_is_stored_of_a_source_is_erased(ports):
    for number in range(60):
        put(ports, number)
    put(ports, 1, "b")
    ports.posts.put_window("a", {b"1": b"2"}, started_at=NOON)
    ports.posts.put_backlog("a", Backlog(version=1), over=0)
    assert ports.posts.erase("a") == 60
    assert (ports.posts.count("a"), ports.posts.count("b")) == (0, 1)
    assert (ports.posts.window("a"), ports.posts.backlog("a")) == ({}, Backlog())
    assert ports.posts.erase("a") == 0


def test_attempts_come_newest_first(ports):
    for minutes in (3, 1, 2):
        ports.logs.put(a_log(minutes))
    ports.logs.put(a_log(9, "b"))
    assert [log.started_at for log in ports.logs.newest("a")] == [at(3), at(2), at(1)]
    assert [log.started_at for log in ports.logs.newest("a", limit=2)] == [at(3), at(2)]
    assert [log.started_at for log in ports.logs.newest("a", before=at(3), limit=1)] == [at(2)]
    assert ports.logs.newest("nobody") == []


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(a_log(1), id="with nothing to tell"),
        pytest.param(
            a_log(
                1,
                status=Status.FAILED,
                manual=True,
                http_status=503,
                headers={"retry-after": "9"},
                bytes=10,
                entries=9,
                created=1,
                updated=2,
                unchanged=3,
                failed=4,
                filtered={"too_old": 5},
                entry_errors=({"guid": "g", "title": "t", "error": "e"},),
                parser="rss",
                signature="s",
                error_class=ErrorClass.HTTP_5XX,
                error_message="The server answered 503.",
                content_hash="c",
                next_fetch_at=at(60),
                reasons=("because",),
            ),
            id="with everything",
        ),
    ],
)
def test_an_attempt_is_read_as_it_was_written(ports, log):
    ports.logs.put(log)
    assert ports.logs.newest("a") == [log]


def test_what_is_known_of_a_host_is_read_without_a_change(ports):
    assert ports.gates.host("example.org") == HostState()
    ports.gates.take_slot("example.org", now=NOON, until=at(1))
    ports.gates.brake("example.org", until=at(9), brakes=2, others=True)
    assert ports.gates.host("example.org") == HostState(
        next_slot=at(1), brake_until=at(9), brakes=2, others=True
    )


def test_a_walk_can_go_on_behind_any_source_that_it_has_seen(ports):
    for number in range(7):
        ports.sources.add(a_source(f"s{number}"))
    order = [source.source_id for source in ports.sources.scan(limit=100).sources]
    rest = ports.sources.scan(after=order[3], limit=100)
    assert [source.source_id for source in rest.sources] == order[4:]


def test_a_source_that_is_added_disabled_is_not_in_the_schedule(ports):
    ports.sources.add(a_source(enabled=False))
    assert (stored(ports).next_fetch_at, is_listed(ports, "a", at(9999))) == (None, [])


def test_what_is_due_in_a_shard_is_counted(ports):
    for number in range(3):
        ports.sources.add(a_source(f"s{number}", due_shard="1", next_fetch_at=at(number)))
    ports.sources.add(a_source("elsewhere", due_shard="2", next_fetch_at=NOON))
    ports.sources.add(a_source("nowhere", due_shard="1", next_fetch_at=NOON, enabled=True))
    ports.sources.edit(*_unlisted(ports, "nowhere"), now=NOON)
    due = [ports.sources.count_due(1, at(minutes)) for minutes in (-1, 0, 1, 60)]
    assert due == [0, 1, 2, 3], "the boundary itself is due"
    assert ports.sources.count_due(0, at(60)) == 0


def test_more_than_a_page_of_due_sources_is_counted(ports):
    long = "x" * 1_000
    for number in range(1_100):
        ports.sources.add(a_source(f"{number}{long}", due_shard="1", next_fetch_at=NOON))
    assert ports.sources.count_due(1, NOON) == 1_100


def _unlisted(ports, source_id):
    before = stored(ports, source_id)
    return before, replace(before, next_fetch_at=None)


def test_the_queue_says_how_much_it_holds(ports):
    assert ports.queue.depth() == QueueDepth(waiting=0, delayed=0, in_flight=0)
    message = FetchMessage(source_id="a", manual=True)
    ports.queue.send([Outgoing(message), Outgoing(message), Outgoing(message, 60)])
    assert ports.queue.depth() == QueueDepth(waiting=2, delayed=1, in_flight=0)


def test_what_is_being_worked_off_is_in_flight(aws):
    sqs = aws.client("sqs")
    url = sqs.create_queue(QueueName="fetch")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    sqs.receive_message(QueueUrl=url)
    assert SqsQueue(sqs, url, url).depth() == QueueDepth(waiting=0, delayed=0, in_flight=1)


def test_frozen_failures_are_told_until_a_fetch_succeeds(ports):
    assert not ports.gates.is_frozen()
    ports.gates.open_window(NOON, 5)
    told = [ports.gates.report_down(NOON) or ports.gates.is_frozen() for _ in range(3)]
    assert told == [False, False, True], "most of five hosts are three"
    assert ports.gates.is_frozen()
    ports.gates.thaw()
    assert not ports.gates.is_frozen()
