"""Owns how HTML becomes plain text: words and lines kept apart, scripts and styles dropped. Pure."""

from html import unescape

from bs4 import BeautifulSoup


def plain(html: str) -> str:
    if "<" not in html:
        return " ".join(unescape(html).split())
    soup = BeautifulSoup(html, "lxml")
    for hidden in soup(["script", "style", "template"]):
        hidden.decompose()
    return " ".join(soup.get_text(" ").split())
