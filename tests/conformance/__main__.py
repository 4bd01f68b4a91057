"""The command line: a suite, which tests of it, and for how long."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from tests.conformance.outcomes import FAULTS, SKIPPED, Row
from tests.conformance.processes import Limits, rows_of
from tests.conformance.suite import SUITES, Settings, Suite, drawn, load
from tests.conformance.table import (
    markdown,
    print_faults,
    refused,
    rows_of_tsv,
    tsv_header,
    tsv_line,
)


def main(arguments: Sequence[str]) -> int:
    """Run a suite; 1 if a test is wrong, crashed, hung, or raised from inside."""
    # torch and jax start threads of their own; so the environment comes before them.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    args = _parser().parse_args(arguments)
    if missing := [name for name in SUITES[args.suite] if find_spec(name) is None]:
        print(f"the suite {args.suite} needs {', '.join(missing)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        os.environ.setdefault("MORELLO_DB", f"{folder}/tables.sqlite")
        os.environ.setdefault("MORELLO_CODE", f"{folder}/code")
        options = (args.time_limit, args.samples, args.dtype, args.between)
        suite = load(args.suite, Settings(*options))
        return _run(suite, args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.conformance", description=__doc__)
    add = parser.add_argument
    add("suite", choices=SUITES)
    add("--only", default="", help="parts of tests' names, with commas")
    add("--out", type=Path, help="a TSV file: one line a test")
    add("--resume", action="store_true", help="go on after the tests that --out has")
    add("--jobs", type=int, default=1, help="processes at once")
    add("--limit", type=float, default=60.0, help="seconds of a test")
    add("--seconds", type=float, default=float("inf"), help="seconds of the whole run")
    add("--time-limit", type=float, default=3.0, help="seconds of a search")
    add("--count", type=int, help="tests to draw; all by default")
    add("--seed", type=int, default=0, help="of the order, and of what is drawn")
    add("--samples", type=int, default=2, help="torch: samples of an op")
    add("--dtype", default="float32", help="torch: dtype of the samples")
    add("--between", action="store_true", help="torch: each op between two others")
    return parser


def _run(suite: Suite, options: argparse.Namespace) -> int:
    kinds = suite.kinds()
    asked = [part for part in options.only.split(",") if part]
    names = [n for n in drawn(kinds, options.seed) if not asked or _named(n, asked)]
    names = names[: options.count]
    suite.prepare(names)
    start = time.monotonic()
    rows = _collected(suite, names, options)
    print(*markdown(options.suite, rows, suite.attempts), sep="\n")
    print(f"\nseed {options.seed}; {time.monotonic() - start:.0f} s", end="; ")
    print(f"{sum(row.verdict == SKIPPED for row in rows)} skipped", end="; ")
    done = len({row.test.split("#")[0] for row in rows})
    print(f"{len(names) - done} not run for want of time")
    print(f"refused: {refused(rows, kinds)}")
    print_faults(rows, sys.stdout)
    return int(any(row.verdict in FAULTS for row in rows))


def _named(name: str, parts: Sequence[str]) -> bool:
    return any(part in name for part in parts)


def _collected(
    suite: Suite, names: list[str], options: argparse.Namespace
) -> list[Row]:
    """All rows, written as they come, after those of a run before where asked."""
    rows = list[Row]()
    if options.resume and options.out and options.out.exists():
        with options.out.open() as old:
            rows = rows_of_tsv(old, suite.attempts)
    done = {row.test.split("#")[0] for row in rows}
    left = [name for name in names if name not in done]
    limits = Limits(options.jobs, options.limit, options.seconds)
    with ExitStack() as files:
        file = files.enter_context(options.out.open("w")) if options.out else None
        if file:
            lines = [tsv_line(row, suite.attempts) for row in rows]
            print(tsv_header(suite.attempts), *lines, sep="\n", file=file, flush=True)
        for part in rows_of(left, suite, limits):
            rows += part
            for row in part if file else ():
                print(tsv_line(row, suite.attempts), file=file, flush=True)
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
