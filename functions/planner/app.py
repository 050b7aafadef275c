"""Woken by the schedule, or by hand: plans the sources that are due at the window end."""

from datetime import timedelta
from typing import Any

from wellspring import message, telemetry, wiring
from wellspring.errors import InvalidInput
from wellspring.plan import plan, rehearse

MARGIN = timedelta(seconds=10)
LISTED = 1_000


def handler(event: Any, context: Any) -> dict[str, Any]:
    world, settings = wiring.deployed()
    now = world.clock()
    deadline = now + timedelta(milliseconds=context.get_remaining_time_in_millis()) - MARGIN
    try:
        window_end = message.window_end(event, now=now)
    except InvalidInput as error:
        return telemetry.refused(str(error))
    if message.is_dry_run(event):
        return telemetry.rehearsed(rehearse(window_end, world, settings, limit=LISTED))
    return telemetry.planned(plan(window_end, world, settings, deadline=deadline))
