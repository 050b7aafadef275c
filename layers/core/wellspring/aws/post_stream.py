"""Owns which records of the Posts table's stream are new posts."""

from collections.abc import Iterable, Iterator
from typing import Any

from wellspring.aws import post_items as stored
from wellspring.aws.posts import OTHER_ROWS
from wellspring.aws.streams import Record
from wellspring.model import Post


def new_posts(records: Iterable[Record]) -> Iterator[Post]:
    """Yield the posts that were stored; what lies beside them, and changes of a post, are passed over."""
    for record in records:
        row: dict[str, Any] = record["dynamodb"].get("NewImage", {})
        if record["eventName"] == "INSERT" and row and row["content_hash"]["S"] not in OTHER_ROWS:
            yield stored.post_of(row)
