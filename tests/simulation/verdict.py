"""Owns what must have come of a run at its end."""

from collections import Counter
from datetime import timedelta
from urllib.parse import urlsplit

from simulation.publishers import SECRET, hash_of
from simulation.rules import EDITS, LOGS, MESSAGES, POSTS, REQUESTS, SECRETS
from wellspring import addresses
from wellspring.model import FullText

SKEW = timedelta(minutes=5, seconds=1)
_IS_OPEN = addresses.is_open
"""The product's own rule as it was when this was read: a planted bug may replace it."""


class Verdict:
    """Judges the run as a whole, by what the watcher has seen."""

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
            if not _IS_OPEN(address):
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
            ran = any(
                log.source_id == source_id
                and (log.manual or not log.message_id)
                and log.started_at >= moment - SKEW
                for log in self.sim.logs.rows.values()
            )
            if not ran and not any(source_id in held.body for held in self.sim.queue.dead):
                self.say(MESSAGES, f"the fetch of {source_id} by hand never happened")
        for row in self.sim.posts.rows.values():
            # One that left the feed before any fetch came to its end was never put in the line.
            seen = any(hash_of(*entry) == row.content_hash for entry in self.must[row.source_id])
            if row.full_text_status is FullText.WANTED and row.source_id in self.sim.sources.rows and seen:
                self.say(MESSAGES, f"the full text of {row.entry.url} never came")
