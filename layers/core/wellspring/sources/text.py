"""Owns how HTML becomes plain text: words and lines kept apart, scripts and styles dropped. Pure."""

from html import unescape

from bs4 import BeautifulSoup

LONGEST = 1_000_000


def plain(html: str) -> str:
    html = html[:LONGEST]
    if "<" not in html:
        return " ".join(unescape(html).split())
    soup = BeautifulSoup(html, "lxml")
    for hidden in soup(["script", "style", "template"]):
        hidden.decompose()
    return " ".join(soup.get_text(" ").split())
