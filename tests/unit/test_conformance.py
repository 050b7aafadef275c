"""Feeds as real programs write them, each beside the posts that must come of it."""

import json
from pathlib import Path

import pytest

from builders import DEFAULTS, NOON, a_source
from wellspring import filters, identity
from wellspring.http import Reply
from wellspring.sources import KINDS
from wellspring.timestamps import from_text

FEEDS = Path(__file__).parents[1] / "data" / "feeds"
EXPECTED = ".expected.json"
NAMES = sorted(path.name.removesuffix(EXPECTED) for path in FEEDS.glob(f"*{EXPECTED}"))


@pytest.mark.parametrize("name", NAMES)
def test_a_feed_becomes_the_posts_that_it_means(name):
    expected = json.loads((FEEDS / f"{name}{EXPECTED}").read_text())
    (body,) = (path.read_bytes() for path in FEEDS.glob(f"{name}.*") if not path.name.endswith(EXPECTED))
    headers = {"content-type": expected["content_type"]}
    document = KINDS["rss"].parse(Reply(url=expected["url"], status=200, headers=headers, body=body))
    assert document.cut is (expected["status"] == "partial")
    assert document.title == expected["title"]
    assert [post(seen) for seen in identity.sightings(document.entries, {})] == [
        one | {"published_at": from_text(one["published_at"]) if one["published_at"] else None}
        for one in expected["posts"]
    ]


def post(seen):
    entry = seen.entry
    return {
        "id": entry.entry_id,
        "title": entry.title,
        "url": entry.url,
        "author": entry.author,
        "published_at": filters.dated(entry, now=NOON),
        "body": " ".join(entry.body.split()),
        "filtered": filters.reason_to_skip(seen, a_source(created_at=None), now=NOON, defaults=DEFAULTS),
    }


def test_the_set_is_there():
    assert len(NAMES) >= 40
