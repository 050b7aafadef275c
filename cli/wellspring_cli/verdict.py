"""Owns what the numbers of a stack mean: what a person must see to, and what is worth knowing. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from wellspring.aws.metrics import Polls
from wellspring.cadences import shown
from wellspring.standing import State
from wellspring_cli.output import plural
from wellspring_cli.overview import Overview

SILENCE = timedelta(minutes=10)
LATE = timedelta(minutes=5)
RUNS_MISSED = 3
"""A schedule with longer pauses than a minute may miss so many runs before that is told."""
DAY = timedelta(days=1)
MANY_FAILED, MANY_SHARE = 10, 0.25
"""So many polls of the last hour failed, and such a share of them: that is more than a few bad feeds."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to tell, and the command that helps."""

    text: str
    action: str
    command: str

    def __str__(self) -> str:
        return f"{self.text} {self.action}: {self.command}"


def problems(found: Overview) -> list[Finding]:
    """Return what needs a person, the most urgent first."""
    return [told for look in PROBLEMS if (told := look(found))]


def notes(found: Overview) -> list[Finding]:
    """Return what is worth knowing, although nobody needs to hurry."""
    return [told for look in NOTES if (told := look(found))]


def all_is_well(found: Overview) -> str:
    """Return the sentence for a stack without problems."""
    if found.census and not found.census.seen:
        return "All is well so far."
    said = []
    if found.census:
        about = "about " if found.census.total else ""
        said.append(about + plural(found.census.total or found.census.seen, "source"))
    said.append("nothing is late")
    if found.recent and found.recent.hour.total:
        hour = found.recent.hour
        said.append(f"{plural(hour.total, 'poll')} in the last hour, {hour.failed_share:.0%} of them failed")
    return f"All is well: {', '.join(said)}."


def planner_is_silent(found: Overview) -> bool:
    """Say whether the planner has missed its runs; a schedule by a cron expression tells nothing of them."""
    if found.recent is None or found.period is None:
        return False
    patience = max(SILENCE, found.period * RUNS_MISSED)
    if patience > DAY or (found.deployed_at and found.at - found.deployed_at < patience):
        return False
    return found.recent.planned_at is None or found.at - found.recent.planned_at > patience


def is_late(found: Overview) -> bool:
    """Say whether the oldest due source waits for longer than the schedule explains."""
    return found.lag is not None and found.lag > max(LATE, (found.period or DAY) * RUNS_MISSED)


def fetcher_is_silent(found: Overview) -> bool:
    """Say whether what was put on the queue is worked off by nobody."""
    return found.recent is not None and found.recent.sent > 0 and not found.recent.worked_off


def silence(found: Overview) -> str:
    """Say for how long the planner has been silent."""
    if found.recent and found.recent.planned_at:
        return f"for {shown(found.at - found.recent.planned_at)}"
    is_new = found.deployed_at and found.at - found.deployed_at < DAY
    return "since it was deployed" if is_new else "for a day"


def _silent_planner(found: Overview) -> Finding | None:
    if not planner_is_silent(found):
        return None
    text = f"The planner has not run {silence(found)}: nothing is polled."
    return Finding(text, "Look for the cause", "wellspring doctor")


def _silent_fetcher(found: Overview) -> Finding | None:
    if not (found.recent and fetcher_is_silent(found)):
        return None
    crashed = f": it crashed {plural(found.recent.crashes, 'time')}" if found.recent.crashes else ""
    sent = plural(found.recent.sent, "source was", "sources were")
    text = f"{sent} put on the queue within ten minutes, and the fetcher has worked off nothing{crashed}."
    return Finding(text, "Look for the cause", "wellspring doctor")


def _frozen(found: Overview) -> Finding | None:
    if not found.is_frozen:
        return None
    return Finding(
        "Most hosts were down at once, so failures are not counted until a fetch succeeds: "
        "the functions may have lost their way to the internet.",
        "Try one",
        "wellspring fetch SOURCE --wait",
    )


def _dead_letters(found: Overview) -> Finding | None:
    letters = found.dead_letters
    if letters is None or not (letters.waiting or letters.hidden):
        return None
    number = letters.waiting + letters.hidden
    text = f"{plural(number, 'message')} could not be worked off."
    return Finding(text, "See why", "wellspring dead-letters list")


def _late(found: Overview) -> Finding | None:
    if not (found.lag and found.due and is_late(found)):
        return None
    due = plural(found.due.number, "source is", "sources are")
    text = f"{due} due and not on the queue yet, the oldest for {shown(found.lag)}."
    return Finding(text, "Run the planner by hand", "wellspring plan")


def _many_fail(found: Overview) -> Finding | None:
    hour = found.recent.hour if found.recent else Polls()
    states = found.census.states if found.census else {}
    failing = states.get(State.FAILING, 0)
    polled = failing + states.get(State.OK, 0)
    if hour.failed >= MANY_FAILED and hour.failed_share >= MANY_SHARE:
        text = f"{hour.failed_share:.0%} of the {hour.total:,} polls of the last hour failed."
    elif failing * 2 > polled:
        text = f"Most sources fail: {failing:,} of {polled:,}."
    else:
        return None
    return Finding(text, "See which sources", "wellspring sources list --state failing")


def _unreadable(found: Overview) -> Finding | None:
    text = "without a URL that can be read: it is never polled"
    return _standing(found, State.UNREADABLE, text, "without URLs that can be read: they are never polled")


def _quarantined(found: Overview) -> Finding | None:
    return _standing(found, State.QUARANTINED, "in quarantine, and tried once in a while only")


def _gone(found: Overview) -> Finding | None:
    return _standing(found, State.GONE, "gone, as the server says")


def _unlisted(found: Overview) -> Finding | None:
    return _standing(found, State.UNLISTED, "not in the schedule; the planner looks for such ones once a day")


def _nothing_yet(found: Overview) -> Finding | None:
    if found.census is None or found.census.seen:
        return None
    return Finding("There are no sources yet.", "Add one", "wellspring sources add URL")


def _standing(found: Overview, state: State, text: str, many: str | None = None) -> Finding | None:
    number = found.census.states.get(state, 0) if found.census else 0
    if not number:
        return None
    are = plural(number, f"source is {text}", f"sources are {many or text}")
    return Finding(f"{are}.", "See which", f"wellspring sources list --state {state}")


PROBLEMS = (_silent_planner, _silent_fetcher, _frozen, _dead_letters, _late, _many_fail, _unreadable)
NOTES = (_nothing_yet, _quarantined, _gone, _unlisted)
