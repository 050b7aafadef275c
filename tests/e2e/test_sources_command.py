"""Sources through the command, on the deployed stack: from `add` to `remove`."""

import json
from datetime import timedelta

import pytest

from builders import every, rss
from deployed import eventually, now
from publisher import Page
from wellspring import catalog

HOUR = timedelta(hours=1)
SECRET = "canary-5c1e"
PAGE = (
    b"""<html><head><title>A page</title>
<link rel="alternate" type="application/rss+xml" title="Its feed" href="/feed"></head>
<body><article>"""
    + b"<p>Sentences of a page that goes on for quite some while.</p>" * 20
    + b"</article></body></html>"
)


@pytest.fixture
def feed(publisher):
    publisher.pages["/feed"] = Page(rss(1, 2), etag='"one"')
    return publisher.url("/feed")


def test_a_feed_is_added_polled_and_explained(operator, deployed, feed):
    told = operator.well(
        "sources", "add", feed, "--every", "30m", "--backfill", "--set", "max_age_days=30000"
    )
    name = catalog.id_of(feed)
    assert f"Added {name} (A feed): rss, every 30 min, in the local cloud at http://127.0.0.1:" in told.out
    assert deployed.source(name).title == "A feed"

    operator.well("plan")
    eventually(lambda: deployed.source(name).cursor.last_fetch_at)
    (shown,) = listed(operator, "--match", feed.split("/")[2])
    assert (shown["state"], shown["last_result"], shown["posts"]) == ("ok", "ok", 2)
    assert "ok, HTTP 200, 2 new" in operator.well("explain", name).out
    assert operator.well("explain", feed, "--json").data["reasons"] == [
        "interval 30 min since the last success"
    ]
    assert f"{name}" in operator.well("sources", "show", feed).out


def listed(operator, *filters):
    return operator.well("sources", "list", "--json", *filters).data["sources"]


def test_adding_it_again_changes_nothing_and_says_so(operator, deployed, feed):
    operator.well("sources", "add", feed, "--type", "rss", "--every", "1h")
    told = operator("sources", "add", feed, "--type", "rss", "--every", "5m")
    assert told.code == 1
    assert "is there already" in told.err and "wellspring sources edit" in told.err
    assert deployed.source(catalog.id_of(feed)).config.cadence.every_minutes == 60


def test_a_page_offers_its_feed(operator, deployed, publisher, feed):
    publisher.pages["/page"] = Page(PAGE, headers={"Content-Type": "text/html"})
    page = publisher.url("/page")
    refused = operator("sources", "add", page)
    assert refused.code == 2
    assert f"It links to a feed: {feed}" in refused.err and "--type website" in refused.err

    taken = operator.well("sources", "add", page, answers="y\n")
    assert f"Added {catalog.id_of(feed)} (Its feed): rss, adaptive" in taken.out
    declined = operator.well("sources", "add", page, answers="n\n")
    assert f"Added {catalog.id_of(page)} (A page): website" in declined.out


def test_a_url_that_does_not_answer_is_added_unseen_alone(operator, deployed, publisher):
    missing = publisher.url("/missing")
    told = operator("sources", "add", missing)
    assert told.code == 1
    assert "cannot be read (http_4xx)" in told.err and "--type rss" in told.err
    operator.well("sources", "add", missing, "--type", "rss")
    assert deployed.source(catalog.id_of(missing)).type == "rss"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["example.org/feed"], "must begin with http"),
        (["https://example.org/", "--every", "30"], "'30' is no span of time. Write it with its unit"),
        (["https://example.org/", "--every", "0m"], "--every must be longer than nothing"),
        (["https://example.org/", "--every", "99999d"], "cadence.every_minutes: "),
        (["https://example.org/", "--adaptive", "--always"], "one cadence, found --adaptive, --always"),
        (["https://example.org/", "--every", "1h", "--activity"], "found --activity, --every"),
        (["https://example.org/", "--type", "feed"], 'The type "feed" is not known'),
        (["https://x.com/someone"], "name one with --owner"),
        (["https://example.org/", "--set", "max_age=3"], "max_age: there is no such setting"),
        (["https://example.org/", "--set", "max_age_days=old"], "max_age_days: "),
        (["https://example.org/", "--set", "max_age_days"], "--set wants a name and a value"),
        (["https://example.org/", "--header", "X-Token"], "--header wants a name and a value"),
        (["https://example.org/", "--header", "Host=x"], "the header Host is ours to set"),
        (["https://example.org/", "--id", ""], "An id is one line"),
    ],
)
def test_bad_input_is_told_before_anything_is_asked_or_stored(operator, arguments, told):
    said = operator("sources", "add", *arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert len(said.err.splitlines()) == 1


def test_a_source_is_edited_and_due_by_its_new_cadence(operator, deployed, publisher):
    begin = now()
    deployed.add(
        "to-edit", publisher.url("/x"), cadence=every(60), headers={"X-A": "1"}, next_fetch_at=begin + HOUR
    )
    told = operator.well(
        "sources", "edit", "to-edit", "--every", "3h", "--header", "X-B=2", "--header", "x-a="
    )
    assert "Changed to-edit: rss, every 3 h" in told.out
    source = deployed.source("to-edit")
    assert (source.config.cadence.every_minutes, dict(source.config.headers)) == (180, {"X-B": "2"})
    assert source.next_fetch_at <= now() + timedelta(seconds=5), "never fetched: due at once"

    operator.well("sources", "edit", "to-edit", "--set", "max_age_days=", "--title", "Mine", "--full-text")
    source = deployed.source("to-edit")
    assert (source.config.max_age_days, source.title, source.config.full_text) == (None, "Mine", True)
    assert source.config.cadence.every_minutes == 180, "what is not named stays"


def test_two_sources_do_not_get_one_url(operator, deployed, publisher, feed):
    operator.well("sources", "add", feed, "--type", "rss", "--every", "1h")
    deployed.add("second", publisher.url("/other"), cadence=every(60), next_fetch_at=now() + HOUR)
    told = operator("sources", "edit", "second", "--url", feed)
    assert told.code == 1
    assert f"{catalog.id_of(feed)} has this URL already." in told.err
    assert deployed.source("second").url == publisher.url("/other")


def test_an_edit_of_nothing_is_told(operator, deployed, publisher):
    deployed.add("same", publisher.url("/x"), cadence=every(60), next_fetch_at=now() + HOUR)
    told = operator("sources", "edit", "same")
    assert told.code == 2 and "Nothing was named" in told.err


def test_a_disabled_source_is_not_fetched_until_it_is_enabled(operator, deployed, publisher, feed):
    deployed.add("off", feed, cadence=every(60), next_fetch_at=now() + HOUR)
    operator.well("sources", "disable", "off")
    assert [one["source_id"] for one in listed(operator, "--state", "disabled")] == ["off"]
    refused = operator("fetch", "off", "--wait")
    assert refused.code == 1
    assert "off is disabled" in refused.err and "wellspring sources enable off" in refused.err
    assert publisher.asked == []

    assert "It is due now." in operator.well("sources", "enable", "off").out
    operator.well("plan")
    eventually(lambda: deployed.fetch_logs("off"))


def test_a_fetch_by_hand_is_followed_to_its_end(operator, deployed, publisher, feed):
    deployed.add("by-command", feed, cadence=every(60), min_interval_seconds=3, next_fetch_at=now() + HOUR)
    told = operator.well("fetch", "by-command", "--wait")
    assert "Asked for a fetch of by-command" in told.out and ": at once." in told.out
    assert "ok, HTTP 200, 2 new" in told.out
    again = operator.well("fetch", feed, "--wait", "--json").data
    assert (again["status"], again["http_status"], again["manual"]) == ("not_modified", 304, True)

    publisher.pages["/feed"] = Page(status=500)
    failed = operator("fetch", "by-command", "--wait")
    assert failed.code == 1
    assert "failed, HTTP 500, http_5xx: The server answered 500." in failed.out


def test_a_fetch_that_does_not_come_is_told(operator, deployed, publisher, feed):
    deployed.add("slow", feed, cadence=every(60), min_interval_seconds=300, next_fetch_at=now() + HOUR)
    operator.well("fetch", "slow", "--wait")
    told = operator("fetch", "slow", "--wait", "--patience", "2s")
    assert told.code == 1
    assert "waits until" in told.out
    assert "slow was not fetched within 2 s: its min-interval keeps it until" in told.err


def test_a_plan_is_rehearsed_and_then_made(operator, deployed, publisher, feed):
    deployed.add("to-plan", feed, cadence=every(60), next_fetch_at=now() - timedelta(seconds=1))
    rehearsed = operator.well("plan", "--dry-run", "--limit", "1000")
    if "to-plan" in rehearsed.out:  # The schedule may have been quicker.
        assert (
            "(interval 1 h; never fetched)" in rehearsed.out and "would be put on the queue" in rehearsed.out
        )
    assert "put on the queue" in operator.well("plan").out
    eventually(lambda: deployed.fetch_logs("to-plan"))
    assert operator.well("plan", "--dry-run", "--json").data["dry_run"] is True


def test_a_view_is_noted(operator, deployed, publisher):
    deployed.add("looked-at", publisher.url("/x"), cadence={"mode": "activity"}, next_fetch_at=now() + HOUR)
    operator.well("viewed", "looked")
    assert deployed.source("looked-at").viewed_at


def test_removing_asks_first_and_can_take_the_posts_along(operator, deployed, publisher, feed):
    for name in ("gone-1", "gone-2"):
        deployed.add(name, feed, cadence=every(60), next_fetch_at=now() + HOUR)
    operator.well("fetch", "gone-1", "--wait")
    unanswered = operator("sources", "remove", "gone-1")
    assert unanswered.code == 2 and "say --yes" in unanswered.err
    declined = operator("sources", "remove", "gone-1", answers="n\n")
    assert declined.code == 1 and "Nothing was done." in declined.err
    assert deployed.source("gone-1")

    assert (
        "Removed gone-2, from the local cloud at "
        in operator.well("sources", "remove", "gone-2", answers="y\n").out
    )
    told = operator.well("sources", "remove", "gone-1", "--with-posts", "--yes")
    assert "Removed gone-1 and 2 posts, from " in told.out
    assert deployed.sources.read(["gone-1", "gone-2"]) == []
    assert deployed.posts("gone-1") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["sources", "show"],
        ["sources", "edit", "--every", "1h"],
        ["sources", "enable"],
        ["sources", "disable"],
        ["sources", "remove", "--yes"],
        ["fetch"],
        ["explain"],
        ["viewed"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_source_that_is_not_there_and_one_that_is_not_unique_are_told(
    operator, deployed, publisher, arguments
):
    for name in ("twin-1", "twin-2"):
        deployed.sources.remove(name)
        deployed.add(name, publisher.url("/x"), cadence=every(60), next_fetch_at=now() + HOUR)
    words = [word for word in arguments if not word.startswith("--") and word != "1h"]
    options = arguments[len(words) :]
    unknown, ambiguous = (operator(*words, name, *options) for name in ("nowhere", "twin"))
    assert unknown.code == ambiguous.code == 3
    assert "There is no source 'nowhere'" in unknown.err
    assert "'twin' could be 2 sources: twin-1, twin-2. Type more of the id." in ambiguous.err


def test_sources_are_filtered_and_paged(operator, deployed, publisher):
    for number in range(7):
        deployed.add(
            f"page-{number}",
            f"https://paged.example/{number}",
            type="website" if number % 2 else "rss",
            cadence=every(60),
            next_fetch_at=now() + HOUR,
        )
    assert len(listed(operator, "--host", "paged.example", "--all")) == 7
    assert len(listed(operator, "--host", "paged.example", "--type", "website")) == 3
    assert len(listed(operator, "--match", "PAGED.example/3")) == 1
    assert operator("sources", "list", "--state", "lost").code == 2

    seen, cursor = [], []
    for _ in range(7):
        page = operator.well(
            "sources", "list", "--host", "paged.example", "--limit", "3", "--json", *cursor
        ).data
        assert len(page["sources"]) <= 3
        seen += [one["source_id"] for one in page["sources"]]
        if page["cursor"] is None:
            break
        cursor = ["--cursor", page["cursor"]]
    assert sorted(seen) == [f"page-{number}" for number in range(7)], "each once"


def test_no_secret_is_shown(operator, deployed, publisher, feed):
    url = f"{feed}?token={SECRET}"
    added = operator.well("sources", "add", url, "--type", "rss", "--header", f"X-Key={SECRET}", "--json")
    name = added.data["source_id"]
    said = [added]
    for command in (
        ["sources", "list", "--json"],
        ["sources", "list"],
        ["sources", "show", name],
        ["sources", "show", url, "--json"],
        ["explain", url],
        ["explain", name, "--json"],
        ["fetch", url, "--wait"],
        ["plan", "--dry-run"],
        ["sources", "edit", name, "--every", "2h"],
        ["sources", "add", url, "--type", "rss"],
        ["sources", "show", url + "x"],
        ["sources", "remove", name, "--yes"],
    ):
        said.append(operator(*command))
    assert SECRET not in json.dumps([[told.out, told.err] for told in said])
