"""Dead letters on SQS as moto plays it: looked at, sent again and dropped, and none is ever lost."""

import json
from datetime import timedelta

import pytest

from builders import NOON
from wellspring.aws.dead_letters import Depth, SqsDeadLetters
from wellspring.aws.queue import SqsQueue
from wellspring.errors import Unavailable
from wellspring_cli.dead_letters import Hands, Redriven
from wellspring_cli.errors import NotThere

MINUTE = timedelta(minutes=1)
UNREADABLE = "{"


class Queues:
    """A fetch queue and its dead letters, with what went wrong on the way."""

    def __init__(self, session):
        self.sqs = session.client("sqs")
        self.dead_url = self.sqs.create_queue(QueueName="dead")["QueueUrl"]
        arn = self.sqs.get_queue_attributes(QueueUrl=self.dead_url, AttributeNames=["QueueArn"])
        policy = {"deadLetterTargetArn": arn["Attributes"]["QueueArn"], "maxReceiveCount": 5}
        self.url = self.sqs.create_queue(QueueName="fetch", Attributes={"RedrivePolicy": json.dumps(policy)})[
            "QueueUrl"
        ]
        self.queue = SqsQueue(self.sqs, self.url, self.dead_url)
        self.letters = SqsDeadLetters(self.sqs, self.dead_url, self.url, patience_seconds=0)

    def put(self, *bodies):
        return [
            self.sqs.send_message(QueueUrl=self.dead_url, MessageBody=body)["MessageId"] for body in bodies
        ]

    def hands(self, span=MINUTE):
        return Hands(self.letters, span)

    def dead(self):
        """Return the bodies of what everybody can see there."""
        return sorted(letter.body for letter in self._all(self.dead_url))

    def sent(self):
        return sorted(letter.body for letter in self._all(self.url))

    def _all(self, url):
        letters = SqsDeadLetters(self.sqs, url, self.url, patience_seconds=0)
        found = []
        while batch := letters.receive(hidden=MINUTE):
            found += batch
        for letter in found:
            letters.give_back([letter])
        return found


@pytest.fixture
def queues(aws):
    return Queues(aws)


def readable(number):
    return json.dumps({"source_id": f"s-{number:03}", "manual": True})


def redriven(queues, names=None):
    done = Redriven()
    with queues.hands() as hands:
        for batch in [hands.find(names)] if names else hands.batches():
            done.send(batch, hands, queues.queue, now=NOON)
    return done


def test_a_look_sees_every_message_once_and_leaves_all_of_them_there(queues):
    bodies = sorted(readable(number) for number in range(35))
    queues.put(*bodies)
    with queues.hands() as hands:
        assert sorted(letter.body for batch in hands.batches() for letter in batch) == bodies
        assert queues.letters.depth() == Depth(waiting=0, hidden=35)
    assert queues.letters.depth() == Depth(waiting=35, hidden=0)
    assert queues.dead() == bodies


def test_a_look_that_breaks_off_gives_everything_back(queues):
    queues.put(*(readable(number) for number in range(25)))
    with pytest.raises(KeyboardInterrupt), queues.hands() as hands:
        next(hands.batches())
        raise KeyboardInterrupt
    assert queues.letters.depth() == Depth(waiting=25, hidden=0)


def test_a_look_ends_before_what_it_took_up_is_seen_again(queues):
    queues.put(*(readable(number) for number in range(25)))
    with queues.hands(timedelta()) as hands:
        assert len(list(hands.batches())) == 1
    assert hands.is_late


def test_a_letter_tells_why_it_is_there_and_how_often_it_was_tried(queues):
    queues.queue.bury("b", "Nobody can read it.")
    queues.put("a")
    for looks in range(2):
        with queues.hands() as hands:
            a, b = sorted((one for batch in hands.batches() for one in batch), key=lambda one: one.body)
        assert (a.reason, b.reason) == (None, "Nobody can read it.")
        assert (a.received, b.received) == (looks, looks)
    assert queues.letters.tries() == 5


def test_everything_readable_is_sent_again_and_the_rest_is_left(queues):
    bodies = sorted(readable(number) for number in range(23))
    queues.put(*bodies[:12], UNREADABLE, *bodies[12:], UNREADABLE)
    done = redriven(queues)
    assert (done.sent, len(done.unreadable), done.refused) == (23, 2, 0)
    assert queues.sent() == bodies
    assert queues.dead() == [UNREADABLE, UNREADABLE]


def test_what_the_queue_does_not_take_stays(queues):
    queues.put(*(readable(number) for number in range(3)))
    take = queues.queue.send
    queues.queue.send = lambda batch: [*take(batch[:1]), *[False] * (len(batch) - 1)]
    done = redriven(queues)
    assert (done.sent, done.refused) == (1, 2)
    assert len(queues.dead()) == 2


@pytest.mark.parametrize(
    "when", ["before the send", "after the send", "before the delete", "after the delete"]
)
@pytest.mark.parametrize("what", [KeyboardInterrupt, Unavailable])
def test_whatever_breaks_in_between_every_message_is_on_one_queue_or_on_both(queues, when, what):
    bodies = {readable(number) for number in range(25)}
    queues.put(*bodies)
    port, name = (queues.queue, "send") if "send" in when else (queues.letters, "delete")
    real, calls = getattr(port, name), []

    def breaking(batch):
        calls.append(batch)
        if len(calls) < 2:
            return real(batch)
        if when.startswith("after"):
            real(batch)
        raise what

    setattr(port, name, breaking)
    with pytest.raises(what):
        redriven(queues)
    assert set(queues.sent()) | set(queues.dead()) == bodies
    assert len(queues.dead()) < 25, "what was done by then is done"


def test_messages_are_found_by_their_ids_or_unique_beginnings(queues):
    ids = queues.put(*(readable(number) for number in range(15)))
    with queues.hands() as hands:
        found = hands.find([ids[3], ids[7][:13], ids[3]])
        assert [letter.message_id for letter in found] == [ids[3], ids[7]]
        assert hands.delete(found) == 2
    assert len(queues.dead()) == 13


@pytest.mark.parametrize(
    ("names", "told"),
    [
        pytest.param(["nothing-like-it"], "There is no dead letter 'nothing-like-it'", id="unknown"),
        pytest.param([""], "There is no dead letter ''", id="empty"),
    ],
)
def test_a_name_that_fits_nothing_is_told_and_nothing_is_held(queues, names, told):
    queues.put(*(readable(number) for number in range(15)))
    with pytest.raises(NotThere, match=told), queues.hands() as hands:
        hands.find(names)
    assert queues.letters.depth() == Depth(waiting=15, hidden=0)


def test_a_beginning_of_several_ids_is_told_with_them(queues):
    # 17 ids of hexadecimal digits: two of them begin alike.
    ids = queues.put(*(readable(number) for number in range(17)))
    first = next(one[0] for one in ids if sum(other[0] == one[0] for other in ids) > 1)
    with pytest.raises(NotThere, match=f"'{first}' could be {first}.*Type more"), queues.hands() as hands:
        hands.find([first])


def test_one_that_is_named_and_cannot_be_read_is_left(queues):
    (name,) = queues.put(UNREADABLE)
    done = redriven(queues, [name])
    assert (done.sent, len(done.unreadable)) == (0, 1)
    assert queues.dead() == [UNREADABLE]
