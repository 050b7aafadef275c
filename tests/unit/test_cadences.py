"""The cadences that learn: adaptive and activity, with their failures, jitter and first times."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import DEFAULTS, NOON, SETTINGS, Clock, a_source, a_world, at
from wellspring import cadences, schedule, views
from wellspring.errors import ErrorClass
from wellspring.hints import DocumentHints
from wellspring.schedule import UNCHANGED, Outcome
from wellspring.settings import Defaults

STILL = replace(DEFAULTS, jitter=0.0)
ADAPTIVE = {"mode": "adaptive"}
ACTIVITY = {"mode": "activity"}
DAY = timedelta(days=1)


def polled(source, *outcomes, every=60):
    """Return the source after polls with these outcomes, so many minutes apart from noon on."""
    for turn, outcome in enumerate(outcomes):
        source = schedule.after_poll(source, outcome, now=at(every * turn), defaults=STILL)
    return source


def failed(error_class, **fields):
    return Outcome(error_class=error_class, **fields)


def minutes_until_due(source, defaults=STILL):
    due = schedule.due(source, now=source.cursor.last_polled_at, defaults=defaults)
    return (due.at - source.cursor.last_polled_at).total_seconds() / 60


CHANGED = Outcome(changed=True)


@pytest.mark.parametrize(
    ("cadence", "outcomes", "minutes"),
    [
        pytest.param({}, [CHANGED], 45, id="changed: three quarters of the hour it starts with"),
        pytest.param({}, [UNCHANGED], 75, id="unchanged: a quarter longer"),
        pytest.param({}, [CHANGED, CHANGED], 33.75, id="it goes on from where it is"),
        pytest.param({}, [CHANGED] * 20, 5, id="never under five minutes"),
        pytest.param({}, [UNCHANGED] * 40, 1440, id="never over a day"),
        pytest.param({"every_minutes": 20}, [UNCHANGED], 25, id="it starts where the source says"),
        pytest.param(
            {"changed_factor": 0.5, "floor_minutes": 20, "every_minutes": 60},
            [CHANGED] * 3,
            20,
            id="own numbers",
        ),
        pytest.param({"unchanged_factor": 2, "ceiling_minutes": 100}, [UNCHANGED], 100, id="own ceiling"),
    ],
)
def test_an_adaptive_interval_follows_what_polls_find(cadence, outcomes, minutes):
    source = polled(a_source(cadence=ADAPTIVE | cadence), *outcomes)
    assert minutes_until_due(source) == pytest.approx(minutes, abs=0.02)


@pytest.mark.parametrize(
    ("error_class", "waits"),
    [
        pytest.param(ErrorClass.TIMEOUT, [2, 60], id="timeout: once more after 2 minutes, then an hour"),
        pytest.param(ErrorClass.CONNECT, [5, 5, 60], id="connection: twice more after 5, then an hour"),
        pytest.param(ErrorClass.TLS, [5, 5, 60], id="TLS alike"),
        pytest.param(ErrorClass.DNS, [5, 5, 60], id="names alike"),
        pytest.param(ErrorClass.RATE_LIMITED, [15, 90], id="429"),
        pytest.param(ErrorClass.HTTP_5XX, [10, 90], id="5xx"),
        pytest.param(ErrorClass.HTTP_4XX, [120], id="other 4xx: the circuit at once"),
        pytest.param(ErrorClass.PARSE, [120], id="parse"),
        pytest.param(ErrorClass.AUTHENTICATION, [240], id="authentication"),
        pytest.param(ErrorClass.BLOCKED_ADDRESS, [120], id="anything else"),
    ],
)
def test_an_adaptive_source_retries_and_then_its_circuit_opens(error_class, waits):
    source = a_source(cadence=ADAPTIVE)
    found = []
    for _ in waits:
        source = schedule.after_poll(source, failed(error_class), now=NOON, defaults=STILL)
        found.append(minutes_until_due(source))
    assert found == waits
    assert source.pace.interval == timedelta(minutes=90), "only the first failure makes the interval longer"
    assert source.health.attempt == 0, "the count starts again"


def test_a_retry_is_never_later_than_the_adaptive_time():
    source = a_source(cadence=ADAPTIVE, interval=timedelta(minutes=5), last_polled_at=NOON)
    source = schedule.after_poll(source, failed(ErrorClass.RATE_LIMITED), now=NOON, defaults=STILL)
    assert minutes_until_due(source) == 7.5


def test_a_failure_by_hand_does_not_close_the_circuit():
    source = polled(
        a_source(cadence=ADAPTIVE), failed(ErrorClass.PARSE), failed(ErrorClass.TIMEOUT), every=10
    )
    assert source.health.circuit_until == at(120)


def test_a_circuit_that_is_over_leaves_nothing_behind():
    source = polled(
        a_source(cadence=ADAPTIVE), failed(ErrorClass.PARSE), failed(ErrorClass.TIMEOUT), every=180
    )
    assert source.health.circuit_until is None
    assert minutes_until_due(source) == 2


def test_a_success_closes_the_circuit():
    source = polled(a_source(cadence=ADAPTIVE), failed(ErrorClass.PARSE), UNCHANGED)
    assert source.health.circuit_until is None
    assert minutes_until_due(source) == pytest.approx(112.5)


@pytest.mark.parametrize(
    ("idle_days", "hours"),
    [
        pytest.param(-1, 6, id="a view in the future counts as now"),
        pytest.param(0, 6, id="just viewed"),
        pytest.param(7, 6, id="up to 7 days"),
        pytest.param(7.01, 12, id="up to 14 days"),
        pytest.param(30, 24, id="up to 30 days"),
        pytest.param(60, 72, id="up to 60 days"),
        pytest.param(90, 168, id="up to 90 days"),
        pytest.param(90.01, None, id="beyond that excluded"),
    ],
)
def test_an_activity_interval_follows_the_views(idle_days, hours):
    viewed = NOON - idle_days * DAY
    source = a_source(cadence=ACTIVITY, viewed_at=viewed, last_fetch_at=NOON, last_polled_at=NOON)
    due = schedule.due(source, now=NOON, defaults=STILL)
    assert (due and due.at) == (hours and NOON + timedelta(hours=hours))


def test_a_source_that_nobody_ever_viewed_counts_from_when_it_was_added():
    source = a_source(cadence=ACTIVITY, created_at=NOON - 20 * DAY, last_fetch_at=NOON, last_polled_at=NOON)
    assert minutes_until_due(source) == 24 * 60


def test_an_activity_table_of_its_own():
    steps = [{"idle_days": 2, "every_hours": 3}, {"idle_days": 1, "every_hours": 1}]
    source = a_source(cadence=ACTIVITY | {"steps": steps}, viewed_at=NOON - 1.5 * DAY, last_fetch_at=NOON)
    assert schedule.due(source, now=NOON, defaults=STILL).at == at(180)


def test_a_view_of_an_excluded_source_makes_it_due_at_once():
    world = a_world(clock=Clock())
    old = NOON - 200 * DAY
    world.sources.rows["a"] = a_source(
        cadence=ACTIVITY, created_at=old, last_fetch_at=old, last_polled_at=old
    )
    assert views.note("a", world.sources, SETTINGS.defaults, now=NOON)
    assert world.sources.rows["a"].next_fetch_at == NOON
    assert [ref.source_id for shard in range(4) for ref in world.sources.due(shard, NOON).refs] == ["a"]
    assert not views.note("nobody", world.sources, SETTINGS.defaults, now=NOON)


def test_a_view_never_makes_a_source_later():
    world = a_world()
    world.sources.add(
        a_source(cadence=ACTIVITY, last_fetch_at=NOON, last_polled_at=NOON, next_fetch_at=at(10))
    )
    views.note("a", world.sources, SETTINGS.defaults, now=NOON)
    assert world.sources.rows["a"].next_fetch_at == at(10)


def test_a_failing_activity_source_backs_off_like_an_interval():
    source = a_source(cadence=ACTIVITY, failures=1, last_polled_at=NOON, viewed_at=NOON)
    assert minutes_until_due(source) == 12 * 60


class TestQuarantine:
    def test_ten_failures_in_a_row_put_a_source_away_and_probe_it_weekly(self):
        nine = polled(a_source(), *[failed(ErrorClass.HTTP_5XX)] * 9)
        assert nine.health.quarantined_at is None
        ten = polled(nine, failed(ErrorClass.HTTP_5XX))
        assert ten.health.quarantined_at == ten.cursor.last_polled_at
        assert minutes_until_due(ten) == 7 * 24 * 60

    @pytest.mark.parametrize(
        ("stack", "own", "away"), [(0, None, False), (3, None, True), (3, 0, False), (0, 3, True)]
    )
    def test_how_many_is_the_stacks_and_the_sources_word(self, stack, own, away):
        defaults = Defaults(max_failures=stack)
        source = a_source(config={} if own is None else {"max_consecutive_failures": own})
        for _ in range(3):
            source = schedule.after_poll(source, failed(ErrorClass.TIMEOUT), now=NOON, defaults=defaults)
        assert bool(source.health.quarantined_at) is away

    def test_without_probes_it_leaves_the_schedule(self):
        source = a_source(quarantined_at=NOON, failures=10, last_polled_at=NOON)
        assert schedule.due(source, now=NOON, defaults=Defaults(probe=timedelta(0))) is None

    def test_a_success_brings_it_back_with_all_counters_at_zero(self):
        source = a_source(quarantined_at=NOON, failures=12, attempt=1, circuit_until=at(9), gone=0)
        assert polled(source, UNCHANGED).health == a_source().health


class TestGone:
    def gone_at(self, source, weeks):
        now = NOON + timedelta(weeks=weeks)
        return schedule.after_poll(source, failed(ErrorClass.GONE), now=now, defaults=STILL)

    def test_who_tries_by_hand_does_not_make_it_more_gone(self):
        source = polled(a_source(cadence=ADAPTIVE), *[failed(ErrorClass.GONE)] * 9, every=1)
        assert (source.enabled, source.health.gone) == (True, 1)

    def test_who_enables_it_again_begins_anew(self):
        source = a_source(cadence=ADAPTIVE)
        for week in range(4):
            source = self.gone_at(source, week)
        again = self.gone_at(replace(source, enabled=True), 4)
        assert (again.enabled, again.health.gone) == (True, 1)

    def test_three_weekly_probes_and_then_it_is_disabled_with_the_reason(self):
        source = a_source(cadence=ADAPTIVE)
        for week in range(3):
            source = self.gone_at(source, week)
            assert source.enabled
            assert minutes_until_due(source) == 7 * 24 * 60
        source = self.gone_at(source, 3)
        assert not source.enabled
        assert "gone" in source.health.reason
        assert schedule.due(source, now=NOON, defaults=STILL) is None

    def test_an_answer_in_between_makes_it_a_source_again(self):
        source = polled(a_source(), failed(ErrorClass.GONE), UNCHANGED, failed(ErrorClass.GONE))
        assert source.health.gone == 1


class TestTheServersWord:
    def test_retry_after_wins_over_every_cadence(self):
        for cadence in ({"mode": "always"}, {"mode": "interval", "every_minutes": 5}, ADAPTIVE, ACTIVITY):
            told = failed(ErrorClass.RATE_LIMITED, answered=True, retry_at=at(3000))
            assert minutes_until_due(polled(a_source(cadence=cadence), told)) == 3000

    def test_cache_headers_and_the_feeds_hints_are_floors_for_those_that_learn(self):
        outcome = Outcome(
            answered=True, cache=timedelta(hours=3), document=DocumentHints(stay_away=timedelta(hours=5))
        )
        assert minutes_until_due(polled(a_source(cadence=ADAPTIVE), outcome)) == 300
        assert (
            minutes_until_due(polled(a_source(cadence={"mode": "interval", "every_minutes": 5}), outcome))
            == 5
        )

    def test_hints_of_the_last_document_hold_while_it_does_not_change(self):
        first = Outcome(document=DocumentHints(stay_away=timedelta(hours=5)))
        assert minutes_until_due(polled(a_source(cadence=ADAPTIVE), first, UNCHANGED)) == 300

    def test_skipped_hours_are_left_out(self):
        source = a_source(
            cadence=ADAPTIVE, interval=timedelta(minutes=60), last_polled_at=NOON, skip_hours=0b11 << 13
        )
        assert schedule.due(source, now=NOON, defaults=STILL).at == at(180)


class TestJitter:
    SOURCES = tuple(a_source(f"s-{n}", cadence=ADAPTIVE, last_polled_at=NOON) for n in range(500))

    def due(self, source):
        return schedule.due(source, now=NOON, defaults=DEFAULTS).at

    def test_it_is_only_ever_later_and_at_most_a_tenth(self):
        late = [(self.due(source) - at(60)).total_seconds() for source in self.SOURCES]
        assert min(late) >= 0
        assert 300 < max(late) <= 360

    def test_two_computations_agree(self):
        assert [self.due(source) for source in self.SOURCES] == [self.due(source) for source in self.SOURCES]

    def test_sources_differ(self):
        assert len({self.due(source) for source in self.SOURCES}) > 200

    def test_an_explicit_interval_is_exact(self):
        source = a_source(
            cadence={"mode": "interval", "every_minutes": 60}, last_fetch_at=NOON, last_polled_at=NOON
        )
        assert self.due(source) == at(60)


def test_reasons_tell_the_whole_chain():
    source = a_source(
        cadence=ADAPTIVE, interval=timedelta(minutes=42), cache=timedelta(minutes=60), last_polled_at=NOON
    )
    reasons = schedule.due(source, now=NOON, defaults=DEFAULTS).reasons
    assert reasons[:2] == ("adaptive 42 min", "the server's cache headers: 1 h")
    assert reasons[2].startswith("jitter +")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (45, "45 s"),
        (60, "1 min"),
        (90, "90 s"),
        (150, "2.5 min"),
        (3600, "1 h"),
        (86_400, "1 d"),
        (604_800, "7 d"),
    ],
)
def test_spans_are_written_as_people_say_them(span, text):
    assert cadences.shown(timedelta(seconds=span)) == text


def test_a_failure_that_is_not_the_sources_fault_counts_nothing():
    before = a_source(cadence={"mode": "interval", "every_minutes": 60}, last_fetch_at=at(-600))
    after = polled(before, failed(ErrorClass.DNS, charged=False))
    assert after.health.failures == 0
    assert minutes_until_due(after) == 60, "it is tried again at its usual pace, not at once"


def per_minute(times):
    counts = {}
    for moment in times:
        minute = int((moment - NOON).total_seconds() // 60)
        counts[minute] = counts.get(minute, 0) + 1
    return counts


def test_ten_thousand_imported_sources_are_spread_flat_and_stay_so():
    """After a day of polling with failures the fullest minute is still at most 1.5 x the mean."""
    hourly = {"mode": "interval", "every_minutes": 60}
    times = []
    for number in range(10_000):
        source = a_source(f"s-{number}", cadence=hourly)
        moment = schedule.first_time(source, now=NOON, bulk=True, defaults=DEFAULTS)
        times.append(moment)
        for turn in range(26):
            outcome = failed(ErrorClass.TIMEOUT) if (number + turn) % 7 == 0 else UNCHANGED
            source = schedule.after_poll(source, outcome, now=moment, defaults=DEFAULTS)
            moment = schedule.due(source, now=moment, defaults=DEFAULTS).at
            if moment >= NOON + DAY:
                break
        times.append(moment)
    first = per_minute(moment for moment in times if moment < NOON + timedelta(hours=1))
    later = per_minute(moment for moment in times if NOON + DAY <= moment < NOON + DAY + timedelta(hours=1))
    assert len(first) == 60
    assert max(first.values()) <= 1.5 * sum(first.values()) / 60
    assert max(later.values()) <= 1.5 * sum(later.values()) / 60
