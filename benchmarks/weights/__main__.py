"""Products with weights of 4, 8 and 16 bits beside other runtimes, in turns.

    python -m benchmarks.weights int4-32 int4-128 int8 f16 --rows 1,8,32,128
    python -m benchmarks.weights int4-32 --shape 4096x11008 --native

A call finds its weights in memory: there are so many copies that no cache holds them.
One process, one thread, by CPU time. PyTorch is held to AVX2 as by
`benchmarks.graphs`; the other runtimes have no variable for it. A ratio is the best
time of another one over that of Morello: above 1, Morello is faster. ``read`` is
reading as many bytes as the weights have.
"""

import argparse
import importlib
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.graphs.torch_graphs import HELD
from benchmarks.harness.case import aligned
from benchmarks.harness.ours import avx2_target
from benchmarks.harness.roof_loops import READINGS, Reading
from benchmarks.harness.roofs import reading

FORMS = ("int4-32", "int4-128", "int8", "f16")
"""Cases that are measured where none is named."""

OURS = ("exact", "bytes")
"""Morello's products, with activations in f32, and rounded to bytes."""


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print a line for each product."""
    options = _options(words)
    if not options.native:
        os.environ.update(HELD)
    k, n = map(int, options.shape.split("x"))
    names = (*OURS, *options.peers.split(","), "read")
    print(f"{'product':28}" + "".join(f"{name:>18}" for name in names))
    for form in options.forms or FORMS:
        for rows in map(int, options.rows.split(",")):
            best = _measured(form, rows, k, n, names, options)
            cells = (f"{1e6 * best[x]:18.0f}" if x in best else 18 * " " for x in names)
            product = f"{form} {rows}x{k}x{n}"
            print(f"{product:28}" + "".join(cells) + "  " + _ratios(best), flush=True)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weights")
    parser.add_argument("forms", nargs="*", metavar="FORM", help=", ".join(FORMS))
    parser.add_argument("--rows", default="1,8,32,128", metavar="M,…")
    parser.add_argument("--shape", default="4096x4096", metavar="KxN")
    parser.add_argument(
        "--peers", default="onnxruntime,onnxruntime-bytes,torch,openvino"
    )
    parser.add_argument("--turns", type=int, default=5, metavar="N")
    parser.add_argument("--time-limit", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--native", action="store_true", help="hold nobody to AVX2")
    return parser.parse_args(words)


def _measured(
    form: str,
    rows: int,
    k: int,
    n: int,
    names: Sequence[str],
    options: argparse.Namespace,
) -> dict[str, float]:
    """The best seconds of each contender.

    Raises:
        AssertionError: a result is wrong.
    """
    case_module: Any = importlib.import_module("benchmarks.weights.case")
    peers: Any = importlib.import_module("benchmarks.weights.peers")
    case = case_module.Case(form, rows, k, n)
    target = None if options.native else avx2_target()[0]
    known = {"target": target, "time_limit": options.time_limit}
    contenders: dict[str, Callable[[Any], Any]] = {
        "exact": lambda case: case_module.exact(case, **known),
        "bytes": lambda case: case_module.in_bytes(case, **known),
        **peers.PEERS,
    }
    calls: dict[str, Callable[[int], Any]] = {}
    outs = []  # to which calls have addresses alone
    for name in names:
        if name == "read":
            continue
        try:
            call, out = contenders[name](case)
        except (ImportError, KeyError, ValueError, RuntimeError):
            continue  # not installed, or not held to AVX2 by the variables
        call(0)
        allowed = _ALLOWED["exact" if name in _EXACT else "rounded"]
        assert case.error(out) <= allowed, (form, rows, name, case.error(out))
        calls[name] = call
        outs.append(out)
    ways = {f"read {way}": _reads(case, way) for way in READINGS}
    best = _in_turns({**calls, **ways}, case.copies, options.turns)
    assert len(outs) == len(calls)
    read = min(best.pop(name) for name in ways)
    return {**best, "read": read}


_EXACT = ("exact", "onnxruntime")
_ALLOWED = {"exact": 2e-5, "rounded": 3e-2}
"""Errors as a part of the largest result, where factors are f32 and where they are
rounded."""


def _reads(case: Any, way: Reading) -> Callable[[int], None]:
    loop, out = reading(way), np.zeros(8, np.int64)
    size = -(-case.nbytes // way.chunk) * way.chunk
    memory = aligned((case.copies * size + 8192,), "u8")

    def call(copy: int) -> None:
        loop(1, memory.ctypes.data + copy * size, out.ctypes.data, size)

    return call


def _in_turns(
    calls: dict[str, Callable[[int], Any]], copies: int, turns: int
) -> dict[str, float]:
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for name, call in calls.items():
            for copy in range(copies):
                begin = time.process_time()
                call(copy)
                best[name] = min(best[name], time.process_time() - begin)
    return best


def _ratios(best: dict[str, float]) -> str:
    others = [best[name] for name in best if name not in (*OURS, "read")]
    ratios = (
        f"{name} {min(others) / best[name]:.2f}, of reading "
        f"{best['read'] / best[name]:.2f}"
        for name in OURS
        if name in best and others
    )
    return "; ".join(ratios)


if __name__ == "__main__":
    main()
