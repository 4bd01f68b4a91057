"""C1 at length: ``python -m tests.search.soak --goals 60 --budget 6000 --seed 0``.

Draws goals of every kind, searches and enumerates each, prints what was compared, and
exits with 1 where they differ.
"""

import argparse
import random
import sys
import time

from morello.machine import AVX2
from morello.search import Solver
from tests.search.agreement import Agreement, compare
from tests.search.brute_force import BruteForce
from tests.search.goals import KINDS, random_goal


def main() -> int:
    """Run; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--goals", type=int, default=60, help="of each kind and rank")
    parser.add_argument("--budget", type=int, default=6000, help="Specs a goal")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.process_time()
    agreement = Agreement()
    for kind in KINDS:
        for number in range(options.goals):
            rng = random.Random(f"{kind} {options.seed} {number}")
            goal = random_goal(rng, kind)
            compare(goal, Solver(AVX2), BruteForce(AVX2, options.budget), agreement)
    for label in sorted(agreement.points):
        print(
            f"{label}: {agreement.goals[label]} goals, {agreement.points[label]} Specs "
            f"below, {agreement.programs[label]} with a program"
        )
    print(f"{len(agreement.mismatches)} differ; {time.process_time() - start:.0f} s")
    print("\n".join(agreement.mismatches[:20]))
    return 1 if agreement.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
