"""`wellspring try`: what a poll of a URL or a file would store, without a stack."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.text import Text

from wellspring import config, memory, settings, timestamps, trial, urls
from wellspring.errors import ErrorClass
from wellspring.http import HttpClient, Reply
from wellspring.model import Source, Status
from wellspring.ports import World
from wellspring.robots import Robots
from wellspring.sandbox import Sandbox
from wellspring.settings import Settings
from wellspring.sources import KINDS
from wellspring.trial import Trial, TriedPost
from wellspring_cli.errors import WrongUse

YOU = "you"
SHOWN_BODY = 200
LOOPBACK = "127.0.0.0/8, ::1/128"
WEB = ("http://", "https://")
NO_KEY = "X is read with a key of your own: put it in the environment variable X_API_KEY."
GOOD = {Status.OK, Status.PARTIAL, Status.NOT_MODIFIED}


def run(
    what: str,
    *,
    kind: str | None = None,
    base: str | None = None,
    headers: Mapping[str, str] = {},
    max_age_days: float | None = None,
) -> Trial:
    """Try a URL, a file, or what comes in (`-`)."""
    if kind is not None and kind not in KINDS:
        raise WrongUse(f'The type "{kind}" is not known. Use one of: {", ".join(sorted(KINDS))}')
    told = {"headers": dict(headers)} | ({"max_age_days": max_age_days} if max_age_days is not None else {})
    source = Source(source_id="trial", url=what, owner_id=YOU, config=config.parse(told))
    if what.lower().startswith(WEB):
        if base:
            raise WrongUse("--url says where a file comes from; a URL comes from where it is. Leave it out.")
        with _world(what) as (world, chosen):
            return _with_advice(trial.try_url(source, kind, world, chosen))
    if base and urls.origin_of(base) is None:
        raise WrongUse(f"--url must be a URL that begins with http:// or https://, found {base!r}.")
    with _world(base or "") as (world, chosen):
        reply = Reply(url=base or "", status=200, headers={}, body=_read(what, chosen.max_bytes))
        return trial.try_reply(replace(source, url=base or ""), kind, reply, world, chosen)


def fields(tried: Trial) -> dict[str, Any]:
    """Return what would come of it for programs."""
    return {
        "status": tried.status,
        "type": tried.type,
        "error_class": tried.error_class,
        "error": tried.error,
        "note": tried.note,
        "url": tried.url,
        "title": tried.title,
        "feeds": [{"url": feed.url, "title": feed.title} for feed in tried.feeds],
        "posts": [post.fields() for post in tried.posts],
    }


def show(tried: Trial, console: Console) -> None:
    """Tell a person what would come of it."""
    out = Counter(post.filtered for post in tried.posts)
    kept = out.pop(None, 0)
    left = ", ".join(f"{number} {why}" for why, number in out.most_common())
    style = "green" if tried.status in GOOD else "red"
    head = Text(f"{tried.status}", style=style) + Text(f"  type {tried.type}")
    console.print(head + Text(f": {tried.title}" if tried.title else ""), soft_wrap=True)
    if tried.note:
        console.print(Text(tried.note, style="yellow"), soft_wrap=True)
    if tried.error:
        console.print(Text(f"{tried.error_class}: {tried.error}", style="red"), soft_wrap=True)
    for feed in tried.feeds:
        console.print(f"The page offers a feed: {feed.url}  {feed.title}", soft_wrap=True)
    for post in tried.posts:
        _show_post(post, console)
    if tried.posts:
        console.print(
            f"{kept} would be stored" + (f"; left out: {left}" if left else "") + ".", soft_wrap=True
        )


def _with_advice(tried: Trial) -> Trial:
    """Say what a person without a stack can do."""
    keyless = tried.type == "twitter" and tried.error_class is ErrorClass.AUTHENTICATION
    return replace(tried, error=NO_KEY) if keyless and not settings.x_api_key() else tried


def is_good(tried: Trial) -> bool:
    return tried.status in GOOD


def _show_post(post: TriedPost, console: Console) -> None:
    when = post.published_at.strftime("%Y-%m-%d %H:%M") if post.published_at else "no date"
    mark = Text(f"- {post.filtered}" if post.filtered else "+", style="yellow" if post.filtered else "green")
    head = (
        mark
        + Text(f"  {when:<16}  {post.title or '(no title)'}")
        + Text(f"  {post.author or ''}", style="dim")
    )
    console.print(head, soft_wrap=True)
    body = " ".join(post.body.split())
    for line in (post.url or "", body[:SHOWN_BODY] + ("…" if len(body) > SHOWN_BODY else "")):
        if line:
            console.print(Text(f"     {line}", style="dim"), soft_wrap=True)


@contextmanager
def _world(url: str) -> Iterator[tuple[World, Settings]]:
    """Yield a world that asks and parses for real and keeps everything in memory."""
    chosen = settings.for_a_trial()
    if _is_this_computer(url):
        # Whoever types this computer's own address means it; a redirect from elsewhere is still refused.
        chosen = replace(chosen, allow_addresses=(*chosen.allow_addresses, *settings.networks(LOOPBACK)))
    http, sandbox = HttpClient(chosen), Sandbox(chosen.parse_timeout)
    made = memory.world(http, timestamps.now)
    key = settings.x_api_key()
    secrets = memory.MemorySecrets({YOU: key} if key else {})
    try:
        yield (
            replace(made, robots=Robots(http, timestamps.now), secrets=secrets, parse=sandbox.parse),
            chosen,
        )
    finally:
        sandbox.close()


def _is_this_computer(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _read(name: str, limit: int) -> bytes:
    try:
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            found = file.read(limit + 1)
    except FileNotFoundError:
        raise WrongUse(f"There is no file {name!r}. A URL begins with http:// or https://.") from None
    except OSError as error:
        raise WrongUse(f"The file {name!r} cannot be read: {error.strerror}.") from None
    if len(found) > limit:
        raise WrongUse(f"The document is over {limit} bytes; a poll reads none that is so large.")
    return found
