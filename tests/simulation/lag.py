"""Owns the lag of what is read without a promise: indexes, and rows read with eventual consistency."""

from collections import deque
from datetime import timedelta

from wellspring.memory import MemoryPosts, MemorySources


class History(dict):
    """Rows, and how they were a while ago."""

    def __init__(self, clock, lag, rows=()):
        super().__init__(rows)
        self.clock, self.lag = clock, lag
        self._seen = dict(rows)
        self._changes = deque()

    def __setitem__(self, key, row):
        super().__setitem__(key, row)
        self._changes.append((self.clock() + self.lag, key, row))

    def __delitem__(self, key):
        super().__delitem__(key)
        self._changes.append((self.clock() + self.lag, key, None))

    def pop(self, key, *default):
        if key in self:
            self._changes.append((self.clock() + self.lag, key, None))
        return super().pop(key, *default)

    def catch_up(self):
        """Let readers see all that there is."""
        self._changes.clear()
        self._seen = dict(self)

    def seen(self):
        """Return the rows as a reader sees them that was promised nothing."""
        now = self.clock()
        while self._changes and self._changes[0][0] <= now:
            _, key, row = self._changes.popleft()
            if row is None:
                self._seen.pop(key, None)
            else:
                self._seen[key] = row
        return self._seen


class LaggingSources(MemorySources):
    """Sources whose index, and whose plain reads, are behind the table."""

    def __init__(self, clock, lag=timedelta(0), *, shards=1):
        super().__init__(shards=shards)
        self.rows = History(clock, lag)

    def due(self, *args, **kwargs):
        return self._behind().due(*args, **kwargs)

    def read(self, source_ids):
        return self._behind().read(source_ids)

    def scan(self, **kwargs):
        return self._behind().scan(**kwargs)

    def _behind(self):
        return MemorySources(self.shards, self.rows.seen())


class LaggingPosts(MemoryPosts):
    """Posts whose pending index, and whose search by prefix, are behind the table."""

    def __init__(self, clock, lag=timedelta(0), *, shards=1):
        super().__init__(shards=shards)
        self.rows = History(clock, lag)

    def pending(self, *args, **kwargs):
        return self._behind().pending(*args, **kwargs)

    def hash_like(self, source_id, prefix):
        return self._behind().hash_like(source_id, prefix)

    def _behind(self):
        return MemoryPosts(self.rows.seen(), shards=self.shards)
