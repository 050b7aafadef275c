"""Owns how a person names a post: by its source's id, and its content hash or the beginning of it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from wellspring.model import PostKey
from wellspring.ports import Posts
from wellspring_cli.errors import NotThere
from wellspring_cli.output import printable

SHORT = 12
LONGEST_PART = 1_024
SIDE_BY_SIDE = 8


def short(key: PostKey) -> str:
    """Return a name that can be typed; a source would need millions of posts for two with the same."""
    return f"{key.source_id}/{key.content_hash[:SHORT]}"


def find(text: str, posts: Posts) -> PostKey:
    """Return the post that a person means. Raises NotThere when it is none, or could be another."""
    wanted = PostKey.from_text(text)
    if not _can_be_stored(wanted):
        raise _nothing(wanted)
    first = posts.hash_like(wanted.source_id, wanted.content_hash)
    if first is None:
        raise _nothing(wanted)
    if first != wanted.content_hash:
        second = posts.hash_like(wanted.source_id, wanted.content_hash, after=first)
        if second is not None:
            both = " and ".join(str(PostKey(wanted.source_id, name)) for name in (first, second))
            raise Ambiguous(f"{_quoted(wanted)} is the beginning of {both}. Type more of the hash.")
    return PostKey(wanted.source_id, first)


def find_all(texts: Iterable[str], posts: Posts) -> tuple[list[PostKey], list[str]]:
    """Return the posts that are there, and the names of those that are not. Raises when a name is none."""
    wanted = list(dict.fromkeys(texts))
    for text in wanted:
        PostKey.from_text(text)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        found = list(pool.map(lambda text: _find_or_none(text, posts), wanted))
    unknown = [text for text, key in zip(wanted, found, strict=True) if key is None]
    return list(dict.fromkeys(key for key in found if key)), unknown


class Ambiguous(NotThere):
    """More than one post has a name that begins so."""


def _find_or_none(text: str, posts: Posts) -> PostKey | None:
    try:
        return find(text, posts)
    except Ambiguous:
        raise
    except NotThere:
        return None


def _nothing(wanted: PostKey) -> NotThere:
    source = printable(wanted.source_id)
    return NotThere(
        f"There is no post {_quoted(wanted)}. See those of a source: wellspring posts list --source {source}"
    )


def _quoted(wanted: PostKey) -> str:
    return f"'{printable(str(wanted))}'"


def _can_be_stored(key: PostKey) -> bool:
    """Say whether a table could have such a key; it refuses to be asked for others."""
    try:
        return all(len(part.encode()) <= LONGEST_PART for part in (key.source_id, key.content_hash))
    except UnicodeEncodeError:
        return False
