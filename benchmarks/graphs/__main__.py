"""Graphs beside PyTorch, held to AVX2, in turns in one process; or their searches.

    python -m benchmarks.graphs softmax:32x4096 attention:512x512x64x64 --threads 2
    python -m benchmarks.graphs --search

PyTorch must be installed in the environment of Morello. Times are of whole calls from
Python, the output of PyTorch allocated by it. On several threads each has a runtime of
its own, whose threads spin for a while after a call; so there is a pause before a turn.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import morello
from benchmarks.graphs.calls import beside_torch, enough_calls, seconds_of
from benchmarks.graphs.searches import searched
from benchmarks.graphs.torch_graphs import torch_for
from benchmarks.harness.ours import avx2_target

SUITE = (
    *(
        f"softmax:{rows}x{columns}:f32"
        for rows in (1, 8, 32)
        for columns in (512, 4096, 65536, 524288)
    ),
    "layer_norm:512x768:f32",
    "rms_norm:512x768:f32",
    "gelu_matmul:512x512x2048:f32",
    "residual_matmul:512x512x512:f32",
    *(f"chain:{n}x{n}x{n}x{n}:f32" for n in (64, 128, 256, 512)),
    "attention:512x512x64x64:f32",
    "attention:12x197x197x64x64:f32",
    "attention:4096x4096x64x64:f32",
    "conv:1x64x56x56x64x3x3:f32:pad=1",
    "conv:1x64x56x56x64x3x3:f32:pad=1:layout=nhwc",
    "conv:1x128x56x56x128x3x3:f32:pad=1:groups=128",
    "conv:1x128x56x56x128x3x3:f32:pad=1:groups=128:layout=nhwc",
    "conv:1x3x224x224x64x7x7:f32:pad=3:stride=2",
    "conv:1x3x224x224x64x7x7:f32:pad=3:stride=2:layout=nhwc",
)
"""Specs that are measured where none is named."""

LEAST = 0.01
"""Seconds of a turn, at least."""

PAUSE = 0.3
"""Seconds before a turn on several threads: OpenMP's threads spin for 0.2."""


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print a line for each Spec."""
    options = _options(words)
    if options.search:
        _print_searches(options)
    else:
        _print_times(options)


def _print_searches(options: argparse.Namespace) -> None:
    print(f"{'Spec':60} {'seconds':>8} {'CPU':>8} {'MB':>8}")
    for text in options.specs or SUITE:
        report = searched(text, options.target, options.threads)
        print(
            f"{text:60} {report['seconds']:8.2f} {report['cpu']:8.2f} "
            f"{report['megabytes']:8.0f}",
            flush=True,
        )


def _print_times(options: argparse.Namespace) -> None:
    torch = torch_for(options.threads)
    print(f"{'Spec':60} {'Morello':>10} {'torch':>10}  best  median  (µs, ratios)")
    ratios = []
    for text in options.specs or SUITE:
        ours, theirs = _times(torch, text, options)
        best = min(theirs) / min(ours)
        ratios.append(best)
        median = np.median(theirs) / np.median(ours)
        line = (
            f"{text:60} {min(ours):10.1f} {min(theirs):10.1f} {best:5.3f} {median:6.3f}"
        )
        print(line, flush=True)
    mean = np.exp(np.mean(np.log(ratios)))
    print(f"geometric mean {mean:.3f}, least {min(ratios):.3f}")


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs")
    parser.add_argument("specs", nargs="*", metavar="SPEC")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--target", default=avx2_target()[0], metavar="TARGET")
    parser.add_argument("--turns", type=int, default=15, metavar="N")
    parser.add_argument(
        "--search",
        action="store_true",
        help="time the search for each, from nothing, and not its program",
    )
    return parser.parse_args(words)


def _times(
    torch: Any, text: str, options: argparse.Namespace
) -> tuple[list[float], list[float]]:
    """Microseconds of a call, one for each turn.

    Raises:
        AssertionError: the results differ.
    """
    kernel = morello.compile(text, threads=options.threads, target=options.target)
    (mine,), other = beside_torch(torch, text, [kernel])
    calls = enough_calls(mine, LEAST)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(options.turns):
        for call, seconds in ((mine, ours), (other, theirs)):
            if options.threads > 1:
                time.sleep(PAUSE)  # the first call wakes its threads
            seconds.append(1e6 * seconds_of(call, calls))
    return ours, theirs


if __name__ == "__main__":
    main()
