"""Owns who pays for a failure: the source, its host, or our own network."""

from datetime import datetime

from wellspring import aftermath, hosts
from wellspring.errors import ErrorClass
from wellspring.hosts import HostState
from wellspring.message import FetchMessage
from wellspring.model import Source
from wellspring.poll import Poll
from wellspring.ports import World
from wellspring.retries import HOST_WIDE, NETWORK
from wellspring.settings import Settings


def settle(
    poll: Poll,
    source: Source,
    found: HostState,
    message: FetchMessage,
    world: World,
    settings: Settings,
    *,
    now: datetime,
) -> bool:
    """Say whether the source pays for the poll, and write down what it says about others."""
    if poll.error is None:
        settle_success(source, found, message, world)
        return True
    retry_at = aftermath.retry_at(poll, now=now)
    return source_is_charged(
        source, poll.error.error_class, message, world, settings, now=now, retry_at=retry_at
    )


def settle_success(source: Source, found: HostState, message: FetchMessage, world: World) -> None:
    """Clear what a success disproves; where there is nothing to clear, nothing is written."""
    if found.failing or found.brakes:
        world.gates.host_recovered(source.host)
    if message.frozen:
        world.gates.thaw()


def source_is_charged(
    source: Source,
    error_class: ErrorClass,
    message: FetchMessage,
    world: World,
    settings: Settings,
    *,
    now: datetime,
    retry_at: datetime | None,
) -> bool:
    """Write down what a failure says about others; return whether the source pays for it."""
    if error_class not in HOST_WIDE:
        return True
    if error_class is ErrorClass.RATE_LIMITED and hosts.serves_many(source.host):
        return True
    network = error_class in NETWORK
    if network and message.frozen:
        return False
    window = message.window_end if network and not message.manual else None
    before = world.gates.host_failed(source.host, source.source_id, window=window)
    if window and before.failed_window != window and world.gates.report_down(window):
        return False
    verdict = hosts.judge(
        before,
        source.source_id,
        error_class,
        host=source.host,
        now=now,
        retry_at=retry_at,
        longest=settings.defaults.max_backoff,
    )
    if verdict.brake_until:
        world.gates.brake(
            source.host,
            until=verdict.brake_until,
            brakes=before.brakes + 1,
            others=not verdict.source_is_charged,
        )
    return verdict.source_is_charged
