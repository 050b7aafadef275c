"""Owns X timelines: a user's posts over the API v2, with the owner's own key."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode, urlsplit

from wellspring.asking import Tools
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply, Request
from wellspring.model import Entry, Source
from wellspring.settings import Settings
from wellspring.sources import Document, dates, text

TITLE_LENGTH = 100
PAGE = 100
MOST_PAGES = 32
"""X itself lists no more than a user's last 3,200 posts."""
PATIENCE = timedelta(seconds=60)
FIRST_MOMENT = datetime(2010, 11, 7, tzinfo=UTC)
"""X refuses to look further back."""
FIELDS = {
    "max_results": str(PAGE),
    "tweet.fields": "created_at,note_tweet,entities,referenced_tweets",
    "expansions": "author_id,referenced_tweets.id",
    "user.fields": "name,username",
}
_NAME = re.compile(r"/@?(\w{1,15})(?:/(?:with_replies|media)?)?")
_KEY = re.compile(r"[\x21-\x7e]+")


def ask(source: Source, tools: Tools, settings: Settings) -> Reply:
    """Ask for what is new since the last poll, all pages of it, as one document."""
    name = _name(source.url)
    headers = {"Authorization": f"Bearer {_key(source, tools)}"}
    bookmark = source.cursor.bookmark

    def get(path: str, **query: str) -> Reply:
        url = f"{settings.x_api_url}/2/{path}" + (f"?{urlencode(query)}" if query else "")
        return tools.http.get(Request(url=url, headers=headers))

    user_id = bookmark.get("user_id") or _user_id(get(f"users/by/username/{name}"))
    asked = FIELDS | _since(source, settings, now=tools.clock())
    deadline = tools.clock() + PATIENCE
    pages: list[bytes] = []
    complete = False
    while not complete and len(pages) < MOST_PAGES:
        if tools.clock() > deadline:
            raise FetchError(ErrorClass.TIMEOUT, f"X took longer than {PATIENCE.seconds} s.")
        try:
            reply = get(f"users/{user_id}/tweets", **asked)
        except FetchError as error:
            if error.error_class is not ErrorClass.RATE_LIMITED or not pages:
                raise
            # What was read is kept; the next poll begins where this one began.
            spoken = _spoken(error.headers) | {"x-rate-limit-remaining": "0"}
            return _joined(source, user_id, pages, spoken, complete=False)
        pages.append(reply.body)
        token = _fields(_loaded(reply).get("meta")).get("next_token")
        complete = not isinstance(token, str)
        asked |= {"pagination_token": str(token)}
    return _joined(source, user_id, pages, _spoken(reply.headers), complete=True)


def _since(source: Source, settings: Settings, *, now: datetime) -> dict[str, str]:
    """Return from where on to read: X is paid by the post, so nothing is read that would be left out."""
    if since_id := source.cursor.bookmark.get("since_id"):
        return {"since_id": since_id}
    days = source.config.max_age_days
    age = settings.defaults.max_age if days is None else timedelta(days=days)
    since = max(now - min(age, now - FIRST_MOMENT), FIRST_MOMENT)
    if source.created_at and not source.config.backfill:
        since = max(since, source.created_at)
    return {"start_time": since.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _joined(
    source: Source, user_id: str, pages: Sequence[bytes], headers: Mapping[str, str], *, complete: bool
) -> Reply:
    """Return all pages as one document, which is parsed at arm's length like any other."""
    head = json.dumps({"user_id": user_id, "name": _name(source.url), "complete": complete})[:-1].encode()
    body = head + b', "pages": [' + b",".join(pages) + b"]}"
    return Reply(url=source.url, status=200, headers=headers, body=body)


def parse(reply: Reply) -> Document:
    """Return the posts of a timeline. Raises FetchError when X tells that there is none."""
    found = _loaded(reply)
    pages = found["pages"] if isinstance(found.get("pages"), list) else [found]
    if not any(_listed(page, "data") for page in pages):
        for page in pages:
            _refuse_problems(_fields(page), reply)
    entries = tuple(
        entry for page in pages for entry in _entries(_fields(page), str(found.get("name") or ""))
    )
    newest = max((int(entry.entry_id or 0) for entry in entries), default=0)
    kept = {"user_id": found.get("user_id"), "since_id": str(newest) if newest else None}
    return Document(
        entries=entries,
        parser="x api v2",
        title=next((entry.author for entry in entries if entry.author), None),
        cut=found.get("complete") is False,
        bookmark={name: value for name, value in kept.items() if isinstance(value, str) and value},
    )


def _name(url: str) -> str:
    try:
        found = _NAME.fullmatch(urlsplit(url).path)
    except ValueError:
        found = None
    if not found:
        raise FetchError(
            ErrorClass.BLOCKED_URL, "The URL names no user: write it like https://x.com/username."
        )
    return found[1]


def _key(source: Source, tools: Tools) -> str:
    """Return the owner's key; without one nothing is sent."""
    if not source.owner_id:
        told = 'The source has no "owner_id": X is read with the key of an owner.'
        raise FetchError(ErrorClass.AUTHENTICATION, told)
    key = tools.secrets.x_api_key(source.owner_id)
    if not key or not _KEY.fullmatch(key):
        what = "no key of the X API" if not key else "a key of the X API that cannot be one"
        told = f'The owner "{source.owner_id[:60]}" has {what}: store one as the parameter x-api-key.'
        raise FetchError(ErrorClass.AUTHENTICATION, told)
    return key


def _user_id(reply: Reply) -> str:
    answer = _loaded(reply)
    user_id = _fields(answer.get("data")).get("id")
    if isinstance(user_id, str) and user_id.isascii() and user_id.isdigit():
        return user_id
    _refuse_problems(answer, reply)
    raise FetchError(ErrorClass.PARSE, "X's answer names no user.", http_status=reply.status)


def _refuse_problems(answer: Mapping[str, Any], reply: Reply) -> None:
    """Raise what X tells in a good answer: the user is gone, suspended or protected."""
    for problem in _listed(answer, "errors"):
        told = text.line(str(problem.get("detail") or problem.get("title") or "X refused."))[:150]
        kind = str(problem.get("type") or "")
        if "not-authorized" in kind:
            raise FetchError(ErrorClass.AUTHENTICATION, f"X: {told}", http_status=reply.status)
        if "not-found" in kind or "suspended" in told.lower():
            raise FetchError(ErrorClass.GONE, f"X: {told}", http_status=reply.status)
        raise FetchError(ErrorClass.PARSE, f"X: {told}", http_status=reply.status)


def _entries(page: Mapping[str, Any], name: str) -> Iterator[Entry]:
    includes = _fields(page.get("includes"))
    people = {one.get("id"): one for one in _listed(includes, "users")}
    others = {one.get("id"): one for one in _listed(includes, "tweets")}
    for post in _listed(page, "data"):
        post_id = post.get("id")
        if not (isinstance(post_id, str) and post_id.isascii() and post_id.isdigit()):
            continue
        author = _fields(people.get(post.get("author_id")))
        handle = str(author.get("username") or name or "i")
        body = _body(post, others)
        yield Entry(
            entry_id=post_id,
            title=title_of(body),
            url=f"https://x.com/{handle}/status/{post_id}",
            body=body,
            author=text.line(str(author.get("name") or "")) or (f"@{handle}" if handle != "i" else None),
            published_at=dates.moment(post.get("created_at")),
        )


def title_of(body: str) -> str:
    """Return the first characters of a post that has no title of its own."""
    folded = text.line(body)
    return folded if len(folded) <= TITLE_LENGTH else folded[:TITLE_LENGTH] + "…"


def _body(post: Mapping[str, Any], others: Mapping[object, Mapping[str, Any]]) -> str:
    """Return the whole text: a long post's is in its note, a repost's is in the original."""
    for reference in _listed(post, "referenced_tweets"):
        original = others.get(reference.get("id"))
        if reference.get("type") == "retweeted" and original:
            prefix = re.match(r"RT @\w{1,15}: ", str(post.get("text") or ""))
            return (prefix[0] if prefix else "") + _body(original, {})
    note = _fields(post.get("note_tweet"))
    whole = note if isinstance(note.get("text"), str) else post
    body = str(whole.get("text") or "")
    for link in _listed(_fields(whole.get("entities")), "urls"):
        short, long = link.get("url"), link.get("expanded_url")
        if isinstance(short, str) and isinstance(long, str) and short:
            body = body.replace(short, long)
    return text.paragraphs(unescape(body))


def _loaded(reply: Reply) -> Mapping[str, Any]:
    try:
        return _fields(json.loads(reply.body))
    except (ValueError, RecursionError):
        raise FetchError(
            ErrorClass.PARSE, "X's answer is no JSON.", http_status=reply.status, headers=reply.headers
        ) from None


def _spoken(headers: Mapping[str, str]) -> dict[str, str]:
    """Keep what X says about its limits; where none is left, it is a word on when to come again."""
    kept = {
        name: value for name, value in headers.items() if name.startswith("x-rate-limit-") or name == "date"
    }
    return kept | {"content-type": "application/json"}


def _fields(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _listed(found: object, name: str) -> list[dict[str, Any]]:
    listed = _fields(found).get(name)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
