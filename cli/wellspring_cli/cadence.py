"""Owns how a person writes a cadence and a configuration on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any

import typer

from wellspring.cadences import shown
from wellspring.config import Activity, Adaptive, Always, Config, Interval
from wellspring_cli.errors import WrongUse

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|min|m|h|d|w)")
PANEL = "When it is polled"

Every = Annotated[
    str | None,
    typer.Option(
        metavar="SPAN",
        rich_help_panel=PANEL,
        help="Exactly so often, like 30m, 6h or 1h30m; with --adaptive, what it starts from.",
    ),
]
AdaptiveFlag = Annotated[
    bool, typer.Option("--adaptive", rich_help_panel=PANEL, help="As often as it brings something new.")
]
ActivityFlag = Annotated[
    bool, typer.Option("--activity", rich_help_panel=PANEL, help="As often as somebody looks at it.")
]
AlwaysFlag = Annotated[
    bool, typer.Option("--always", rich_help_panel=PANEL, help="At every run of the planner: each minute.")
]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME=VALUE", help="A header of its requests; may be repeated."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another setting, like max_age_days=30; the value is JSON. May be repeated.",
    ),
]


def span(text: str) -> timedelta:
    """Read a span of time."""
    compact = text.replace(" ", "").lower()
    parts = SPAN.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise WrongUse(f"{text!r} is no span of time. Write it with its unit: 90s, 30m, 1h30m, 2d")
    try:
        return timedelta(seconds=sum(float(number) * UNITS[unit] for number, unit in parts))
    except OverflowError:
        raise WrongUse(f"{text!r} is too long a span of time.") from None


def chosen(every: str | None, *, adaptive: bool, activity: bool, always: bool) -> dict[str, Any] | None:
    """Return the cadence that was asked for; None when nothing was said of it."""
    named = [
        name for name, said in (("adaptive", adaptive), ("activity", activity), ("always", always)) if said
    ]
    if len(named) > 1 or (every and named and named != ["adaptive"]):
        said = ", ".join(f"--{name}" for name in (*named, *(["every"] if every else [])))
        raise WrongUse(f"A source has one cadence, found {said}. Name one of them.")
    if every is None:
        return {"mode": named[0]} if named else None
    minutes = span(every).total_seconds() / 60
    if not minutes:
        raise WrongUse("--every must be longer than nothing, like 30m; --always polls at every planner run.")
    return {"mode": named[0] if named else "interval", "every_minutes": minutes}


def settings(given: Sequence[str] | None) -> dict[str, Any]:
    """Read settings as NAME=VALUE; a value that is no JSON is text, an empty one takes the setting out."""
    found = {}
    for pair in given or ():
        name, sign, value = pair.partition("=")
        if not (name and sign):
            raise WrongUse(f"--set wants a name and a value, like max_age_days=30, found {name!r}.")
        found[name.strip()] = _value(value)
    return found


def headers(given: Sequence[str] | None, before: Mapping[str, str] = {}) -> dict[str, str]:
    """Read headers as NAME=VALUE, over those that are there; an empty value takes one out."""
    found = dict(before)
    for pair in given or ():
        name, sign, value = pair.partition("=")
        if not (name.strip() and sign):
            raise WrongUse("--header wants a name and a value: --header X-Token=abc")
        same = next((known for known in found if known.lower() == name.strip().lower()), name.strip())
        found.pop(same, None)
        if value:
            found[name.strip()] = value
    return found


def told(config: Config) -> str:
    """Return a cadence in a word or two."""
    match config.cadence:
        case Always():
            return "always"
        case Interval(every_minutes=minutes):
            return f"every {shown(timedelta(minutes=minutes))}"
        case Adaptive():
            return "adaptive"
        case Activity():
            return "activity"


def _value(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text
