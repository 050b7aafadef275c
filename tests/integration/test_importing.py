"""`wellspring sources import` and `export` with files that cannot be used: told before any stack is asked."""

import pytest

FEED = b'<?xml version="1.0"?><rss version="2.0"><channel><title>A</title></channel></rss>'


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        pytest.param("a.opml", b"", "there is nothing in it.", id="empty"),
        pytest.param("a.opml", b"<opml><body>", "the XML is broken at line 1, column 13", id="cut"),
        pytest.param("a.opml", FEED, "this is a feed itself", id="a feed"),
        pytest.param("a.opml", b"<!doctype html><p>", "this is a web page, not OPML", id="a page"),
        pytest.param("a.csv", b"https://a.example/\n", "the first line must name the columns", id="no names"),
        pytest.param("a.csv", b"url\nhttps://\xe9.example/\n", "line 2 is not UTF-8.", id="Latin-1"),
        pytest.param("a.json", b'[{"url": ]', "cannot be read at line 1, column 10", id="broken JSON"),
        pytest.param("a.txt", b"https://a.example/", "Name the format of", id="an unknown ending"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_one_sentence(typed, tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    said = typed("sources", "import", tmp_path / name)
    assert (said.code, said.out) == (2, "")
    assert told in said.err and name in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("nowhere.csv", "There is no file", id="missing"),
        pytest.param("folder.csv", "is a folder. Name a file in it.", id="a folder"),
        pytest.param("large.csv", "is larger than 50 MB. Split it", id="too large"),
    ],
)
def test_what_is_no_such_file_is_told_in_one_sentence(typed, tmp_path, name, told):
    (tmp_path / "folder.csv").mkdir()
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(60_000_000)
    said = typed("sources", "import", tmp_path / name)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert len(said.err.splitlines()) == 1


def test_what_comes_in_needs_a_format_and_may_be_bad_too(typed):
    assert "Name the format of what comes in: --format" in typed("sources", "import", "-").err
    said = typed("sources", "import", "-", "--format", "csv", stdin=b"\n")
    assert (said.code, said.err.strip()) == (2, "standard input: there is nothing in it.")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param(("--type", "podcast"), 'The type "podcast" is not known', id="no such type"),
        pytest.param(("--every", "5"), "'5' is no span of time", id="no span"),
        pytest.param(
            ("--every", "9999w"), "cadence.every_minutes: input should be less", id="too long a span"
        ),
        pytest.param(("--always", "--activity"), "A source has one cadence, found", id="two cadences"),
        pytest.param(("--format", "yaml"), "There is no format 'yaml'.", id="no such format"),
    ],
)
def test_options_that_cannot_be_meant_are_told_before_the_file_is_read(typed, options, told):
    said = typed("sources", "import", "nowhere.csv", *options)
    assert said.code == 2
    assert told in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("no/a.json", "There is no folder", id="no folder"),
        pytest.param("folder.json", "is a folder. Name a file in it.", id="a folder"),
        pytest.param(
            "there.json", "is there already. Name another file, or overwrite it: --force", id="there"
        ),
        pytest.param("a.txt", "Name the format of", id="an unknown ending"),
    ],
)
def test_what_cannot_be_written_is_told_before_a_stack_is_asked(typed, tmp_path, name, told):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "there.json").write_text("mine")
    said = typed("sources", "export", tmp_path / name)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert (tmp_path / "there.json").read_text() == "mine"
