"""Owns a logged line as it is shown: in one readable line for people, as fields for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from wellspring_cli import output
from wellspring_cli.local.function_logs import Line

STYLES = {"ERROR": "red", "CRITICAL": "red", "WARNING": "yellow", "DEBUG": "dim"}
TOLD = (
    ("status", "{}"),
    ("url", "{}"),
    ("http_status", "HTTP {}"),
    ("posts_created", "{} new"),
    ("posts_updated", "{} updated"),
    ("due", "{} due"),
    ("enqueued", "{} sent"),
    ("delayed", "{} delayed"),
    ("not_sent", "{} not sent"),
    ("skipped", "skipped {}"),
    ("cleaned", "{} cleaned"),
    ("repaired", "{} repaired"),
    ("reason", "{}"),
    ("delay_seconds", "again in {} s"),
    ("error", "{}"),
    ("halted", "{}"),
    ("busy", "{}"),
    ("frozen", "{}"),
    ("lost_lease", "its lease was lost"),
    ("backtrace", "{}"),
    ("message_id", "message {}"),
)
"""What is told of a line's fields, in this order; nothing is told of zeros and of what is empty, but of"""
EVEN_ZERO = ("due",)
LONGEST = 1_000


def fields(line: Line) -> dict[str, Any]:
    """Return a line for programs."""
    own = {"time": output.moment(line.at), "function": line.function, "level": line.level}
    return own | {"message": line.message} | dict(line.fields)


def told(line: Line) -> Text:
    """Return a line for people."""
    told = _joined(line.fields)
    style = "red" if line.is_error else STYLES.get(line.level, "")
    parts = [
        how.format(_plain(told[name]))
        for name, how in TOLD
        if told.get(name) or (name in EVEN_ZERO and name in told)
    ]
    message = "  ".join([line.message, *parts])
    cut = message if len(message) <= LONGEST else message[:LONGEST] + "…"
    head = f"{output.clock(line.at)}  {line.function:<7}  {line.level:<7}  "
    return Text(output.printable(head), "dim") + Text(output.printable(cut), style)


def _joined(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with those in one that are told in one."""
    told = dict(given)
    told.setdefault("url", given.get("source_id"))
    if "error_class" in given:
        told["error"] = f"{given['error_class']}: {given.get('error', '')}"
    if backtrace := given.get("exception") or given.get("backtrace"):
        told["backtrace"] = _last_line(backtrace)
    return told


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{number} {name}" for name, number in value.items())
    return str(value)


def _last_line(backtrace: Any) -> str:
    lines = backtrace if isinstance(backtrace, list) else str(backtrace).strip().splitlines()
    return str(lines[-1]).strip() if lines else ""
