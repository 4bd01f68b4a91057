"""``python -m benchmarks.cost_model [--spec SPEC]… [--samples N] [-o FOLDER]``."""

import argparse
import dataclasses
import datetime
import multiprocessing
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.cost_model.measure import Sample, measure
from benchmarks.cost_model.report import Origin, write
from morello.calibration.draw import Plan
from morello.calibration.target_file import machine
from morello.compiler.target_choice import chosen_target
from morello.errors import MorelloError
from morello.machine import Target, print_target
from morello.tools.flags import seconds, whole_number

SPECS = (
    "matmul:960x960x960:f32",
    "matmul:384x384x384:f32",
    "matmul:240x240x240:f32:rhs=[0,2,1]",
    "matmul:1536x24x1536:f32",
    "matmul:72x72x72:f32",
    "matmul:90x41x59:f32",
    "matmul:160x160x160:s32",
    "matmul:1x1536x2048:f32",
    "matmul:24x1536x24:f32",
    "matmul:64x256x1024:f32",
    "matmul:32x512x2048:f32",
    "matmul:50x768x3072:f32",
    "matmul:49x2048x512:f32",
    "matmul:96x2304x768:f32",
    "matmul:196x1024x256:f32",
    "matmul:8x2048x2048:f32",
    "move:1536x1536:f32",
    "move:900x1100:f32:dst=[1,0]",
    "move:1536x1024:f32:dst=[1,0]",
    "max:900x1100:f32",
    "max:900x1100:f32:x0=[1,0]",
)
"""Large, small, odd, skinny and memory-bound ones, and 8 to 196 rows by a wide rhs.
`morello calibrate` fits to none of them."""

POOL = 4
"""Programs that are drawn for each that is timed. Most are nearly as good as the best:
of fewer, too few would be left to spread the sample over all costs."""

QUICK = ("move:16x24:f32:dst=[1,0]", "max:20x17:f32", "fill:1000:f32")

ROOT = Path(__file__).resolve().parents[2]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and write; 0, or 2 for a wrong command line."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _parser().parse_args(words)
    samples = options.samples or (8 if options.quick else 200)
    specs = options.spec or (QUICK if options.quick else SPECS)
    command = shlex.join(["python", "-m", "benchmarks.cost_model", *words])
    measured: list[Sample] = []
    start = time.perf_counter()
    try:
        target = chosen_target(options.target)
        load = os.getloadavg()[0]
        origin = Origin(
            command, commit(), machine(), _now(), print_target(target), load
        )
        plan = Plan(samples, options.seconds, options.seed, options.lock, pool=POOL)
        for sample in _measured(specs, target, plan, options.jobs):
            measured.append(sample)
            _tell(f"{sample.spec}: {time.perf_counter() - start:.0f} s")
            page = write(options.output, measured, origin)  # what there is, if it ends
    except (MorelloError, OSError) as error:
        _tell(f"error: {error}")
        return 2
    sys.stdout.write(page.read_text())
    return 0


def _measured(
    specs: Sequence[str], target: Target, plan: Plan, jobs: int
) -> Iterator[Sample]:
    """The samples, in the order of the Specs."""
    if jobs == 1:
        for spec in specs:
            yield measure(spec, target, plan)
        return
    with tempfile.TemporaryDirectory() as folder:
        lock = plan.lock or Path(folder) / "lock"
        turns = dataclasses.replace(plan, lock=lock)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            running = [pool.submit(measure, spec, target, turns) for spec in specs]
            for done in running:
                yield done.result()


def commit() -> str:
    """The commit of the checkout, with ``+`` if files differ from it."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty=+"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _tell(line: str) -> None:
    sys.stderr.write(f"cost_model: {line}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cost_model",
        description="Compare the cost model with measured times.",
    )
    parser.add_argument(
        "--spec", action="append", help="a Spec; may be repeated (default: 21 of them)"
    )
    parser.add_argument(
        "--samples",
        type=whole_number(1),
        help="programs of each (default: 200; 8 with --quick)",
    )
    parser.add_argument(
        "--seconds", type=seconds, default=0.02, help="how long each is timed"
    )
    parser.add_argument("--seed", type=whole_number(0), default=0)
    parser.add_argument(
        "--jobs",
        type=whole_number(1),
        default=1,
        help="Specs that are drawn and compiled at the same time; timed one by one",
    )
    parser.add_argument(
        "--lock", type=Path, help="a file to lock while programs are timed"
    )
    parser.add_argument(
        "--target", help="a name, or @FILE (default: as for 'morello run')"
    )
    parser.add_argument("--quick", action="store_true", help="tiny Specs: seconds")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="folder of the results"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
