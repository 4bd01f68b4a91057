"""How long the search for a Spec takes, from nothing, in a process of its own."""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from morello.compiler.goal import goal_of
from morello.compiler.target_choice import chosen_target
from morello.search import best_program
from morello.search.queries.best_program import parallel_goal

MODULE = "benchmarks.graphs.searches"


def searched(text: str, target: str, threads: int) -> dict[str, float]:
    """Measure a search.

    Returns:
        ``seconds`` by the clock, ``cpu`` in seconds of the process, and ``megabytes``
        that it had at most, Python and Morello included. The start of Python and the
        imports do not count as time.

    Raises:
        subprocess.CalledProcessError: the Spec has no program.
    """
    words = [sys.executable, "-m", MODULE, text, target, str(threads)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def main(words: Sequence[str] | None = None) -> None:
    """Search for one Spec, and print what `searched` gives."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}")
    parser.add_argument("spec")
    parser.add_argument("target")
    parser.add_argument("threads", type=int)
    options = parser.parse_args(words)
    machine = chosen_target(options.target, None)
    goal = goal_of(options.spec, machine)
    spec, machine = parallel_goal(goal.spec, machine, options.threads)
    start, cpu = time.perf_counter(), time.process_time()
    best_program(spec, machine)
    report = {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
