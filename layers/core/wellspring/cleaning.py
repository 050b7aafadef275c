"""Owns the cleaning: posts that reached their maximum age and that nobody processed are deleted.

Two passes go over the pending index, a little in each planner run. One follows the stack's own maximum
age and looks at every row once, when it gets that old, so that undated posts and those of patient sources
never stand in its way. The other looks at all rows once a day, for what the first one came too early or
too late to find.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from wellspring import expiry, timestamps
from wellspring.errors import Unavailable
from wellspring.model import PostKey
from wellspring.ports import Checkpoint, PendingRef, World
from wellspring.settings import Settings

GATE = "clean"
WHOLE_PASS_EVERY = timedelta(days=1)
TICK = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one run may do, so that the planning never waits for long."""

    page: int = 1_000
    spare_pages: int = 20
    """Beside the one that each shard is asked for."""
    deletions: int = 500
    share_of_time: float = 0.25
    """Of what is left until the planner's deadline."""


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time in all shards of the index, and how far it has been looked through."""

    until: datetime
    since: datetime | None = None
    shard: int = 0
    after: PendingRef | None = None


@dataclass(frozen=True, slots=True)
class Passes:
    """How far the passes have come: the one along the maximum age, and the daily one while it lasts."""

    along: Stretch | None = None
    whole: Stretch | None = None
    began_at: datetime | None = None
    """When the last daily pass began."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    deleted: int
    warning: str | None = None


def clean(
    world: World, settings: Settings, *, now: datetime, deadline: datetime, limits: Limits = LIMITS
) -> Cleaned:
    """Clean a little; an outage ends it, and nothing else."""
    run = _Run(world, settings, now=now, deadline=deadline, limits=limits)
    try:
        before = read(world.gates.checkpoint(GATE))
        after = run.go_on(before)
        if after != before:
            world.gates.put_checkpoint(GATE, write(after))
    except Unavailable as error:
        return Cleaned(run.deleted, f"The cleaning goes on in the next run. {error}")
    return Cleaned(run.deleted)


class _Run:
    """One run's share of the work: so many pages and deletions, and no more."""

    def __init__(
        self, world: World, settings: Settings, *, now: datetime, deadline: datetime, limits: Limits
    ) -> None:
        self.world = world
        self.now = now
        self.deadline = now + (deadline - now) * limits.share_of_time
        self.max_age = settings.defaults.max_age
        self.shards = settings.shards
        self.page = limits.page
        self.pages = settings.shards + limits.spare_pages
        self.deletions = limits.deletions
        self.deleted = 0
        self.seen = 0

    def go_on(self, passes: Passes) -> Passes:
        """Return how far the passes have come; the same as before when there was nothing to see."""
        began_at = passes.began_at
        if passes.whole is None and (began_at is None or self.now >= began_at + WHOLE_PASS_EVERY):
            # It looks at what the other pass would look at, too.
            whole = self._look_through(Stretch(self.now))
            return replace(passes, whole=self._rest(whole), began_at=self.now) if self.seen else passes
        along = self._go_along(passes.along)
        whole_rest = self._rest(self._look_through(passes.whole)) if passes.whole else None
        return replace(passes, along=along, whole=whole_rest)

    def _go_along(self, last: Stretch | None) -> Stretch | None:
        if last and self._rest(last):
            return self._look_through(last)
        until = self.now - self.max_age
        since = last.until + TICK if last else None
        if since and since > until:
            return last
        looked = self._look_through(Stretch(until, since))
        return looked if self.seen else last

    def _look_through(self, stretch: Stretch) -> Stretch:
        """Delete what is old in the stretch; return it as far as it was looked through."""
        posts, horizon = self.world.posts, expiry.horizon(self.now)
        while stretch.shard < self.shards and self.pages and self._in_time():
            self.pages -= 1
            page = posts.pending(
                stretch.shard,
                after=stretch.after,
                since=stretch.since,
                until=stretch.until,
                expires_by=horizon,
                limit=self.page,
            )
            self.seen += page.seen
            for ref in page.refs:
                if not self.deletions or not self._in_time():
                    return stretch
                self.deletions -= 1
                self.deleted += posts.delete_unprocessed(ref.key, expires_by=horizon)
                stretch = replace(stretch, after=ref)
            shard = stretch.shard if page.after else stretch.shard + 1
            stretch = replace(stretch, shard=shard, after=page.after)
        return stretch

    def _rest(self, stretch: Stretch) -> Stretch | None:
        return stretch if stretch.shard < self.shards else None

    def _in_time(self) -> bool:
        return self.world.clock() < self.deadline


def write(passes: Passes) -> Checkpoint:
    """Return the one row in which both passes are kept, so that a run reads one and writes one at most."""
    rows = {"along": _row(passes.along), "whole": _row(passes.whole)}
    return Checkpoint(passes.began_at, json.dumps(rows, separators=(",", ":")))


def read(checkpoint: Checkpoint) -> Passes:
    """Return how far the passes have come; what cannot be read begins anew."""
    try:
        rows = json.loads(checkpoint.after or "{}")
        along, whole = _stretch(rows.get("along")), _stretch(rows.get("whole"))
    except (ValueError, TypeError, AttributeError, LookupError):
        return Passes(began_at=checkpoint.began_at)
    return Passes(along, whole, checkpoint.began_at)


def _row(stretch: Stretch | None) -> list[Any] | None:
    if stretch is None:
        return None
    ref = stretch.after
    return [
        timestamps.to_text(stretch.until),
        timestamps.to_text(stretch.since) if stretch.since else None,
        stretch.shard,
        [ref.mark, ref.key.source_id, ref.key.content_hash] if ref else None,
    ]


def _stretch(row: Sequence[Any] | None) -> Stretch | None:
    if row is None:
        return None
    until, since, shard, position = row
    after = PendingRef(PostKey(position[1], position[2]), position[0]) if position else None
    return Stretch(
        timestamps.from_text(until), timestamps.from_text(since) if since else None, int(shard), after
    )
