"""What the numbers of a stack mean, and how the sources are counted."""

from datetime import timedelta

import pytest

from builders import DEFAULTS, NOON, a_source, at
from wellspring import memory
from wellspring.aws.dead_letters import Depth
from wellspring.aws.metrics import Polls, Recent
from wellspring.errors import ErrorClass
from wellspring.ports import QueueDepth
from wellspring.standing import State
from wellspring_cli import overview, status_rows, verdict
from wellspring_cli.overview import Census, Due, FailingHost, Overview

AN_HOUR_AGO = at(-60)
LATELY = Recent(planned_at=at(-1), runs=10)


def an_overview(**fields):
    return Overview(
        **{
            "stack": "wellspring",
            "at": NOON,
            "period": timedelta(minutes=1),
            "deployed_at": AN_HOUR_AGO,
            "census": Census(states={State.OK: 12}),
            "due": Due(),
            "recent": LATELY,
            "queue": QueueDepth(waiting=0, delayed=0, in_flight=0),
            "dead_letters": Depth(0, 0),
            "is_frozen": False,
        }
        | fields
    )


def hour(good, failed):
    return Recent(planned_at=at(-1), runs=10, hour=Polls(good=good, failed=failed))


def due(number, minutes):
    return Due(number=number, oldest=at(-minutes))


SILENT = "The planner has not run {}: nothing is polled. Look for the cause: wellspring doctor"
LATE = "{} due and not on the queue yet, the oldest for {}. Run the planner by hand: wellspring plan"
UNSENT = "{} put on the queue within ten minutes, and the fetcher has worked off nothing"
LETTERS = "{} could not be worked off. See why: wellspring dead-letters list"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param({}, [], id="a quiet stack is well"),
        pytest.param(
            {"deployed_at": at(-5), "recent": Recent(), "census": Census()},
            [],
            id="a stack that was just deployed has no metrics, and is well",
        ),
        pytest.param(
            {"deployed_at": at(-11), "recent": Recent(), "census": Census()},
            [SILENT.format("since it was deployed")],
            id="a planner that never ran since the deploy",
        ),
        pytest.param(
            {"deployed_at": at(-3_000), "recent": Recent()}, [SILENT.format("for a day")], id="a long silence"
        ),
        pytest.param({"recent": Recent(planned_at=at(-10))}, [], id="ten minutes are not yet silence"),
        pytest.param({"recent": Recent(planned_at=at(-11))}, [SILENT.format("for 11 min")], id="silence"),
        pytest.param(
            {"recent": Recent(planned_at=at(-55)), "period": timedelta(hours=1)}, [], id="an hourly schedule"
        ),
        pytest.param(
            {"recent": Recent(planned_at=at(-181)), "period": timedelta(hours=1), "deployed_at": at(-600)},
            [SILENT.format("for 3 h")],
            id="an hourly schedule that missed three runs",
        ),
        pytest.param({"recent": Recent(), "period": None}, [], id="a cron expression tells no silence"),
        pytest.param({"due": due(3, 5)}, [], id="due sources that wait for the next run"),
        pytest.param({"due": due(3, 6)}, [LATE.format("3 sources are", "6 min")], id="late sources"),
        pytest.param({"due": due(1, 120)}, [LATE.format("1 source is", "2 h")], id="one late source"),
        pytest.param(
            {"due": due(3, 120), "period": timedelta(hours=1)}, [], id="an hourly schedule explains it"
        ),
        pytest.param({"due": due(3, 120), "period": None}, [], id="nor by a cron expression"),
        pytest.param(
            {"recent": Recent(planned_at=at(-1), sent=4)},
            [f"{UNSENT.format('4 sources were')}. Look for the cause: wellspring doctor"],
            id="a queue that nobody works off",
        ),
        pytest.param(
            {"recent": Recent(planned_at=at(-1), sent=1, crashes=3)},
            [
                f"{UNSENT.format('1 source was')}: it crashed 3 times. Look for the cause: wellspring doctor",
            ],
            id="a fetcher that crashes",
        ),
        pytest.param({"recent": Recent(planned_at=at(-1), sent=4, worked_off=1)}, [], id="a fetcher at work"),
        pytest.param({"dead_letters": Depth(1, 0)}, [LETTERS.format("1 message")], id="a dead letter"),
        pytest.param(
            {"dead_letters": Depth(1, 2)},
            [LETTERS.format("3 messages")],
            id="dead letters that somebody looks at are still dead letters",
        ),
        pytest.param(
            {"recent": hour(30, 10)},
            ["25% of the 40 polls of the last hour failed."
             " See which sources: wellspring sources list --state failing"],
            id="many failures",
        ),
        pytest.param({"recent": hour(31, 10)}, [], id="a smaller share is daily life"),
        pytest.param({"recent": hour(0, 9)}, [], id="and so are a few"),
        pytest.param(
            {"census": Census(states={State.OK: 2, State.FAILING: 2})}, [], id="half of the sources fail"
        ),
        pytest.param(
            {"recent": hour(0, 3), "census": Census(states={State.OK: 1, State.FAILING: 2, State.NEW: 9})},
            ["Most sources fail: 2 of 3. See which sources: wellspring sources list --state failing"],
            id="a small stack of which most sources fail",
        ),
        pytest.param(
            {"is_frozen": True},
            [
                "Most hosts were down at once, so failures are not counted until a fetch succeeds: the"
                " functions may have lost their way to the internet."
                " Try one: wellspring fetch SOURCE --wait"
            ],
            id="the outage guard",
        ),
        pytest.param(
            {"census": Census(states={State.OK: 1, State.UNREADABLE: 2})},
            [
                "2 sources are without URLs that can be read: they are never polled."
                " See which: wellspring sources list --state unreadable"
            ],
            id="rows that a person broke",
        ),
        pytest.param(
            {
                "census": None,
                "due": None,
                "recent": None,
                "queue": None,
                "dead_letters": None,
                "is_frozen": None,
                "unread": {"census": "AWS refused."},
            },
            [],
            id="what could not be read is no problem of the stack",
        ),
    ],
)  # fmt: skip
def test_what_needs_a_person(found, told):
    assert [str(finding) for finding in verdict.problems(an_overview(**found))] == told


def test_the_most_urgent_comes_first():
    found = an_overview(
        recent=Recent(sent=4, hour=Polls(failed=20)),
        is_frozen=True,
        dead_letters=Depth(1, 0),
        due=due(9, 60),
        census=Census(states={State.UNREADABLE: 1}),
    )
    said = [finding.text.split()[:2] for finding in verdict.problems(found)]
    assert said == [
        ["The", "planner"],
        ["4", "sources"],
        ["Most", "hosts"],
        ["1", "message"],
        ["9", "sources"],
        ["100%", "of"],
        ["1", "source"],
    ]


@pytest.mark.parametrize(
    ("census", "told"),
    [
        pytest.param(Census(states={State.OK: 3, State.FAILING: 1}), [], id="a failing source is daily life"),
        pytest.param(
            Census(), ["There are no sources yet. Add one: wellspring sources add URL"], id="no source yet"
        ),
        pytest.param(
            Census(states={State.QUARANTINED: 2, State.GONE: 1, State.UNLISTED: 1}),
            [
                "2 sources are in quarantine, and tried once in a while only."
                " See which: wellspring sources list --state quarantined",
                "1 source is gone, as the server says. See which: wellspring sources list --state gone",
                "1 source is not in the schedule; the planner looks for such ones once a day."
                " See which: wellspring sources list --state unlisted",
            ],
            id="those that an operator may want to look at",
        ),
        pytest.param(None, [], id="nothing is known of them"),
    ],
)
def test_what_is_worth_knowing(census, told):
    assert [str(finding) for finding in verdict.notes(an_overview(census=census))] == told


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param({}, "All is well: 12 sources, nothing is late.", id="without polls"),
        pytest.param(
            {"recent": hour(98, 2)},
            "All is well: 12 sources, nothing is late, 100 polls in the last hour, 2% of them failed.",
            id="with polls",
        ),
        pytest.param({"census": Census()}, "All is well so far.", id="without sources"),
        pytest.param(
            {"census": Census(states={State.OK: 20_000}, total=1_000_000)},
            "All is well: about 1,000,000 sources, nothing is late.",
            id="with more than were looked at",
        ),
    ],
)
def test_the_sentence_of_a_stack_that_is_well(found, told):
    assert verdict.all_is_well(an_overview(**found)) == told


def sources_of(*sources):
    found = memory.MemorySources()
    for source in sources:
        found.add(source)
    return found


def counted(sources, gates=None, **given):
    return overview.census(
        sources, gates or memory.MemoryGates(), lambda: 1_000, now=NOON, defaults=DEFAULTS, **given
    )


def failing(name, host, error_class, **fields):
    return a_source(
        name, url=f"https://{host}/{name}", failures=1, error_class=error_class, next_fetch_at=NOON, **fields
    )


def test_sources_are_counted_by_how_they_stand():
    found = counted(
        sources_of(
            a_source("polled", last_polled_at=at(-1)),
            a_source("new"),
            a_source("off", enabled=False),
            failing("bad", "example.org", ErrorClass.TIMEOUT),
        )
    )
    assert found.states == {State.OK: 1, State.NEW: 1, State.DISABLED: 1, State.FAILING: 1}
    assert (found.seen, found.total) == (4, None)


def test_hosts_with_the_most_failing_sources_come_first_with_their_usual_error():
    gates = memory.MemoryGates()
    gates.brake("two.example", until=at(9), brakes=1, others=True)
    found = counted(
        sources_of(
            failing("1", "one.example", ErrorClass.DNS),
            failing("2", "two.example", ErrorClass.TIMEOUT),
            failing("3", "two.example", ErrorClass.HTTP_5XX),
            failing("4", "two.example", ErrorClass.HTTP_5XX, quarantined_at=at(-1)),
            failing("5", "off.example", ErrorClass.DNS, enabled=False),
            a_source("6", url="https://good.example/"),
            *(failing(f"s{n}", f"{n}.example", ErrorClass.DNS) for n in range(9)),
        ),
        gates,
    )
    assert len(found.hosts) == overview.MOST_HOSTS
    assert found.hosts[0] == FailingHost(
        host="two.example", sources=3, error_class=ErrorClass.HTTP_5XX, braked_until=at(9)
    )
    assert {host.braked_until for host in found.hosts[1:]} == {None}


@pytest.mark.parametrize(
    ("most", "seen", "total"),
    [
        pytest.param(5, 5, None, id="as many as are looked at"),
        pytest.param(4, 4, 1_000, id="more are counted, not looked at"),
    ],
)
def test_a_large_table_is_not_read_to_its_end(most, seen, total):
    found = counted(sources_of(*(a_source(f"s{n}") for n in range(5))), most=most)
    assert (found.seen, found.total) == (seen, total)


def test_what_is_due_is_counted_in_every_shard():
    sources = memory.MemorySources(shards=3)
    for number in range(250):
        moment = at(-number) if number else at(5)
        sources.add(a_source(f"s{number}", due_shard=str(number % 2), next_fetch_at=moment))
    assert overview.due(sources, shards=3, now=NOON) == Due(number=249, oldest=at(-249))
    assert overview.due(memory.MemorySources(), shards=3, now=NOON) == Due()


@pytest.mark.parametrize(
    ("found", "row", "told"),
    [
        pytest.param(
            {"census": Census(states={State.FAILING: 2, State.OK: 1_000})},
            "sources",
            "1,002: 1,000 ok, 2 failing",
            id="sources",
        ),
        pytest.param({"census": Census()}, "sources", "0", id="no sources"),
        pytest.param(
            {"census": Census(states={State.OK: 15_000, State.FAILING: 5_000}, total=1_234_567)},
            "sources",
            "about 1,234,567; of the first 20,000 75.0% ok, 25.0% failing",
            id="shares of the first ones",
        ),
        pytest.param({"due": due(3, 1.5)}, "due now", "3, the oldest for 90 s", id="due"),
        pytest.param({}, "due now", "0", id="nothing due"),
        pytest.param({}, "planner", "last run at 11:59Z, 10 runs within ten minutes", id="the planner"),
        pytest.param({"recent": Recent()}, "planner", "no run within a day", id="no run"),
        pytest.param(
            {"recent": hour(999, 1)},
            "polls",
            "1,000 (0.1% failed) in the last hour, 0 in the last day",
            id="polls",
        ),
        pytest.param(
            {"dead_letters": Depth(2, 1)},
            "dead letters",
            "3, 1 of them looked at just now",
            id="dead letters",
        ),
        pytest.param({"is_frozen": True}, "outage guard", "on: failures do not count", id="frozen"),
        pytest.param({"queue": None}, "queue", "could not be read", id="not read"),
        pytest.param({"is_frozen": None}, "outage guard", "could not be read", id="neither"),
    ],
)
def test_a_row_of_the_screen(found, row, told):
    assert str(dict(status_rows.rows(an_overview(**found)))[row]) == told


def test_programs_are_told_null_where_nothing_is_known():
    unread = {"recent": "AWS refused."}
    told = status_rows.fields(an_overview(recent=None, census=None, is_frozen=None, unread=unread))
    assert (told["well"], told["unread"]) == (False, ["AWS refused."])
    unknown = ("sources", "failing_hosts", "planner", "last_hour", "last_day", "failures_frozen")
    assert {name: told[name] for name in unknown} == dict.fromkeys(unknown)
