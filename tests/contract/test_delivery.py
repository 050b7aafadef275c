"""What the queue does with messages, and what neither queue nor tables take: the simulation rests on it."""

import time
from datetime import timedelta

import pytest

from builders import NOON, a_message, a_post, a_source, an_entry, at, by_hand
from wellspring.backlog import Backlog, Turn
from wellspring.errors import Unavailable
from wellspring.memory import MemoryQueue
from wellspring.message import FetchMessage
from wellspring.model import FullText, Lease
from wellspring.ports import Outgoing, Started

AT_ONCE, LATER = timedelta(0), timedelta(seconds=60)
REFUSED = (ValueError, Unavailable)
"""A mistake of ours: the cloud tells it as an error of AWS, the memory as the mistake that it is."""


def sent(ports, *messages, delay=0):
    assert ports.queue.send([Outgoing(message, delay) for message in messages]) == [True] * len(messages)


def test_what_was_received_is_hidden_until_its_time_is_over(ports):
    sent(ports, a_message())
    assert len(ports.received(AT_ONCE)) == 1
    assert len(ports.received(LATER)) == 1
    assert ports.received(LATER) == {}


def test_what_was_deleted_does_not_come_again(ports):
    sent(ports, a_message())
    (handle,) = ports.received(AT_ONCE)
    ports.deleted(handle)
    assert ports.received(AT_ONCE) == {}


def test_what_came_five_times_in_vain_is_a_dead_letter(ports):
    sent(ports, a_message())
    assert [len(ports.received(AT_ONCE)) for _ in range(6)] == [1, 1, 1, 1, 1, 0]
    assert ports.dead() == [a_message().to_text()]


def test_a_delayed_message_comes_after_its_delay(ports):
    sent(ports, a_message(), delay=1)
    assert ports.received(LATER) == {}
    time.sleep(1.2)
    assert [*ports.received(LATER).values()] == [a_message().to_text()]


def test_eleven_messages_are_too_many(ports):
    with pytest.raises(REFUSED):
        ports.queue.send([Outgoing(by_hand())] * 11)
    assert ports.sent() == []


def test_no_message_is_none(ports):
    with pytest.raises(REFUSED):
        ports.queue.send([])


def test_a_delay_is_a_quarter_of_an_hour_at_most():
    """SQS refuses more, which neither moto nor the local cloud does."""
    with pytest.raises(ValueError, match="900"):
        MemoryQueue().send([Outgoing(by_hand(), 901)])


def test_a_message_can_be_too_long(ports):
    with pytest.raises(REFUSED):
        ports.queue.send([Outgoing(FetchMessage(source_id="x" * 1_100_000, manual=True))])
    assert ports.sent() == []


def test_a_row_holds_400_kilobytes(ports):
    assert ports.posts.put(a_post(entry=an_entry(body="x" * 400_000)))
    with pytest.raises(ValueError, match="refused"):
        ports.posts.put(a_post(content_hash="cd" * 32, entry=an_entry(body="x" * 410_000)))
    assert ports.posts.count("a") == 1


def test_a_character_counts_by_its_bytes(ports):
    with pytest.raises(ValueError, match="refused"):
        ports.posts.put(a_post(entry=an_entry(body="ü" * 210_000)))


def test_a_full_text_shares_the_row_with_its_post(ports):
    post = a_post(entry=an_entry(body="x" * 300_000))
    ports.posts.put(post)
    with pytest.raises(Unavailable):
        ports.posts.put_article(post.key, FullText.OK, "y" * 120_000)
    (found,) = ports.posts.read([post.key])
    assert found.full_text is None


def test_a_window_and_a_line_can_be_too_long(ports):
    names = [number.to_bytes(8) for number in range(26_000)]
    with pytest.raises(ValueError, match="refused"):
        ports.posts.put_window("a", {name: name for name in names}, started_at=NOON)
    waiting = {number.to_bytes(32).hex(): Turn() for number in range(10_200)}
    with pytest.raises(ValueError, match="refused"):
        ports.posts.put_backlog("a", Backlog(version=1, waiting=waiting), over=0)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([], id="none"),
        pytest.param(["a", "a"], id="one twice"),
        pytest.param([f"s{number}" for number in range(101)], id="more than a hundred"),
    ],
)
def test_a_hundred_different_sources_are_read_at_once(ports, names):
    ports.sources.add(a_source())
    with pytest.raises(REFUSED):
        ports.sources.read(names)


def test_a_start_of_a_page_whose_answer_was_lost_finds_itself(ports):
    ports.sources.add(a_source())
    noted = Lease(started_at=NOON, token="mine")
    assert ports.sources.start("a", noted).source.lease is None
    again = ports.sources.start("a", noted)
    assert isinstance(again, Started)
    assert again.source.lease == noted, "a page holds no lease that could refuse it"


def test_a_lease_that_ended_is_taken_again_with_the_same_token(ports):
    ports.sources.add(a_source())
    lease = Lease(started_at=NOON, token="mine", until=at(1))
    ports.sources.start("a", lease)
    late = Lease(started_at=at(2), token="mine", until=at(3))
    assert ports.sources.start("a", late).source.lease == lease
