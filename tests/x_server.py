"""The X API v2 as far as timelines need it: a real HTTP server on loopback that answers like X."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOOPBACK = "127.0.0.1"
PROBLEMS = "https://api.twitter.com/2/problems"
EPOCH = datetime(2010, 11, 4, 1, 42, 54, 657000, UTC)
"""The moment from which X's ids count."""
FIRST_MOMENT = datetime(2010, 11, 6, tzinfo=UTC)
WINDOW = timedelta(minutes=15)
MOST_LISTED = 3_200
SHORT = 280
ALWAYS_SHOWN = {"id", "text", "edit_history_tweet_ids"}
PARAMETERS = {
    *("max_results", "since_id", "until_id", "start_time", "end_time", "pagination_token", "exclude"),
    *("tweet.fields", "expansions", "user.fields", "media.fields", "place.fields", "poll.fields"),
}


@dataclass
class User:
    """An account, and whatever happened to it."""

    id: str
    username: str
    name: str
    protected: bool = False
    suspended: bool = False
    posts: list[dict[str, Any]] = field(default_factory=list)
    """As they stand in X's store, newest last."""


@dataclass(frozen=True)
class Asked:
    path: str
    query: dict[str, str]
    headers: dict[str, str]

    @property
    def is_timeline(self) -> bool:
        return self.path.endswith("/tweets")


@dataclass
class Answer:
    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class Refused(Exception):
    def __init__(self, answer: Answer) -> None:
        self.answer = answer


class XServer:
    """Accounts with posts, keys with budgets, and what was `asked`; use it as a context manager.

    `instead` may hold an answer for the n-th request from now on, counted from 0.
    """

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.clock = clock
        self.users: dict[str, User] = {}
        self.keys: set[str] = set()
        self.budget = 900
        """So many requests has each key for each kind of question, in a quarter of an hour."""
        self.page = 100
        self.asked: list[Asked] = []
        self.instead: dict[int, Answer] = {}
        self._others: dict[str, dict[str, Any]] = {}
        self._spent: dict[tuple[str, str], tuple[datetime, int]] = {}
        self._made = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with server._lock:
                    answer = server.answer(self.path, {k.lower(): v for k, v in self.headers.items()})
                self.send_response_only(answer.status)
                kind = "application/json" if answer.status == 200 else "application/problem+json"
                headers = {
                    "Date": format_datetime(server.clock(), usegmt=True),
                    "Content-Type": f"{kind}; charset=utf-8",
                    "Cache-Control": "no-cache, no-store, max-age=0",
                    "Content-Length": str(len(answer.data)),
                    **answer.headers,
                }
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    def __enter__(self) -> "XServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def timelines(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.is_timeline]

    def forget(self) -> None:
        """Forget what was asked, and what is answered otherwise."""
        self.asked.clear()
        self.instead.clear()

    def add_user(self, username: str, name: str = "", **fields: Any) -> User:
        user = User(id=str(2_244_994_945 + len(self.users)), username=username, name=name or username)
        for key, value in fields.items():
            setattr(user, key, value)
        self.users[user.id] = user
        return user

    def publish(self, user: User, text: str, at: datetime | None = None, **fields: Any) -> str:
        """Store a post, a long one as X does: cut in its text, whole in its note."""
        self._made += 1
        at = at or self.clock()
        post_id = str((round((at - EPOCH).total_seconds() * 1000) << 22) + self._made % 2**22)
        long = {"note_tweet": {"text": text}} if len(text) > SHORT else {}
        post = {
            "id": post_id,
            "text": text if not long else text[: SHORT - 1] + "…",
            "edit_history_tweet_ids": [post_id],
            "created_at": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
            "author_id": user.id,
            **long,
            **fields,
        }
        user.posts.append(post)
        self._others[post_id] = post
        return post_id

    def repost(self, user: User, post_id: str, at: datetime | None = None) -> str:
        original = self._others[post_id]
        author = self.users[original["author_id"]].username
        text = f"RT @{author}: {original['text']}"
        cut = text if len(text) <= 140 else text[:139] + "…"
        return self.publish(user, cut, at, referenced_tweets=[{"type": "retweeted", "id": post_id}])

    def answer(self, target: str, headers: dict[str, str]) -> Answer:
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        asked = Asked(parts.path, query, headers)
        self.asked.append(asked)
        if len(self.asked) - 1 in self.instead:
            return self.instead[len(self.asked) - 1]
        try:
            return self._answer(asked)
        except Refused as refused:
            return refused.answer

    def _answer(self, asked: Asked) -> Answer:
        key = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if key not in self.keys:
            raise Refused(_problem(401, "Unauthorized"))
        limits = self._charge(key, "timeline" if asked.is_timeline else "user")
        try:
            match asked.path.strip("/").split("/"):
                case ["2", "users", "by", "username", username]:
                    body = self._user(username)
                case ["2", "users", user_id, "tweets"]:
                    body = self._timeline(user_id, asked.query)
                case _:
                    raise Refused(_problem(404, "Not Found"))
        except Refused as refused:
            refused.answer.headers |= limits
            raise
        return Answer(body=body, headers=limits)

    def _charge(self, key: str, kind: str) -> dict[str, str]:
        now = self.clock()
        ends, spent = self._spent.get((key, kind), (now + WINDOW, 0))
        if now >= ends:
            ends, spent = now + WINDOW, 0
        left = self.budget - spent - 1
        limits = {
            "x-rate-limit-limit": str(self.budget),
            "x-rate-limit-remaining": str(max(left, 0)),
            "x-rate-limit-reset": str(int(ends.timestamp())),
        }
        if left < 0:
            raise Refused(_problem(429, "Too Many Requests", limits))
        self._spent[key, kind] = (ends, spent + 1)
        return limits

    def _user(self, username: str) -> dict[str, Any]:
        found = next((u for u in self.users.values() if u.username.lower() == username.lower()), None)
        if found is None or found.suspended:
            return {"errors": [_no_user("username", username, suspended=found is not None)]}
        return {"data": {"id": found.id, "name": found.name, "username": found.username}}

    def _timeline(self, user_id: str, query: dict[str, str]) -> dict[str, Any]:
        self._check(query)
        user = self.users.get(user_id)
        if user is None or user.suspended:
            return {"errors": [_no_user("id", user_id, suspended=user is not None)]}
        if user.protected:
            return {"errors": [_protected(user_id)]}
        found = sorted(user.posts, key=lambda post: int(post["id"]), reverse=True)[:MOST_LISTED]
        if since := query.get("since_id"):
            found = [post for post in found if int(post["id"]) > int(since)]
        if until := query.get("until_id"):
            found = [post for post in found if int(post["id"]) < int(until)]
        if start := query.get("start_time"):
            found = [post for post in found if datetime.fromisoformat(post["created_at"]) >= _moment(start)]
        if token := query.get("pagination_token"):
            found = [post for post in found if int(post["id"]) < _id_of(token)]
        page = found[: min(self.page, int(query.get("max_results", "10")))]
        if not page:
            return {"meta": {"result_count": 0}}
        meta: dict[str, Any] = {
            "result_count": len(page),
            "newest_id": page[0]["id"],
            "oldest_id": page[-1]["id"],
        }
        if len(found) > len(page):
            meta["next_token"] = _token_of(page[-1]["id"])
        includes, errors = self._includes(page, query)
        shown = [_shown(post, query) for post in page]
        return {
            "data": shown,
            **({"includes": includes} if includes else {}),
            **({"errors": errors} if errors else {}),
            "meta": meta,
        }

    def _includes(
        self, page: list[dict[str, Any]], query: dict[str, str]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        expansions = query.get("expansions", "").split(",")
        includes: dict[str, Any] = {}
        errors = []
        if "author_id" in expansions:
            authors = {post["author_id"]: self.users[post["author_id"]] for post in page}
            includes["users"] = [
                {"id": one.id, "name": one.name, "username": one.username} for one in authors.values()
            ]
        if "referenced_tweets.id" in expansions:
            wanted = {ref["id"]: None for post in page for ref in post.get("referenced_tweets", [])}
            known = [self._others[post_id] for post_id in wanted if post_id in self._others]
            if known:
                includes["tweets"] = [_shown(post, query) for post in known]
            errors = [_no_post(post_id) for post_id in wanted if post_id not in self._others]
        return includes, errors

    def delete(self, user: User, post_id: str) -> None:
        user.posts = [post for post in user.posts if post["id"] != post_id]
        self._others.pop(post_id)

    def _check(self, query: dict[str, str]) -> None:
        """Refuse what X refuses."""
        for name in query:
            if name not in PARAMETERS:
                raise _invalid(name, query[name], f"The query parameter [{name}] is not known")
        if not 5 <= int(query.get("max_results", "10")) <= 100:
            raise _invalid("max_results", query["max_results"], "The number is not between 5 and 100")
        since = query.get("since_id")
        if since is not None and not (since.isascii() and since.isdigit() and 0 < int(since) < 2**63):
            raise _invalid("since_id", since, "'since_id' must be the ID of a post")
        if (since or "until_id" in query) and "start_time" in query:
            told = "Invalid use of 'since_id' or 'until_id' in conjunction with 'start_time' or 'end_time'."
            raise _invalid("since_id", since, told)
        start = query.get("start_time")
        latest = self.clock() - timedelta(seconds=10)
        if start is not None and not FIRST_MOMENT <= _moment(start) <= latest:
            raise _invalid("start_time", start, "'start_time' must be in the past, and after 2010-11-06")
        if "pagination_token" in query:
            _id_of(query["pagination_token"])


def _shown(post: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    """Show the fields that were asked for; an expansion shows the id that it expands."""
    named = {*query.get("tweet.fields", "").split(",")}
    expanded = {one.partition(".")[0] for one in query.get("expansions", "").split(",")}
    return {name: value for name, value in post.items() if name in ALWAYS_SHOWN | named | expanded}


def _token_of(post_id: str) -> str:
    return f"7140dibdnow{int(post_id):x}"


def _id_of(token: str) -> int:
    try:
        return int(token.removeprefix("7140dibdnow"), 16)
    except ValueError:
        raise _invalid("pagination_token", token, "The token is not valid") from None


def _moment(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise _invalid("start_time", text, "The time is not like 2020-01-31T12:00:00Z") from None


def _problem(status: int, title: str, headers: dict[str, str] | None = None) -> Answer:
    body = {"title": title, "detail": title, "type": "about:blank", "status": status}
    return Answer(status, body, {**(headers or {})})


def _invalid(name: str, value: str, message: str) -> Refused:
    return Refused(
        Answer(
            400,
            {
                "errors": [{"parameters": {name: [value]}, "message": message}],
                "title": "Invalid Request",
                "detail": "One or more parameters to your request was invalid.",
                "type": f"{PROBLEMS}/invalid-request",
            },
        )
    )


def _no_user(parameter: str, value: str, *, suspended: bool) -> dict[str, Any]:
    missing = f"Could not find user with {parameter}: [{value}]."
    return {
        "value": value,
        "detail": f"User has been suspended: [{value}]." if suspended else missing,
        "title": "Forbidden" if suspended else "Not Found Error",
        "resource_type": "user",
        "parameter": parameter,
        "resource_id": value,
        "type": f"{PROBLEMS}/resource-not-found",
    }


def _protected(user_id: str) -> dict[str, Any]:
    return {
        "resource_id": user_id,
        "parameter": "id",
        "resource_type": "user",
        "section": "data",
        "title": "Authorization Error",
        "value": user_id,
        "detail": f"Sorry, you are not authorized to see the user with id: [{user_id}].",
        "type": f"{PROBLEMS}/not-authorized-for-resource",
    }


def _no_post(post_id: str) -> dict[str, Any]:
    return {
        "value": post_id,
        "detail": f"Could not find tweet with referenced_tweets.id: [{post_id}].",
        "title": "Not Found Error",
        "resource_type": "tweet",
        "parameter": "referenced_tweets.id",
        "resource_id": post_id,
        "type": f"{PROBLEMS}/resource-not-found",
    }
