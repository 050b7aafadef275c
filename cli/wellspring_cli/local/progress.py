"""Owns how the steps of a long piece of work are shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console

Say = Callable[[str], object]


class Progress(Protocol):
    """Where work tells how far it is."""

    def step(self, what: str) -> AbstractContextManager[None]: ...

    def say(self, sentence: str) -> object: ...


class Said:
    """Steps as sentences, each when it begins."""

    def __init__(self, say: Say) -> None:
        self._say = say

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        self._say(f"{what}.")
        yield

    def say(self, sentence: str) -> None:
        self._say(sentence)


class Timed:
    """Steps with how long each took: turning while it lasts on a terminal, a plain line in a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_open = False

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(f"{what} ..."):
                yield
            self._print(f"{what}: {_span(began)}")
            return
        self._print(f"{what} ... ", end="")
        self._is_open = True
        try:
            yield
        except BaseException:
            self._close()
            raise
        if self._is_open:
            self._print(_span(began))
            self._is_open = False
        else:
            self._print(f"{what}: {_span(began)}")

    def say(self, sentence: str) -> None:
        self._close()
        self._print(sentence)

    def _close(self) -> None:
        """End the line of a step, if it still waits for its time."""
        if self._is_open:
            self._print("")
        self._is_open = False

    def _print(self, text: str, *, end: str = "\n") -> None:
        self._console.print(text, end=end, soft_wrap=True)
        self._console.file.flush()


def _span(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"
