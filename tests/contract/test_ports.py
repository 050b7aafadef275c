"""What every implementation of the ports must do, the fake as strictly as the real thing."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, a_message, a_post, a_ref, a_source, an_entry, at, by_hand, every
from wellspring import schedule, timestamps
from wellspring.errors import ErrorClass
from wellspring.hosts import HostState
from wellspring.model import Cursor, FetchLog, Health, Lease, Moved, Pace, Status
from wellspring.ports import Checkpoint, Outgoing, Refused, Slot, Started, Viewed
from wellspring.schedule import Refusal

LEASE = Lease(started_at=NOON, token="mine", until=at(2))


def stored(ports, source_id="a"):
    (source,) = ports.sources.read([source_id])
    return source


def test_a_source_is_stored_whole(ports):
    source = a_source(
        cadence=every(0.5),
        config={"min_interval_seconds": 1.5, "headers": {"X-Key": "v"}, "backfill": True, "max_age_days": 3},
        title="Title",
        owner_id="owner",
        failures=2,
        next_fetch_at=NOON,
        due_shard="3",
        last_fetch_at=at(-1),
        last_polled_at=at(-1),
        due_at=at(-2),
        etag='W/"x"',
        last_modified="yesterday",
        signature="s",
        lease=Lease(started_at=at(-1), token="t", until=at(1), free_at=at(-1)),
        reasons=("because",),
        interval=timedelta(minutes=42),
        cache=timedelta(minutes=5),
        document=timedelta(hours=1),
        skip_hours=0b101,
        skip_days=0b1,
        retry_at=at(9),
        attempt=1,
        error_class=ErrorClass.HTTP_5XX,
        circuit_until=at(3),
        quarantined_at=at(4),
        gone=2,
        reason="gone",
        viewed_at=at(-7),
        previous_url="http://old.example/",
        moved=Moved(url="http://new.example/", since=at(-8)),
    )
    assert ports.sources.add(source)
    assert stored(ports) == source


def test_an_id_is_taken_once(ports):
    assert ports.sources.add(a_source(title="first"))
    assert not ports.sources.add(a_source(title="second"))
    assert stored(ports).title == "first"


def test_a_source_without_a_time_is_due_at_once(ports):
    ports.sources.add(a_source(created_at=at(-1)))
    shard = schedule.shard_of("a", 4)
    assert [ref.source_id for ref in ports.sources.due(shard, NOON).refs] == ["a"]


def test_the_due_index_lists_the_longest_overdue_first_and_nothing_else(ports):
    for name, minutes in (("c", 0), ("a", -5), ("later", 0.001), ("b", -1)):
        ports.sources.add(a_source(name, next_fetch_at=at(minutes), due_shard="1"))
    ports.sources.add(a_source("elsewhere", next_fetch_at=at(-9), due_shard="2"))
    page = ports.sources.due(1, NOON)
    assert [(ref.source_id, ref.due_at) for ref in page.refs] == [("a", at(-5)), ("b", at(-1)), ("c", NOON)]
    assert page.after is None


def test_the_due_index_is_read_page_by_page(ports):
    for number in range(7):
        ports.sources.add(a_source(f"s{number}", next_fetch_at=at(-number), due_shard="1"))
    found, after = [], None
    for _ in range(10):
        page = ports.sources.due(1, NOON, after=after, limit=3)
        assert len(page.refs) <= 3
        found += [ref.source_id for ref in page.refs]
        after = page.after
        if after is None:
            break
    assert found == ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]


def test_sources_that_do_not_exist_are_left_out(ports):
    ports.sources.add(a_source("a"))
    assert [source.source_id for source in ports.sources.read(["a", "nobody"])] == ["a"]


def test_a_move_is_conditional_on_the_time_that_was_read(ports):
    ports.sources.add(a_source(next_fetch_at=NOON))
    assert ports.sources.move(a_ref(), at(60))
    assert not ports.sources.move(a_ref(), at(90))
    assert not ports.sources.move(a_ref("nobody"), at(90))
    assert stored(ports).next_fetch_at == at(60)


def test_what_is_unlisted_is_never_due(ports):
    ports.sources.add(a_source(next_fetch_at=NOON, due_shard="1"))
    assert not ports.sources.unlist(a_ref(due_at=at(-1)))
    assert ports.sources.unlist(a_ref())
    assert ports.sources.due(1, at(9999)).refs == ()
    assert (stored(ports).next_fetch_at, stored(ports).due_shard) == (None, None)


def test_a_source_that_was_enabled_again_is_not_unlisted(ports):
    ports.sources.add(a_source(next_fetch_at=NOON))
    assert not ports.sources.unlist(a_ref(), if_disabled=True)
    ports.sources.add(a_source("b", next_fetch_at=NOON, enabled=False))
    assert ports.sources.unlist(a_ref("b"), if_disabled=True)


@pytest.mark.parametrize(
    ("as_read", "viewed_at", "unlisted"),
    [
        pytest.param(None, None, True, id="nobody ever looked"),
        pytest.param(at(-9), at(-9), True, id="nobody looked since"),
        pytest.param(None, at(-1), False, id="somebody looked for the first time"),
        pytest.param(at(-9), at(-1), False, id="somebody looked again"),
    ],
)
def test_a_source_that_somebody_looked_at_meanwhile_is_not_unlisted(ports, as_read, viewed_at, unlisted):
    ports.sources.add(a_source(next_fetch_at=NOON, viewed_at=viewed_at))
    assert ports.sources.unlist(a_ref(), viewed_at=as_read) is unlisted
    assert (stored(ports).next_fetch_at is None) is unlisted


def test_a_start_takes_the_lease_and_returns_the_source_as_it_was(ports):
    earlier = Lease(started_at=at(-9), free_at=at(-8))
    ports.sources.add(a_source(lease=earlier))
    started = ports.sources.start("a", LEASE, due_at=NOON)
    assert isinstance(started, Started)
    assert started.source.lease == earlier
    assert stored(ports).lease == LEASE


@pytest.mark.parametrize(
    ("source", "due_at", "why"),
    [
        pytest.param(a_source(enabled=False), NOON, Refusal.DISABLED, id="disabled"),
        pytest.param(a_source(due_at=NOON), NOON, Refusal.DONE, id="done"),
        pytest.param(
            a_source(lease=Lease(started_at=at(-1), token="t", until=at(0.001))),
            NOON,
            Refusal.IN_FLIGHT,
            id="running",
        ),
        pytest.param(
            a_source(lease=Lease(started_at=at(-1), free_at=at(seconds=0.001))),
            NOON,
            Refusal.TOO_SOON,
            id="too soon",
        ),
        pytest.param(
            a_source(lease=Lease(started_at=at(-1), token="t", until=at(1))),
            None,
            Refusal.IN_FLIGHT,
            id="by hand",
        ),
        pytest.param(a_source(due_at=at(-1)), NOON, None, id="an earlier time is done"),
        pytest.param(a_source(due_at=NOON), None, None, id="by hand there is no due time"),
        pytest.param(
            a_source(lease=Lease(started_at=at(-3), token="t", until=NOON)), NOON, None, id="lease ended"
        ),
        pytest.param(a_source(lease=Lease(started_at=at(-1), free_at=NOON)), NOON, None, id="just free"),
    ],
)
def test_who_may_start(ports, source, due_at, why):
    ports.sources.add(source)
    answer = ports.sources.start("a", LEASE, due_at=due_at)
    assert isinstance(answer, Refused if why else Started)
    if isinstance(answer, Refused):
        assert answer.source == stored(ports), "the refusal brings the source"
        assert schedule.refusal(answer.source, due_at=due_at, now=NOON) is why
        assert stored(ports).lease == source.lease


def test_a_start_whose_answer_was_lost_can_be_repeated(ports):
    ports.sources.add(a_source())
    ports.sources.start("a", LEASE, due_at=NOON)
    assert ports.sources.start("a", LEASE, due_at=NOON) == Started(replace(stored(ports), lease=None))
    assert stored(ports).lease == LEASE


def test_a_window_that_was_polled_is_done_whatever_its_due_time(ports):
    ports.sources.add(a_source(last_polled_at=NOON))
    assert isinstance(ports.sources.start("a", LEASE, due_at=at(-1), window_end=NOON), Refused)
    assert isinstance(ports.sources.start("a", LEASE, due_at=at(-1), window_end=at(1)), Started)


def test_an_unknown_source_is_refused_and_not_created(ports):
    assert ports.sources.start("nobody", LEASE, due_at=NOON) == Refused(None)
    assert ports.sources.read(["nobody"]) == []


def test_a_released_lease_leaves_the_earlier_one(ports):
    earlier = Lease(started_at=at(-9), free_at=at(-8))
    ports.sources.add(a_source(lease=earlier))
    ports.sources.start("a", LEASE, due_at=NOON)
    assert not ports.sources.release("a", "not mine", None)
    assert ports.sources.release("a", "mine", earlier)
    assert stored(ports).lease == earlier
    ports.sources.start("a", LEASE, due_at=NOON)
    assert ports.sources.release("a", "mine", None)
    assert stored(ports).lease is None


def test_a_finish_writes_what_the_attempt_changed(ports):
    ports.sources.add(a_source(failures=1, etag="old", next_fetch_at=NOON))
    ports.sources.start("a", LEASE, due_at=NOON)
    before = stored(ports)
    after = replace(
        before,
        cursor=Cursor(last_fetch_at=NOON, last_polled_at=NOON, due_at=NOON, etag="new"),
        health=Health(failures=2, error_class=ErrorClass.TIMEOUT),
        lease=Lease(started_at=NOON, free_at=at(1)),
        pace=Pace(reasons=("interval 1 h",), interval=timedelta(minutes=7), skip_hours=5),
        next_fetch_at=at(60),
        title="Found",
    )
    assert ports.sources.finish(before, after, "mine")
    assert stored(ports) == after


def test_a_finish_without_the_lease_writes_nothing(ports):
    ports.sources.add(a_source())
    before = stored(ports)
    assert not ports.sources.finish(before, replace(before, title="x", next_fetch_at=at(60)), "mine")
    assert not ports.sources.finish(before, a_source("nobody"), "mine")
    assert stored(ports) == before


def test_a_post_is_put_once_and_never_changed(ports):
    assert ports.posts.put(a_post(entry=an_entry(1)))
    assert not ports.posts.put(a_post(entry=an_entry(2)))
    assert ports.posts.put(a_post("another source"))


def test_a_post_is_found_by_the_beginning_of_its_hash(ports):
    ports.posts.put(a_post(content_hash="ab" * 32))
    assert ports.posts.hash_like("a", "abab") == "ab" * 32
    assert ports.posts.hash_like("a", "cd") is None
    assert ports.posts.hash_like("b", "abab") is None


def test_of_posts_whose_hashes_begin_alike_each_leads_to_the_next(ports):
    for content_hash in ("ab", "abc", "abd", "ac"):
        ports.posts.put(a_post(content_hash=content_hash))
    ports.posts.put(a_post("b", "abz"))
    assert ports.posts.hash_like("a", "ab") == "ab", "one that is no longer than the beginning is the first"
    assert ports.posts.hash_like("a", "ab", after="ab") == "abc"
    assert ports.posts.hash_like("a", "ab", after="abc") == "abd"
    assert ports.posts.hash_like("a", "ab", after="abd") is None


def test_a_window_is_kept_and_never_goes_back(ports):
    first, second = {b"12345678": b"abcdefgh"}, {b"87654321": b"hgfedcba"}
    assert ports.posts.window("a") == {}
    assert ports.posts.put_window("a", first, started_at=NOON)
    assert ports.posts.put_window("a", second, started_at=at(1))
    assert not ports.posts.put_window("a", first, started_at=NOON)
    assert ports.posts.window("a") == second
    assert ports.posts.put_window("a", {}, started_at=at(2))
    assert ports.posts.window("a") == {}


def test_a_window_is_no_post(ports):
    ports.posts.put_window("a", {b"12345678": b"abcdefgh"}, started_at=NOON)
    assert ports.posts.hash_like("a", "ab") is None
    assert ports.posts.hash_like("a", "wi") is None


def test_an_attempt_is_logged(ports):
    log = FetchLog(
        source_id="a",
        started_at=NOON,
        finished_at=at(seconds=1.5),
        status=Status.PARTIAL,
        url="https://example.org/",
        attempt_id="t",
        message_id="m",
        manual=True,
        expires_at=NOON + timedelta(days=90),
        filtered={"too_old": 2},
        entry_errors=({"guid": "g", "title": "t", "error": "e"},),
        error_class=ErrorClass.PARSE,
    )
    assert ports.logs.put(log)
    assert not ports.logs.put(log), "once"
    assert ports.logged() == 1


def test_messages_arrive_as_they_were_sent(ports):
    batch = [Outgoing(a_message()), Outgoing(by_hand("b"))]
    assert ports.queue.send(batch) == [True, True]
    assert sorted(ports.sent()) == sorted(outgoing.message.to_text() for outgoing in batch)


def test_what_nobody_can_read_is_buried(ports):
    ports.queue.bury("not json", "because")
    assert ports.buried() == ["not json"]


def test_a_gate_has_one_owner_until_it_expires(ports):
    gates = ports.gates
    assert gates.acquire("planner", "one", now=NOON, until=at(1))
    assert not gates.acquire("planner", "two", now=at(0.5), until=at(2))
    assert gates.acquire("other", "two", now=at(0.5), until=at(2)), "another gate is free"
    assert gates.acquire("planner", "two", now=at(1), until=at(2)), "a dead owner's lease ends"
    assert not gates.release("planner", "one")
    assert gates.release("planner", "two")
    assert gates.acquire("planner", "three", now=at(1), until=at(2))


def test_times_are_stored_to_the_millisecond(ports):
    moment = NOON + timedelta(milliseconds=123)
    ports.sources.add(a_source(created_at=moment))
    assert stored(ports).created_at == moment
    assert timestamps.to_text(moment).endswith(":00.123Z")


def test_a_finish_leaves_alone_what_it_did_not_change(ports):
    ports.sources.add(a_source(title="theirs"))
    started = ports.sources.start("a", LEASE, due_at=NOON)
    before = replace(started.source, title="as it was read")
    assert ports.sources.finish(
        before, replace(before, url="https://new.example/", next_fetch_at=at(5)), "mine"
    )
    assert (stored(ports).title, stored(ports).url) == ("theirs", "https://new.example/")


def test_a_finish_can_take_a_source_out_of_the_schedule(ports):
    ports.sources.add(a_source(next_fetch_at=NOON, moved=Moved(url="x", since=NOON)))
    before = ports.sources.start("a", LEASE, due_at=NOON).source
    after = replace(before, enabled=False, moved=None, next_fetch_at=None, lease=Lease(started_at=NOON))
    assert ports.sources.finish(before, after, "mine")
    assert (stored(ports).enabled, stored(ports).moved, stored(ports).due_shard) == (False, None, None)
    assert ports.sources.due(schedule.shard_of("a", 4), at(9999)).refs == ()


def test_a_released_source_can_be_moved(ports):
    ports.sources.add(a_source(next_fetch_at=NOON))
    ports.sources.start("a", LEASE, due_at=NOON)
    assert ports.sources.release("a", "mine", None, next_fetch_at=at(60))
    assert (stored(ports).lease, stored(ports).next_fetch_at) == (None, at(60))


@pytest.mark.parametrize(
    ("viewed_at", "noted"),
    [
        pytest.param(None, True, id="never viewed"),
        pytest.param(at(-1), True, id="the boundary itself is noted"),
        pytest.param(at(seconds=-59.999), False, id="viewed a moment ago"),
        pytest.param(NOON, False, id="viewed at the same moment"),
        pytest.param(at(seconds=0.001), True, id="a view in the future does not block"),
    ],
)
def test_a_view_is_noted_unless_there_was_one_just_before(ports, viewed_at, noted):
    ports.sources.add(a_source(next_fetch_at=at(1), viewed_at=viewed_at))
    view = ports.sources.view("a", NOON, unless_since=at(-1))
    assert view == Viewed(noted, stored(ports)), "whatever the answer is, it brings the source"
    assert stored(ports).viewed_at == (NOON if noted else viewed_at)


def test_a_view_of_an_unknown_source_creates_none(ports):
    assert ports.sources.view("nobody", NOON, unless_since=at(-1)) == Viewed(False, None)
    assert ports.sources.read(["nobody"]) == []


def test_a_source_is_listed_again_unless_it_was_moved_meanwhile(ports):
    ports.sources.add(a_source(next_fetch_at=NOON))
    read = stored(ports)
    assert ports.sources.relist(read, to=at(5))
    assert not ports.sources.relist(read, to=at(9))
    ports.sources.unlist(a_ref(due_at=at(5)))
    unlisted = stored(ports)
    assert ports.sources.relist(unlisted, to=at(7))
    assert not ports.sources.relist(unlisted, to=at(9))
    assert not ports.sources.relist(a_source("nobody"), to=at(9))
    assert stored(ports).next_fetch_at == at(7)
    assert [ref.source_id for ref in ports.sources.due(schedule.shard_of("a", 4), at(7)).refs] == ["a"]


def test_all_sources_are_read_page_by_page(ports):
    for number in range(7):
        ports.sources.add(a_source(f"s{number}"))
    found, after = [], None
    for _ in range(9):
        page = ports.sources.scan(after=after, limit=3)
        found += [source.source_id for source in page.sources]
        after = page.after
        if after is None:
            break
    assert sorted(found) == [f"s{number}" for number in range(7)]


def test_a_hosts_place_is_taken_by_one(ports):
    slot = ports.gates.take_slot("e.org", now=NOON, until=at(1))
    assert slot == Slot(True, HostState())
    assert ports.gates.take_slot("e.org", now=at(0.5), until=at(2)) == Slot(False, HostState(next_slot=at(1)))
    assert ports.gates.take_slot("other.org", now=at(0.5), until=at(2)).taken
    assert ports.gates.take_slot("e.org", now=at(1), until=at(2)).taken, "the end itself is free"


def test_a_braked_host_has_no_place(ports):
    ports.gates.host_failed("e.org", "a", window=NOON)
    ports.gates.brake("e.org", until=at(5), brakes=2, others=True)
    state = HostState(brake_until=at(5), brakes=2, failing="a", others=True, failed_window=NOON)
    assert ports.gates.take_slot("e.org", now=NOON, until=at(1)) == Slot(False, state)
    assert ports.gates.take_slot("e.org", now=at(5), until=at(6)) == Slot(True, state)


def test_a_hosts_place_survives_what_is_written_about_it(ports):
    ports.gates.take_slot("e.org", now=NOON, until=at(1))
    ports.gates.host_failed("e.org", "a", window=None)
    ports.gates.host_recovered("e.org")
    assert ports.gates.take_slot("e.org", now=NOON, until=at(2)) == Slot(False, HostState(next_slot=at(1)))


def test_a_place_is_reserved_by_one(ports):
    ports.gates.take_slot("e.org", now=NOON, until=at(1))
    assert ports.gates.reserve_slot("e.org", at=at(1), until=at(2)).taken
    assert ports.gates.reserve_slot("e.org", at=at(1), until=at(2)) == Slot(False, HostState(next_slot=at(2)))
    assert not ports.gates.reserve_slot("never-asked.org", at=at(1), until=at(2)).taken
    ports.gates.brake("e.org", until=at(3), brakes=1, others=False)
    assert not ports.gates.reserve_slot("e.org", at=at(2), until=at(4)).taken


def test_a_failure_finds_the_host_as_those_before_it_left_it(ports):
    first = ports.gates.host_failed("e.org", "a", window=NOON)
    second = ports.gates.host_failed("e.org", "b", window=None)
    third = ports.gates.host_failed("e.org", "b", window=at(1))
    assert (first, second, third) == (
        HostState(),
        HostState(failing="a", failed_window=NOON),
        HostState(failing="a", failed_window=NOON),
    )
    assert ports.gates.host_failed("e.org", "c", window=None).failed_window == at(1)


def test_failures_freeze_when_most_hosts_are_down_and_thaw_with_a_success(ports):
    gates = ports.gates
    assert not gates.open_window(NOON, 2)
    assert not gates.open_window(NOON, 4), "the window grows page by page"
    assert [gates.report_down(NOON) for _ in range(4)] == [False, False, True, True]
    assert gates.open_window(at(1), 4), "still, in the next window"
    gates.thaw()
    assert not gates.open_window(at(2), 4)
    assert not gates.report_down(at(1)), "a late one of an earlier window"
    assert [gates.report_down(at(2)) for _ in range(3)] == [False, False, True], "each window counts anew"


def test_a_checkpoint_is_kept(ports):
    assert ports.gates.checkpoint("reconcile") == Checkpoint()
    ports.gates.put_checkpoint("reconcile", Checkpoint(NOON, "x"))
    assert ports.gates.checkpoint("reconcile") == Checkpoint(NOON, "x")
    ports.gates.put_checkpoint("reconcile", Checkpoint(NOON, None))
    assert ports.gates.checkpoint("reconcile") == Checkpoint(NOON, None)
