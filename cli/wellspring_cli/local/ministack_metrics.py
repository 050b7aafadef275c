"""Owns how log lines become metrics in MiniStack, which keeps CloudWatch's embedded metrics as mere text.

Run by the wrapper in MiniStack's own interpreter: it imports nothing of this project.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

LOGGER = logging.getLogger("metrics")


def count_logged(logs: Any, record: Callable[..., None]) -> None:
    """Record the metrics of every line that is logged from now on; logging itself never suffers from it."""
    append = logs._append_log_events

    def append_and_count(stream: Any, events: Any) -> None:
        append(stream, events)
        for event in events:
            try:
                for point in points(event["message"]):
                    record(*point)
            except Exception:
                # A line that only looks like one, or that nobody foresaw: it stays what it is, text.
                LOGGER.debug("no metrics in a log line", exc_info=True)

    logs._append_log_events = append_and_count


def points(line: str) -> Iterator[tuple[str, str, float, str, dict[str, str]]]:
    """Yield namespace, name, value, unit and dimensions of what an embedded metric line says."""
    if '"CloudWatchMetrics"' not in line:
        return
    told = json.loads(line)
    for group in told["_aws"]["CloudWatchMetrics"]:
        for names in group.get("Dimensions") or [[]]:
            dimensions = {name: str(told[name]) for name in names}
            for metric in group["Metrics"]:
                name, unit = metric["Name"], metric.get("Unit", "None")
                for number in told[name] if isinstance(told[name], list) else [told[name]]:
                    yield group["Namespace"], name, float(number), unit, dimensions
