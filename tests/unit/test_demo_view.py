"""What the demo shows, and when it is content."""

from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from wellspring_cli.demo import diagnosis
from wellspring_cli.demo.run import is_done
from wellspring_cli.demo.view import (
    Attempt,
    Planned,
    StoredPost,
    Summary,
    attempt_line,
    planned_line,
    post_line,
    summary_table,
)
from wellspring_cli.demo.watch import read_planned

NOW = datetime(2026, 11, 18, 12, 0, 10, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def an_attempt(source_id="demo-news", status="ok", **fields):
    return Attempt(source_id=source_id, started_at=NOW, status=status, **fields)


@pytest.mark.parametrize(
    ("attempt", "line"),
    [
        pytest.param(
            an_attempt(http_status=200, created=20, next_fetch_at=LATER),
            "12:00:10  demo-news       ok           HTTP 200  20 new posts; next 12:01:10",
            id="new posts",
        ),
        pytest.param(
            an_attempt(http_status=200, created=1, updated=2, unchanged=17, filtered={"too_old": 3}),
            "12:00:10  demo-news       ok           HTTP 200  "
            "1 new post, 2 changed, 17 known, 3 left out (too_old)",
            id="every count",
        ),
        pytest.param(
            an_attempt(status="not_modified", http_status=304, next_fetch_at=NOW - timedelta(seconds=1)),
            "12:00:10  demo-news       not_modified HTTP 304  nothing new; next at the planner's next run",
            id="a time that has passed means the next run",
        ),
        pytest.param(
            an_attempt("demo-broken", "failed", error_message="The server could not be reached."),
            "12:00:10  demo-broken     failed       The server could not be reached",
            id="a failure without an answer",
        ),
    ],
)
def test_an_attempt_is_one_line(attempt, line):
    assert attempt_line(attempt, UTC).plain == line


@pytest.mark.parametrize(
    ("planned", "line"),
    [
        (Planned(NOW, 1, 1), "12:00:10  planner         1 source due, 1 put on the queue"),
        (
            Planned(NOW, 0, 0, {"disabled": 2}, "Busy."),
            "12:00:10  planner         0 sources due, 0 put on the queue, 2 left out (disabled), Busy.",
        ),
    ],
)
def test_a_run_of_the_planner_is_one_line(planned, line):
    assert planned_line(planned, UTC).plain == line


def test_a_post_is_one_line_and_its_title_is_shown_as_it_is():
    post = StoredPost("demo-blog", "[red]Old[/red] doors", NOW, published_at=NOW)
    assert (
        post_line(post, UTC).plain == "          demo-blog       + [red]Old[/red] doors, published 12:00:10"
    )


def test_the_table_counts_the_posts_of_all_sources():
    newest = StoredPost("demo-news", "A [b]lost[/b] umbrella", NOW)
    table = summary_table(
        [Summary("demo-news", 20, newest, an_attempt(http_status=200)), Summary("demo-broken", 0)]
    )
    console = Console(width=100, record=True, file=None, quiet=False)
    with console.capture() as shown:
        console.print(table)
    text = shown.get()
    assert "A [b]lost[/b] umbrella" in text
    assert "ok, HTTP 200" in text
    assert [row for row in text.splitlines() if "All" in row and "20" in row]


@pytest.mark.parametrize(
    "line", ["START RequestId: 1", '"planned"', '{"message": "fetched"}', '{"_aws": {}}']
)
def test_other_lines_of_the_planners_log_are_passed_over(line):
    assert read_planned(line, 0) is None


def test_the_planners_report_is_read_from_its_log():
    line = '{"message": "planned", "due": 3, "enqueued": 2, "skipped": {"not_due": 1}, "halted": "late"}'
    assert read_planned(line, int(NOW.timestamp() * 1000)) == Planned(NOW, 3, 2, {"not_due": 1}, "late")


class FakeWatch:
    def __init__(self, *attempts, posts=True):
        self.attempts, self.posts = attempts, posts

    def has_posts(self):
        return self.posts


BOTH = ("demo-news", "demo-broken")
FAILED = an_attempt("demo-broken", "failed")


@pytest.mark.parametrize(
    ("watch", "added", "done"),
    [
        pytest.param(FakeWatch(an_attempt(), FAILED), BOTH, True, id="all new sources were tried"),
        pytest.param(FakeWatch(an_attempt()), BOTH, False, id="a new source was not tried yet"),
        pytest.param(FakeWatch(an_attempt()), (), True, id="old sources may wait for their turn"),
        pytest.param(FakeWatch(an_attempt(status="not_modified")), (), True, id="nothing new is a success"),
        pytest.param(FakeWatch(FAILED), (), False, id="old posts without a success of this run"),
        pytest.param(FakeWatch(), (), False, id="old posts without any attempt of this run"),
        pytest.param(FakeWatch(an_attempt(), posts=False), (), False, id="a success without a post"),
    ],
)
def test_the_demo_is_done_when_the_stack_has_shown_that_it_works(watch, added, done):
    assert is_done(watch, added) is done


@pytest.mark.parametrize(
    ("watch", "words"),
    [
        (FakeWatch(), "No source was fetched within 120 s"),
        (FakeWatch(FAILED), "No fetch succeeded within 120 s"),
        (FakeWatch(an_attempt()), "Never fetched within 120 s: demo-broken"),
        (FakeWatch(an_attempt(), FAILED), "No post was stored within 120 s"),
    ],
)
def test_a_demo_that_fails_says_what_did_not_happen(watch, words):
    assert diagnosis.complaint(watch, BOTH, timedelta(seconds=120)).startswith(words)
