"""Owns what people do with the sources themselves: add, find, edit, disable and enable them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from wellspring import aftermath, config, message, schedule, urls
from wellspring.errors import FetchError, InvalidInput
from wellspring.model import Health, Pace, Source
from wellspring.ports import Sources
from wellspring.settings import Settings
from wellspring.sources import KINDS, discovery

PAGE = 1_000
MOST_NAMED = 5
LONGEST_ID = message.LONGEST_KEY
LONGEST_HOST = 40
LONGEST_TITLE = 200


class UnknownSource(InvalidInput):
    """No source, or more than one, is meant by what a person typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A source as a person describes it, before it is one. None is what was not said."""

    url: str
    source_id: str | None = None
    type: str | None = None
    title: str | None = None
    owner_id: str | None = None
    enabled: bool = True
    created_at: datetime | None = None
    config: Mapping[str, Any]


def id_of(url: str) -> str:
    """Return the id that a URL gets: the same for http and https, and whatever stands behind a #."""
    target = _target(url)
    plain = f"{target.host}:{target.port if target.port not in urls.PORTS.values() else ''}{target.path}"
    host = target.host.removeprefix("www.").replace(":", "-")[:LONGEST_HOST]
    return f"{host}-{sha256(plain.encode()).hexdigest()[:12]}"


def new(wanted: Wanted, settings: Settings, *, now: datetime, bulk: bool) -> Source:
    """Return the source that a person wants. Raises InvalidInput with what is wrong with it."""
    source_id = id_of(wanted.url) if wanted.source_id is None else checked_id(wanted.source_id)
    source = checked(
        Source(
            source_id=source_id,
            url=wanted.url,
            type=wanted.type or discovery.kind_of_url(wanted.url) or "rss",
            title=_title(wanted.title),
            owner_id=wanted.owner_id,
            enabled=wanted.enabled,
            created_at=wanted.created_at or now,
            config=config.parse(wanted.config),
        )
    )
    first = schedule.first_time(source, now=now, bulk=bulk, defaults=settings.defaults)
    return _listed(source, settings, now=now, earliest=first)


def checked(source: Source) -> Source:
    """Return the source if it can be one. Raises InvalidInput."""
    _target(source.url)
    if source.type not in KINDS:
        raise InvalidInput(f'The type "{source.type}" is not known. Use one of: {", ".join(sorted(KINDS))}')
    if source.owner_id is not None and not config.OWNER.fullmatch(source.owner_id):
        raise InvalidInput("An owner is named by letters, digits and . _ - alone, 200 at most.")
    if source.type == "twitter":
        if discovery.kind_of_url(source.url) != "twitter":
            raise InvalidInput("An X timeline's URL looks like https://x.com/username")
        if source.owner_id is None:
            raise InvalidInput("An X timeline is read with the key of its owner: name one with --owner.")
    return source


def checked_id(source_id: str) -> str:
    """Return an id that a person chose if it can be one. Raises InvalidInput."""
    size = len(source_id.encode("utf-8", "replace"))
    if not source_id.isprintable() or source_id.strip() != source_id or not 1 <= size <= LONGEST_ID:
        raise InvalidInput("An id is one line of plain text without spaces around it, and not empty.")
    return source_id


def edited(
    before: Source, wanted: Mapping[str, Any], given: Mapping[str, Any], settings: Settings, *, now: datetime
) -> Source:
    """Return the source with other fields and another configuration, due when that makes it due.

    What was learned from another URL, or as another type, means nothing any more.
    """
    after = checked(replace(before, **wanted, config=config.parse(given)))
    after = replace(after, title=_title(after.title))
    if (before.url, before.type, before.owner_id) != (after.url, after.type, after.owner_id):
        cursor = replace(
            after.cursor, etag=None, last_modified=None, issuer=None, signature=None, bookmark={}
        )
        after = replace(after, cursor=cursor, health=Health(), pace=Pace(), moved=None)
    elif type(before.config.cadence) is not type(after.config.cadence):
        after = replace(after, pace=replace(after.pace, interval=None))
    return _listed(after, settings, now=now, earliest=now) if after.enabled else after


def disabled(before: Source) -> Source:
    """Return the source outside of the schedule."""
    pace = replace(before.pace, reasons=("disabled by hand",))
    return replace(before, enabled=False, pace=pace, next_fetch_at=None)


def enabled(before: Source, settings: Settings, *, now: datetime) -> Source:
    """Return the source in the schedule, as if nothing had gone wrong before."""
    return _listed(replace(before, enabled=True, health=Health()), settings, now=now, earliest=now)


def with_config(before: Source, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration as a person would write it, with changes; None takes a field out."""
    merged: dict[str, Any] = before.config.model_dump(exclude_defaults=True) | dict(changes)
    return {name: value for name, value in merged.items() if value is not None}


def every(sources: Sources) -> Iterator[Source]:
    """Yield all sources, in no order."""
    after: str | None = None
    while True:
        page = sources.scan(after=after, limit=PAGE)
        yield from page.sources
        after = page.after
        if after is None:
            return


def find(text: str, sources: Sources) -> Source:
    """Return the source that a person means by an id, the beginning of one, or a URL. Raises UnknownSource.

    An id, and a URL whose source has the id that URLs get, cost one read; all else is looked
    for in the whole table.
    """
    if not text.strip() or not _can_name(text):
        raise UnknownSource("A source is named by its id, by the beginning of its id, or by its URL.")
    wanted = id_of(text) if "://" in text else None

    def is_meant(source: Source) -> bool:
        return is_at(source, wanted) if wanted else source.source_id.startswith(text)

    likely = [name for name in (wanted, text) if name and len(name.encode()) <= LONGEST_ID]
    for found in sources.read(likely) if likely else ():
        if found.source_id == text or is_meant(found):
            return found
    found_all = [source for source in every(sources) if is_meant(source)]
    if len(found_all) == 1:
        return found_all[0]
    if not found_all:
        raise UnknownSource(
            f"There is no source {shown(text)!r}. See those that are there: wellspring sources list"
        )
    names = sorted(source.source_id for source in found_all)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    raise UnknownSource(
        f"{shown(text)!r} could be {len(names)} sources: {', '.join(names[:MOST_NAMED])}{more}. "
        "Type more of the id."
    )


def _can_name(text: str) -> bool:
    """Say whether a source could have such a name; a table refuses to be asked for others."""
    try:
        return len(text.encode()) <= (urls.LONGEST if "://" in text else LONGEST_ID)
    except UnicodeEncodeError:
        return False


def shown(text: str) -> str:
    """Return what a person typed without the secrets of a URL."""
    return urls.shown(text) if "://" in text else text


def is_at(source: Source, wanted: str) -> bool:
    """Say whether a source has a URL that gets this id, now or before it moved."""
    return any(_id_or_none(url) == wanted for url in (source.url, source.previous_url) if url)


def _title(text: str | None) -> str | None:
    return (text or "")[:LONGEST_TITLE] or None


def _id_or_none(url: str) -> str | None:
    try:
        return id_of(url)
    except InvalidInput:
        return None


def _listed(source: Source, settings: Settings, *, now: datetime, earliest: datetime) -> Source:
    after = aftermath.scheduled(source, settings, now=now)
    due = after.next_fetch_at
    if due is None or not source.enabled:
        return replace(after, next_fetch_at=None)
    return replace(after, next_fetch_at=max(due, earliest))


def _target(url: str) -> urls.Target:
    try:
        return urls.target_of(url)
    except FetchError as error:
        raise InvalidInput(str(error)) from None
