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
from wellspring.sources import Document, dates, discovery, text

TITLE_LENGTH = 100
PAGE = 100
MOST_PAGES = 40
"""X itself lists no more than a user's last 3,200 posts, but some of its pages are short."""
MOST_BYTES = 20_000_000
PATIENCE = timedelta(seconds=60)
FIRST_MOMENT = datetime(2010, 11, 7, tzinfo=UTC)
"""X refuses to look further back."""
JUST_NOW = timedelta(seconds=15)
"""X refuses to begin at a moment that has hardly passed."""
FIELDS = {
    "max_results": str(PAGE),
    "tweet.fields": "created_at,note_tweet,entities,referenced_tweets",
    "expansions": "author_id,referenced_tweets.id",
    "user.fields": "name,username",
}
PROBLEMS = {
    "not-authorized-for-resource": (ErrorClass.AUTHENTICATION, "X: the user's posts are protected."),
    "resource-not-found": (ErrorClass.GONE, "X: there is no such user, or it is suspended."),
}
"""What X tells in a good answer. Its own words are not repeated: nobody knows what they quote."""
_NAME = re.compile(r"\w{1,15}", re.ASCII)
_PATH = re.compile(rf"/@?({_NAME.pattern})(?:/(?:with_replies|media)?)?", re.ASCII)
_KEY = re.compile(r"[\x21-\x7e]+")
_ID = re.compile(r"[0-9]{1,19}")
_SHORT_LINK = re.compile(r"https?://t\.co/\w+", re.ASCII)


def ask(source: Source, tools: Tools, settings: Settings) -> Reply:
    """Ask for what is new since the last poll, all pages of it, as one document."""
    name = _name(source.url)
    headers = {"Authorization": f"Bearer {_key(source, tools)}"}
    known = _known(source, name)
    deadline = tools.clock() + PATIENCE

    def get(path: str, **query: str) -> Reply:
        url = f"{settings.x_api_url}/2/{path}" + (f"?{urlencode(query)}" if query else "")
        return tools.http.get(Request(url=url, headers=headers))

    user_id = known["user_id"] or _user_id(get(f"users/by/username/{name}"))
    asked = FIELDS | _since(source, known, settings, now=tools.clock())
    kept = {"name": name, "user_id": user_id, "since_id": known["since_id"]}
    pages: list[bytes] = []
    tokens: set[str] = set()
    while True:
        try:
            reply = get(f"users/{user_id}/tweets", **asked)
        except FetchError as error:
            if error.error_class is not ErrorClass.RATE_LIMITED or not pages:
                raise
            # What was read is kept; the next poll begins where this one began.
            spoken = _spoken(error.headers) | {"x-rate-limit-remaining": "0"}
            return _joined(source, kept, pages, spoken, complete=False)
        token = _next_page(reply)
        if token in tokens:
            raise FetchError(ErrorClass.PARSE, "X's pages lead in a circle.", http_status=reply.status)
        pages.append(reply.body)
        enough = len(pages) == MOST_PAGES or sum(map(len, pages)) > MOST_BYTES or tools.clock() > deadline
        if not token or enough:
            return _joined(source, kept, pages, _spoken(reply.headers), complete=not token)
        tokens.add(token)
        asked |= {"pagination_token": token}


def _known(source: Source, name: str) -> dict[str, str]:
    """Return what earlier polls found out, if it was about the same user: somebody may change the URL."""
    bookmark = source.cursor.bookmark
    same = bookmark.get("name", "").lower() == name.lower()
    return {field: _id(bookmark.get(field)) if same else "" for field in ("user_id", "since_id")}


def _since(source: Source, known: Mapping[str, str], settings: Settings, *, now: datetime) -> dict[str, str]:
    """Return from where on to read: X is paid by the post, so nothing is read that would be left out."""
    if known["since_id"]:
        return {"since_id": known["since_id"]}
    days = source.config.max_age_days
    age = settings.defaults.max_age if days is None else timedelta(days=days)
    since = max(now - min(age, now - FIRST_MOMENT), FIRST_MOMENT)
    if source.created_at and not source.config.backfill:
        since = max(since, source.created_at)
    return {"start_time": min(since, now - JUST_NOW).strftime("%Y-%m-%dT%H:%M:%SZ")}


def _next_page(reply: Reply) -> str:
    """Return the token of the page that follows, or nothing. Raises FetchError where X tells a problem."""
    answer = _loaded(reply)
    if not _listed(answer, "data"):
        _refuse_problems(answer, reply)
    return _text(_fields(answer.get("meta")).get("next_token"))


def _joined(
    source: Source,
    kept: Mapping[str, str],
    pages: Sequence[bytes],
    headers: Mapping[str, str],
    *,
    complete: bool,
) -> Reply:
    """Return all pages as one document, which is parsed at arm's length like any other."""
    head = json.dumps({**kept, "complete": complete})[:-1].encode()
    body = head + b', "pages": [' + b",".join(pages) + b"]}"
    return Reply(url=source.url, status=200, headers=headers, body=body)


def parse(reply: Reply) -> Document:
    """Return the posts of a timeline. Raises FetchError when X tells that there is none."""
    found = _loaded(reply)
    pages = found["pages"] if isinstance(found.get("pages"), list) else [found]
    if not any(_listed(page, "data") for page in pages):
        for page in pages:
            _refuse_problems(_fields(page), reply)
    name = _text(found.get("name"))
    entries = tuple(entry for page in pages for entry in _entries(_fields(page), name))
    # The mark never goes back: a post may be deleted, and X may list others again.
    newest = max(int(one or 0) for one in (_id(found.get("since_id")), *(e.entry_id for e in entries)))
    kept = {"name": name, "user_id": _id(found.get("user_id")), "since_id": str(newest) if newest else ""}
    return Document(
        entries=entries,
        parser="x api v2",
        title=next((entry.author for entry in entries if entry.author), None),
        cut=found.get("complete") is False,
        bookmark={field: value for field, value in kept.items() if value},
    )


def _name(url: str) -> str:
    try:
        parts = urlsplit(url)
        found = _PATH.fullmatch(parts.path) if parts.hostname in discovery.TIMELINES else None
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
    if user_id := _id(_fields(answer.get("data")).get("id")):
        return user_id
    _refuse_problems(answer, reply)
    raise _refusal(ErrorClass.PARSE, "X's answer names no user.", reply)


def _refuse_problems(answer: Mapping[str, Any], reply: Reply) -> None:
    """Raise what X tells in a good answer: the user is gone, suspended or protected."""
    for problem in _listed(answer, "errors"):
        kind = _text(problem.get("type")).rpartition("/")[2]
        raise _refusal(*PROBLEMS.get(kind, (ErrorClass.PARSE, "X tells of an unknown problem.")), reply)


def _refusal(error_class: ErrorClass, told: str, reply: Reply) -> FetchError:
    return FetchError(error_class, told, http_status=reply.status, headers=reply.headers)


def _entries(page: Mapping[str, Any], name: str) -> Iterator[Entry]:
    includes = _fields(page.get("includes"))
    people = {_id(one.get("id")): one for one in _listed(includes, "users")}
    others = {_id(one.get("id")): one for one in _listed(includes, "tweets")}
    for post in _listed(page, "data"):
        post_id = _id(post.get("id"))
        if not post_id:
            continue
        author = _fields(people.get(_id(post.get("author_id"))))
        own = _NAME.fullmatch(_text(author.get("username")))
        handle = own[0] if own else name
        body = _body(post, others)
        yield Entry(
            entry_id=post_id,
            title=title_of(body),
            url=f"https://x.com/{handle or 'i'}/status/{post_id}",
            body=body,
            author=text.line(_text(author.get("name"))) or (f"@{handle}" if handle else None),
            published_at=dates.moment(post.get("created_at")),
        )


def title_of(body: str) -> str:
    """Return the first characters of a post that has no title of its own."""
    folded = text.line(body)
    return folded if len(folded) <= TITLE_LENGTH else folded[:TITLE_LENGTH] + "…"


def _body(post: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the whole text: a long post's is in its note, a repost's is in the original."""
    for reference in _listed(post, "referenced_tweets"):
        original = others.get(_id(reference.get("id")))
        if reference.get("type") == "retweeted" and original:
            prefix = re.match(r"RT @\w{1,15}: ", _text(post.get("text")))
            return (prefix[0] if prefix else "") + _body(original, {})
    note = _fields(post.get("note_tweet"))
    whole = note if _text(note.get("text")) else post
    links = {
        _text(link.get("url")): _text(link.get("expanded_url"))
        for link in _listed(_fields(whole.get("entities")), "urls")
    }
    # The text is escaped, the links are not: an ampersand in a link begins no entity.
    body = _SHORT_LINK.sub(lambda short: links.get(short[0]) or short[0], unescape(_text(whole.get("text"))))
    return text.paragraphs(body)


def _loaded(reply: Reply) -> Mapping[str, Any]:
    try:
        return _fields(json.loads(reply.body))
    except (ValueError, RecursionError):
        raise _refusal(ErrorClass.PARSE, "X's answer is no JSON.", reply) from None


def _spoken(headers: Mapping[str, str]) -> dict[str, str]:
    """Keep what X says about its limits; where none is left, it is a word on when to come again."""
    kept = {
        name: value
        for name, value in headers.items()
        if name.startswith("x-rate-limit-") or name in ("date", "retry-after")
    }
    return kept | {"content-type": "application/json"}


def _fields(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _listed(found: object, name: str) -> list[dict[str, Any]]:
    listed = _fields(found).get(name)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""


def _id(found: object) -> str:
    """Return an id if it is one: a number of 64 bits, written out."""
    digits = _text(found)
    return digits if _ID.fullmatch(digits) and int(digits) < 2**63 else ""
