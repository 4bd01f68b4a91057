"""Whether a target's prices hold on this machine, kernel by kernel: `check`.

A few programs of each of some Specs, which are small enough to be searched in a second,
are timed in turns: the search's choice, the cheapest one with another main kernel, and
others from all over the space. A program is one of the kernel on which its cost mostly
is, and says by how much that price is off.
"""

import dataclasses
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from morello.calibration.sample import Sampler, main_kernel
from morello.calibration.timing import Program, Stopwatch
from morello.calibration.turns import one_round
from morello.machine import Target
from morello.search import Impl, Solver
from morello.spec import Spec, print_spec

PROGRAMS = 4
"""Programs of a Spec, at least two of them with different main kernels if there are."""

ROUNDS = 2
"""Placements of pages that each is timed on."""

FACTOR = 2.0
"""By so much measured and predicted times may differ. A calibration's median error is
an eighth; a wrong price makes a kernel several times too cheap."""


@dataclasses.dataclass(frozen=True)
class Timed:
    """A program of a Spec with its price and its time."""

    kernel: str
    predicted: float
    """Cycles."""
    measured: float
    """Cycles."""

    @property
    def ratio(self) -> float:
        """Measured over predicted time."""
        return self.measured / self.predicted


@dataclasses.dataclass(frozen=True)
class Row:
    """How the price of a kernel does.

    Args:
        programs: how many were timed.
        ratio: measured over predicted time, the geometric mean.
        regret: of the Specs for which the search chooses it, the time of the choice
            over the least of the timed programs, the geometric mean; None where it
            chooses it for none.
        stale: whether the kernel has changed since it was measured.
    """

    kernel: str
    programs: int
    ratio: float
    regret: float | None
    stale: bool

    @property
    def is_off(self) -> bool:
        """Whether measured and predicted times differ by more than `FACTOR`."""
        return not 1 / FACTOR <= self.ratio <= FACTOR


@dataclasses.dataclass(frozen=True)
class Check:
    """The timed Specs, and those that there was no time for."""

    rows: tuple[Row, ...]
    left_out: tuple[Spec, ...]


def check(
    specs: Sequence[Spec],
    target: Target,
    seconds: float,
    each: float,
    show: Callable[[str], None],
) -> Check:
    """Time programs of Specs until the time of this process is up.

    Args:
        seconds: of one core; no further Spec is begun that would end later, if it took
            as long as the longest one so far.
        each: how long a program is timed.
        show: is told what is going on.

    Raises:
        MorelloError: a Spec has no program, or this machine cannot run the target.
    """
    watch = Stopwatch(each)
    end, longest = time.process_time() + seconds, 0.0
    timed: list[list[Timed]] = []
    for number, spec in enumerate(specs):
        start = time.process_time()
        if start + longest > end:
            return Check(rows(timed, target), tuple(specs[number:]))
        show(print_spec(spec, target.limits))
        timed.append(timed_programs(spec, target, watch))
        longest = max(longest, time.process_time() - start)
    return Check(rows(timed, target), ())


def timed_programs(spec: Spec, target: Target, watch: Stopwatch) -> list[Timed]:
    """Programs of a Spec with their times, the choice of the search first."""
    impls = programs_of(spec, target)
    code = [Program(spec, impl, target) for impl in impls]
    rounds = [one_round(spec, code, watch, None) for _ in range(ROUNDS)]
    return [
        Timed(
            main_kernel(impl),
            max(impl.cost, 1) / 1000,
            statistics.geometric_mean(one.cycles for one in times),
        )
        for impl, times in zip(impls, zip(*rounds, strict=True), strict=True)
    ]


def programs_of(spec: Spec, target: Target) -> list[Impl]:
    """The choice of the search, the cheapest program with another main kernel, and
    others that are drawn."""
    solver = Solver(target.at(spec))
    sampler = Sampler(spec, target, random.Random(str(spec)), solver)
    impls = {str(impl): impl for impl in (sampler.best, *sampler.rivals())}
    for impl in sampler.programs(PROGRAMS):
        impls.setdefault(str(impl), impl)
    return list(impls.values())[:PROGRAMS]


def rows(timed: Sequence[Sequence[Timed]], target: Target) -> tuple[Row, ...]:
    """How the price of each kernel does, in the order of the target's kernels."""
    ratios: dict[str, list[float]] = defaultdict(list)
    regrets: dict[str, list[float]] = defaultdict(list)
    for programs in timed:
        least = min(one.measured for one in programs)
        regrets[programs[0].kernel].append(programs[0].measured / least)
        for one in programs:
            ratios[one.kernel].append(one.ratio)
    return tuple(
        Row(
            kernel,
            len(ratios[kernel]),
            statistics.geometric_mean(ratios[kernel]),
            statistics.geometric_mean(regrets[kernel]) if kernel in regrets else None,
            kernel in target.stale,
        )
        for kernel in target.kernels
        if kernel in ratios
    )


def check_lines(check: Check, target: Target) -> Iterator[str]:
    """The result as lines, the worst Specs last."""
    width = max([len(row.kernel) for row in check.rows], default=6) + 2
    yield f"{'kernel':<{width}}{'programs':>8}{'measured/predicted':>20}{'regret':>8}"
    for row in check.rows:
        regret = f"{'-' if row.regret is None else f'{row.regret:.3f}':>8}"
        words = ["stale"] * row.stale + ["off"] * row.is_off
        note = f"  {', '.join(words)}" if words else ""
        yield f"{row.kernel:<{width}}{row.programs:>8}{row.ratio:>20.2f}{regret}{note}"
    seen = {row.kernel for row in check.rows}
    if unseen := [name for name in target.kernels if name not in seen]:
        yield f"no program timed: {', '.join(unseen)}"
    if check.left_out:
        texts = (print_spec(spec, target.limits) for spec in check.left_out)
        yield f"no time left for {', '.join(texts)}"
