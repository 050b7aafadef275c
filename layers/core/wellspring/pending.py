"""Owns the walk over what is not processed: the shards merged by time, and the cursor to go on with."""

import json
from base64 import b64decode, urlsafe_b64encode
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from wellspring.errors import InvalidInput
from wellspring.model import PostKey
from wellspring.ports import PendingRef, Posts

MANY = 1_000
SPARE_QUERIES = 10
LONGEST_CURSOR = 200_000
LONGEST = (1_024, 2_048, 1_024)
"""No key of the index is longer: its time, its source, its hash."""


@dataclass(slots=True)
class _Shard:
    """One shard of the index: what was read of it, and how far it has been taken."""

    number: int
    position: PendingRef | None
    limit: int
    read_to: PendingRef | None = None
    refs: deque[PendingRef] = field(default_factory=deque)
    ended: bool = False

    def __post_init__(self) -> None:
        self.read_to = self.position

    def fill(self, posts: Posts) -> None:
        page = posts.pending(self.number, after=self.read_to, limit=self.limit)
        self.refs.extend(page.refs)
        self.read_to = page.after
        self.ended = page.after is None
        # Who needs more than a page is passing over what nobody may see any more: that comes in droves.
        self.limit = MANY

    def take(self) -> PendingRef:
        self.position = self.refs.popleft()
        return self.position


class Walk:
    """Takes rows of all shards in the order of time, within a bounded number of queries.

    Each shard has a position of its own: rows of one time lie in an order that only the index knows,
    so that no position could be common to all.
    """

    def __init__(self, posts: Posts, *, shards: int, limit: int, cursor: str | None = None) -> None:
        positions = read_cursor(cursor, shards=shards) if cursor else {}
        self._posts = posts
        self._shards = [_Shard(number, positions.get(number), limit) for number in range(shards)]
        self._queries = shards + SPARE_QUERIES

    def next(self) -> PendingRef | None:
        """Return the next row; None at the end, or when the queries are used up."""
        for shard in self._shards:
            while not shard.refs and not shard.ended:
                if not self._queries:
                    return None
                self._queries -= 1
                shard.fill(self._posts)
        heads = [shard for shard in self._shards if shard.refs]
        return min(heads, key=lambda shard: _order(shard.refs[0])).take() if heads else None

    @property
    def cursor(self) -> str | None:
        """Where to go on; None when nothing is left."""
        if all(shard.ended and not shard.refs for shard in self._shards):
            return None
        return write_cursor({shard.number: shard.position for shard in self._shards if shard.position})


def write_cursor(positions: Mapping[int, PendingRef]) -> str:
    rows = {
        str(number): (ref.mark, ref.key.source_id, ref.key.content_hash) for number, ref in positions.items()
    }
    return urlsafe_b64encode(json.dumps(rows, separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(cursor: str, *, shards: int) -> dict[int, PendingRef]:
    """Return the position of each shard; a cursor has been in strangers' hands, so it is not believed."""
    try:
        if len(cursor) > LONGEST_CURSOR:
            raise ValueError("too long")
        padded = cursor + "=" * (-len(cursor) % 4)
        rows = json.loads(b64decode(padded, altchars="-_", validate=True))
        return {_number(number, shards): _position(*row) for number, row in rows.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InvalidInput(
            "The cursor cannot be read. Pass on the one that the last page came with, or none to begin anew."
        ) from None


def _number(text: str, shards: int) -> int:
    number = int(text)
    if not 0 <= number < shards:
        raise ValueError("no such shard")
    return number


def _position(mark: str, source_id: str, content_hash: str) -> PendingRef:
    for name, longest in zip((mark, source_id, content_hash), LONGEST, strict=True):
        if not 1 <= len(name.encode()) <= longest:
            raise ValueError("nothing is stored under such a name")
    return PendingRef(PostKey(source_id, content_hash), mark)


def _order(ref: PendingRef) -> tuple[str, PostKey]:
    return ref.mark, ref.key
