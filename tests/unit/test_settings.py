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
    ],
)
def test_a_bad_variable_is_named(changed, told):
    with pytest.raises(InvalidInput, match=told):
        settings.from_environment(ENVIRONMENT | changed)
