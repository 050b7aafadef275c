"""Owns what the stack is configured with; the only place that reads the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network

from wellspring.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Stack-wide numbers that a source may override."""

    min_interval: timedelta = timedelta(seconds=1)
    max_backoff: timedelta = timedelta(hours=24)
    max_age: timedelta = timedelta(days=7)


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
    fetch_log_days: int = 90
    allow_addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    contact_url: str = ""
    planner_lease: timedelta = timedelta(seconds=75)
    # Longer than the fetcher may run, shorter than the queue hides a message.
    fetch_lease: timedelta = timedelta(seconds=150)
    fetch_timeout: timedelta = timedelta(seconds=20)
    connect_timeout: timedelta = timedelta(seconds=5)
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
        defaults=Defaults(
            min_interval=timedelta(seconds=number("MIN_INTERVAL_SECONDS", 1)),
            max_backoff=timedelta(hours=number("MAX_BACKOFF_HOURS", 24)),
            max_age=timedelta(days=number("MAX_AGE_DAYS", 7)),
        ),
        fetch_log_days=int(number("FETCH_LOG_DAYS", 90)),
        allow_addresses=networks(env.get("ALLOW_ADDRESSES", "")),
        contact_url=env.get("CONTACT_URL", ""),
    )


def networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Read a comma-separated list of networks."""
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise InvalidInput(f"ALLOW_ADDRESSES must list networks like 127.0.0.0/8: {error}.") from None
