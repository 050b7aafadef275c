"""Owns X timelines: what the API v2 answered, to entries."""

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply
from wellspring.model import Entry
from wellspring.sources import Document, dates, text

TITLE_LENGTH = 100
PROBLEMS = {
    "not-authorized-for-resource": (ErrorClass.AUTHENTICATION, "X: the user's posts are protected."),
    "resource-not-found": (ErrorClass.GONE, "X: there is no such user, or it is suspended."),
}
"""What X tells in a good answer. Its own words are not repeated: nobody knows what they quote."""
NAME = re.compile(r"\w{1,15}", re.ASCII)
_ID = re.compile(r"[0-9]{1,19}")
_SHORT_LINK = re.compile(r"https?://t\.co/\w+", re.ASCII)


def parse(reply: Reply) -> Document:
    """Return the posts of a timeline. Raises FetchError when X tells that there is none."""
    found = loaded(reply)
    pages = found["pages"] if isinstance(found.get("pages"), list) else [found]
    if not any(listed(page, "data") for page in pages):
        for page in pages:
            refuse_problems(fields(page), reply)
    name = text_of(found.get("name"))
    entries = tuple(entry for page in pages for entry in _entries(fields(page), name))
    cut = found.get("complete") is False
    return Document(
        entries=entries,
        parser="x api v2",
        title=next((entry.author for entry in entries if entry.author), None),
        cut=cut,
        bookmark=_bookmark(found, [int(entry.entry_id or 0) for entry in entries], cut=cut),
    )


def _bookmark(found: Mapping[str, Any], ids: list[int], *, cut: bool) -> dict[str, str]:
    """Return where the next poll goes on: above the newest post, or below the oldest where this one was cut.

    The mark never goes back: a post may be deleted, and X may list others again.
    """
    since, seen = id_of(found.get("since_id")), id_of(found.get("newest_id"))
    newest = str(max(int(since or 0), int(seen or 0), *ids) or "")
    oldest = str(min(ids)) if ids else id_of(found.get("until_id"))
    kept = {"name": text_of(found.get("name")), "user_id": id_of(found.get("user_id"))}
    if cut:
        return kept | {"since_id": since, "newest_id": newest, "until_id": oldest}
    return kept | {"since_id": newest, "newest_id": "", "until_id": ""}


def refuse_problems(answer: Mapping[str, Any], reply: Reply) -> None:
    """Raise what X tells in a good answer: the user is gone, suspended or protected."""
    for problem in listed(answer, "errors"):
        kind = text_of(problem.get("type")).rpartition("/")[2]
        raise refusal(*PROBLEMS.get(kind, (ErrorClass.PARSE, "X tells of an unknown problem.")), reply)


def refusal(error_class: ErrorClass, told: str, reply: Reply) -> FetchError:
    return FetchError(error_class, told, http_status=reply.status, headers=reply.headers)


def _entries(page: Mapping[str, Any], name: str) -> Iterator[Entry]:
    includes = fields(page.get("includes"))
    people = {id_of(one.get("id")): one for one in listed(includes, "users")}
    others = {id_of(one.get("id")): one for one in listed(includes, "tweets")}
    for post in listed(page, "data"):
        post_id = id_of(post.get("id"))
        if not post_id:
            continue
        author = fields(people.get(id_of(post.get("author_id"))))
        own = NAME.fullmatch(text_of(author.get("username")))
        handle = own[0] if own else name
        body = _body(post, others)
        yield Entry(
            entry_id=post_id,
            title=title_of(body),
            url=f"https://x.com/{handle or 'i'}/status/{post_id}",
            body=body,
            author=text.line(text_of(author.get("name"))) or (f"@{handle}" if handle else None),
            published_at=dates.moment(post.get("created_at")),
        )


def title_of(body: str) -> str:
    """Return the first characters of a post that has no title of its own."""
    folded = text.line(body)
    return folded if len(folded) <= TITLE_LENGTH else folded[:TITLE_LENGTH] + "…"


def _body(post: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the whole text: a long post's is in its note, a repost's is in the original."""
    for reference in listed(post, "referenced_tweets"):
        original = others.get(id_of(reference.get("id")))
        if reference.get("type") == "retweeted" and original:
            prefix = re.match(r"RT @\w{1,15}: ", text_of(post.get("text")))
            return (prefix[0] if prefix else "") + _body(original, {})
    note = fields(post.get("note_tweet"))
    whole = note if text_of(note.get("text")) else post
    links = {
        text_of(link.get("url")): text_of(link.get("expanded_url"))
        for link in listed(fields(whole.get("entities")), "urls")
    }
    # The text is escaped, the links are not: an ampersand in a link begins no entity.
    body = _SHORT_LINK.sub(
        lambda short: links.get(short[0]) or short[0], unescape(text_of(whole.get("text")))
    )
    return text.paragraphs(body)


def loaded(reply: Reply) -> Mapping[str, Any]:
    try:
        return fields(json.loads(reply.body))
    except (ValueError, RecursionError):
        raise refusal(ErrorClass.PARSE, "X's answer is no JSON.", reply) from None


def fields(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def listed(found: object, name: str) -> list[dict[str, Any]]:
    listed = fields(found).get(name)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def text_of(found: object) -> str:
    return found if isinstance(found, str) else ""


def id_of(found: object) -> str:
    """Return an id if it is one: a number of 64 bits, written out."""
    digits = text_of(found)
    return digits if _ID.fullmatch(digits) and int(digits) < 2**63 else ""
