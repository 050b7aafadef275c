"""Owns asking the X API v2: a user's posts, page by page, with the owner's own key."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode, urlsplit

from wellspring.asking import Tools
from wellspring.errors import ErrorClass, FetchError
from wellspring.http import Reply, Request
from wellspring.model import Source
from wellspring.settings import Settings
from wellspring.sources import discovery
from wellspring.sources.twitter import NAME, fields, id_of, listed, loaded, refusal, refuse_problems, text_of

PAGE = 100
MOST_PAGES = 10
"""What one poll may store; the next one goes on below it."""
MOST_BYTES = 20_000_000
PATIENCE = timedelta(seconds=60)
FIRST_MOMENT = datetime(2010, 11, 7, tzinfo=UTC)
"""X refuses to look further back."""
JUST_NOW = timedelta(seconds=15)
"""X refuses to begin at a moment that has hardly passed."""
SNOWFLAKES_BEGAN = 1_288_834_974_657
FIELDS = {
    "max_results": str(PAGE),
    "tweet.fields": "created_at,note_tweet,entities,referenced_tweets",
    "expansions": "author_id,referenced_tweets.id",
    "user.fields": "name,username",
}
KNOWN = ("user_id", "since_id", "until_id", "newest_id")
_PATH = re.compile(rf"/@?({NAME.pattern})(?:/(?:with_replies|media)?)?", re.ASCII)
_KEY = re.compile(r"[\x21-\x7e]+")


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
    asked = FIELDS | _stretch(source, known, settings, now=tools.clock())
    kept = {**known, "name": name, "user_id": user_id}
    pages: list[bytes] = []
    tokens: set[str] = set()
    while True:
        try:
            reply = get(f"users/{user_id}/tweets", **asked)
        except FetchError as error:
            if error.error_class is not ErrorClass.RATE_LIMITED or not pages:
                raise
            # What was read is kept; the next poll goes on below it.
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
    return {field: id_of(bookmark.get(field)) if same else "" for field in KNOWN}


def _stretch(
    source: Source, known: Mapping[str, str], settings: Settings, *, now: datetime
) -> dict[str, str]:
    """Return what to read: X is paid by the post, so nothing is read that would be left out."""
    until = {"until_id": known["until_id"]} if known["until_id"] else {}
    if known["since_id"]:
        return {"since_id": known["since_id"], **until}
    days = source.config.max_age_days
    age = settings.defaults.max_age if days is None else timedelta(days=days)
    since = max(now - min(age, now - FIRST_MOMENT), FIRST_MOMENT)
    if source.created_at and not source.config.backfill:
        since = max(since, source.created_at)
    since = min(since, now - JUST_NOW)
    if until:
        # X does not take a time beside an id; but its ids tell the time.
        return {"since_id": str((int(since.timestamp() * 1000) - SNOWFLAKES_BEGAN) << 22), **until}
    return {"start_time": since.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _next_page(reply: Reply) -> str:
    """Return the token of the page that follows, or nothing. Raises FetchError where X tells a problem."""
    answer = loaded(reply)
    if not listed(answer, "data"):
        refuse_problems(answer, reply)
    return text_of(fields(answer.get("meta")).get("next_token"))


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
    answer = loaded(reply)
    if user_id := id_of(fields(answer.get("data")).get("id")):
        return user_id
    refuse_problems(answer, reply)
    raise refusal(ErrorClass.PARSE, "X's answer names no user.", reply)


def _spoken(headers: Mapping[str, str]) -> dict[str, str]:
    """Keep what X says about its limits; where none is left, it is a word on when to come again."""
    kept = {
        name: value
        for name, value in headers.items()
        if name.startswith("x-rate-limit-") or name in ("date", "retry-after")
    }
    return kept | {"content-type": "application/json"}
