"""The `wellspring` command as a person types it, within the test's own process."""

import io
import json
import os
import sys
from dataclasses import dataclass

import pytest

from wellspring_cli import main

OWN = ("AWS_", "WELLSPRING_", "X_API_")


@dataclass(frozen=True)
class Told:
    """What the command said, and how it ended."""

    out: str
    err: str
    code: int

    @property
    def data(self):
        return json.loads(self.out)


class Input(io.TextIOWrapper):
    """What comes in: from a pipe, or typed by a person."""

    def __init__(self, given, *, is_person):
        super().__init__(io.BytesIO(given), encoding="utf-8")
        self._is_person = is_person

    def isatty(self):
        return self._is_person


class Command:
    """Types commands; the machine's own AWS settings are out of reach."""

    def __init__(self, monkeypatch, capsys, *always):
        self._monkeypatch, self._capsys, self._always = monkeypatch, capsys, always
        for name in [name for name in os.environ if name.startswith(OWN)]:
            monkeypatch.delenv(name)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            monkeypatch.setenv(name, os.devnull)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def __call__(self, *arguments, stdin=b"", answers=None):
        """Type a command. `answers` is what a person types when asked; else nobody sits there."""
        given = stdin if answers is None else answers.encode()
        self._monkeypatch.setattr(sys, "stdin", Input(given, is_person=answers is not None))
        self._monkeypatch.setattr(sys, "argv", ["wellspring", *map(str, arguments), *self._always])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.main()
        said = self._capsys.readouterr()
        code = ended.value.code
        return Told(said.out, said.err, 0 if code is None else code)

    def well(self, *arguments, **given):
        """Type a command that must end well, and return what it said."""
        told = self(*arguments, **given)
        assert told.code == 0, told.err or told.out
        return told
