"""Owns the planted bugs: each breaks one rule, by another function in a scope or by a spoilt port.

They are what the tests are tested with: a sweep that does not notice one of them is blind to its rule.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from simulation import spoilt_ports as ports
from simulation.scenarios import NAMED, ONE, OUTAGE, PAGES, PAIR, POISON, ROUGH, SEEN
from simulation.world import Setting
from wellspring import addresses, articles, batch, deferral, fetch, plan, schedule
from wellspring.errors import Unavailable
from wellspring.intake import store
from wellspring.model import Lease, Status
from wellspring.poll import Poll
from wellspring.ports import Outgoing, Refused
from wellspring.record import Run

__all__ = ["BUGS", "NAMED", "Bug"]

FAR_BEHIND = Setting(lag=timedelta(seconds=70))
"""An index that is further behind than the planner's period."""


@dataclass(frozen=True, slots=True)
class Bug:
    """A rule that is broken. `seen_by` is the invariant that must tell."""

    name: str
    seen_by: str
    story: object
    replaced: tuple = ()
    """Functions of the product: module, name, and what stands there instead."""
    spoil: object = None
    """What is done to the ports in memory of a run."""
    acknowledges_early: bool = False
    setting: object = None
    """Where it shows, if not where all faults are swept."""


def _move_first(decisions, world, report, deadline):
    for made in decisions:
        plan._settle(made, world, report)
    to_send = [made for made in decisions if made.send_after is not None]
    if to_send:
        plan._send(to_send, world, report)


def _send_blindly(batch, world, report):
    outgoing = [
        Outgoing(
            plan.FetchMessage(
                source_id=made.ref.source_id, due_at=made.ref.due_at, window_end=report.window_end
            ),
            made.send_after or 0,
        )
        for made in batch
    ]
    try:
        world.queue.send(outgoing)
    except Unavailable as error:
        report.warnings.append(str(error))
    return [True] * len(batch)


def _validators_first(poll, document, source, world, settings, *, started_at):
    cursor = replace(source.cursor, etag=poll.reply.headers["etag"])
    world.sources.finish(source, replace(source, cursor=cursor), source.lease.token)
    return STORE(poll, document, source, world, settings, started_at=started_at)


class _Holding:
    """Posts that are not put yet."""

    def __init__(self, posts):
        self.posts, self.held = posts, []

    def __getattr__(self, name):
        return getattr(self.posts, name)

    def put(self, post):
        self.held.append(post)
        return True


def _window_first(poll, document, source, world, settings, *, started_at):
    holding = _Holding(world.posts)
    window = store(poll, document, source, holding, settings, started_at=started_at)
    if window is not None:
        world.posts.put_window(source.source_id, window, started_at=started_at)
    for post in holding.held:
        world.posts.put(post)
    articles.enlist(source, poll.wanted, world, settings, now=started_at)


def _line_last(poll, document, source, world, settings, *, started_at):
    window = store(poll, document, source, world.posts, settings, started_at=started_at)
    if window is not None:
        world.posts.put_window(source.source_id, window, started_at=started_at)
    articles.enlist(source, poll.wanted, world, settings, now=started_at)


def _blame_the_source(message, source, lease, world, settings, *, message_id):
    try:
        return ATTEMPT(message, source, lease, world, settings, message_id=message_id)
    except Unavailable:
        health = replace(source.health, failures=source.health.failures + 1)
        after = replace(source, health=health, lease=Lease(started_at=lease.started_at))
        world.sources.finish(source, after, lease.token)
        raise


def _keep_the_lease(message, world, settings, *, message_id):
    started_at, token = world.clock(), world.new_id()
    lease = Lease(started_at=started_at, token=token, until=started_at + settings.fetch_lease)
    times = {} if message.manual else {"due_at": message.due_at, "window_end": message.window_end}
    start = world.sources.start(message.source_id, lease, **times)
    if isinstance(start, Refused):
        return deferral.refused(message, start.source, world, settings, now=started_at)
    return fetch._attempt(message, start.source, lease, world, settings, message_id=message_id)


def _drop_the_deferred(message, source, why, wait, world):
    return Run(source_id=source.source_id, status=Status.DEFERRED, reason=why, url=source.shown_url)


def _count_no_crash(source, lease, message, world, settings):
    return replace(source, lease=lease)


def _count_twice(source, outcome, *, now, defaults):
    after = HEALTH(source, outcome, now=now, defaults=defaults)
    more = after.failures > source.health.failures
    return replace(after, failures=after.failures + more)


def _headers_go_along(post, source):
    return replace(PAGE(post, source), config=source.config)


def _never_partial(poll):
    if poll.error:
        return Status.FAILED
    return Status.NOT_MODIFIED if poll.document is None else Status.OK


STORE, ATTEMPT, PAGE, HEALTH = fetch._store, fetch._attempt, articles._page, schedule.health_after


BUGS = (
    Bug(
        "the time is moved before the message is sent", "schedule", ONE, ((plan, "_carry_out", _move_first),)
    ),
    Bug("a send that failed counts as sent", "schedule", ONE, ((plan, "_send", _send_blindly),)),
    Bug("the message is acknowledged before the work", "messages", PAIR, acknowledges_early=True),
    Bug("validators before posts", "validators and window", PAIR, ((fetch, "_store", _validators_first),)),
    Bug("the window before posts", "validators and window", PAIR, ((fetch, "_store", _window_first),)),
    Bug("the window before the line of full texts", "messages", PAGES, ((fetch, "_store", _line_last),)),
    Bug("no fencing by the lease's token", "validators and window", PAIR, spoil=ports.no_fencing),
    Bug("no check whether the message is stale", "requests", PAIR, spoil=ports.no_stale_check),
    Bug("no check of the due time", "requests", PAIR, spoil=ports.no_due_check, setting=FAR_BEHIND),
    Bug("a start takes a lease that somebody holds", "requests", PAIR, spoil=ports.no_lease),
    Bug("a lease never expires", "schedule", PAIR, spoil=ports.eternal_lease),
    Bug("the planner's lease never expires", "schedule", PAIR, spoil=ports.eternal_planner),
    Bug("the planner's lease keeps nobody out", "planners", PAIR, spoil=ports.many_planners),
    Bug("a source leaves the index although somebody looks", "schedule", SEEN, spoil=ports.unlist_always),
    Bug("a failed poll leaves the index", "schedule", ROUGH, spoil=ports.forget_the_index),
    Bug("a finish writes the whole source", "edits", PAIR, spoil=ports.write_it_all),
    Bug("our own errors are counted", "failure counters", PAIR, ((fetch, "_attempt", _blame_the_source),)),
    Bug(
        "our own errors leave the lease",
        "failure counters",
        PAIR,
        ((batch, "fetch_source", _keep_the_lease),),
    ),
    Bug("a failure is counted twice", "failure counters", ROUGH, ((schedule, "health_after", _count_twice),)),
    Bug("a crash is not counted", "failure counters", POISON, ((fetch, "_count_crash", _count_no_crash),)),
    Bug("an outage of our own is not noticed", "failure counters", OUTAGE, spoil=ports.no_outage),
    Bug("no place is taken at the host", "requests", PAIR, spoil=ports.no_slot),
    Bug("the log is written twice", "fetch logs", PAIR, spoil=ports.log_twice),
    Bug("a post is written over", "posts", PAIR, spoil=ports.put_always),
    Bug("the window goes back", "validators and window", PAIR, spoil=ports.window_goes_back),
    Bug(
        "validators of a document that was cut",
        "validators and window",
        ROUGH,
        ((Poll, "status", property(_never_partial)),),
    ),
    Bug(
        "a message that is put off is dropped", "messages", PAIR, ((deferral, "_defer", _drop_the_deferred),)
    ),
    Bug("the line is written over by whoever is late", "messages", PAGES, spoil=ports.line_unguarded),
    Bug(
        "secrets go along to other servers",
        "addresses and secrets",
        PAGES,
        ((articles, "_page", _headers_go_along),),
    ),
    Bug(
        "any address is connected to",
        "addresses and secrets",
        PAGES,
        ((addresses, "is_open", lambda *a: True),),
    ),
)
