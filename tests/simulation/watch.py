"""Owns the invariants: what must hold after each call, and what must have come of a run at its end."""

from collections import Counter, defaultdict
from datetime import timedelta
from urllib.parse import urlsplit

from simulation.faults import SPANS
from simulation.publishers import SECRET, hash_of
from wellspring import addresses, schedule
from wellspring.config import Always, Interval
from wellspring.errors import ErrorClass, FetchError
from wellspring.model import FullText, Status
from wellspring.ports import Started

VISIBILITY = timedelta(seconds=720)
SKEW = timedelta(minutes=5, seconds=1)
LISTED_BY = {f"sources.{name}" for name in ("finish", "release", "move", "unlist", "relist", "edit", "start")}

POSTS, VALIDATORS, SCHEDULE, REQUESTS, FAILURES, LOGS, SECRETS, MESSAGES, PLANNERS, EDITS, BUGS = (
    "posts",
    "validators and window",
    "schedule",
    "requests",
    "failure counters",
    "fetch logs",
    "addresses and secrets",
    "messages",
    "planners",
    "edits",
    "no bug",
)


class Watcher:
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

    def _finished(self, before, after, token, *, answer):
        if answer is not True:
            return
        name = after.source_id
        counts_a_crash = bool(after.lease and after.lease.token)
        if not counts_a_crash:
            self.released.add(token)
        if self.holders.get(name, token) != token:
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
        allowed = interval * 2 ** self.failures[row.source_id] + (self.sim.apart or VISIBILITY) + timedelta(minutes=1)
        for fault in self.stage.hit:
            allowed += VISIBILITY + SPANS.get(fault.kind, timedelta(0))
            if self.sim.setting.duplicates or self.stage.calls[fault.call] == "http.get":
                # The publisher was not reached, or a double that found the first one at work has taken the message off the queue.
                allowed += interval
        return allowed

    def _publisher(self, source_id):
        return self.sim.publishers[source_id]

    # How runs and the run as a whole end.

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

    def close(self):
        """Judge the run as a whole; return what is wrong."""
        self._judge_posts()
        self._judge_requests()
        self._judge_spacing()
        self._judge_logs()
        self._judge_secrets()
        self._judge_messages()
        for moment, source_id in self.sim.views:
            row = self.sim.sources.rows.get(source_id)
            if row and (row.viewed_at is None or row.viewed_at < moment):
                self.say(EDITS, f"the view of {source_id} at {moment:%H:%M:%S} was forgotten")
        for source_id in self.sim.sources.rows:
            self._is_listed(source_id)
            if source_id in self.gaps:
                self._judge_gap(source_id, self.stage.now)
        return self.violations

    def _judge_posts(self):
        for source_id, publisher in self.sim.publishers.items():
            if source_id not in self.sim.sources.rows:
                continue
            # One that waits longer because it failed may not have been asked again.
            row = self.sim.sources.rows[source_id]
            up_to_date = row.enabled and not self.failures[source_id] and self._allowed(row)
            last = publisher.listed if up_to_date else ()
            for entry in self._missing(source_id, self.must[source_id] | set(last)):
                self.say(POSTS, f"{source_id}: {entry} was served and is not stored")
            served = {hash_of(*entry) for one in publisher.served for entry in one.entries}
            stored = [key.content_hash for key in self.first if key.source_id == source_id]
            if others := set(stored) - served:
                self.say(POSTS, f"{source_id}: {len(others)} posts were never served")
        for (owner, name), row in self.sim.posts.rows.items():
            first = self.first.get(row.key)
            if first is None:
                self.say(POSTS, f"{owner}/{name} was never put")
            elif (row.entry, row.fetched_at, row.revision_of) != (
                first.entry,
                first.fetched_at,
                first.revision_of,
            ):
                self.say(POSTS, f"{owner}/{name} was changed")
        for key in self.first.keys() - self.deleted:
            if (key.source_id, key.content_hash) not in self.sim.posts.rows and (
                key.source_id in self.sim.sources.rows
            ):
                self.say(POSTS, f"{key} was lost")

    def _judge_requests(self):
        hands = Counter(source_id for _, source_id in self.sim.by_hand)
        for (source_id, due), askers in self.asked.items():
            # A request is made again when the attempt that made it was disturbed, and for no other reason.
            # Nothing on a fetch by hand says that it is done: each delivery of it may ask.
            deliveries = hands[source_id] * (3 if self.sim.setting.duplicates else 1) + len(self.stage.hit)
            allowed = (deliveries if due == "by hand" else 1) + sum(one.disturbed for one in askers)
            if len(askers) > allowed and not self.sim.skewed:
                self.say(REQUESTS, f"{source_id} was asked {len(askers)} times for {due}, {allowed} allowed")

    def _judge_spacing(self):
        if self.sim.skewed:
            return
        last = {}
        delay = self.sim.settings.defaults.host_delay
        for moment, host, _, me, _ in self.sim.web.connections:
            before, was_late = last.get(host, (moment - delay, False))
            is_late = bool(me and me.paused_at)
            if moment - before < delay and not (is_late or was_late):
                self.say(REQUESTS, f"{host} was asked twice within {moment - before}")
            last[host] = (moment, is_late)

    def _judge_logs(self):
        rows = Counter(row.attempt_id for row in self.sim.logs.rows.values())
        for attempt, number in rows.items():
            if number > 1:
                self.say(LOGS, f"the attempt {attempt} has {number} rows")

    def _judge_secrets(self):
        for _, host, address, _, request in self.sim.web.connections:
            if not addresses_are_public(address):
                self.say(SECRETS, f"a connection to {host} at {address} was opened")
            if SECRET in str(request.headers) and not self._owns(request.url):
                self.say(SECRETS, f"the secret went to {request.url}")
        stores = (self.sim.posts.rows, self.sim.posts.windows, self.sim.logs.rows)
        texts = (*map(repr, stores), repr(self.sim.queue.sent), repr(self.sim.gates))
        if any(SECRET in text for text in texts):
            self.say(SECRETS, "the secret was written where it does not belong")

    def _owns(self, url):
        return urlsplit(url).hostname in self.sim.trusted

    def _judge_messages(self):
        if not self.sim.settled:
            return
        for moment, source_id in self.sim.by_hand:
            # Of one that stood still too long another attempt has written that it crashed.
            row = self.sim.sources.rows.get(source_id)
            if row is None or not row.enabled:
                continue
            rows = [log for log in self.sim.logs.rows.values() if log.source_id == source_id]
            if not any(
                (log.manual or not log.message_id) and log.started_at >= moment - SKEW for log in rows
            ):
                if not any(source_id in held.body for held in self.sim.queue.dead):
                    self.say(MESSAGES, f"the fetch of {source_id} by hand never happened")
        for row in self.sim.posts.rows.values():
            # One that left the feed before any fetch came to its end was never put in the line.
            seen = any(hash_of(*entry) == row.content_hash for entry in self.must[row.source_id])
            if row.full_text_status is FullText.WANTED and row.source_id in self.sim.sources.rows and seen:
                self.say(MESSAGES, f"the full text of {row.entry.url} never came")


def addresses_are_public(address):
    """Say so by the product's own rule as it was when this module was read: a planted bug may replace it."""
    return _IS_OPEN(address)


_IS_OPEN = addresses.is_open
