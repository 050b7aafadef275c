"""A batch of queue records: each one's failure is its own."""

from dataclasses import replace
from datetime import timedelta

from builders import SETTINGS, a_message, a_source, a_world, by_hand
from wellspring import timestamps
from wellspring.batch import work_off
from wellspring.errors import Unavailable
from wellspring.memory import MemorySources
from wellspring.model import Status


def a_record(body, message_id="m-1"):
    return {"messageId": message_id, "body": body}


def worked_off(world, *bodies, within=timedelta(seconds=30)):
    records = [a_record(body, f"m-{number}") for number, body in enumerate(bodies)]
    return work_off(records, world, SETTINGS, within=within)


def test_a_body_that_cannot_be_read_is_buried_and_stops_no_other():
    world = a_world()
    world.sources.add(a_source())
    report = worked_off(world, "hello", by_hand().to_text())
    assert [run.status for run in report.runs] == [Status.OK]
    assert [message_id for message_id, _ in report.buried] == ["m-0"]
    assert world.queue.buried[0][0] == "hello"
    assert report.hand_back == []


class Moody(MemorySources):
    """Fails for one source in one way."""

    error: Exception = Unavailable("Throttled.")

    def start(self, source_id, lease, **planned):
        if source_id == "moody":
            raise self.error
        return super().start(source_id, lease, **planned)


def test_an_outage_hands_its_message_back_and_no_other():
    world = replace(a_world(), sources=Moody())
    world.sources.add(a_source())
    report = worked_off(world, by_hand("moody").to_text(), by_hand().to_text())
    assert report.hand_back == ["m-0"]
    assert report.outages == [("m-0", "Throttled.")]
    assert [run.status for run in report.runs] == [Status.OK]


def test_a_bug_hands_its_message_back_and_is_told():
    world = replace(a_world(), sources=Moody())
    world.sources.error = KeyError("oops")
    report = worked_off(world, by_hand("moody").to_text())
    assert report.hand_back == ["m-0"]
    assert isinstance(report.bugs[0][1], KeyError)


def test_what_is_not_done_in_time_is_handed_back():
    world = replace(a_world(), clock=timestamps.now)
    world.sources.add(a_source())
    report = worked_off(world, a_message().to_text(), by_hand().to_text(), within=timedelta(seconds=-1))
    assert sorted(report.hand_back) == ["m-0", "m-1"]


def test_the_same_message_twice_in_a_batch_is_one_poll():
    world = a_world()
    world.sources.add(a_source())
    report = worked_off(world, *[a_message().to_text()] * 5)
    assert sorted(run.status for run in report.runs) == [Status.OK, *[Status.SKIPPED] * 4]
    assert len(world.http.asked) == 1
