"""Any Specs by two commits in turns, called from Python: `compare`."""

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs.__main__ import SUITE
from benchmarks.harness.process import Command, ContenderError, Process
from benchmarks.harness.rounds import interleave
from benchmarks.models.layers import MODELS, shapes

SUITES = {"graphs": SUITE, "models": tuple(shapes(list(MODELS)))}
"""Specs of any kind, by the name of the command that times them beside peers."""

_SEARCH_SECONDS = 1800.0
"""Longest search that is waited for."""

_TOLERANCE = 1e-3
"""Greatest difference of two outputs, in parts of the largest element."""


@dataclasses.dataclass(frozen=True)
class Line:
    """A Spec by two commits.

    Args:
        spec: its text.
        samples: seconds of a call, by turn, of the old and of the new commit.
        searches: seconds of the two searches.
        fault: why there are no samples.
    """

    spec: str
    samples: tuple[list[float], list[float]] = ([], [])
    searches: tuple[float, float] = (0.0, 0.0)
    fault: str = ""

    @property
    def ratios(self) -> tuple[float, float]:
        """Old over new time: of the best, and of the medians."""
        old, new = self.samples
        return min(old) / min(new), float(np.median(old) / np.median(new))

    def __str__(self) -> str:
        if self.fault:
            return f"| `{self.spec}` | | | | | | {self.fault} |"
        old, new = (1e6 * min(samples) for samples in self.samples)
        best, median = self.ratios
        searches = " | ".join(f"{seconds:.1f}" for seconds in self.searches)
        cells = f"{old:.1f} | {new:.1f} | {best:.3f} | {median:.3f} | {searches}"
        return f"| `{self.spec}` | {cells} |"


def compare(
    roots: Mapping[str, tuple[Path, str]], specs: list[str], options: argparse.Namespace
) -> int:
    """Print a line for each Spec; 1 if a commit cannot run, or a result differs.

    Args:
        roots: checkout and database of the old commit and of the new one, by name.
        specs: their texts.
        options: those of the command.
    """
    print("| Spec | old (us) | new (us) | best | median | search old (s) | new |")
    print("|---|---|---|---|---|---|---|")
    lines = []
    for line in _lines(roots, specs, options):
        print(line, flush=True)
        lines.append(line)
    timed = [line for line in lines if not line.fault]
    if timed:
        best, median = np.exp(np.log([line.ratios for line in timed]).mean(axis=0))
        least = min(line.ratios[0] for line in timed)
        old, new = (sum(line.searches[i] for line in timed) for i in (0, 1))
        print(
            f"\nold over new: best {best:.3f}, least {least:.3f}, medians "
            f"{median:.3f}; searches {old:.1f} and {new:.1f} s"
        )
    return int(len(timed) < len(lines))


def _lines(
    roots: Mapping[str, tuple[Path, str]], specs: list[str], options: argparse.Namespace
) -> Iterator[Line]:
    commands = [
        _command(root, db, options.threads, options.native)
        for root, db in roots.values()
    ]
    for spec in specs:
        old, new = (Process(command) for command in commands)
        with closing(old), closing(new):
            try:
                yield _measured(spec, (old, new), options)
            except ContenderError as error:
                yield Line(spec, fault=str(error))


def _command(root: Path, db: str, threads: int, native: bool) -> Command:
    words = (sys.executable, "-m", "benchmarks.commits.spec_worker", str(threads))
    return Command("", threads, line=(*words, str(root), db, "yes" if native else ""))


def _measured(
    spec: str, pair: tuple[Process, Process], options: argparse.Namespace
) -> Line:
    """Load a Spec in both processes, compare their outputs, and take turns.

    Raises:
        ContenderError: a process ended.
    """
    searches, outputs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for process in pair:
            file = f"{folder}/output.npy"
            loading: dict[str, Any] = {"do": "load", "spec": spec, "output": file}
            for request in ({"do": "open"}, loading):
                answer = process.ask(request, _SEARCH_SECONDS)
                for fault in ("missing", "unsupported"):
                    if fault in answer:
                        return Line(spec, fault=f"{fault}: {answer[fault]}")
            searches.append(float(answer["search"]))
            outputs.append(np.load(file))
    if differ(*outputs):
        return Line(spec, fault="the results differ")
    ask = {"do": "count", "seconds": options.sample}
    calls = max(process.ask(ask)["calls"] for process in pair)
    sample = {"do": "sample", "calls": calls, "priority": options.priority}
    samplers = {
        role: lambda process=process: process.ask(sample)["s"]
        for role, process in zip(("old", "new"), pair, strict=True)
    }
    samples = interleave(samplers, options.seconds, options.rounds)
    return Line(spec, (samples["old"], samples["new"]), (searches[0], searches[1]))


def differ(one: Any, other: Any) -> bool:
    """Whether two outputs have other elements, beyond rounding."""
    if one.size != other.size:
        return True
    one, other = one.reshape(-1), other.reshape(-1)
    least = _TOLERANCE * max(1.0, float(np.abs(one).max(initial=0.0)))
    return not np.allclose(one, other, rtol=0.0, atol=least, equal_nan=True)
