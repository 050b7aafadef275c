"""What the command writes: nothing in it steers a terminal, and nothing stops it from being written."""

import errno
import io
import json
import os
import sys

import pytest
from rich.text import Text

from wellspring_cli import output
from wellspring_cli.errors import CliError

HOSTILE = "\x1b[2J\x9b31m\u202e\u2028\x7f\ud800 日本語 🎉 é \U000e0001\n"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("write", [output.print_json, output.print_json_line])
def test_json_is_printable_and_whole_in_every_encoding(write, encoding, monkeypatch):
    made = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", made)
    write({"title": HOSTILE})
    made.seek(0)
    text = made.read()
    assert json.loads(text) == {"title": HOSTILE}
    assert text.replace("\n", "").isprintable()
    assert ("日本語 🎉" in text) is (encoding == "utf-8")


@pytest.mark.parametrize(
    ("text", "longest", "line"),
    [
        pytest.param(" a\r\n\tb ", None, "a b", id="white space is folded"),
        pytest.param("a\x1b[31mb\u202ec", None, "a [31mb c", id="nothing steers the terminal"),
        pytest.param("abc", 3, "abc", id="just short enough"),
        pytest.param("ab cd", 3, "ab [...]", id="cut, without white space at the end"),
        pytest.param("", 3, "", id="nothing"),
    ],
)
def test_text_of_publishers_fits_on_a_line(text, longest, line):
    assert output.one_line(text, longest) == line


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(output.say, id="a sentence"),
        pytest.param(lambda text: output.say(Text(text)), id="a styled sentence"),
        pytest.param(lambda text: output.show(output.facts([("url", text)])), id="facts"),
        pytest.param(lambda text: output.note(text), id="a note"),
    ],
)
def test_no_text_steers_the_terminal_wherever_it_comes_from(write, capsys):
    write(HOSTILE.replace("\ud800", ""))
    told = "".join(capsys.readouterr())
    assert "日本語" in told
    assert told.replace("\n", "").isprintable()


class Full(io.StringIO):
    def write(self, text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("write", [output.print_json, output.say])
def test_an_output_that_is_full_is_told(write, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(CliError, match="It could not be written out: No space left on device"):
        write("text")
