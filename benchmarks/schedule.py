"""Simulates 30 days of polling by each cadence and prints one JSON object.

The sources are synthetic, the code is not: every poll is decided by the planner's `decide` and
ended by the `schedule` module, on a virtual clock that ticks once a minute like the deployed schedule.

Posting rates are log-normal between one a month and a hundred a day, with a rhythm of day and week;
one poll in a hundred fails by itself, and each source is down for some hours now and then. A feed
lists its last 20 entries, so that what is published and pushed out between two polls is lost.
"""

import json
import math
import os
import random
import statistics
import sys
from bisect import bisect_right
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from wellspring import schedule, timestamps
from wellspring.config import parse
from wellspring.errors import ErrorClass
from wellspring.model import Source
from wellspring.plan import decide
from wellspring.ports import DueRef
from wellspring.schedule import UNCHANGED, Outcome
from wellspring.settings import Defaults

START = datetime(2026, 11, 2, tzinfo=UTC)
DAYS = 30
SOURCES = 2_000
LISTED = 20
TICK = 60.0
SEED = 7
DEFAULTS = Defaults()
CHANGED = Outcome(changed=True)
FAILED = Outcome(error_class=ErrorClass.HTTP_5XX)

CADENCES: dict[str, dict[str, Any]] = {
    "fixed 15 min": {"mode": "interval", "every_minutes": 15},
    "fixed 60 min": {"mode": "interval", "every_minutes": 60},
    "fixed 480 min": {"mode": "interval", "every_minutes": 480},
    "adaptive": {"mode": "adaptive"},
    "activity": {"mode": "activity"},
}


@dataclass(frozen=True)
class Publisher:
    """What a source publishes, when it is down, and when people look at it; seconds from the start."""

    posts: list[float]
    down: list[tuple[float, float]]
    views: list[float]


@dataclass
class Tally:
    polls: int = 0
    wasted: int = 0
    lost: int = 0
    delays: list[float] | None = None


def publisher(number: int) -> Publisher:
    chance = random.Random(f"{SEED}-{number}")
    per_day = min(max(math.exp(chance.gauss(math.log(1.5), 1.6)), 1 / 30), 100)
    zone = chance.uniform(0, 24)
    end = DAYS * 86_400.0
    return Publisher(
        posts=_poisson(chance, per_day, end, lambda moment: _rhythm(moment, zone)),
        down=[(begin, begin + chance.expovariate(1 / 7200)) for begin in _poisson(chance, 1 / 20, end)],
        views=_poisson(chance, math.exp(chance.gauss(math.log(0.1), 2)), end),
    )


def _poisson(chance: random.Random, per_day: float, end: float, weight: Any = None) -> list[float]:
    """Return moments at a rate; a weight (at most 2) thins them to a rhythm of mean 1."""
    top = per_day / 86_400 * (2 if weight else 1)
    moment, found = 0.0, []
    while True:
        moment += chance.expovariate(top)
        if moment >= end:
            return found
        if weight is None or chance.random() * 2 < weight(moment):
            found.append(moment)


def _rhythm(moment: float, zone: float) -> float:
    hour = (moment / 3600 + zone) % 24
    weekend = (moment / 86_400 + zone / 24) % 7 >= 5
    return (1 + 0.8 * math.sin((hour - 9) / 24 * 2 * math.pi)) * (0.5 if weekend else 1.1)


def simulate(cadence: dict[str, Any], numbers: range) -> Tally:
    tally = Tally(delays=[])
    for number in numbers:
        _simulate_one(number, cadence, tally)
    return tally


def _simulate_one(number: int, cadence: dict[str, Any], tally: Tally) -> None:
    world = publisher(number)
    chance = random.Random(f"polls-{number}")
    source = Source(
        source_id=f"source-{number}",
        url=f"https://{number}.example/feed",
        created_at=START,
        config=parse({"cadence": cadence}),
    )
    due_at = schedule.first_time(source, now=START, bulk=True, defaults=DEFAULTS)
    seen = 0
    assert tally.delays is not None
    while True:
        seconds = math.ceil((due_at - START).total_seconds() / TICK) * TICK
        if seconds >= DAYS * 86_400:
            return
        now = START + timedelta(seconds=seconds)
        if cadence["mode"] == "activity":
            viewed = bisect_right(world.views, seconds)
            source = replace(
                source, viewed_at=START + timedelta(seconds=world.views[viewed - 1]) if viewed else None
            )
        made = decide(DueRef(source.source_id, due_at, ""), source, window_end=now, defaults=DEFAULTS)
        if made.send_after is None:
            if made.next_at is None:
                return
            due_at = made.next_at
            continue
        tally.polls += 1
        outcome = UNCHANGED
        if any(begin <= seconds < end for begin, end in world.down) or chance.random() < 0.01:
            outcome = FAILED
        else:
            published = bisect_right(world.posts, seconds)
            fresh = published - seen
            if fresh:
                outcome = CHANGED
                tally.lost += max(0, fresh - LISTED)
                tally.delays += [
                    seconds - moment for moment in world.posts[max(seen, published - LISTED) : published]
                ]
                seen = published
        tally.wasted += outcome is not CHANGED
        source = schedule.after_poll(source, outcome, now=now, defaults=DEFAULTS)
        due = schedule.due(source, now=now, defaults=DEFAULTS)
        if due is None:
            return
        due_at = timestamps.ceil(due.at)


def row(name: str, tallies: list[Tally]) -> dict[str, Any]:
    delays = sorted(delay / 60 for tally in tallies for delay in tally.delays or ())
    polls, lost = sum(tally.polls for tally in tallies), sum(tally.lost for tally in tallies)
    return {
        "cadence": name,
        "polls_per_day": round(polls / SOURCES / DAYS, 2),
        "mean_delay_min": round(statistics.fmean(delays), 1),
        "median_delay_min": round(statistics.median(delays), 1),
        "p95_delay_min": round(delays[int(len(delays) * 0.95)], 1),
        "lost_percent": round(100 * lost / (lost + len(delays)), 3),
        "wasted_percent": round(100 * sum(tally.wasted for tally in tallies) / polls, 1),
    }


def main() -> None:
    chunk = 100
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        running = {
            name: [
                pool.submit(simulate, cadence, range(first, first + chunk))
                for first in range(0, SOURCES, chunk)
            ]
            for name, cadence in CADENCES.items()
        }
        rows = [row(name, [future.result() for future in futures]) for name, futures in running.items()]
    json.dump({"benchmark": "schedule", "sources": SOURCES, "days": DAYS, "rows": rows}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
