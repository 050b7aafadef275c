"""Plays the long sweeps and prints one line of figures, or plays one seed again and prints its trace."""

import argparse
import json
import sys
import time

from simulation.planted import BUGS
from simulation.sweep import Figures, caught, collected, pairs, singles, six, sixes, told

SIXES = 2_000


def main():
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="play this seed of the random sixes, and print its trace")
    parser.add_argument("--sixes", type=int, default=SIXES, help="how many seeds are played")
    given = parser.parse_args()
    if given.seed is not None:
        case = six(given.seed)
        violations = case.play().violations
        print(told(case, violations or ("nothing is wrong",), lines=10_000))
        return bool(violations)
    began, figures = time.monotonic(), Figures()
    for name, cases in (("singles", singles()), ("pairs", pairs()), ("sixes", sixes(range(given.sixes)))):
        before = figures.runs
        collected(cases, figures)
        seconds = time.monotonic() - began
        print(f"{name}: {figures.runs - before} runs, {seconds:.0f} s so far", file=sys.stderr)
    unseen = [bug.name for bug in BUGS if not caught(bug)]
    for case, violations in figures.failed[:1]:
        print(told(case, violations), file=sys.stderr)
    for name in unseen:
        print(f"Nobody noticed: {name}", file=sys.stderr)
    line = {
        "runs": figures.runs,
        "faults": figures.faults,
        "by_kind": {str(kind): number for kind, number in sorted(figures.kinds.items())},
        "violations": sum(len(violations) for _, violations in figures.failed),
        "planted_bugs_caught": f"{len(BUGS) - len(unseen)}/{len(BUGS)}",
        "seconds": round(time.monotonic() - began),
    }
    print(json.dumps(line))
    return bool(figures.failed or unseen)


if __name__ == "__main__":
    sys.exit(main())
