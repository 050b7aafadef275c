"""Owns what the stack is configured with; the only place that reads the environment."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network

from wellspring.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaption:
    """How the interval of an adaptive source moves."""

    start: timedelta = timedelta(minutes=60)
    changed: float = 0.75
    unchanged: float = 1.25
    failed: float = 1.5
    floor: timedelta = timedelta(minutes=5)
    ceiling: timedelta = timedelta(hours=24)


LONGEST_SPAN = 900
LONGEST_AGE = 36_600
X_API_URL = "https://api.x.com"
ACTIVITY = "7d=6h, 14d=12h, 30d=24h, 60d=72h, 90d=168h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Stack-wide numbers that a source may override."""

    min_interval: timedelta = timedelta(seconds=1)
    max_backoff: timedelta = timedelta(hours=24)
    max_age: timedelta = timedelta(days=7)
    max_failures: int = 10
    probe: timedelta = timedelta(days=7)
    jitter: float = 0.1
    adaption: Adaption = Adaption()
    activity: tuple[tuple[timedelta, timedelta], ...] = (
        (timedelta(days=7), timedelta(hours=6)),
        (timedelta(days=14), timedelta(hours=12)),
        (timedelta(days=30), timedelta(hours=24)),
        (timedelta(days=60), timedelta(days=3)),
        (timedelta(days=90), timedelta(days=7)),
    )
    """Up to how long nobody has looked, and how often the source is polled then."""
    max_in_flight: int = 25
    """So many pages of a source's posts are on the queue at once."""
    host_delay: timedelta = timedelta(seconds=1)
    host_delays: Mapping[str, timedelta] = field(default_factory=dict)
    type_delays: Mapping[str, timedelta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a function needs to know about the stack that it runs in."""

    sources_table: str = ""
    posts_table: str = ""
    fetch_logs_table: str = ""
    gates_table: str = ""
    queue_url: str = ""
    dead_letter_url: str = ""
    shards: int = 4
    defaults: Defaults = Defaults()
    plan_span: timedelta = timedelta(seconds=60)
    """How far a planner run may spread its messages: until the next run."""
    fetch_log_days: int = 90
    allow_addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    contact_url: str = ""
    owner_keys: str = ""
    """The path of parameters below which each owner's keys lie."""
    x_api_url: str = X_API_URL
    planner_lease: timedelta = timedelta(seconds=75)
    # Longer than the fetcher may run, shorter than the queue hides a message.
    fetch_lease: timedelta = timedelta(seconds=150)
    fetch_timeout: timedelta = timedelta(seconds=20)
    connect_timeout: timedelta = timedelta(seconds=5)
    parse_timeout: timedelta = timedelta(seconds=5)
    max_bytes: int = 5_000_000
    max_redirects: int = 5


def from_environment(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; a missing or unusable variable is named."""
    env = os.environ if environment is None else environment

    def text(name: str) -> str:
        if not env.get(name):
            raise InvalidInput(
                f"The environment variable {name} is not set; the template sets it for the functions."
            )
        return env[name]

    def number(name: str, default: float) -> float:
        raw = env.get(name, "")
        try:
            return float(raw) if raw else default
        except ValueError:
            raise InvalidInput(f"The environment variable {name} must be a number, found {raw!r}.") from None

    return Settings(
        sources_table=text("SOURCES_TABLE"),
        posts_table=text("POSTS_TABLE"),
        fetch_logs_table=text("FETCH_LOGS_TABLE"),
        gates_table=text("GATES_TABLE"),
        queue_url=text("FETCH_QUEUE_URL"),
        dead_letter_url=text("DEAD_LETTER_QUEUE_URL"),
        shards=int(number("DUE_SHARDS", 4)),
        plan_span=_plan_span(env.get("SCHEDULE_EXPRESSION", "")),
        defaults=Defaults(
            min_interval=timedelta(seconds=number("MIN_INTERVAL_SECONDS", 1)),
            max_backoff=timedelta(hours=number("MAX_BACKOFF_HOURS", 24)),
            max_age=timedelta(days=min(number("MAX_AGE_DAYS", 7), LONGEST_AGE)),
            max_failures=int(number("MAX_CONSECUTIVE_FAILURES", 10)),
            probe=timedelta(days=number("PROBE_DAYS", 7)),
            jitter=number("JITTER_PERCENT", 10) / 100,
            adaption=Adaption(
                start=timedelta(minutes=number("ADAPTIVE_START_MINUTES", 60)),
                changed=number("ADAPTIVE_CHANGED_FACTOR", 0.75),
                unchanged=number("ADAPTIVE_UNCHANGED_FACTOR", 1.25),
                failed=number("ADAPTIVE_FAILED_FACTOR", 1.5),
                floor=timedelta(minutes=number("ADAPTIVE_FLOOR_MINUTES", 5)),
                ceiling=timedelta(minutes=number("ADAPTIVE_CEILING_MINUTES", 1440)),
            ),
            activity=_steps(env.get("ACTIVITY_STEPS") or ACTIVITY),
            host_delay=timedelta(seconds=number("HOST_DELAY_SECONDS", 1)),
            host_delays=_delays("HOST_DELAYS", env.get("HOST_DELAYS", "")),
            type_delays=_delays("TYPE_DELAYS", env.get("TYPE_DELAYS", "")),
        ),
        fetch_log_days=int(number("FETCH_LOG_DAYS", 90)),
        allow_addresses=networks(env.get("ALLOW_ADDRESSES", "")),
        contact_url=env.get("CONTACT_URL", ""),
        owner_keys=env.get("OWNER_KEYS", ""),
        x_api_url=(env.get("X_API_URL") or X_API_URL).rstrip("/"),
    )


def for_a_trial(environment: Mapping[str, str] | None = None) -> Settings:
    """Read what counts without a stack."""
    env = os.environ if environment is None else environment
    return Settings(
        allow_addresses=networks(env.get("ALLOW_ADDRESSES", "")),
        contact_url=env.get("CONTACT_URL", ""),
        x_api_url=(env.get("X_API_URL") or X_API_URL).rstrip("/"),
    )


def x_api_key(environment: Mapping[str, str] | None = None) -> str:
    """Return the key that a person tries X with."""
    return (os.environ if environment is None else environment).get("X_API_KEY", "").strip()


def period(expression: str) -> timedelta | None:
    """Read the span between two planner runs from the schedule; a cron expression tells none."""
    found = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression.strip())
    if not found:
        return None
    return timedelta(seconds=int(found[1]) * {"minute": 60, "hour": 3600, "day": 86_400}[found[2]])


def _plan_span(expression: str) -> timedelta:
    """Say how far a run may spread its messages; between the times of a cron expression, for a minute."""
    return min(period(expression) or timedelta(minutes=1), timedelta(seconds=LONGEST_SPAN))


def _steps(text: str) -> tuple[tuple[timedelta, timedelta], ...]:
    """Read the table of idle times: 7d=6h, 14d=12h."""
    steps = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)d\s*=\s*(\d+(?:\.\d+)?)h\s*", part)
        if not found:
            raise InvalidInput(f"ACTIVITY_STEPS must look like {ACTIVITY!r}, found {text!r}.")
        steps.append((timedelta(days=float(found[1])), timedelta(hours=float(found[2]))))
    return tuple(sorted(steps))


def _delays(name: str, text: str) -> dict[str, timedelta]:
    """Read seconds by name: example.org=5, slow.example=30."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    try:
        return {key.strip().lower(): timedelta(seconds=float(seconds)) for key, _, seconds in parts}
    except ValueError:
        raise InvalidInput(
            f"{name} must look like 'example.org=5, other.example=0', found {text!r}."
        ) from None


def networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Read a comma-separated list of networks."""
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise InvalidInput(f"ALLOW_ADDRESSES must list networks like 127.0.0.0/8: {error}.") from None
