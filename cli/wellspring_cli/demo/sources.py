"""Owns the demo's sources: what is polled, how often, and that it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from wellspring import catalog, config, urls
from wellspring.aws import stacks
from wellspring.aws.gates import DynamoGates
from wellspring.aws.sources import DynamoSources
from wellspring.model import Source
from wellspring_cli.local.deployment import STACK, LocalStack

ALWAYS: dict[str, object] = {"mode": "always"}
EACH_MINUTE: dict[str, object] = {"mode": "interval", "every_minutes": 1}
EACH_TWO_MINUTES: dict[str, object] = {"mode": "interval", "every_minutes": 2}


@dataclass(frozen=True)
class DemoSource:
    """A source of the demo, and what it is there to show."""

    source_id: str
    path: str
    cadence: dict[str, object]
    shows: str


SOURCES = (
    DemoSource("demo-news", "/news.rss", ALWAYS, "a busy feed, polled at every tick of the schedule"),
    DemoSource("demo-blog", "/blog.atom", EACH_MINUTE, "an Atom feed, polled each minute"),
    DemoSource("demo-podcast", "/podcast.rss", EACH_TWO_MINUTES, "a quiet feed: mostly nothing new"),
    DemoSource("demo-broken", "/broken.rss", EACH_MINUTE, "a broken server: each failure doubles the wait"),
    DemoSource("demo-moved", "/moved.rss", EACH_MINUTE, "a feed that moved: the redirect is followed"),
    DemoSource("demo-not-a-feed", "/not-a-feed.rss", EACH_MINUTE, "a web page that is no feed at all"),
)
SOURCE_IDS = tuple(source.source_id for source in SOURCES)


def open_table(stack: LocalStack) -> DynamoSources:
    """Return the stack's table of sources."""
    shards = int(stack.outputs["DueShards"])
    return DynamoSources(stack.client("dynamodb"), stack.outputs["SourcesTable"], shards=shards)


def wake(stack: LocalStack, home: str, *, now: datetime) -> None:
    """Forget what an earlier run left behind: its publisher was away, and its feeds failed for it."""
    settings = stacks.settings_of(stack.client("cloudformation"), STACK)
    DynamoGates(stack.client("dynamodb"), settings.gates_table).host_recovered(urls.host_of(home))
    table = open_table(stack)
    for source in table.read(SOURCE_IDS):
        table.edit(source, catalog.enabled(source, settings, now=now), now=now)


def add_missing(stack: LocalStack, home: str, *, now: datetime) -> list[DemoSource]:
    """Store the demo's sources that are not there yet, due at once, and return them."""
    table = open_table(stack)
    return [
        source
        for source in SOURCES
        if table.add(
            Source(
                source_id=source.source_id,
                url=home + source.path,
                created_at=now,
                config=config.parse({"cadence": source.cadence, "backfill": True}),
            )
        )
    ]
