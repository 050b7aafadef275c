"""Adding many at once: what is wrong is known before, and what was added is known whatever happens."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, URL, a_source, every
from wellspring.errors import Unavailable
from wellspring.memory import MemorySources
from wellspring_cli import bulk
from wellspring_cli.bulk import Ready
from wellspring_cli.source_files.rows import Row, Unsaid

UNSAID = Unsaid(cadence=every(60))


def a_row(line=1, url=URL, **fields):
    return Row(line=line, fields={"url": url} | fields)


def check(*given):
    return bulk.check(given, UNSAID, SETTINGS, now=NOON)


def many(number):
    return check(*(a_row(place, f"https://{place}.example.org/") for place in range(number))).ready


def add(ready, sources, **given):
    return bulk.add(ready, sources, dry_run=False, advance=lambda number: None, **given)


def test_good_rows_become_sources_spread_over_their_interval():
    ready = many(50)
    times = {one.source.next_fetch_at for one in ready}
    assert len(times) == 50
    assert min(times) >= NOON and max(times) < NOON + timedelta(hours=1)


def test_rows_of_one_source_count_once_and_the_first_holds():
    checked = check(
        a_row(2, title="First"),
        a_row(3, URL.replace("https", "http"), title="Second"),
        a_row(4, f"{URL}#part"),
    )
    assert [(one.line, one.source.title) for one in checked.ready] == [(2, "First")]
    assert (checked.duplicates, checked.problems) == (2, ())


def test_an_id_for_two_urls_is_a_mistake_of_the_second():
    checked = check(a_row(2, id="same"), a_row(3, "https://other.example/", id="same"))
    assert [one.line for one in checked.ready] == [2]
    (problem,) = checked.problems
    assert problem.line == 3
    assert problem.error == "The id same is that of line 2 as well, which has another URL."


@pytest.mark.parametrize(
    ("fields", "url", "told"),
    [
        pytest.param({"url": "feed?key=secret"}, "feed", "The URL must begin with http://", id="no URL"),
        pytest.param(
            {"type": "podcast"}, URL, 'The type "podcast" is not known. Use one of', id="no such type"
        ),
        pytest.param(
            {"url": "https://x.com/someone"}, "https://x.com/someone", "name one with --owner", id="no owner"
        ),
        pytest.param(
            {"config": {"cadence": every(-5)}},
            URL,
            "cadence.every_minutes: input should be",
            id="a bad cadence",
        ),
        pytest.param(
            {"config": {"headers": {"X-A": "secret\n"}}},
            URL,
            "headers: a header must be one line",
            id="a header",
        ),
        pytest.param({"config": {"speed": 1}}, URL, "speed: there is no such setting", id="no such setting"),
        pytest.param({"id": " "}, URL, "An id is one line of plain text", id="no id"),
    ],
)
def test_a_row_that_can_be_no_source_is_told_without_secrets(fields, url, told):
    checked = check(a_row(7, **fields))
    (problem,) = checked.problems
    assert (problem.line, problem.url, checked.ready) == (7, url, ())
    assert told in problem.error
    assert "secret" not in repr(problem)


def test_a_mistake_is_told_in_a_short_line():
    (problem,) = check(a_row(config={"cadence": "\x1b[2J" + "x" * 10_000})).problems
    assert len(problem.error) < 400 and problem.error.isprintable()


def test_those_that_are_there_stay_as_they_are():
    stored = MemorySources()
    ready = many(60)
    before = replace(ready[30].source, title="Mine")
    stored.add(before)
    tally = add(ready, stored)
    assert (len(tally.added), len(tally.there), tally.stopped_by) == (59, 1, None)
    assert stored.rows[before.source_id].title == "Mine"
    again = add(ready, stored)
    assert (len(again.added), len(again.there)) == (0, 60)


def test_a_source_that_has_moved_is_still_the_same():
    stored = MemorySources()
    (one,) = check(a_row()).ready
    stored.add(replace(one.source, url="https://new.example/", previous_url=URL))
    assert len(add([one], stored).there) == 1


def test_an_id_of_another_source_is_told_and_the_rest_goes_on():
    stored = MemorySources()
    ready = many(3)
    stored.add(a_source(ready[1].source.source_id, url="https://other.example/?key=secret"))
    tally = add(ready, stored)
    assert len(tally.added) == 2
    (problem,) = tally.refused
    assert problem.line == 1
    assert "is taken by another source, https://other.example/?..." in problem.error


def test_a_dry_run_writes_nothing():
    stored = MemorySources()
    ready = many(30)
    stored.add(ready[0].source)
    tally = bulk.add(ready, stored, dry_run=True, advance=lambda number: None)
    assert (len(tally.added), len(tally.there), len(stored.rows)) == (29, 1, 1)


class Forgetful(MemorySources):
    """A store whose first look comes before somebody else's write."""

    def read(self, source_ids):
        return [] if len(source_ids) > 1 else super().read(source_ids)


def test_what_somebody_else_adds_meanwhile_is_there_already():
    stored = Forgetful()
    ready = many(2)
    stored.add(ready[0].source)
    tally = add(ready, stored)
    assert (len(tally.added), len(tally.there)) == (1, 1)


class Refusing(MemorySources):
    """A store that has enough after so many writes."""

    def add(self, source):
        if len(self.rows) >= 70:
            raise Unavailable("Adding a source failed: ThrottlingException.")
        return super().add(source)


def test_when_aws_refuses_it_stops_and_repeating_goes_on_from_there():
    stored = Refusing()
    ready = many(500)
    tally = add(ready, stored)
    assert isinstance(tally.stopped_by, Unavailable)
    assert {one.source.source_id for one in tally.added} == set(stored.rows), "what is counted was written"
    assert 70 <= len(stored.rows) < 500
    healthy = MemorySources(rows=stored.rows)
    again = add(ready, healthy)
    assert (len(again.there), len(again.added)) == (len(tally.added), 500 - len(tally.added))
    assert len(healthy.rows) == 500


class Narrow(MemorySources):
    """A store that some sources do not fit into."""

    def add(self, source):
        if source.title:
            raise ArithmeticError if source.title == "number" else ValueError("Item size has exceeded")
        return super().add(source)


def test_what_does_not_fit_into_the_table_is_told_and_the_rest_goes_on():
    ready = [
        Ready(line, a_source(name, title=title))
        for line, (name, title) in enumerate([("a", None), ("b", "number"), ("c", "size")], start=1)
    ]
    tally = add(ready, Narrow())
    assert [one.line for one in tally.added] == [1]
    assert [(problem.line, problem.error) for problem in tally.refused] == [
        (2, "It cannot be stored: a number in it is too small or too long."),
        (3, "It cannot be stored: Item size has exceeded"),
    ]
