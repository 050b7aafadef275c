"""Owns what must hold after each call, and what is remembered of the calls for the verdict."""

from collections import Counter, defaultdict
from datetime import timedelta

from simulation.faults import SPANS
from simulation.publishers import hash_of
from simulation.rules import BUGS, FAILURES, LOGS, PLANNERS, POSTS, SCHEDULE, VALIDATORS
from simulation.verdict import Verdict
from wellspring import schedule
from wellspring.config import Always, Interval
from wellspring.errors import ErrorClass, FetchError
from wellspring.model import Status
from wellspring.ports import Started

VISIBILITY = timedelta(seconds=720)
LISTED_BY = {f"sources.{name}" for name in ("finish", "release", "move", "unlist", "relist", "edit", "start")}


class Watcher(Verdict):
    """Sees every call, and keeps what it takes to judge the run."""

    def __init__(self, sim):
        self.sim = sim
        self.stage = sim.stage
        self.violations = []
        self.first = {}
        """Each post as it was stored first."""
        self.deleted = set()
        self.must = defaultdict(set)
        """What a fetch that came to its end has seen, and must be stored."""
        self.holders = {}
        self.released = set()
        self.raised = Counter()
        self.failures = Counter()
        self.etags = defaultdict(int)
        self.windows = {}
        self.asked = {}
        self.gaps = {}
        self.owners = {}
        self.planning = []
        self.found = {}
        """The lease of an attempt that never ended, by the token of the attempt that found it."""
        self.judges = {
            "posts.put": self._put,
            "posts.delete_unprocessed": self._deleted,
            "posts.put_window": self._put_window,
            "sources.start": self._started,
            "sources.release": self._released,
            "sources.finish": self._finished,
            "sources.edit": self._edited,
            "sources.due": self._planned,
            "gates.acquire": self._acquired,
            "http.get": self._answered,
        }

    def say(self, rule, text):
        self.violations.append(f"{rule}: {text}")

    def added(self, source_id):
        """A source that is due at once counts as asked an interval ago."""
        cadence = self.sim.sources.rows[source_id].config.cadence
        self.gaps[source_id] = self.stage.now - timedelta(
            minutes=getattr(cadence, "every_minutes", None) or 0
        )

    def called(self, name, args, kwargs, answer):
        judge = self.judges.get(name)
        if judge:
            judge(*args, answer=answer, **kwargs)
        if name in LISTED_BY:
            self._is_listed(getattr(args[0], "source_id", args[0]))

    # What is stored.

    def _put(self, post, *, answer):
        if answer is not True:
            return
        if post.key in self.first and post.key not in self.deleted:
            self.say(POSTS, f"{post.key} was stored twice")
        if post.key in self.deleted:
            self.say(POSTS, f"{post.key} came back after it was deleted")
        self.first[post.key] = post

    def _deleted(self, key, *, answer, expires_by):
        if answer is True:
            self.deleted.add(key)

    def _is_stored(self, source_id, entry):
        wanted = hash_of(*entry)
        return any(key.source_id == source_id and key.content_hash == wanted for key in self.first)

    def _missing(self, source_id, entries):
        stored = {key.content_hash for key in self.first if key.source_id == source_id}
        return [entry for entry in entries if hash_of(*entry) not in stored]

    # Validators and window.

    def _put_window(self, source_id, window, *, started_at, answer):
        if answer is not True:
            return
        if started_at < self.windows.get(source_id, started_at):
            self.say(VALIDATORS, f"the window of {source_id} went back")
        self.windows[source_id] = started_at
        listed = set(window.values())
        served = {entry for one in self._publisher(source_id).served for entry in one.entries}
        ahead = [entry for entry in served if bytes.fromhex(hash_of(*entry))[:8] in listed]
        if missing := self._missing(source_id, ahead):
            self.say(VALIDATORS, f"the window of {source_id} lists {missing}, which are not stored")

    def _started(self, source_id, lease, *, answer, **_):
        if isinstance(answer, Started) and lease.until:
            self.holders[source_id] = lease.token
            self.owners[lease.token] = self.stage.me
            self.found[lease.token] = answer.source.lease.token if answer.source.lease else None

    def _released(self, source_id, token, lease, *, answer, **_):
        if answer is True:
            self.released.add(token)
            # The earlier lease is back, with whoever stands still in it.
            self.holders[source_id] = lease.token if lease else None

    def _finished(self, before, after, token, *, answer):
        if answer is not True:
            return
        name = after.source_id
        counts_a_crash = bool(after.lease and after.lease.token)
        if not counts_a_crash:
            self.released.add(token)
        if self.holders.get(name) != token:
            self.say(VALIDATORS, f"{name} was finished by {token}, while {self.holders[name]} held the lease")
        self._judge_validators(name, before, after)
        self._judge_failures(name, after, token, counts_a_crash)

    def _judge_validators(self, name, before, after):
        etag = after.cursor.etag
        if etag is None or etag == before.cursor.etag or after.url != self._publisher(name).url:
            return
        version = int(etag.strip('"'))
        if version < self.etags[name]:
            self.say(VALIDATORS, f"the validators of {name} went back to version {version}")
        self.etags[name] = version
        if missing := self._missing(name, self._publisher(name).versions[version].entries):
            self.say(VALIDATORS, f"the validators of {name} cover {missing}, which are not stored")

    def _judge_failures(self, name, after, token, counts_a_crash):
        more = after.health.failures - self.failures[name]
        self.failures[name] = after.health.failures
        if more <= 0:
            return
        if counts_a_crash:
            old = self.found[token]
            holder = self.owners.get(old)
            self.raised[f"crash of {old}"] += more
            if self.raised[f"crash of {old}"] > 1:
                self.say(FAILURES, f"{name} pays more than once for the end of {old}")
            if old in self.released:
                self.say(FAILURES, f"{name} pays for {old}, which gave its lease back")
            elif holder and not (holder.dead or holder.paused_at or "sources.release" in holder.failed):
                self.say(FAILURES, f"{name} pays for {old}, which nothing happened to but our own trouble")
            return
        self.raised[token] += more
        if self.raised[token] > 1:
            self.say(FAILURES, f"{name} pays {self.raised[token]} times for one attempt")
        if not self.stage.me.bad_answers:
            self.say(FAILURES, f"{name} pays for a failure although its publisher answered well")

    def _edited(self, before, after, *, answer, now):
        if answer is True:
            self.failures[after.source_id] = after.health.failures
            if after.cursor.etag is None:
                self.etags[after.source_id] = 0

    # The schedule.

    def _is_listed(self, source_id):
        row = self.sim.sources.rows.get(source_id)
        if row is None or (row.next_fetch_at and row.due_shard):
            return
        if schedule.due(row, now=self.stage.now, defaults=self.sim.settings.defaults) is not None:
            self.say(SCHEDULE, f"{source_id} can be due and is not in the index")

    def _acquired(self, gate, owner, *, answer, **_):
        if answer is True:
            self.planning.append(self.stage.me)

    def _planned(self, shard, until, *, answer, **_):
        me = self.stage.me
        if self.sim.skewed:
            return
        for other in self.stage.running[:-1]:
            lasts = other.began + self.sim.settings.planner_lease
            if (
                other in self.planning
                and me.name == "planner"
                and not other.disturbed
                and self.stage.now < lasts
            ):
                self.say(PLANNERS, "two plan at once")

    # Requests.

    def _answered(self, request, *, answer):
        me = self.stage.me
        if isinstance(answer, FetchError) and me:
            me.bad_answers += 1

    def asked_by(self, me, source_id, moment):
        """A feed is asked: was it too long since the last time?"""
        if source_id not in self.gaps:
            return
        self._judge_gap(source_id, moment)
        self.gaps[source_id] = moment
        message = me.message if me else None
        if message is None:
            return
        key = (source_id, "by hand" if message.manual else message.due_at)
        self.asked.setdefault(key, []).append(me)

    def _judge_gap(self, source_id, moment):
        row = self.sim.sources.rows.get(source_id)
        if row is None or not row.enabled or self.sim.skewed or self.sim.apart is None:
            return
        gap, allowed = moment - self.gaps[source_id], self._allowed(row)
        if allowed and gap > allowed:
            self.say(SCHEDULE, f"{source_id} was not asked for {gap}, which is longer than {allowed}")

    def _allowed(self, row):
        """Return how long a source may go without a request: its interval, and what each fault may cost."""
        cadence = row.config.cadence
        if not isinstance(cadence, Interval | Always) or self._publisher(row.source_id).troubled:
            return None
        interval = timedelta(minutes=getattr(cadence, "every_minutes", 0))
        allowed = (
            interval * 2 ** self.failures[row.source_id]
            + (self.sim.apart or VISIBILITY)
            + timedelta(minutes=1)
        )
        for fault in self.stage.hit:
            allowed += VISIBILITY + SPANS.get(fault.kind, timedelta(0))
            if self.sim.setting.duplicates or self.stage.calls[fault.call] == "http.get":
                # The publisher was not reached, or a double that found the first one at work has taken
                # the message off the queue.
                allowed += interval
        return allowed

    def _publisher(self, source_id):
        return self.sim.publishers[source_id]

    # How a run of a function ends.

    def ended(self, ending):
        if ending.bug:
            self.say(BUGS, f"{ending.invocation.name} raised {type(ending.bug).__name__}: {ending.bug}")
        log = getattr(ending.result, "log", None)
        if log is None:
            return
        if log.error_class is ErrorClass.INTERNAL:
            self.say(BUGS, f"{log.attempt_id}: {log.error_message}")
        rows = [row for row in self.sim.logs.rows.values() if row.attempt_id == log.attempt_id]
        if len(rows) != 1:
            self.say(LOGS, f"the attempt {log.attempt_id} has {len(rows)} rows")
        if log.status is Status.OK and log.content_hash is None:
            for one in self._publisher(log.source_id).served:
                if one.invocation is ending.invocation and one.whole:
                    self.must[log.source_id] |= one.entries
