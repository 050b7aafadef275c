"""Owns what a person may configure on a source, and how mistakes in it are named."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from wellspring.errors import InvalidInput

TEN_YEARS_IN_MINUTES = 5_256_000
OURS = frozenset(
    {"host", "connection", "accept-encoding", "content-length", "transfer-encoding", "te", "upgrade"}
)
"""Headers that a source cannot set: they are part of how we speak."""
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
OWNER = re.compile(r"[A-Za-z0-9_.-]{1,200}")
"""What names an owner: it is part of a parameter's path."""
MODES = ("always", "interval", "adaptive", "activity")
QUIET = {"union_tag_invalid": f"the mode must be one of {', '.join(MODES)}"}
"""What is said in log lines in place of a message that repeats what was written."""

Minutes = Annotated[float, Field(gt=0, le=TEN_YEARS_IN_MINUTES, allow_inf_nan=False)]
Days = Annotated[float, Field(gt=0, le=36_600, allow_inf_nan=False)]
Factor = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=86_400 * 366, allow_inf_nan=False)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Always(_Strict):
    """Due at every planner run."""

    mode: Literal["always"] = "always"


class Interval(_Strict):
    """Due when the interval has passed since the last success."""

    mode: Literal["interval"]
    every_minutes: Minutes


class Adaptive(_Strict):
    """The interval is learned: shorter when a poll finds something, longer when it does not."""

    mode: Literal["adaptive"]
    every_minutes: Minutes | None = None
    """Where it starts."""
    changed_factor: Factor | None = None
    unchanged_factor: Factor | None = None
    failed_factor: Factor | None = None
    floor_minutes: Minutes | None = None
    ceiling_minutes: Minutes | None = None
    jitter_percent: Percent | None = None


class Step(_Strict):
    """Up to so many days without a view: polled every so many hours."""

    idle_days: Days
    every_hours: Annotated[float, Field(gt=0, le=24 * 366, allow_inf_nan=False)]


class Activity(_Strict):
    """The interval follows how long nobody has looked; beyond the last step it is not polled."""

    mode: Literal["activity"]
    steps: Annotated[list[Step], Field(min_length=1, max_length=20)] | None = None
    jitter_percent: Percent | None = None


Cadence = Annotated[Always | Interval | Adaptive | Activity, Field(discriminator="mode")]


def _sendable(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if name.lower() in OURS:
            raise ValueError(f"the header {name} is ours to set")
        if not HEADER_NAME.fullmatch(name) or not HEADER_VALUE.fullmatch(value):
            raise ValueError("a header must be one line of plain text, its name without spaces and colons")
    return headers


class Config(BaseModel):
    """A source's own settings; what is None falls back to the stack's."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    cadence: Cadence = Always()
    min_interval_seconds: Seconds | None = None
    max_backoff_hours: Annotated[float, Field(gt=0, le=24 * 366, allow_inf_nan=False)] | None = None
    max_consecutive_failures: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    host_delay_seconds: Seconds | None = None
    max_age_days: Annotated[float, Field(ge=0, le=36_600, allow_inf_nan=False)] | None = None
    backfill: bool = False
    full_text: bool = False
    max_in_flight: Annotated[int, Field(ge=1, le=1_000)] | None = None
    headers: Annotated[dict[str, str], AfterValidator(_sendable)] = {}


def parse(raw: object) -> Config:
    """Read a configuration that a person wrote; a mistake names the field and the value."""
    if isinstance(raw, Mapping) and (unknown := sorted(set(raw) - set(Config.model_fields), key=str)):
        known = ", ".join(sorted(Config.model_fields))
        raise InvalidInput(f"{unknown[0]}: there is no such setting; there are {known}")
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        raise InvalidInput("; ".join(_sentences(error, shows_values=True))) from None


def read(raw: object) -> tuple[Config, tuple[str, ...]]:
    """Read a stored configuration: what cannot be used is left at its default and told as a warning.

    A source whose configuration was spoilt by hand is still polled: being silent about it
    would look like a feed that never publishes.
    """
    if raw is None:
        return Config(), ()
    if not isinstance(raw, Mapping):
        return Config(), ("config: expected a map",)
    try:
        return Config.model_validate(raw), ()
    except ValidationError as error:
        spoilt = {str(problem["loc"][0]) for problem in error.errors()}
        return Config.model_validate({k: v for k, v in raw.items() if k not in spoilt}), tuple(
            f"config.{text}" for text in _sentences(error)
        )


def _sentences(error: ValidationError, *, shows_values: bool = False) -> list[str]:
    return [
        _sentence(
            problem["loc"],
            problem["msg"] if shows_values else QUIET.get(problem["type"], problem["msg"]),
            problem["input"],
            shows_values=shows_values,
        )
        for problem in error.errors()
    ]


def _sentence(loc: tuple[int | str, ...], message: str, value: Any, *, shows_values: bool) -> str:
    """Say what is wrong; in log lines without text, which may be a secret in the wrong place.

    What is given for a header is a secret wherever it is told, a number too.
    """
    field = ".".join(str(part) for part in loc if part not in MODES)
    harmless = (shows_values or isinstance(value, int | float)) and not field.startswith("headers")
    shown = f", found {value!r}" if harmless else ""
    message = message.removeprefix("Value error, ")
    return f"{field or 'config'}: {message[:1].lower()}{message[1:]}{shown}"
