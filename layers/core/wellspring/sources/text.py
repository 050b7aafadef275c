"""Owns how markup becomes plain text: words, lines and paragraphs kept apart, nothing hidden shown. Pure."""

import re
from html import unescape

from lxml import etree, html

# Characters that Unicode promises never to use, so that no text has them: they mark breaks while white
# space is folded.
BREAK, LINE, PARAGRAPH, CELL = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
HIDDEN = ("script", "style", "template", "noscript", "title", "iframe", "object", "svg", "math", "head")
LINES = ("li", "tr", "dt", "dd", "option", "figcaption", "summary")
PARAGRAPHS = (
    *("address", "article", "aside", "blockquote", "center", "details", "div", "dl", "fieldset", "figure"),
    *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol", "p"),
    *("pre", "section", "table", "ul"),
)
BREAKS = dict.fromkeys(LINES, LINE) | dict.fromkeys(PARAGRAPHS, PARAGRAPH) | {"td": CELL, "th": CELL}
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufdd0-\ufdef\ufffe\uffff]")
_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|</?[a-z][^>]*>", re.DOTALL | re.IGNORECASE)
_OUTERMOST = re.compile(r"</?(?:html|body)\b[^>]*>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n\s*\n")
_RUN = re.compile(f" ?[{BREAK}-{CELL}][ {BREAK}-{CELL}]*")


def clean(text: str) -> str:
    """Return text that can be stored: no control characters, no halves of a surrogate pair."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROLS.sub("", text)


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
    parser = html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        tree = html.document_fromstring(_OUTERMOST.sub("", markup), parser=parser)
    except etree.ParserError:
        return ""
    if "depth" in str(parser.error_log):
        # The parser drops what is nested too deeply, and with it the text.
        return " ".join(unescape(_TAG.sub(" ", markup)).split())
    return text_of(tree)


def text_of(tree: "html.HtmlElement") -> str:
    """Return the text of a document; the tree is changed on the way."""
    for hidden in list(tree.iter(*HIDDEN)):
        hidden.drop_tree()
    for verbatim in tree.iter("pre"):
        _keep_lines(verbatim)
    for element in tree.iter("br"):
        element.tail = BREAK + (element.tail or "")
    for element in tree.iter(*BREAKS):
        mark = BREAKS[element.tag]
        element.text = mark + (element.text or "")
        element.tail = mark + (element.tail or "")
    return _folded(tree.text_content())


def _keep_lines(verbatim: "html.HtmlElement") -> None:
    for element in verbatim.iter():
        element.text = BREAK.join((element.text or "").splitlines())
        if element is not verbatim:
            element.tail = BREAK.join((element.tail or "").splitlines())


def _folded(text: str) -> str:
    return _RUN.sub(_separator, " ".join(text.split())).strip()


def _separator(run: "re.Match[str]") -> str:
    """Two line breaks in a row part paragraphs; a list's or a table's lines lie close together."""
    marks = run[0]
    if PARAGRAPH in marks or marks.count(BREAK) > 1:
        return "\n\n"
    return "\n" if BREAK in marks or LINE in marks else " "
