"""Owns how markup becomes plain text: words, lines and paragraphs kept apart, nothing hidden shown. Pure."""

import re
from html import unescape

from lxml import etree, html

# Characters that Unicode promises never to use, so that no text has them: they mark breaks while white
# space is folded.
BREAK, LINE, PARAGRAPH, CELL = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
HIDDEN = frozenset(
    {
        *("script", "style", "template", "noscript", "noframes", "title", "head", "iframe", "object", "svg"),
        *("audio", "video", "canvas", "datalist", "annotation", "annotation-xml"),
    }
)
LINES = ("li", "tr", "dt", "dd", "option", "figcaption", "summary", "caption", "legend")
PARAGRAPHS = (
    *("address", "article", "aside", "blockquote", "body", "center", "details", "dialog", "dir", "div", "dl"),
    *("fieldset", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr"),
    *("main", "menu", "nav", "ol", "p", "pre", "section", "table", "ul"),
)
BREAKS = (
    dict.fromkeys(LINES, LINE)
    | dict.fromkeys(PARAGRAPHS, PARAGRAPH)
    | dict.fromkeys(("td", "th", "button"), CELL)
)
MEANT = {"\f": " "} | {chr(code): bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
"""What is no character of a text, and what is meant by it; all others are meant to be nothing."""
_STRAY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd4-\ufdef\ufffe\uffff]")
_CONTROLS = re.compile(f"{_STRAY.pattern}|[{BREAK}-{CELL}]")
# Each of these takes what it begins to the end, so that no text is looked at twice.
_TAG = re.compile(
    r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|</?[a-z][^<>]*>", re.DOTALL | re.IGNORECASE
)
_OUTERMOST = re.compile(r"</?(?:html|body)\b[^<>]*>", re.IGNORECASE)
_END_OF_BREAK = re.compile(r"</br\s*/?>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n\s*\n")
_LINE_END = re.compile(r"\r\n?|\n")
_RUN = re.compile(f" ?[{BREAK}-{CELL}][ {BREAK}-{CELL}]*")


def clean(text: str) -> str:
    """Return text that can be stored: no control characters, no halves of a surrogate pair."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _without(_CONTROLS, text)


def line(text: str) -> str:
    """Return text in one line."""
    return " ".join(clean(text).split())


def paragraphs(text: str) -> str:
    """Return plain text with its own lines and paragraphs, and no other white space than it needs."""
    return _folded(BREAK.join(clean(text).splitlines()))


def plain(markup: str) -> str:
    """Return the text of HTML; what a browser does not show is left out."""
    markup = clean(markup)
    if "<" not in markup:
        return _folded(PARAGRAPH.join(_BLANK_LINES.split(unescape(markup))))
    if "<![CDATA[" in markup:
        # Wrapped once more than it should be: a browser would take all of it for a comment.
        markup = markup.replace("<![CDATA[", "").replace("]]>", "")
    tree, whole = parsed(_END_OF_BREAK.sub("<br>", _OUTERMOST.sub(" ", markup)))
    if not whole:
        return _folded(unescape(_TAG.sub(" ", markup)))
    return "" if tree is None else text_of(tree)


def parsed(markup: str) -> "tuple[html.HtmlElement | None, bool]":
    """Return the tree of HTML, None if there is none, and whether all of it is there.

    The parser drops what is nested too deeply, and with it the text.
    """
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        # Bytes, since text that declares an encoding, as XHTML does, is refused.
        tree = html.document_fromstring(markup.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:
        tree = None
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        tree = None
    return tree, "Excessive depth" not in str(parser.error_log)


def text_of(tree: "html.HtmlElement", *, hidden: frozenset[str] = HIDDEN) -> str:
    """Return the text of an element, without what stands in hidden ones."""
    parts: list[str] = []
    verbatim = 0
    walk = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        starts, tag = event == "start", element.tag
        if tag == "pre":
            verbatim += 1 if starts else -1
        if starts and tag in hidden and element is not tree:
            walk.skip_subtree()
            continue
        mark = BREAKS.get(tag) or (BREAK if tag == "br" and starts else "")
        found = (element.text if starts else element.tail if element is not tree else "") or ""
        parts += mark, _LINE_END.sub(BREAK, found) if verbatim else found
    return _folded("".join(parts))


def _folded(text: str) -> str:
    return _RUN.sub(_separator, " ".join(_without(_STRAY, text).split())).strip()


def _without(characters: "re.Pattern[str]", text: str) -> str:
    return characters.sub(lambda found: MEANT.get(found[0], ""), text)


def _separator(run: "re.Match[str]") -> str:
    """Two line breaks in a row part paragraphs; a list's or a table's lines lie close together."""
    marks = run[0]
    if PARAGRAPH in marks or marks.count(BREAK) > 1:
        return "\n\n"
    return "\n" if BREAK in marks or LINE in marks else " "
