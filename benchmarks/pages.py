"""How well the main text of pages is found: F1 and CPU, beside the plain heuristic, on a public benchmark.

The folder is a checkout of the article-extraction benchmark: `html/<id>.html.gz` and `ground-truth.json`.
Scores are made as it makes them: shares of the four-word shingles that two texts have in common, averaged.
"""

import gzip
import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from lxml import html

from wellspring.errors import FetchError
from wellspring.http import Reply
from wellspring.sources import KINDS, text

SHINGLE = 4
BLOCKS = ("div", "section", "main", "td", "body")


def ours(page: bytes) -> str:
    reply = Reply(url="https://example.org/", status=200, headers={}, body=page)
    try:
        return KINDS["website"].parse(reply).entries[0].body
    except FetchError:
        return ""


def heuristic(page: bytes) -> str:
    """Return the first article, else the largest block of text: what a page can be read by at the least."""
    tree = html.document_fromstring(page)
    article = next(tree.iter("article"), None)
    chosen = (
        article if article is not None else max(tree.iter(*BLOCKS), key=lambda one: len(one.text_content()))
    )
    return text.text_of(chosen)


def shingles(found: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", found)
    return Counter(tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1)) if words)


def shares(true: str, found: str) -> tuple[float, float]:
    """Return precision and recall of a text; a page with no text found has no precision."""
    wanted, had = shingles(true), shingles(found)
    common = (wanted & had).total()
    return (common / had.total() if had else -1.0), (common / wanted.total() if wanted else 1.0)


def measured(extract: Callable[[bytes], str], pages: dict[str, tuple[bytes, str]]) -> dict[str, float]:
    scores, cpu = [], []
    for page, true in pages.values():
        began = time.process_time()
        found = extract(page)
        cpu.append((time.process_time() - began) * 1000)
        scores.append(shares(true, found))
    precision = statistics.mean(one for one, _ in scores if one >= 0)
    recall = statistics.mean(one for _, one in scores)
    return {
        "f1": round(2 * precision * recall / (precision + recall), 3),
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "cpu_ms_mean": round(statistics.mean(cpu), 1),
        "cpu_ms_median": round(statistics.median(cpu), 1),
    }


def load(folder: Path) -> dict[str, tuple[bytes, str]]:
    truth = json.loads((folder / "ground-truth.json").read_text())
    return {
        name: (gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes()), one["articleBody"])
        for name, one in truth.items()
    }


def main() -> None:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "ground-truth.json").exists():
        sys.exit("Name a checkout of the article-extraction benchmark: make bench-pages DATA=folder")
    pages = load(Path(sys.argv[1]))
    first = next(iter(pages.values()))[0]
    ours(first)  # The import is not the page's.
    results = {"ours": measured(ours, pages), "heuristic": measured(heuristic, pages)}
    print(json.dumps({"pages": len(pages), **results}))


if __name__ == "__main__":
    main()
