"""What the stack is configured with."""

from datetime import timedelta
from ipaddress import ip_network

import pytest

from wellspring import settings
from wellspring.errors import InvalidInput

ENVIRONMENT = {
    "SOURCES_TABLE": "s",
    "POSTS_TABLE": "p",
    "FETCH_LOGS_TABLE": "f",
    "GATES_TABLE": "g",
    "FETCH_QUEUE_URL": "q",
    "DEAD_LETTER_QUEUE_URL": "d",
}


def test_what_the_template_leaves_out_has_a_default():
    read = settings.from_environment(ENVIRONMENT)
    assert read.defaults.min_interval == timedelta(seconds=1)
    assert read.defaults.max_backoff == timedelta(hours=24)
    assert read.defaults.max_age == timedelta(days=7)
    assert read.allow_addresses == ()


def test_what_the_template_says_counts():
    read = settings.from_environment(
        ENVIRONMENT
        | {"MIN_INTERVAL_SECONDS": "0", "ALLOW_ADDRESSES": "127.0.0.0/8, ::1/128", "DUE_SHARDS": "8"}
    )
    assert (read.defaults.min_interval, read.shards) == (timedelta(0), 8)
    assert read.allow_addresses == (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"POSTS_TABLE": ""}, "POSTS_TABLE is not set"),
        ({"MAX_AGE_DAYS": "a week"}, "MAX_AGE_DAYS must be a number, found 'a week'"),
        ({"ALLOW_ADDRESSES": "localhost"}, "ALLOW_ADDRESSES must list networks"),
        ({"ACTIVITY_STEPS": "a week=6h"}, "ACTIVITY_STEPS must look like"),
        ({"HOST_DELAYS": "example.org"}, "HOST_DELAYS must look like"),
        ({"TYPE_DELAYS": "rss=fast"}, "TYPE_DELAYS must look like"),
    ],
)
def test_a_bad_variable_is_named(changed, told):
    with pytest.raises(InvalidInput, match=told):
        settings.from_environment(ENVIRONMENT | changed)


def test_the_numbers_of_the_schedule_are_the_stacks():
    read = settings.from_environment(
        ENVIRONMENT
        | {
            "ACTIVITY_STEPS": "2d=12h, 1d=0.5h",
            "HOST_DELAYS": "Example.org=5, other.example=0",
            "TYPE_DELAYS": "website=2.5",
            "ADAPTIVE_CHANGED_FACTOR": "0.5",
            "JITTER_PERCENT": "0",
            "MAX_CONSECUTIVE_FAILURES": "0",
        }
    ).defaults
    hour, day = timedelta(hours=1), timedelta(days=1)
    assert read.activity == ((day, hour / 2), (2 * day, 12 * hour))
    assert read.host_delays == {"example.org": timedelta(seconds=5), "other.example": timedelta(0)}
    assert read.type_delays == {"website": timedelta(seconds=2.5)}
    assert (read.adaption.changed, read.jitter, read.max_failures) == (0.5, 0, 0)


def test_the_activity_table_of_the_stack_is_the_one_in_the_code():
    assert settings.from_environment(ENVIRONMENT).defaults.activity == settings.Defaults().activity


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [
        ("rate(1 minute)", 60),
        ("rate(5 minutes)", 300),
        ("rate(1 hour)", 900),
        ("cron(0 * * * ? *)", 60),
        ("", 60),
    ],
)
def test_a_run_spreads_its_messages_until_the_next_run(expression, seconds):
    read = settings.from_environment(ENVIRONMENT | {"SCHEDULE_EXPRESSION": expression})
    assert read.plan_span == timedelta(seconds=seconds)


def test_an_age_beyond_all_bounds_is_a_hundred_years():
    assert settings.from_environment(ENVIRONMENT | {"MAX_AGE_DAYS": "999999"}).defaults.max_age.days == 36_600
