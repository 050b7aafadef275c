"""Owns posts as the command shows them: fields for programs, lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from wellspring.client import Post, PostKey, Tally
from wellspring.intake import EXPIRY_MARGIN
from wellspring.model import FullText
from wellspring_cli import output, post_names
from wellspring_cli.output import plural, printable

LONGEST_TITLE = 160
LONGEST_NAME = 60
NO_TITLE = "(no title)"
INDENT = " " * 18
FULL_TEXTS = {
    FullText.WANTED: "its page is still to be fetched",
    FullText.OK: "fetched, below",
    FullText.FAILED: "its page could not be fetched; wellspring logs says why",
    FullText.SKIPPED: "there is no page, or nobody may fetch it",
}


def fields(post: Post) -> dict[str, Any]:
    """Return a whole post for programs."""
    entry = post.entry
    return {
        "name": str(post.key),
        "source_id": post.source_id,
        "content_hash": post.content_hash,
        "title": entry.title,
        "url": entry.url,
        "author": entry.author,
        "body": entry.body,
        "full_text": post.full_text,
        "full_text_status": post.full_text_status,
        "truncated": post.truncated,
        "id": entry.entry_id,
        "posted_at": output.moment(post.posted_at),
        "published_at": output.moment(entry.published_at),
        "fetched_at": output.moment(post.fetched_at),
        "processed_at": output.moment(post.processed_at),
        "expires_at": output.moment(post.expires_at),
        "revision_of": post.revision_of,
    }


def lines(posts: Iterable[Post]) -> list[Text]:
    """Return two lines for each post: when and what; its name, and what is special about it."""
    return [_lines(post) for post in posts]


def arrival(post: Post, source_name: str) -> Text:
    """Return one line for a post that was just stored."""
    name = output.one_line(source_name, LONGEST_NAME)
    return Text.assemble(
        (output.clock(post.fetched_at), "dim"),
        "  ",
        (printable(post.source_id), "cyan"),
        (f" ({name})" if name else "", "cyan"),
        "  ",
        (title(post), "bold"),
        (f"  {printable(post.entry.url)}" if post.entry.url else "", "dim"),
    )


def details(post: Post) -> list[tuple[str, str | Text]]:
    """Return what is known of a post but its texts, in pairs."""
    entry = post.entry
    follows = PostKey(post.source_id, post.revision_of) if post.revision_of else None
    pairs: list[tuple[str, str | Text | None]] = [
        ("name", str(post.key)),
        ("title", Text(output.one_line(entry.title) or NO_TITLE, "bold")),
        ("url", entry.url),
        ("author", entry.author),
        ("published", output.clock(entry.published_at, "the publisher does not say when")),
        ("fetched", output.clock(post.fetched_at)),
        ("processed", output.clock(post.processed_at, "no")),
        ("kept until", _kept_until(post)),
        ("revision of", post_names.short(follows) if follows else None),
        ("publisher's id", entry.entry_id),
        ("full text", FULL_TEXTS[post.full_text_status] if post.full_text_status else None),
        ("cut", "its text was too long to be stored whole" if post.truncated else None),
    ]
    return [(name, value if isinstance(value, Text) else printable(value)) for name, value in pairs if value]


def texts(post: Post) -> list[Text]:
    """Return the texts of a post line by line, as they were written but for what would steer the terminal."""
    found = [Text(""), *_text(post.entry.body or "(no text)")]
    if post.full_text:
        found += [Text(""), Text("The full text, of its page:", "bold"), *_text(post.full_text)]
    return found


def title(post: Post) -> str:
    """Return a title for one line; white space is folded, and what is too long is cut."""
    return output.one_line(post.entry.title, LONGEST_TITLE) or NO_TITLE


def told(tally: Tally, unknown: Sequence[str]) -> str:
    """Return what became of the posts, in a sentence."""
    names = ", ".join(printable(name) for name in unknown)
    lost = tally.unknown + len(unknown)
    parts = [
        f"{plural(tally.done, 'post')} marked as processed",
        f"{tally.already:,} had been before" if tally.already else "",
        f"{lost:,} not found{': ' if names else ''}{names}" if lost else "",
    ]
    return ", ".join(filter(None, parts)) + "."


def tally_fields(tally: Tally, unknown: Sequence[str]) -> dict[str, Any]:
    """Return what became of the posts for programs."""
    return {
        "processed": tally.done,
        "already_processed": tally.already,
        "not_found": tally.unknown + len(unknown),
        "unknown": list(unknown),
    }


def _lines(post: Post) -> Text:
    marks = [*(["processed"] if post.processed_at else []), *(["changed"] if post.revision_of else [])]
    return Text.assemble(
        (_minute(post.posted_at), "dim"),
        "  ",
        (title(post), "dim" if post.processed_at else "bold"),
        f"\n{INDENT}{printable(post_names.short(post.key))}",
        (f"  {', '.join(marks)}" if marks else "", "green"),
    )


def _kept_until(post: Post) -> str | None:
    """Say when the cleaning deletes a post: at its maximum age, before DynamoDB would."""
    if post.expires_at is None or post.processed_at:
        return None
    return f"{output.clock(post.expires_at - EXPIRY_MARGIN)}; once it is processed, for good"


def _minute(moment: datetime) -> str:
    return output.clock(moment)[:16]


def _text(text: str) -> list[Text]:
    return [Text(printable(line)) for line in text.splitlines()]
