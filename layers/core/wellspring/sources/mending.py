"""Owns what is done to a feed that is not quite XML, so that a strict parser can read it. Pure."""

import re
from html import escape
from html.entities import html5
from xml.parsers import expat

from wellspring.sources import text

XML_ENTITIES = {"amp", "lt", "gt", "quot", "apos"}
AMPERSAND = "&amp;"
KEPT = str.maketrans({"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})
"""White space that somebody wrote as a number: written out, a parser would fold it."""
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_CDATA_OR_AMPERSAND = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!DOCTYPE[^<>\[]*\[.*?(?:\]\s*>|\Z)|(?:&#(?:x[0-9a-f]+|\d+);)+|&(\w+;)?",
    re.DOTALL | re.IGNORECASE,
)
_NUMBER = re.compile(r"&#(?:x([0-9a-f]{1,8})|(\d{1,8}));", re.IGNORECASE)


def is_well_formed(document: str) -> bool:
    """Say whether a document is XML, in a fraction of the time that parsing a feed takes."""
    parser = expat.ParserCreate(namespace_separator=" ")
    try:
        parser.Parse(document.encode("utf-8", "replace"), True)
    except expat.ExpatError:
        return False
    return True


def mended(document: str) -> str:
    """Return the document without forbidden characters, stray ampersands and HTML's own entities."""
    return _CDATA_OR_AMPERSAND.sub(_legal, _ILLEGAL.sub("", document.replace("\f", " ")))


def _legal(found: "re.Match[str]") -> str:
    whole, name = found[0], found[1]
    if whole == "&":
        return AMPERSAND
    if whole.startswith("<!") or (name and name[:-1] in XML_ENTITIES):
        return whole
    if whole.startswith("&#"):
        numbers = (int(one[1], 16) if one[1] else int(one[2]) for one in _NUMBER.finditer(whole))
        characters = "".join(chr(number) if number < 0x110000 else "\ufffd" for number in numbers)
        return escape(text.clean(characters)).translate(KEPT)
    return escape(html5.get(name, whole))
