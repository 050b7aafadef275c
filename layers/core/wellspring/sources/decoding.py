"""Owns which characters a document's bytes are: a declaration is believed as far as the bytes agree. Pure."""

import codecs
import re
from collections.abc import Iterator

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
UNMARKED = ((b"<\x00", "utf-16-le"), (b"\x00<", "utf-16-be"))
WIDE = ("utf-16", "utf-32")
MEANT = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""What is declared, and the larger encoding that is meant by it; browsers read it so too."""
NAMES = {"windows-31j": "cp932", "windows-874": "cp874"}
"""What browsers know and Python does not."""
NO_TEXT = {"utf-7", "unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined"}
"""What Python could decode too, but no document may ask for."""
FALLBACK = "cp1252"
HEAD = 2_048
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_IN_DOCUMENT = re.compile(
    rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)|<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]+)",
    re.IGNORECASE,
)


def decoded(body: bytes, content_type: str) -> str:
    """Return the text of a document, whatever is wrong with its bytes."""
    for mark, encoding in (*MARKS, *UNMARKED):
        if body.startswith(mark):
            return body.decode(encoding, "replace").removeprefix("\ufeff")
    # Whoever declares a wide encoding of bytes without a zero among them declares something else's.
    declared = [name for name in _declared(body, content_type) if b"\0" in body or not name.startswith(WIDE)]
    # Text beyond ASCII that happens to be valid UTF-8 is UTF-8, whatever somebody declared.
    for encoding in declared if body.isascii() else ("utf-8", *declared):
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    if declared and declared[0] != "utf-8":
        return body.decode(declared[0], "replace")
    text = body.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(character > "\x7f" for character in text) - bad
    return text if good >= bad else body.decode(FALLBACK, "replace")


def _declared(body: bytes, content_type: str) -> Iterator[str]:
    """Yield what is declared, the server's word before the document's own."""
    found = _CHARSET.search(content_type)
    if found:
        yield from _known(found[1])
    inside = _IN_DOCUMENT.search(body[:HEAD])
    if inside:
        yield from _known((inside[1] or inside[2]).decode("ascii"))


def _known(name: str) -> Iterator[str]:
    name = NAMES.get(name.lower(), name.lower().removeprefix("x-"))
    try:
        found = codecs.lookup(name)
        b"x".decode(name, "replace")
    except (LookupError, ValueError):
        return
    if found.name.replace("_", "-") not in NO_TEXT:
        yield MEANT.get(found.name, found.name)
