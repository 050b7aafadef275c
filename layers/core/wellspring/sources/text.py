"""Owns how HTML becomes plain text: words and lines kept apart, scripts and styles dropped. Pure."""

import warnings

from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning


def plain(html: str) -> str:
    if "<" not in html and "&" not in html:
        return " ".join(html.split())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        soup = BeautifulSoup(html, "lxml")
    for hidden in soup(["script", "style", "template"]):
        hidden.decompose()
    return " ".join(soup.get_text(" ").split())
