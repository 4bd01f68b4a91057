"""A program and the loop that is its roof, in turns: `measure`.

Both are timed in cycles of the core, whose clock others move, and a time counts if
nothing else ran on the core meanwhile (`morello.calibration.timing`).
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as lb

import morello
from benchmarks.cost_model.statistics import ratios
from benchmarks.harness.case import Case
from benchmarks.harness.results import arithmetic_roof
from benchmarks.harness.roof_loops import arithmetic_text, operations, wide_cpu
from morello.calibration.timing import Program, Stopwatch, Time
from morello.calibration.turns import one_round
from morello.errors import SearchError
from morello.machine import Target
from morello.runtime.engine import compile_llvm
from morello.search import Impl
from morello.spec import Spec

_CPU = "haswell"
_TRIPS = 4000
"""Trips of a roof's loop in one call: some ten microseconds."""

_CALL = f"""
@operands = global [16 x i32] zeroinitializer, align 64
@sums = global [8 x i32] zeroinitializer, align 64
define void @roof(ptr %a, ptr %b, ptr %c, ptr %d) {{
  call void @loop(i64 {_TRIPS}, ptr @operands, ptr @sums)
  ret void
}}
"""


class RoofLoop:
    """An arithmetic loop in registers, to be timed as a program is.

    Args:
        name: one of `benchmarks.harness.roof_loops.ARITHMETIC`.
        wide: whether it is the loop of AVX-512.
    """

    workspace_bytes = 0

    def __init__(self, name: str, wide: bool = False) -> None:
        lb.initialize_native_asmparser()  # the loops name their instructions
        cpu, features = wide_cpu(name) if wide else (_CPU, "")
        text = arithmetic_text(name, wide) + _CALL
        self._engine = compile_llvm(text, cpu=cpu, features=features)
        self.address = self._engine.address("roof")
        self.operations = operations(name, wide) * _TRIPS
        """Multiplications and additions of a call."""


@dataclasses.dataclass(frozen=True)
class Part:
    """Share of the peak that a program reaches.

    Args:
        spec: what it computes.
        roof: the name of the loop that it is compared with.
        ideal: times of the roof's call that the program's operations take.
        rounds: times of the roof's call and of the program's, a pair a round.
    """

    spec: str
    roof: str
    ideal: float
    rounds: tuple[tuple[Time, Time], ...]

    @property
    def undisturbed(self) -> int:
        """Rounds in which neither of the two was disturbed."""
        return sum(all(time.is_good for time in pair) for pair in self.rounds)

    @property
    def of_peak(self) -> float:
        """The middle of the undisturbed rounds, or of all if those are under three."""
        return float(self.ideal / ratios(self.rounds)[1])

    @property
    def of_peak_in_all(self) -> float:
        """The middle of all rounds."""
        disturbed = [
            [dataclasses.replace(time, is_good=False) for time in pair]
            for pair in self.rounds
        ]
        return float(self.ideal / ratios(disturbed)[1])

    @property
    def cycles(self) -> float:
        """The least of a call of the program."""
        return min(round_.cycles for _, round_ in self.rounds)


def program(case: Case, target: Target, database: str) -> tuple[Spec, Impl]:
    """The best program of a case on one thread.

    Raises:
        MorelloError: the Spec is refused.
    """
    kernel = morello.compile(case.spec, target=target, threads=1, db=database)
    if kernel.impl is None:
        raise SearchError(f"{case.text} has no program", "take another Spec")
    return kernel.spec, kernel.impl


def measure(
    case: Case,
    program: tuple[Spec, Impl],
    target: Target,
    watch: Stopwatch,
    rounds: int,
    lock: Path | None = None,
) -> Part:
    """Time a program and its roof in turns.

    Args:
        found: by `program`.
        rounds: how many.
        lock: a file that is locked while they are timed.

    Raises:
        MorelloError: the program cannot be compiled.
        OSError: the lock cannot be taken.
    """
    spec, impl = program
    wide = target.isa.vector_bytes * 8 > 256
    roof = RoofLoop(arithmetic_roof(case), wide)
    codes = roof, Program(spec, impl, target)
    pairs: list[Sequence[Time]] = [
        one_round(spec, codes, watch, lock) for _ in range(rounds)
    ]
    return Part(
        case.text,
        arithmetic_roof(case),
        case.flops / roof.operations,
        tuple((first, second) for first, second in pairs),
    )
