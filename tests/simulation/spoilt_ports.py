"""Owns ports in memory that break a rule: the half of the planted bugs that lies in a table or a queue."""

from dataclasses import replace
from datetime import timedelta

from wellspring.ports import Refused, Slot

TICK = timedelta(milliseconds=1)


def spoilt(port, method):
    """Return a way to replace a method of a port; the other one is given what stood there before."""

    def given(other):
        def spoil(sim):
            inner = getattr(sim, port)
            before = getattr(inner, method)
            setattr(inner, method, lambda *args, **kwargs: other(sim, before, *args, **kwargs))

        return spoil

    return given


@spoilt("sources", "_holds")
def no_fencing(sim, before, source_id, token):
    return source_id in sim.sources.rows


@spoilt("sources", "start")
def no_stale_check(sim, before, source_id, lease, *, due_at=None, window_end=None):
    return before(source_id, lease)


@spoilt("sources", "start")
def no_due_check(sim, before, source_id, lease, *, due_at=None, window_end=None):
    return before(source_id, lease, window_end=window_end)


@spoilt("sources", "start")
def no_lease(sim, before, source_id, lease, *, due_at=None, window_end=None):
    row = sim.sources.rows[source_id]
    if row.lease and row.lease.until:
        sim.sources.rows[source_id] = replace(row, lease=None)
    return before(source_id, lease, due_at=due_at, window_end=window_end)


@spoilt("sources", "start")
def eternal_lease(sim, before, source_id, lease, *, due_at=None, window_end=None):
    row = sim.sources.rows[source_id]
    if row.lease and row.lease.until and row.lease.token != lease.token:
        return Refused(replace(row, lease=replace(row.lease, until=lease.started_at + timedelta(days=1))))
    return before(source_id, lease, due_at=due_at, window_end=window_end)


@spoilt("sources", "finish")
def forget_the_index(sim, before, was, after, token):
    return before(was, replace(after, due_shard=None) if after.health.error_class else after, token)


@spoilt("sources", "finish")
def write_it_all(sim, before, was, after, token):
    done = before(was, after, token)
    if done:
        sim.sources.rows[after.source_id] = replace(after, mark=sim.sources.rows[after.source_id].mark)
    return done


@spoilt("sources", "unlist")
def unlist_always(sim, before, ref, **_):
    return before(ref, viewed_at=sim.stage.now)


@spoilt("gates", "take_slot")
def no_slot(sim, before, host, *, now, until):
    return Slot(True, sim.gates.host(host))


@spoilt("gates", "acquire")
def many_planners(sim, before, gate, owner, *, now, until):
    sim.gates.held.pop(gate, None)
    return before(gate, owner, now=now, until=until)


@spoilt("gates", "acquire")
def eternal_planner(sim, before, gate, owner, *, now, until):
    return False if gate in sim.gates.held else before(gate, owner, now=now, until=until)


@spoilt("gates", "report_down")
def no_outage(sim, before, window_end):
    return False


@spoilt("logs", "put")
def log_twice(sim, before, log):
    before(replace(log, started_at=log.started_at + TICK))
    return before(log)


@spoilt("posts", "put")
def put_always(sim, before, post):
    sim.posts.rows[post.source_id, post.content_hash] = post
    return True


@spoilt("posts", "put_window")
def window_goes_back(sim, before, source_id, window, *, started_at):
    sim.posts.windows[source_id] = (started_at, dict(window))
    return True


@spoilt("posts", "put_backlog")
def line_unguarded(sim, before, source_id, backlog, *, over):
    sim.posts.backlogs[source_id] = backlog
    return True
