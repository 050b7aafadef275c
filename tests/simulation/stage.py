"""Owns virtual time: the agenda of events, who runs inside whom, and what happens at each call of a port.

Nothing runs side by side. A call of a port, an HTTP request and a pause take time, and what is due in
that time may run inside of them, so that a paused invocation goes on after all that the others did.
"""

import heapq
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from random import Random

from builders import NOON
from simulation.faults import SPANS, Crash, Fault, Kind
from wellspring.errors import ErrorClass, FetchError, Unavailable

LATENCY = timedelta(milliseconds=4)
DEEPEST = 5


@dataclass(eq=False)
class Invocation:
    """One run of a function."""

    name: str
    skew: timedelta = timedelta(0)
    source_id: str | None = None
    message: object = None
    began: object = None
    dead: bool = False
    disturbed: bool = False
    """A fault hit it, or it stood still while a fault hit one that ran inside of it."""
    failed: set = field(default_factory=set)
    """What AWS refused to do for it."""
    bad_answers: int = 0
    paused_at: object = None
    """When it went on after the last pause that somebody injected."""


@dataclass
class Stage:
    """One run. `faults` says what goes wrong at which call."""

    faults: dict[int, Kind] = field(default_factory=dict)
    seed: int = 0
    mixed: float = 0.0
    """How likely what is due runs inside of a call, and not after the invocation."""
    nested: bool = False
    """What is due while somebody waits for an answer or pauses runs meanwhile."""

    def __post_init__(self):
        self.now = NOON
        self.random = Random(self.seed)
        self.calls = []
        """What was called, in order: the positions at which a fault can be."""
        self.trace = []
        self.hit = []
        self.watchers = []
        self.running = []
        self._agenda = []
        self._numbers = count()

    @property
    def me(self):
        return self.running[-1] if self.running else None

    def clock(self):
        """Return the time as the running invocation sees it."""
        now = self.now + (self.me.skew if self.me else timedelta(0))
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def at(self, moment, what, run):
        """Put an event on the agenda."""
        heapq.heappush(self._agenda, (moment, next(self._numbers), what, run))

    def play(self, until):
        """Play the agenda up to a time."""
        while self._agenda and self._agenda[0][0] <= until:
            self._play_next()
        self.now = max(self.now, until)

    def pass_time(self, span, *, meanwhile=True):
        """Let time pass for the running invocation; others may run meanwhile."""
        ends = self.now + span
        if meanwhile:
            while self._agenda and self._agenda[0][0] <= ends and len(self.running) < DEEPEST:
                self._play_next()
        if self.now > ends and self.me:
            # Those that ran meanwhile took longer, as only somebody can wait who lies beneath them.
            self.me.paused_at = self.now
        self.now = max(self.now, ends)

    def wait(self, span):
        """The product's own pause."""
        self.pass_time(max(span, timedelta(0)), meanwhile=self.nested)

    def _play_next(self):
        moment, _, what, run = heapq.heappop(self._agenda)
        self.now = max(self.now, moment)
        self.note(what)
        run()

    @contextmanager
    def invocation(self, name, **fields):
        """Run a function; whatever ends it ends it alone. The answer says how it ended."""
        found = Ending(Invocation(name, began=self.now, **fields))
        self.running.append(found.invocation)
        self.note(f"{name} begins")
        try:
            yield found
        except Crash:
            found.error = "crashed"
        except Exception as error:
            found.error = f"{type(error).__name__}: {error}"
            if not isinstance(error, Unavailable):
                found.bug = error
        finally:
            self.note(f"{name} ends{f': {found.error}' if found.error else ''}")
            self.running.pop()

    def call(self, name, run, args, kwargs):
        """Call a port, with whatever goes wrong there."""
        me = self.me
        if me is None:
            return run(*args, **kwargs)
        if me.dead:
            raise Crash
        self.pass_time(LATENCY, meanwhile=bool(self.mixed) and self.random.random() < self.mixed)
        number = len(self.calls)
        self.calls.append(name)
        kind = self.faults.get(number)
        if kind:
            self._strike(number, kind)
        if kind is Kind.CRASH_BEFORE:
            me.dead = True
            raise Crash
        if kind is Kind.THROTTLED:
            if name == "http.get":
                error = FetchError(ErrorClass.CONNECT, "The connection was refused.")
                self._told(number, name, args, kwargs, error)
                raise error
            me.failed.add(name)
            raise Unavailable(f"{name} failed: throttled.")
        if kind in SPANS:
            for one in self.running:
                one.disturbed = True
                one.paused_at = self.now
            self.pass_time(SPANS[kind])
            for one in self.running:
                one.paused_at = self.now
        try:
            answer = run(*args, **kwargs)
            self._told(number, name, args, kwargs, answer)
            if kind is Kind.LOST:
                answer = self._again(number, name, run, args, kwargs)
        except Exception as error:
            self._told(number, name, args, kwargs, error)
            raise
        if kind is Kind.CRASH_AFTER:
            me.dead = True
            raise Crash
        return answer

    def _again(self, number, name, run, args, kwargs):
        """The client waited for an answer in vain and tries again by itself; a publisher is asked once."""
        if name == "http.get":
            raise FetchError(ErrorClass.TIMEOUT, "The answer took too long.")
        self.pass_time(LATENCY, meanwhile=self.nested)
        answer = run(*args, **kwargs)
        self._told(number, name, args, kwargs, answer)
        return answer

    def _strike(self, number, kind):
        self.hit.append(Fault(number, kind))
        self.me.disturbed = True
        self.note(f"FAULT at call {number}: {kind}")

    def _told(self, number, name, args, kwargs, answer):
        self.note((number, name, args, kwargs, answer))
        for watcher in self.watchers:
            watcher.called(name, args, kwargs, answer)

    def note(self, what):
        """Keep what happened, to be put into words only if somebody wants to read it."""
        me = self.running[-1].name if self.running else ""
        self.trace.append((self.now, len(self.running), me, what))

    def told(self, last=400):
        """Return the trace in words."""
        return "\n".join(_line(*one) for one in self.trace[-last:])


@dataclass
class Ending:
    """How an invocation ended."""

    invocation: Invocation
    error: str | None = None
    bug: Exception | None = None
    result: object = None


class Port:
    """A port each of whose methods goes over the stage."""

    def __init__(self, name, inner, stage):
        self._name, self._inner, self._stage = name, inner, stage
        self._methods = {}

    def __getattr__(self, method):
        inner = getattr(self._inner, method)
        if not callable(inner):
            return inner
        name, stage = f"{self._name}.{method}", self._stage

        def called(*args, **kwargs):
            return stage.call(name, inner, args, kwargs)

        self.__dict__[method] = called
        return called


def _line(now, depth, who, what):
    if isinstance(what, tuple):
        number, name, args, kwargs, answer = what
        given = ", ".join([*map(_short, args), *(f"{key}={_short(value)}" for key, value in kwargs.items())])
        what = f"#{number} {name}({given}) -> {_short(answer)}"
    return f"{now:%H:%M:%S.%f}"[:-3] + f" {'  ' * depth}{f'[{who}] ' if who else ''}{what}"


def _short(value):
    text = f"{value:%H:%M:%S}" if hasattr(value, "strftime") else str(value)
    return text if len(text) <= 160 else text[:157] + "..."
