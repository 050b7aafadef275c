"""Owns sources as OPML: outlines with an `xmlUrl`, in folders or not, as feed readers write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.parsers import expat

from wellspring.sources import KINDS
from wellspring_cli.errors import WrongUse
from wellspring_cli.source_files.rows import Fields, Row

FEEDS = ("rss", "feed", "rdf:rdf")
FEED = "this is a feed itself, not a list of feeds. Add it by its URL: wellspring sources add URL"
PAGE = "this is a web page, not OPML. Feed readers write OPML when their subscriptions are exported."
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read(text: str) -> list[Row]:
    """Return a row for each outline with a URL; those without are folders. Raises WrongUse."""
    reader = _Reader()
    try:
        reader.parse(text)
    except expat.ExpatError as error:
        if text.lstrip()[:14].lower().startswith(("<!doctype html", "<html")):
            raise WrongUse(PAGE) from None
        why = expat.errors.messages[error.code]
        raise WrongUse(
            f"the XML is broken at line {error.lineno}, column {error.offset + 1}: {why}."
        ) from None
    return reader.rows


def write(sources: Sequence[Fields]) -> str:
    """Return an OPML document of the sources: URL, title and type are all that it holds."""
    root = ElementTree.Element("opml", version="2.0")
    ElementTree.SubElement(ElementTree.SubElement(root, "head"), "title").text = "Wellspring"
    body = ElementTree.SubElement(root, "body")
    for source in sources:
        title = {"title": source["title"]} if "title" in source else {}
        said = {"type": source["type"], "text": source.get("title", source["url"])} | title
        said["xmlUrl"] = source["url"]
        attributes = {name: NOT_XML.sub("", value) for name, value in said.items()}
        ElementTree.SubElement(body, "outline", attributes)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


class _Reader:
    """Reads strictly, with expat: it knows each line's number, and fetches and expands nothing."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._root: str | None = None
        # The text is decoded already, so what the document says of its encoding does not count.
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._element

    def parse(self, text: str) -> None:
        self._parser.Parse(text.encode(), True)

    def _doctype(self, name: str, system: str | None, public: str | None, has_own: bool) -> None:
        _check_root(name)
        if system or has_own:
            raise WrongUse(
                "it has a document type with definitions (<!DOCTYPE ...>), which are not read, since they "
                "can do harm. Take that line out, and import it again."
            )

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        if self._root is None:
            self._root = name
            _check_root(name)
        if name.lower() == "outline":
            said = {key.lower(): value.strip() for key, value in attributes.items()}
            if said.get("xmlurl"):
                self.rows.append(Row(line=self._parser.CurrentLineNumber, fields=_fields(said)))


def _check_root(name: str) -> None:
    found = name.lower()
    if found == "opml":
        return
    if found in FEEDS:
        raise WrongUse(FEED)
    raise WrongUse(PAGE if found == "html" else f"this is no OPML: it begins with <{name}>, not with <opml>.")


def _fields(said: dict[str, str]) -> Fields:
    """Return the fields of an outline. Other programs' types are not ours: what has an xmlUrl is a feed."""
    url, kind = said["xmlurl"], said.get("type", "").lower()
    title = said.get("title") or said.get("text")
    return {
        "url": url,
        "title": title if title != url else None,
        "type": kind if kind in KINDS else None,
    }
