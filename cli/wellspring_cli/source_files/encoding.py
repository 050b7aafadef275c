"""Owns how bytes become text: UTF-8, unless a byte order mark or an XML declaration says otherwise."""

from __future__ import annotations

import codecs
import re

from wellspring_cli.errors import WrongUse

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
DECLARED = re.compile(rb"\s*<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")


def decoded(data: bytes) -> str:
    """Return the text. Raises WrongUse with the line where it breaks."""
    return _as(next((name for mark, name in MARKS.items() if data.startswith(mark)), "utf-8"), data)


def decoded_xml(data: bytes) -> str:
    """Return the text of an XML document, in the encoding that it declares if no mark says better."""
    found = DECLARED.match(data)
    name = found[1].decode().lower() if found else "utf-8"
    # Whoever can be read as far as that is not UTF-16, whatever it says.
    if name.startswith("utf"):
        return decoded(data)
    return _as(name, data)


def _as(name: str, data: bytes) -> str:
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise WrongUse(
            f"line {line} is not {NAMES.get(name, name)}. Save the file as UTF-8, and import it again."
        ) from None
    except LookupError:
        raise WrongUse(f"its encoding {name!r} is not known. Save the file as UTF-8.") from None
