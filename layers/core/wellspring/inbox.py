"""Owns what consumers do: list the posts that nobody has processed, and mark those that they have."""

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from threading import Event

from wellspring import expiry
from wellspring.errors import InvalidInput, Unavailable
from wellspring.model import Post, PostKey
from wellspring.pending import Walk
from wellspring.ports import Marking, PendingRef, Posts

LONGEST_PAGE = 1_000
READ_LIMIT = 100
READS = 20
SIDE_BY_SIDE = 8


@dataclass(frozen=True, slots=True)
class Page:
    """Posts in the order of time. A page may be short, even empty, and still have a cursor: go on with it."""

    posts: tuple[Post, ...]
    cursor: str | None = None
    """Where the next page begins; None on the last."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of posts that were to be marked."""

    done: int = 0
    already: int = 0
    unknown: int = 0


def pending(posts: Posts, *, shards: int, limit: int, cursor: str | None = None, now: datetime) -> Page:
    """Return the oldest posts that nobody has processed, behind the cursor."""
    if not 1 <= limit <= LONGEST_PAGE:
        raise InvalidInput(f"A page has 1 to {LONGEST_PAGE} posts, found {limit}.")
    walk = Walk(posts, shards=shards, limit=limit, cursor=cursor)
    horizon = expiry.horizon(now)
    found: list[Post] = []
    for _ in range(READS):
        refs = _take(walk, min(limit - len(found), READ_LIMIT), horizon)
        if not refs:
            break
        found += [post for post in posts.read([ref.key for ref in refs]) if _is_shown(post, horizon)]
    found.sort(key=lambda post: (post.posted_at, post.key))
    return Page(tuple(found), walk.cursor)


def mark_processed(keys: Iterable[PostKey], posts: Posts, *, at: datetime) -> Tally:
    """Mark posts, a few at a time; whoever repeats it finds them marked already."""
    wanted = list(dict.fromkeys(keys))
    if any(not (key.source_id and key.content_hash) for key in wanted):
        raise InvalidInput("A post is named by its source_id and its content_hash; one of them is empty.")
    stopped = Event()

    def mark(key: PostKey) -> Marking | None:
        if stopped.is_set():
            return None
        try:
            return posts.mark_processed(key, at)
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        futures = [pool.submit(mark, key) for key in wanted]
        try:
            wait(futures)
        finally:
            stopped.set()
    made = Counter(future.result() for future in futures if not future.exception())
    for error in (future.exception() for future in futures):
        if isinstance(error, Unavailable):
            told = f"{error} {made[Marking.DONE]} of {len(wanted)} posts were marked; repeating it is safe."
            raise Unavailable(told) from error
        if error:
            raise error
    return Tally(made[Marking.DONE], made[Marking.ALREADY], made[Marking.UNKNOWN])


def _take(walk: Walk, count: int, horizon: datetime) -> list[PendingRef]:
    """Take rows; those whose time is over are passed over without being read."""
    refs: list[PendingRef] = []
    while len(refs) < count and (ref := walk.next()):
        if not (ref.expires_at and ref.expires_at <= horizon):
            refs.append(ref)
    return refs


def _is_shown(post: Post, horizon: datetime) -> bool:
    """Ask the post itself: the index lags behind."""
    return not post.processed_at and not (post.expires_at and post.expires_at <= horizon)
