"""What a person may configure, and how mistakes are told."""

import pytest

from wellspring import config
from wellspring.errors import InvalidInput


@pytest.mark.parametrize(
    ("cadence", "named"),
    [
        pytest.param({"mode": "interval", "every_minutes": "60"}, "cadence.every_minutes", id="text"),
        pytest.param({"mode": "interval", "every_minutes": 0}, "cadence.every_minutes", id="zero"),
        pytest.param({"mode": "interval", "every_minutes": -5}, "cadence.every_minutes", id="negative"),
        pytest.param(
            {"mode": "interval", "every_minutes": True}, "cadence.every_minutes", id="a truth value"
        ),
        pytest.param({"mode": "interval", "every_minutes": float("nan")}, "cadence.every_minutes", id="NaN"),
        pytest.param({"mode": "interval"}, "cadence.every_minutes", id="missing"),
        pytest.param({"mode": "sometimes"}, "cadence", id="an unknown mode"),
        pytest.param(
            {"mode": "adaptive", "floor_minutes": 0}, "cadence.floor_minutes", id="an adaptive floor of 0"
        ),
        pytest.param(
            {"mode": "adaptive", "failed_factor": "2"}, "cadence.failed_factor", id="a factor in text"
        ),
        pytest.param({"mode": "activity", "steps": []}, "cadence.steps", id="an empty table"),
        pytest.param(
            {"mode": "activity", "steps": [{"idle_days": 1}]}, "cadence.steps.0.every_hours", id="half a step"
        ),
        pytest.param({"mode": "always", "every_minutes": 5}, "cadence.every_minutes", id="a field too many"),
        pytest.param("hourly", "cadence", id="no map"),
    ],
)
def test_a_malformed_cadence_is_refused_and_named(cadence, named):
    with pytest.raises(InvalidInput, match=rf"^{named}: "):
        config.parse({"cadence": cadence})


@pytest.mark.parametrize("minutes", [1, 0.5, 60, 1440.0])
def test_whole_and_broken_minutes_are_fine(minutes):
    assert (
        config.parse({"cadence": {"mode": "interval", "every_minutes": minutes}}).cadence.every_minutes
        == minutes
    )


def test_a_spoilt_stored_configuration_is_always_due_and_warned_about():
    read, warnings = config.read({"cadence": {"mode": "interval", "every_minutes": "x"}, "max_age_days": 3})
    assert isinstance(read.cadence, config.Always)
    assert read.max_age_days == 3, "what can be read still counts"
    assert len(warnings) == 1
    assert warnings[0].startswith("config.cadence.every_minutes: ")


@pytest.mark.parametrize("raw", ["text", 5, ["a"]])
def test_a_configuration_that_is_no_map_is_warned_about(raw):
    read, warnings = config.read(raw)
    assert read == config.Config()
    assert "expected a map" in warnings[0]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"content-length": "5"},
        {"X-Key": "one\r\nX-Other: two"},
        {"X-Key\n": "x"},
        {"X Key": "x"},
        {"X-Key": "\u2028"},
        {"": "x"},
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(headers):
    with pytest.raises(InvalidInput, match=r"^headers: "):
        config.parse({"headers": headers})


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Authorization": ["77001234"]}, id="text in a list"),
        pytest.param({"X-Pin": 77001234}, id="a number"),
        pytest.param(77001234, id="a number in place of the headers"),
    ],
)
def test_a_header_is_never_shown_in_a_message(headers):
    with pytest.raises(InvalidInput) as caught:
        config.parse({"headers": headers})
    _, warnings = config.read({"headers": headers})
    assert "headers" in str(caught.value) and "headers" in warnings[0]
    assert "77001234" not in f"{caught.value} {warnings}"


def test_a_cadence_that_is_none_is_warned_about_without_what_was_written():
    _, warnings = config.read({"cadence": {"mode": "canary"}})
    assert warnings == ("config.cadence: the mode must be one of always, interval, adaptive, activity",)
