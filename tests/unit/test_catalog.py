"""What people do with sources: naming them, adding, finding, editing, disabling and enabling."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import NOON, SETTINGS, URL, a_source, at, every
from wellspring import catalog
from wellspring.catalog import UnknownSource, Wanted
from wellspring.errors import ErrorClass, InvalidInput
from wellspring.memory import MemorySources
from wellspring.model import Health, Moved

ADAPTIVE = {"cadence": {"mode": "adaptive"}}
HOURLY = {"cadence": every(60)}


def new(url=URL, *, bulk=False, config=HOURLY, **fields):
    return catalog.new(Wanted(url=url, config=config, **fields), SETTINGS, now=NOON, bulk=bulk)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("http://example.org/feed.xml", id="http and https are the same source"),
        pytest.param("https://EXAMPLE.org/feed.xml", id="a host has no case"),
        pytest.param("https://example.org/feed.xml#top", id="a fragment names no other document"),
        pytest.param("https://example.org:443/feed.xml", id="the usual port may be left out"),
    ],
)
def test_these_urls_are_one_source(other):
    assert catalog.id_of(other) == catalog.id_of(URL)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("https://example.org/Feed.xml", id="a path has case"),
        pytest.param("https://example.org/feed.xml?a=1", id="a query"),
        pytest.param("https://example.org:8443/feed.xml", id="another port"),
        pytest.param("https://www.example.org/feed.xml", id="another host, though it is called alike"),
    ],
)
def test_these_urls_are_two_sources(other):
    assert catalog.id_of(other) != catalog.id_of(URL)


def test_an_id_tells_the_host_and_fits_into_a_name_of_a_post():
    assert catalog.id_of("https://www.example.org/feed").startswith("example.org-")
    assert ":" not in catalog.id_of("http://[2001:db8::1]/feed")
    assert len(catalog.id_of(f"https://{'long.' * 40}example.org/feed")) < 60


def test_a_source_added_alone_is_due_at_once_and_was_never_polled():
    source = new()
    assert (source.next_fetch_at, source.created_at) == (NOON, NOON)
    assert source.cursor.last_polled_at is None
    assert source.pace.reasons == ("interval 1 h", "never fetched")


def test_sources_added_in_bulk_are_spread_over_their_interval():
    times = {new(f"https://example.org/{number}", bulk=True).next_fetch_at for number in range(50)}
    assert len(times) == 50
    assert min(times) >= NOON and max(times) < at(60)
    assert max(times) - min(times) > timedelta(minutes=40)


def test_a_disabled_source_is_added_outside_of_the_schedule():
    assert new(enabled=False).next_fetch_at is None


def test_a_timeline_is_known_by_its_url():
    assert new("https://x.com/someone", owner_id="me").type == "twitter"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"url": "example.org/feed"}, "must begin with http", id="no scheme"),
        pytest.param({"url": "ftp://example.org/"}, "must begin with http", id="another scheme"),
        pytest.param({"url": "https://user:pw@example.org/"}, "a user name or a password", id="a password"),
        pytest.param({"url": "https://exa mple.org/"}, "a space", id="a space"),
        pytest.param({"type": "feed"}, 'The type "feed" is not known. Use one of: rss', id="a type"),
        pytest.param({"owner_id": "../x"}, "An owner is named by letters", id="an owner"),
        pytest.param({"url": "https://x.com/someone"}, "name one with --owner", id="a timeline of nobody"),
        pytest.param(
            {"type": "twitter", "owner_id": "me"}, "looks like https://x.com/username", id="no timeline"
        ),
        pytest.param({"source_id": ""}, "An id is one line", id="an empty id"),
        pytest.param({"source_id": " a"}, "An id is one line", id="an id with a space before it"),
        pytest.param({"source_id": "a\nb"}, "An id is one line", id="an id of two lines"),
        pytest.param({"source_id": "a" * 1025}, "An id is one line", id="an id that is too long"),
        pytest.param({"config": {"cadence": every(0)}}, "cadence.every_minutes: ", id="a cadence"),
        pytest.param({"config": {"cadance": every(1)}}, "cadance: there is no such setting", id="a typo"),
    ],
)
def test_what_cannot_be_a_source_is_told(fields, told):
    with pytest.raises(InvalidInput) as error:
        new(**fields)
    assert told in str(error.value)


def listing(*sources):
    made = MemorySources()
    for source in sources:
        made.add(source)
    return made


def found(text, *sources):
    return catalog.find(text, listing(*sources)).source_id


NEWS, NEWSLETTER = a_source("news"), a_source("newsletter")
AT_URL = a_source(catalog.id_of(URL), url=URL)


@pytest.mark.parametrize(
    ("text", "sources", "wanted"),
    [
        pytest.param("news", (NEWS, NEWSLETTER), "news", id="an id, though another one begins so"),
        pytest.param("newsl", (NEWS, NEWSLETTER), "newsletter", id="the beginning of one id"),
        pytest.param(URL, (NEWS, AT_URL), catalog.id_of(URL), id="a url"),
        pytest.param("http://example.org/feed.xml", (AT_URL,), catalog.id_of(URL), id="a url by http"),
        pytest.param(URL, (a_source("mine", url=URL),), "mine", id="the url of an id of one's own"),
        pytest.param(
            "https://old.example/",
            (a_source("moved", previous_url="https://old.example/"),),
            "moved",
            id="the url before it moved",
        ),
        pytest.param("https://id", (a_source("https://id", url=URL),), "https://id", id="an id like a url"),
        pytest.param("bad", (a_source("broken", url="::"), a_source("bad")), "bad", id="beside a broken url"),
    ],
)
def test_a_source_is_found_by(text, sources, wanted):
    assert found(text, *sources) == wanted


@pytest.mark.parametrize(
    ("text", "sources", "told"),
    [
        pytest.param("x", (NEWS,), "There is no source 'x'. See those", id="nothing"),
        pytest.param(
            "new", (NEWS, NEWSLETTER), "'new' could be 2 sources: news, newsletter. Type more", id="two"
        ),
        pytest.param(
            "s",
            tuple(a_source(f"s{number}") for number in range(7)),
            "s0, s1, s2, s3, s4 and 2 more",
            id="many",
        ),
        pytest.param(
            "https://example.org/?key=secret", (NEWS,), "'https://example.org/?...'", id="without the secret"
        ),
        pytest.param(" ", (NEWS,), "A source is named by its id", id="nothing typed"),
        pytest.param("a" * 1500, (NEWS,), "A source is named by its id", id="more than an id can be"),
        pytest.param("a" * 9000, (NEWS,), "A source is named by its id", id="far too much"),
        pytest.param("a" * 1025, (NEWS,), "A source is named by its id", id="longer than an id can be"),
        pytest.param("\udcff", (NEWS,), "A source is named by its id", id="bytes that are no text"),
        pytest.param("https://", (NEWS,), "must begin with http", id="half a url"),
    ],
)
def test_what_names_no_source_is_told(text, sources, told):
    with pytest.raises(InvalidInput) as error:
        found(text, *sources)
    assert told in str(error.value)
    assert isinstance(error.value, UnknownSource) or text == "https://"


def test_all_sources_are_walked_through_page_by_page():
    made = listing(*(a_source(f"s{number:04}") for number in range(2_300)))
    assert sum(1 for _ in catalog.every(made)) == 2_300


def edited(before, fields=None, given=None, now=NOON):
    return catalog.edited(before, fields or {}, given or HOURLY, SETTINGS, now=now)


def test_another_interval_counts_from_the_last_success():
    before = a_source(cadence=every(60), last_fetch_at=at(-10), last_polled_at=at(-10), next_fetch_at=at(50))
    assert edited(before, given={"cadence": every(30)}).next_fetch_at == at(20)
    assert edited(before, given={"cadence": every(5)}).next_fetch_at == NOON, "due now, not in the past"


def test_what_was_learned_from_another_url_is_forgotten():
    before = a_source(
        cadence=every(60),
        failures=4,
        etag='"e"',
        last_modified="yesterday",
        issuer="i",
        signature="s",
        bookmark={"since_id": "1"},
        last_fetch_at=at(-10),
        last_polled_at=at(-10),
        retry_at=at(99),
        moved=Moved(url="https://new.example/", since=at(-9)),
    )
    after = edited(before, {"url": "https://other.example/feed"})
    cursor = after.cursor
    assert (cursor.etag, cursor.last_modified, cursor.issuer, cursor.signature) == (None, None, None, None)
    assert (dict(cursor.bookmark), after.health, after.pace.retry_at, after.moved) == (
        {},
        Health(),
        None,
        None,
    )
    assert cursor.last_polled_at == at(-10), "it was polled before: later polls skip nothing that is old"


def test_what_stays_is_kept_with_its_failures():
    before = a_source(cadence=every(60), failures=4, etag='"e"', last_polled_at=at(-1))
    after = edited(before, {"title": "New"})
    assert (after.title, after.health, after.cursor) == ("New", before.health, before.cursor)


def test_a_learned_interval_is_forgotten_with_the_cadence_that_learned_it():
    before = a_source(config=ADAPTIVE, interval=timedelta(minutes=7), last_polled_at=at(-1))
    assert edited(before, given=ADAPTIVE).pace.interval == timedelta(minutes=7)
    assert edited(before, given=HOURLY).pace.interval is None


def test_a_disabled_source_stays_out_of_the_schedule_when_it_is_edited():
    before = catalog.disabled(a_source(cadence=every(60), next_fetch_at=at(5)))
    after = edited(before, given={"cadence": every(5)})
    assert (after.enabled, after.next_fetch_at) == (False, None)


def test_an_edit_is_checked_like_a_new_source():
    with pytest.raises(InvalidInput, match="name one with --owner"):
        edited(a_source(), {"type": "twitter", "url": "https://x.com/someone"})


def test_a_source_that_is_enabled_begins_anew():
    health = {"error_class": ErrorClass.GONE, "gone": 3, "reason": "gone", "quarantined_at": at(-9)}
    before = catalog.disabled(a_source(cadence=every(60), failures=3, last_polled_at=at(-9), **health))
    assert (before.enabled, before.next_fetch_at) == (False, None)
    after = catalog.enabled(before, SETTINGS, now=NOON)
    assert (after.enabled, after.health, after.next_fetch_at) == (True, Health(), NOON)


def test_a_configuration_is_merged_with_what_is_there():
    before = a_source(config={"max_age_days": 3, "backfill": True, "cadence": every(5)})
    merged = catalog.with_config(before, {"max_age_days": None, "full_text": True})
    assert merged == {"backfill": True, "full_text": True, "cadence": every(5.0)}
    assert replace(before, config=catalog.config.parse(merged)).config.max_age_days is None


@pytest.mark.parametrize(("title", "kept"), [("x" * 500, "x" * 200), ("", None)])
def test_a_title_is_edited_as_it_is_added(title, kept):
    assert edited(a_source(title="old"), {"title": title}).title == kept == new(title=title).title
