"""The sweeps can see: each planted bug breaks one rule, and its invariant tells."""

import pytest

from simulation.planted import BUGS
from simulation.sweep import caught
from template import ROOT


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught(bug):
    assert caught(bug), f"nobody noticed that {bug.name}"


def test_the_table_of_the_docs_names_them_all():
    rows = [line.split("|") for line in (ROOT / "docs" / "faults.md").read_text().splitlines()]
    told = {row[1].strip(): row[2].strip() for row in rows if len(row) == 5}
    assert {bug.name: told.get(bug.name) for bug in BUGS} == {bug.name: bug.seen_by for bug in BUGS}


def test_there_are_enough_of_them():
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 20
