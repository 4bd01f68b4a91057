"""The command line of the soaks: batch after batch, and a line of the record."""

import argparse
import datetime
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from tests.soak.checks import CHECKS

BATCH = 30


def main(arguments: Sequence[str]) -> int:
    """Run one soak; 1 if a case fails, after printing how to run it again."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("name", choices=sorted(CHECKS))
    parser.add_argument("--count", type=int, default=BATCH, help="cases to check")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    options = parser.parse_args(arguments)
    if options.count < 1:
        parser.error(f"--count {options.count} is less than 1")
    start = time.perf_counter()
    try:
        done = _run(CHECKS[options.name], options.seed, options.count)
    except AssertionError as error:
        print(f"FAILED: {error}")
        return 1
    print(_record(options, done, time.perf_counter() - start))
    return 0


def _run(check: Callable[[Sequence[int]], int], seed: int, count: int) -> int:
    """Batch by batch; how many things were checked."""
    done = 0
    for first in range(seed, seed + count, BATCH):
        done += check(range(first, min(first + BATCH, seed + count)))
        print(f"\r{first - seed + BATCH} of {count}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return done


def _record(options: argparse.Namespace, done: int, seconds: float) -> str:
    """A Markdown row: what ran, what it found, how long it took."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    today = datetime.datetime.now(datetime.UTC).date()
    command = f"python -m tests.soak {options.name} --count {options.count}"
    return (
        f"| `{command} --seed {options.seed}` | {done} | 0 | {seconds:.0f} s | "
        f"{commit or 'unknown'} | {today} |"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
