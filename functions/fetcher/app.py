"""Fed by the queue: fetches the sources that the messages name."""

from datetime import timedelta
from typing import Any

from wellspring import telemetry, wiring
from wellspring.batch import work_off

MARGIN = timedelta(seconds=10)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    world, settings = wiring.deployed()
    within = timedelta(milliseconds=context.get_remaining_time_in_millis()) - MARGIN
    return telemetry.fetched(work_off(event.get("Records", ()), world, settings, within=within))
