"""Sources as files: how OPML, CSV and JSON are read row by row, and that what is written reads the same."""

import errno
import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOON, SETTINGS, URL, a_source, every
from wellspring import catalog
from wellspring.config import Config
from wellspring.errors import InvalidInput
from wellspring.model import Source
from wellspring.sources import KINDS
from wellspring_cli import source_files
from wellspring_cli.errors import CliError, WrongUse
from wellspring_cli.source_files import disk, rows
from wellspring_cli.source_files.rows import Row, Unsaid

ADAPTIVE = {"mode": "adaptive"}
SECRET = "canary-7f3a9c"
FORMATS = [pytest.param(form, id=name) for name, form in source_files.FORMATS.items()]
WHOLE = [form for form in source_files.FORMATS.values() if form.holds_settings]
LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 9))
LAUGHING = f'<!DOCTYPE opml [<!ENTITY a0 "ha">{LAUGHS}]><opml><body><outline xmlUrl="&a8;"/></body></opml>'


@pytest.fixture
def reading(tmp_path):
    """Read a file with this name and content."""

    def read(name, content, form=None):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return source_files.read(str(path), source_files.format_of(str(path), form))

    return read


@pytest.fixture
def refused(reading):
    """Return what is said of a file that cannot be read, without its name."""

    def read(name, content):
        with pytest.raises(WrongUse) as caught:
            reading(name, content)
        told = str(caught.value)
        assert f"{name}: " in told and "\n" not in told
        return told.partition(f"{name}: ")[2]

    return read


def opml(outlines, root="opml"):
    return f'<?xml version="1.0"?>\n<{root} version="2.0">\n<body>\n{outlines}\n</body>\n</{root}>'


def said(row):
    """Return the fields that a row names."""
    return {name: found for name, found in row.fields.items() if found is not None}


def wanted(row, **unsaid):
    return rows.wanted(row, Unsaid(cadence=ADAPTIVE, **unsaid))


def mistake(row):
    with pytest.raises(InvalidInput) as caught:
        wanted(row)
    return str(caught.value)


def made(row):
    return catalog.new(wanted(row), SETTINGS, now=NOON, bulk=True)


# Which format


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.opml", "opml"),
        ("A.OPML", "opml"),
        ("subscriptions.xml", "opml"),
        ("a.csv", "csv"),
        ("a.tsv", "csv"),
        ("a.json", "json"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
    ],
)
def test_the_ending_tells_the_format(name, form):
    assert source_files.format_of(name).name == form


@pytest.mark.parametrize(
    ("name", "form", "told"),
    [
        pytest.param(
            "a.txt",
            None,
            "Name the format of 'a.txt', whose ending does not tell it: --format opml|csv|json|jsonl",
            id="an ending that tells nothing",
        ),
        pytest.param("-", None, "Name the format of what comes in: --format", id="no ending"),
        pytest.param("a.csv", "yaml", "There is no format 'yaml'. Use one of: opml, csv", id="no format"),
    ],
)
def test_a_format_that_is_not_known_is_asked_for(name, form, told):
    with pytest.raises(WrongUse, match=r"^[A-Z]") as caught:
        source_files.format_of(name, form)
    assert told in str(caught.value)


def test_a_format_that_is_named_wins_over_the_ending(reading):
    assert reading("a.opml", "url\nhttps://example.org/\n", "CSV")[0].line == 2


# What stands against any file


def test_what_cannot_be_opened_is_told_in_a_sentence(tmp_path):
    form = source_files.FORMATS["csv"]
    with pytest.raises(WrongUse, match=r"^There is no file '.*nowhere\.csv'\.$"):
        source_files.read(str(tmp_path / "nowhere.csv"), form)
    with pytest.raises(WrongUse, match=r"' is a folder. Name a file in it\.$"):
        source_files.read(str(tmp_path), form)
    with pytest.raises(WrongUse, match=r"' cannot be read: File name too long\.$"):
        source_files.read(str(tmp_path / ("a" * 300)), form)


def test_a_file_that_may_not_be_read_is_told_so():
    refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    assert disk.told(refused, "a.csv") == "You may not read 'a.csv'."


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("content", ["", " \n\r\n\t ", "\ufeff"])
def test_an_empty_file_is_told_so(reading, form, content):
    with pytest.raises(WrongUse, match=r": there is nothing in it\.$"):
        reading("a", content, form.name)


def test_a_file_that_is_too_large_is_told_so(tmp_path):
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(disk.LARGEST + 1)
    with pytest.raises(WrongUse, match=r"large\.csv is larger than 50 MB. Split it"):
        source_files.read(str(path), source_files.format_of(str(path)))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(
            b"url\nhttps://a/\nhttps://b/\xe9\n", "line 3 is not UTF-8. Save the file as UTF-8", id="Latin-1"
        ),
        pytest.param(b"\xff\xfeu\x00r\x00l", "line 1 is not UTF-16", id="half a UTF-16 letter"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", "a.opml"])
def test_another_encoding_is_told_with_its_line(refused, name, content, told):
    assert refused(name, content).startswith(told)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("form", FORMATS)
def test_unicode_is_read_with_its_marks(reading, form, encoding):
    source = a_source(title="Grüße, „Welt“ 😀")
    text = form.write([rows.fields(source, with_secrets=False)])
    (row,) = reading("a", text.encode(encoding), form.name)
    assert wanted(row).title == source.title


# OPML


def test_outlines_are_found_in_folders_with_their_lines(reading):
    first, second, third = reading(
        "a.opml",
        opml(
            '<outline text="A folder"><outline text="One" title="The first" type="rss"\n xmlUrl="https://a/"/>\n'
            '<outline text="In it"><outline text="Two" XMLURL=" https://b/ "/></outline></outline>\n'
            '<OUTLINE xmlurl="https://c/?x=1&amp;y=2" text="https://c/?x=1&amp;y=2" type="Atom"/>'
        ),
    )
    assert (first.line, said(first)) == (4, {"url": "https://a/", "title": "The first", "type": "rss"})
    assert (second.line, said(second)) == (6, {"url": "https://b/", "title": "Two"})
    assert (third.line, said(third)) == (7, {"url": "https://c/?x=1&y=2"}), "another program's type is a feed"


def test_lines_are_counted_beyond_those_that_fit_into_16_bits(reading):
    found = reading("a.opml", opml('<outline\n xmlUrl="https://a/"/>\n' * 70_000))
    assert found[-1].line == 3 + 2 * 70_000 - 1


def test_folders_without_a_feed_are_an_empty_list(reading):
    assert reading("a.opml", opml('<outline text="A folder"/><outline text="B" xmlUrl=""/>')) == []


def test_an_encoding_that_is_declared_counts(reading):
    text = opml('<outline text="Grüße" xmlUrl="https://a/"/>').replace("?>", ' encoding="ISO-8859-1"?>', 1)
    assert reading("a.opml", text.encode("latin-1"))[0].fields["title"] == "Grüße"
    declared = text.replace("ISO-8859-1", "shift_jis").replace("Grüße", "購読")
    assert reading("a.opml", declared.encode("shift_jis"))[0].fields["title"] == "購読"
    lying = text.replace("ISO-8859-1", "utf-16")
    assert reading("a.opml", lying.encode())[0].fields["title"] == "Grüße"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(
            opml('<outline xmlUrl="https://a/?x=1&y=2"/>'),
            "the XML is broken at line 4, column 34: not well-formed (invalid token).",
            id="an & that stands for itself",
        ),
        pytest.param(
            opml("<outline>"),
            "the XML is broken at line 5, column 3: mismatched tag.",
            id="a tag that stays open",
        ),
        pytest.param(
            "<opml><body>",
            "the XML is broken at line 1, column 13: no element found.",
            id="a file that is cut",
        ),
        pytest.param(
            opml('<outline text="&nbsp;"/>'),
            "the XML is broken at line 4, column 1: undefined entity.",
            id="an entity of HTML",
        ),
        pytest.param("url\nhttps://a/", "the XML is broken at line 1, column 1: ", id="no XML"),
        pytest.param(opml("\x00"), "the XML is broken at line 4, column 1: ", id="a control character"),
        pytest.param(
            '<?xml version="1.0"?><rss version="2.0"><channel/></rss>',
            "this is a feed itself, not a list of feeds. Add it by its URL: wellspring sources add",
            id="a feed",
        ),
        pytest.param(
            '<feed xmlns="http://www.w3.org/2005/Atom"/>', "this is a feed itself", id="an Atom feed"
        ),
        pytest.param(
            '<!DOCTYPE rss PUBLIC "-//x" "http://127.0.0.1:1/rss.dtd"><rss/>',
            "this is a feed itself",
            id="a feed with a document type",
        ),
        pytest.param("<!DOCTYPE html><html><br></html>", "this is a web page, not OPML.", id="a page"),
        pytest.param(
            "<!doctype html>\n<p>Hi", "this is a web page, not OPML.", id="a page as people write it"
        ),
        pytest.param(
            "<plist><dict/></plist>",
            "this is no OPML: it begins with <plist>, not with <opml>.",
            id="another XML",
        ),
        pytest.param(LAUGHING, "it has a document type with definitions", id="a billion laughs"),
        pytest.param(
            '<!DOCTYPE opml [<!ENTITY a SYSTEM "file:///etc/passwd">]><opml><outline xmlUrl="&a;"/></opml>',
            "it has a document type with definitions",
            id="a file of this computer",
        ),
        pytest.param(
            '<!DOCTYPE opml SYSTEM "http://127.0.0.1:1/opml.dtd"><opml><outline xmlUrl="https://a/&b;"/></opml>',
            "it has a document type with definitions",
            id="a document type from elsewhere",
        ),
        pytest.param(
            '<?xml version="1.0" encoding="rot13"?><opml/>',
            "its encoding 'rot13' is not known. Save the file as UTF-8.",
            id="an encoding that is none",
        ),
    ],
)
def test_what_is_no_opml_is_told(refused, content, told):
    assert refused("a.opml", content).startswith(told)


def test_a_plain_document_type_is_fine(reading):
    assert len(reading("a.opml", '<!DOCTYPE opml><opml><outline xmlUrl="https://a/"/></opml>')) == 1


# CSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_rows_are_read_under_their_columns(reading, delimiter, newline):
    table = (
        ("URL", "id", "Title", "enabled", "every", "max_age_days", "full_text", "headers"),
        ("https://a/", "007", '"Say ""so"""', "FALSE", "1h30m", "0.5", "TRUE", '"{""X-A"": ""1""}"'),
        ("",) * 8,
        ("https://b/", "", "", "", "", "", "", ""),
    )
    text = newline.join(delimiter.join(cells) for cells in table) + newline * 2
    first, second = reading("a.csv", text)
    assert first.line == 2
    assert said(first) == {
        "url": "https://a/",
        "id": "007",
        "title": 'Say "so"',
        "enabled": False,
        "config": {
            "cadence": {"mode": "interval", "every_minutes": 90},
            "max_age_days": 0.5,
            "full_text": True,
            "headers": {"X-A": "1"},
        },
    }
    assert (second.line, said(second)) == (4, {"url": "https://b/", "config": {}})


def test_a_cell_may_have_lines_and_the_row_is_where_it_begins(reading):
    first, second = reading("a.csv", '\nurl,title\nhttps://a/,"Two\nlines"\n\nhttps://b/,One\n')
    assert (first.line, first.fields["title"], second.line) == (3, "Two\nlines", 6)


@pytest.mark.parametrize(
    ("columns", "cells", "expected"),
    [
        pytest.param("cadence", "activity", {"mode": "activity"}, id="a mode"),
        pytest.param("every", "30m", every(30), id="a span alone is an interval"),
        pytest.param("cadence;every", "interval;2h", every(120), id="an interval and its span"),
        pytest.param(
            "cadence;every", "adaptive;15m", {"mode": "adaptive", "every_minutes": 15}, id="where it starts"
        ),
        pytest.param("cadence", json.dumps(every(5)).replace('"', '""').join('""'), every(5), id="JSON"),
        pytest.param("cadence;every", ";", ADAPTIVE, id="nothing"),
    ],
)
def test_a_cadence_is_written_in_these_ways(reading, columns, cells, expected):
    (row,) = reading("a.csv", f"url;{columns}\n{URL};{cells}\n")
    assert wanted(row).config["cadence"] == expected


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(
            "https://a/\nhttps://b/\n",
            "the first line must name the columns, and one of them must be url. There are url, id, type,",
            id="no column names",
        ),
        pytest.param(
            "url,name\nhttps://a/,x\n", "there is no column 'name'. There are url, id,", id="no such column"
        ),
        pytest.param("url,title,URL\n", "the column 'url' is there twice.", id="a column twice"),
        pytest.param(
            'url,title\nhttps://a/,x\nhttps://b/,"open\nhttps://c/,y\n',
            "it cannot be read from line 3 on: unexpected end of data. A cell with quotes",
            id="a quote that stays open",
        ),
        pytest.param(
            'url,title\nhttps://a/,"a" b\n',
            "it cannot be read from line 2 on: ',' expected",
            id="text behind a quote",
        ),
        pytest.param(
            f"url,title\nhttps://a/,{'x' * 140_000}\n",
            "it cannot be read from line 2 on: field larger than field limit",
            id="a cell without end",
        ),
    ],
)
def test_a_csv_file_that_cannot_be_read_is_told(refused, content, told):
    assert refused("a.csv", content).startswith(told)


@pytest.mark.parametrize(
    ("header", "line", "told"),
    [
        pytest.param("url,title", URL, "The row has 1 cell, and there are 2 columns.", id="too few cells"),
        pytest.param(
            "url,id", f"{URL},a,b", "The row has 3 cells, and there are 2 columns.", id="too many cells"
        ),
        pytest.param(
            "url;every", f"{URL};30", "'30' is no span of time. Write it with its unit", id="no unit"
        ),
        pytest.param(
            "url;every", f"{URL};{'9' * 30}w", "is too long a span of time", id="a span without end"
        ),
        pytest.param(
            "url;cadence;every",
            f'{URL};"{{""mode"": ""always""}}";5m',
            "every: a cadence that is written as JSON says so itself",
            id="two cadences",
        ),
        pytest.param(
            "url,enabled",
            f"{URL},maybe",
            "enabled: expected true or false, found text.",
            id="neither true nor false",
        ),
        pytest.param("url,created_at", f"{URL},soon", "created_at: expected a time like 2026", id="no time"),
        pytest.param("url,id", ",a", "There is no URL.", id="no URL"),
    ],
)
def test_a_row_that_cannot_be_meant_is_told(reading, header, line, told):
    (row,) = reading("a.csv", f"{header}\n{line}\n")
    assert row.line == 2
    assert told in mistake(row)


# JSON


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        pytest.param("a.json", '[{"url": "https://a/"},\n\n {"url":\n "https://b/"}]', [1, 3], id="a list"),
        pytest.param(
            "a.json",
            '{"sources":\n[\n{"url": "https://a/"},{"url": "https://b/"}\n]}\n',
            [3, 3],
            id="in an object",
        ),
        pytest.param("a.json", " [ ] ", [], id="an empty list"),
        pytest.param("a.jsonl", '{"url": "https://a/"}\r\n\r\n{"url": "https://b/"}', [1, 3], id="lines"),
        pytest.param(
            "a.ndjson", '{"url": "https://a/\u2028"}\n{"url": "https://b/"}\n', [1, 2], id="no other ends"
        ),
    ],
)
def test_json_is_read_with_its_lines(reading, name, content, lines):
    assert [row.line for row in reading(name, content)] == lines


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(
            '[{"url": "https://a/"},\n{"url": }]', "line 2, column 9: Expecting value.", id="no value"
        ),
        pytest.param('[{"url": "https://a/"}\n', "line 2, column 1: expected ']'.", id="cut"),
        pytest.param(
            '[{"url": "https://a/"},]', "line 1, column 24: Expecting value.", id="a comma too many"
        ),
        pytest.param(
            "[] []", "line 1, column 4: something follows behind the end; for an obj", id="two lists"
        ),
        pytest.param('"url"', "line 1, column 1: expected [", id="a text"),
        pytest.param('{"url": "https://a/"}', "line 1, column 7: expected [", id="one source alone"),
        pytest.param('{"sources": 5}', "line 1, column 13: expected [", id="no list"),
        pytest.param(
            '{"sources": [], "cursor": 1}',
            'line 1, column 15: nothing but "sources" may stand',
            id="more than a list",
        ),
        pytest.param("[" * 200_000, "it is nested too deeply.", id="a tower"),
        pytest.param(f"[{'9' * 5_000}]", "a number in it has too many digits.", id="a number without end"),
        pytest.param("<opml/>", "line 1, column 1: expected [", id="OPML"),
    ],
)
def test_broken_json_is_told_with_line_and_column(refused, content, told):
    found = refused("a.json", content)
    assert found.startswith("the JSON cannot be read at line ")
    assert told in found


def test_a_broken_line_stops_no_other(reading):
    content = f'{{"url": "{URL}"\n[1]\n{"[" * 200_000}\n{"9" * 5_000}\n{{"url": "{URL}"}}\n'
    *broken, good = reading("a.jsonl", content)
    assert [mistake(row)[:40] for row in broken] == [
        "The JSON cannot be read at column 39: Ex",
        'A source is an object, like {"url": "htt',
        "The JSON cannot be read: it is nested to",
        "The JSON cannot be read: a number in it ",
    ]
    assert wanted(good).url == URL


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({}, "There is no URL.", id="nothing"),
        pytest.param({"url": None}, "There is no URL.", id="null"),
        pytest.param({"url": 5}, "url: expected text, found a number.", id="a number"),
        pytest.param(
            {"enabled": "yes"}, "enabled: expected true or false, found text.", id="a text for a flag"
        ),
        pytest.param({"config": [SECRET]}, "config: expected an object, found a list.", id="a list"),
        pytest.param(
            {"source_id": "a"}, "There is no field 'source_id'; there are url, id,", id="no such field"
        ),
        pytest.param({"title": "\ud800"}, "title: half of a character stands there", id="half a character"),
        pytest.param({"url": "https://a/\ud800"}, "url: half of a character", id="half a character in a URL"),
        pytest.param({"created_at": "2500-01-01"}, "created_at: expected a time like", id="another century"),
    ],
)
def test_a_field_that_cannot_be_meant_is_told(fields, told):
    found = mistake(Row(line=1, fields={"url": URL} | fields if fields else {}))
    assert found.startswith(told)
    assert SECRET not in found


def test_null_is_what_was_not_said():
    empty = dict.fromkeys(rows.FIELDS) | {"url": URL, "config": {"backfill": None, "cadence": None}}
    assert made(Row(line=1, fields=empty)) == made(Row(line=1, fields={"url": URL}))


def test_rows_take_what_they_do_not_say_from_the_command():
    row = Row(line=1, fields={"url": URL})
    assert (wanted(row, type="website", owner="me").type, wanted(row, owner="me").owner_id) == (
        "website",
        "me",
    )
    own = Row(line=1, fields={"url": URL, "type": "rss", "owner": "you", "config": {"cadence": every(5)}})
    found = wanted(own, type="website", owner="me")
    assert (found.type, found.owner_id, found.config["cadence"]) == ("rss", "you", every(5))


# What is shown of a row


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param(f"https://a.example/feed?key={SECRET}", "https://a.example/feed?...", id="a query"),
        pytest.param(f"https://me:{SECRET}@a.example/feed", "https://a.example/feed", id="a password"),
        pytest.param(f"me:{SECRET}@a.example/feed", "(unreadable url)", id="a password without a scheme"),
        pytest.param(f"a.example/feed?key={SECRET}", "a.example/feed", id="no scheme"),
        pytest.param("https://a.example/\x1b[2J", "https://a.example/ [2J", id="what steers a terminal"),
        pytest.param(f"https://a.example/{'x' * 500}", f"https://a.example/{'x' * 182}...", id="a long one"),
        pytest.param(5, "", id="a number"),
        pytest.param(None, "", id="nothing"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url, shown):
    assert Row(line=1, fields={"url": url}).shown_url == shown


# Writing


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.json"
    disk.write(path, b"one", private=False)
    with pytest.raises(TypeError):
        disk.write(path, "no bytes", private=False)
    assert path.read_bytes() == b"one"
    assert [found.name for found in tmp_path.iterdir()] == ["a.json"], "nothing half-written is left behind"


def test_a_place_that_takes_no_file_is_told_in_a_sentence():
    with pytest.raises(CliError, match=r"^'/proc/a\.json' cannot be written: "):
        disk.write(Path("/proc/a.json"), b"one", private=False)


def test_a_private_file_is_its_owners_alone_even_over_another(tmp_path):
    path = tmp_path / "a.json"
    disk.write(path, b"one", private=False)
    assert stat.S_IMODE(path.stat().st_mode) & 0o400
    disk.write(path, b"two", private=True)
    assert (stat.S_IMODE(path.stat().st_mode), path.read_bytes()) == (0o600, b"two")


def test_a_link_stays_and_its_file_is_written(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "a.json")
    disk.write(link, b"one", private=False)
    assert link.is_symlink()
    assert (tmp_path / "a.json").read_bytes() == b"one"


def test_what_stands_against_writing_is_told_before(tmp_path):
    there = tmp_path / "there.json"
    there.touch()
    for path, told in (
        (there, "is there already. Name another file, or overwrite it: --force"),
        (tmp_path, "is a folder. Name a file in it."),
        (tmp_path / "no" / "a.json", "There is no folder"),
        (tmp_path / ("é" * 200), "The name of the file is too long."),
    ):
        with pytest.raises(WrongUse, match=told):
            disk.check_writable(path, force=False)
    disk.check_writable(there, force=True)
    with pytest.raises(WrongUse, match=r"is no file\. To write to what comes next in a pipe, name -"):
        disk.check_writable(Path("/dev/null"), force=True)


def test_headers_are_written_only_when_that_is_asked_for():
    source = a_source(config={"headers": {"X-Token": SECRET}})
    for form in source_files.FORMATS.values():
        assert SECRET not in form.write([rows.fields(source, with_secrets=False)])
    for form in WHOLE:
        assert SECRET in form.write([rows.fields(source, with_secrets=True)])


def test_a_title_is_no_formula_to_a_spreadsheet(reading):
    titles = ["=HYPERLINK(1)", "+1", "-1", "@x", "\tx", "'=1", "'n roll", "= "]
    form = source_files.FORMATS["csv"]
    text = form.write([rows.fields(a_source(title=title), with_secrets=False) for title in titles])
    assert not any(cell in text for cell in (",=", ",+", ",-", ",@", ',"='))
    assert [row.fields["title"] for row in reading("a.csv", text)] == titles


def test_json_has_a_line_for_each_source():
    two = [rows.fields(a_source(name), with_secrets=False) for name in "ab"]
    assert len(source_files.FORMATS["json"].write(two).splitlines()) == 4


@pytest.mark.parametrize("name", ["opml", "csv", "json"])
def test_no_sources_are_a_file_without_sources(reading, name):
    form = source_files.FORMATS[name]
    assert reading("a", form.write([]), form.name) == []


def test_opml_keeps_url_title_and_type(reading):
    form = source_files.FORMATS["opml"]
    sources = [
        a_source("a", title='A & "b" <c>\x00'),
        a_source("b", type="website", url="https://b/?x=1&y=2"),
    ]
    first, second = reading("a.opml", form.write([rows.fields(one, with_secrets=True) for one in sources]))
    assert said(first) == {"url": URL, "title": 'A & "b" <c>', "type": "rss"}
    assert said(second) == {"url": "https://b/?x=1&y=2", "type": "website"}


minutes = st.floats(0.001, 500_000)
cadences = st.one_of(
    st.just({"mode": "always"}),
    st.fixed_dictionaries({"mode": st.just("interval"), "every_minutes": minutes}),
    st.fixed_dictionaries(
        {"mode": st.just("adaptive")},
        optional={
            "every_minutes": minutes,
            "changed_factor": st.floats(0.1, 1),
            "floor_minutes": minutes,
            "jitter_percent": st.floats(0, 100),
        },
    ),
    st.fixed_dictionaries(
        {"mode": st.just("activity")},
        optional={
            "steps": st.lists(
                st.fixed_dictionaries({"idle_days": st.floats(0.1, 100), "every_hours": st.floats(0.1, 100)}),
                min_size=1,
                max_size=3,
            )
        },
    ),
)
configs = st.fixed_dictionaries(
    {"cadence": cadences},
    optional={
        "min_interval_seconds": st.floats(0, 1000),
        "max_backoff_hours": st.floats(0.1, 1000),
        "max_consecutive_failures": st.integers(0, 1000),
        "host_delay_seconds": st.floats(0, 1000),
        "max_age_days": st.floats(0, 30_000),
        "backfill": st.booleans(),
        "full_text": st.booleans(),
        "max_in_flight": st.integers(1, 1000),
        "headers": st.dictionaries(
            st.from_regex(r"X-[A-Za-z0-9-]{1,10}", fullmatch=True),
            st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20),
            max_size=2,
        ),
    },
)
sources = st.builds(
    Source,
    source_id=st.from_regex(r"[A-Za-z0-9=+@'.-]{1,20}", fullmatch=True),
    url=st.sampled_from(["https://x.com/someone", "https://x.com/another"]),
    type=st.sampled_from(sorted(KINDS)),
    title=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
    owner_id=st.just("me"),
    enabled=st.booleans(),
    created_at=st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)).map(  # noqa: DTZ001
        lambda moment: moment.replace(microsecond=0, tzinfo=UTC) + timedelta(milliseconds=7)
    ),
    config=configs.map(Config.model_validate),
)


@pytest.mark.parametrize("form", [pytest.param(form, id=form.name) for form in WHOLE])
@given(found=st.lists(sources, max_size=4))
def test_what_is_written_reads_the_same(form, found):
    text = form.decode(form.write([rows.fields(source, with_secrets=True) for source in found]).encode())
    again = [made(row) for row in form.read(text)] if text.strip() else []
    kept = ("source_id", "url", "type", "title", "owner_id", "enabled", "created_at", "config")
    assert [[getattr(source, name) for name in kept] for source in again] == [
        [getattr(source, name) for name in kept] for source in found
    ]


@pytest.mark.parametrize("form", FORMATS)
@given(text=st.text() | st.text(alphabet='urlid,;\t\n"[]{}:<>/ outlneopm=&?!-'))
def test_whatever_comes_in_is_rows_or_a_sentence(form, text):
    if not text.strip():
        return
    try:
        found = form.read(text)
    except WrongUse as error:
        assert str(error)
        return
    for row in found:
        try:
            made(row)
        except InvalidInput as error:
            assert str(error)
