"""The guide's example of a new type, run as it is written."""

import re
import sys
from types import ModuleType

import pytest

from builders import SETTINGS, a_source, a_world, by_hand
from template import ROOT
from wellspring import sources
from wellspring.fetch import fetch_source
from wellspring.model import Status
from wellspring.sources import Kind

MODULE, REGISTRY = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "extending.md").read_text(), re.DOTALL)


@pytest.fixture
def registered(monkeypatch):
    module = ModuleType("wellspring.sources.lines")
    exec(MODULE, module.__dict__)
    monkeypatch.setitem(sys.modules, "wellspring.sources.lines", module)
    names = {"Kind": Kind}
    exec(REGISTRY, names)
    for name, kind in names["KINDS"].items():
        monkeypatch.setitem(sources.KINDS, name, kind)


def fetched(answer):
    world = a_world(answer)
    world.sources.add(a_source(type="lines"))
    return fetch_source(by_hand(), world, SETTINGS, message_id="m"), world


def test_each_line_is_a_post(registered):
    run, world = fetched(b"All is well.\n\nDisk 3 was replaced.\n")
    assert (run.status, run.log.parser, run.log.created) == (Status.OK, "lines", 2)
    titles = sorted(post.entry.title for post in world.posts.rows.values())
    assert titles == ["All is well.", "Disk 3 was replaced."]


def test_an_empty_document_fails_in_a_sentence(registered):
    run, _ = fetched(b"\n\n")
    assert (run.status, run.log.error_message) == (Status.FAILED, "The document has no text.")
