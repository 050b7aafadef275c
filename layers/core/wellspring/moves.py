"""Owns permanent moves: a source's URL changes only when the new one has proved itself. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from wellspring import urls
from wellspring.http import Reply
from wellspring.model import Moved, Source

PROBATION = timedelta(days=7)
PERMANENT = {301, 308}


def after_reply(source: Source, reply: Reply, *, now: datetime) -> Source:
    """Return the source after a good answer; `reply` was parsed, or is known to be unchanged."""
    if not reply.hops or not set(reply.hops) <= PERMANENT or reply.url == source.url:
        return replace(source, moved=None)
    since = source.moved.since if source.moved and source.moved.url == reply.url else now
    # Headers are for the server that they were given for; they would go along with the source.
    may_move = not source.config.headers or urls.origin_of(source.url) == urls.origin_of(reply.url)
    if _only_secured(source.url, reply.url) or (now - since >= PROBATION and may_move):
        return replace(source, url=reply.url, previous_url=source.url, moved=None)
    return replace(source, moved=Moved(url=reply.url, since=since))


def _only_secured(old: str, new: str) -> bool:
    """Say whether the two differ in http and https alone."""
    try:
        before, after = urlsplit(old), urlsplit(new)
    except ValueError:
        return False
    return (before.scheme, after.scheme) == ("http", "https") and before[1:] == after[1:]
