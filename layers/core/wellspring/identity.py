"""Owns what makes two entries the same: content hashes and the window of seen entries. Pure."""

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from itertools import takewhile
from urllib.parse import parse_qsl, urlencode, urlsplit

from wellspring.model import Entry, Window

TELLING_LENGTH = 80
FINGERPRINT = 8
FORMER = bytes(FINGERPRINT)
"""Stands in a window between what the last document listed and what had left before."""
FORMER_KEPT = (50, 500)
"""So many that left are remembered at least, and at most."""
HTTP = ("http://", "https://")
ALL_ALIKE = 3
"""An id that all entries of a document share, so many or more, names none of them."""
TRACKING = re.compile(
    r"utm_\w+|at_(medium|campaign|custom\d|link_\w+|ptr_\w+|bbc_\w+|format)"
    r"|(fb|g|d|y|tt)clid|msclkid|[gw]braid|igshid|mc_[ce]id|_hs(enc|mi)|xtor"
)


class Novelty(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    KNOWN = "known"
    DUPLICATE = "duplicate"
    """Another entry of the same document, further up, has its id."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """An entry as the window sees it."""

    entry: Entry
    content_hash: str
    novelty: Novelty
    id_print: bytes
    content_print: bytes
    previous_print: bytes | None


def sightings(entries: Sequence[Entry], window: Window) -> list[Sighting]:
    """Tell new, changed and known entries apart; of entries with one id the first counts."""
    prints = [_print(name) for name in identities(entries)]
    first = {id_print: number for number, id_print in reversed([*enumerate(prints)])}
    bodies = Counter(_fold(entries[number].body) for number in first.values())
    found = []
    for number, (entry, id_print) in enumerate(zip(entries, prints, strict=True)):
        seen = _sighting(id_print, entry, window.get(id_print), shared=bodies[_fold(entry.body)] > 1)
        found.append(seen if first[id_print] == number else replace(seen, novelty=Novelty.DUPLICATE))
    return found


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


def identities(entries: Sequence[Entry]) -> list[str]:
    """Return what names each entry of a document."""
    alike = len(entries) >= ALL_ALIKE and len({entry.entry_id for entry in entries}) == 1
    return [identity(replace(entry, entry_id=None) if alike else entry) for entry in entries]


def identity(entry: Entry) -> str:
    """Return what names the entry: its id, else its link, else its title and content."""
    if entry.entry_id:
        return canonical(entry.entry_id) if entry.entry_id.startswith(HTTP) else entry.entry_id
    if entry.url:
        return canonical(entry.url)
    return "\x1f".join((_fold(entry.title), _fold(entry.body)))


def canonical(url: str) -> str:
    """Return the URL without tracking parameters, its query in a fixed order.

    The fragment stays: the entries of a list of changes may lie on one page and differ in it alone.
    """
    try:
        parts = urlsplit(url)
        query = sorted(
            p for p in parse_qsl(parts.query, keep_blank_values=True) if not TRACKING.fullmatch(p[0])
        )
    except ValueError:
        return url
    fragment = "" if TRACKING.match(parts.fragment) else parts.fragment
    return parts._replace(query=urlencode(query), fragment=fragment).geturl()


def listed(window: Window) -> Set[bytes]:
    """Return the entries that the last document listed, without those that had left before."""
    return set(takewhile(lambda name: name != FORMER, window))


def remembered(seen: Window, before: Window) -> Window:
    """Return what to remember: what the document lists, and for a while what left it.

    Some publishers serve two documents in turn, and some a short one now and then: an entry that
    comes back is no new one.
    """
    least, most = FORMER_KEPT
    former = [one for one in before.items() if one[0] not in seen and one[0] != FORMER]
    kept = former[: min(max(len(seen), least), most)]
    return {**seen, **({FORMER: FORMER} if kept else {}), **dict(kept)}


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
