"""Owns what programs call: the posts of a deployed stack that wait for them, and the views of its sources."""

from collections.abc import Callable, Iterable
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Self

import boto3
from botocore.exceptions import NoRegionError

from wellspring import inbox, timestamps, views
from wellspring.aws import stacks
from wellspring.aws.posts import DynamoPosts
from wellspring.aws.sources import DynamoSources
from wellspring.errors import InvalidInput, Unavailable
from wellspring.inbox import Page, Tally
from wellspring.model import Post, PostKey
from wellspring.ports import Posts, Sources
from wellspring.settings import Settings
from wellspring.wiring import AWS

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["Client", "InvalidInput", "Page", "Post", "PostKey", "Tally", "Unavailable"]

REMEMBERED = 10_000


class Client:
    """A deployed stack as its consumers see it. One client serves many threads."""

    def __init__(
        self,
        sources: Sources,
        posts: Posts,
        settings: Settings,
        *,
        clock: Callable[[], datetime] = timestamps.now,
    ) -> None:
        self._sources = sources
        self._posts = posts
        self._settings = settings
        self._clock = clock
        self._views: dict[str, datetime] = {}
        self._lock = Lock()

    @classmethod
    def of_stack(
        cls, name: str = "wellspring", session: boto3.Session | None = None, endpoint_url: str | None = None
    ) -> Self:
        """Find a stack by its name, with your session or the usual settings of AWS."""
        session = session or boto3.Session()
        try:
            cloudformation = session.client("cloudformation", endpoint_url=endpoint_url, config=AWS)
            dynamodb = session.client("dynamodb", endpoint_url=endpoint_url, config=AWS)
        except NoRegionError:
            raise InvalidInput(
                "No AWS region is configured. Set AWS_DEFAULT_REGION, or pass a session."
            ) from None
        return cls.over(dynamodb, stacks.settings_of(cloudformation, name))

    @classmethod
    def over(cls, dynamodb: "DynamoDBClient", settings: Settings) -> Self:
        """Use the tables that the settings name."""
        return cls(
            DynamoSources(dynamodb, settings.sources_table, shards=settings.shards),
            DynamoPosts(dynamodb, settings.posts_table, shards=settings.shards),
            settings,
        )

    def pending(self, limit: int = 100, cursor: str | None = None) -> Page:
        """Return posts that nobody has processed, the oldest first; a page's cursor leads to the next."""
        return inbox.pending(
            self._posts, shards=self._settings.shards, limit=limit, cursor=cursor, now=self._clock()
        )

    def mark_processed(self, posts: Iterable[Post | PostKey]) -> Tally:
        """Mark posts as processed: they are listed no more and kept for good. Repeating it is safe."""
        keys = (post.key if isinstance(post, Post) else post for post in posts)
        return inbox.mark_processed(keys, self._posts, at=self._clock())

    def viewed(self, source_id: str) -> bool:
        """Note that somebody looked at a source; False when there is none.

        Call it as often as you like: within a minute this costs nothing, and across processes one write.
        """
        now = self._clock()
        with self._lock:
            last = self._views.get(source_id)
        if last and last <= now < last + views.AT_MOST_EVERY:
            return True
        known = views.note(source_id, self._sources, self._settings.defaults, now=now)
        if known:
            self._remember(source_id, now)
        return known

    def _remember(self, source_id: str, now: datetime) -> None:
        with self._lock:
            if len(self._views) >= REMEMBERED:
                # What is forgotten too early costs a refused write, no more.
                self._views.clear()
            self._views[source_id] = now
