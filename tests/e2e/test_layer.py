"""The built layer brings everything that the functions import."""

import subprocess
import sys

MODULES = ("wiring", "telemetry", "batch", "plan", "sources.rss", "sources.website", "sources.twitter")
IMPORTS = "; ".join(f"import wellspring.{module}" for module in MODULES)
PAGE = f"<html><body><article><p>{'A sentence of the article. ' * 20}</p></article></body></html>"
PARSE = f"""
from wellspring.http import Reply
from wellspring.sources import KINDS
reply = Reply(url="https://example.org/", status=200, headers={{}}, body={PAGE.encode()!r})
print(KINDS["website"].parse(reply).entries[0].body[:10])
"""


def alone(state_dir, code):
    """Run code with the layer and nothing else: the local cloud's own packages could hide a missing one."""
    layer = state_dir / "build" / "CoreLayer" / "python"
    path = f"import sys; sys.path.insert(0, {str(layer)!r})\n"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", path + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return layer, done.stdout.strip()


def test_the_functions_need_nothing_but_the_layer(deployed, state_dir):
    layer, told = alone(state_dir, f"{IMPORTS}; print(wellspring.__file__)")
    assert told.startswith(str(layer))


def test_a_page_is_read_without_what_the_build_leaves_out(deployed, state_dir):
    layer, told = alone(state_dir, PARSE)
    assert told == "A sentence"
    assert len([*(layer / "babel" / "locale-data").glob("*.dat")]) == 2
