"""Owns what makes two entries the same: content hashes and the window of seen entries. Pure."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode, urlsplit

from wellspring.model import Entry, Window

TELLING_LENGTH = 80
FINGERPRINT = 8
TRACKING = re.compile(r"utm_\w+|fbclid|gclid|mc_[ce]id")


class Novelty(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class Sighting:
    """An entry as the window sees it."""

    entry: Entry
    content_hash: str
    novelty: Novelty
    id_print: bytes
    content_print: bytes
    previous_print: bytes | None


def sightings(entries: Iterable[Entry], window: Window) -> list[Sighting]:
    """Tell new, changed and known entries apart; of entries with one id the first counts."""
    listed: dict[bytes, Entry] = {}
    for entry in entries:
        listed.setdefault(_print(identity(entry)), entry)
    bodies = Counter(_fold(entry.body) for entry in listed.values())
    return [
        _sighting(id_print, entry, window.get(id_print), shared=bodies[_fold(entry.body)] > 1)
        for id_print, entry in listed.items()
    ]


def _sighting(id_print: bytes, entry: Entry, previous: bytes | None, *, shared: bool) -> Sighting:
    """Compare with both hashes: a neighbour that joins or leaves the document must not look like an edit."""
    chosen, other = content_hash(entry, shared=shared), content_hash(entry, shared=not shared)
    content_print = _cut(chosen)
    if previous is None:
        novelty = Novelty.NEW
    elif previous in (content_print, _cut(other)):
        novelty, content_print = Novelty.KNOWN, previous
    else:
        novelty = Novelty.CHANGED
    return Sighting(entry, chosen, novelty, id_print, content_print, previous)


def content_hash(entry: Entry, *, shared: bool) -> str:
    """Hash the body; title and link join where the body does not tell entries apart."""
    body = _fold(entry.body)
    if len(body) >= TELLING_LENGTH and not shared:
        return sha256(_bytes(body)).hexdigest()
    return sha256(_bytes("\x1f".join((_fold(entry.title), canonical(entry.url or ""), body)))).hexdigest()


def identity(entry: Entry) -> str:
    """Return what names the entry: its id, else its link, else its title and content."""
    if entry.entry_id:
        return entry.entry_id
    if entry.url:
        return canonical(entry.url)
    return "\x1f".join((_fold(entry.title), _fold(entry.body)))


def canonical(url: str) -> str:
    """Return the URL without tracking parameters and fragment, its query in a fixed order."""
    try:
        parts = urlsplit(url)
        query = sorted(
            p for p in parse_qsl(parts.query, keep_blank_values=True) if not TRACKING.fullmatch(p[0])
        )
    except ValueError:
        return url
    return parts._replace(query=urlencode(query), fragment="").geturl()


def pack(window: Window) -> bytes:
    return b"".join(id_print + content_print for id_print, content_print in window.items())


def unpack(packed: bytes) -> dict[bytes, bytes]:
    step = 2 * FINGERPRINT
    rows = (packed[i : i + step] for i in range(0, len(packed) - step + 1, step))
    return {row[:FINGERPRINT]: row[FINGERPRINT:] for row in rows}


def _print(text: str) -> bytes:
    return sha256(_bytes(text)).digest()[:FINGERPRINT]


def _cut(content_hash: str) -> bytes:
    return bytes.fromhex(content_hash)[:FINGERPRINT]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _fold(text: str) -> str:
    return " ".join(text.split())
