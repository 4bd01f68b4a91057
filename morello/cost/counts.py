"""Counts that a kernel gives a cost model: `OpCounts`, numbers of operations without
prices.

A kernel is a sequence of phases. Within a phase everything overlaps: units execute side
by side, lines arrive meanwhile, and the slowest decides. All numbers may be integer
arrays that broadcast with the sizes of a frame.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Literal

from morello.spec.frame import Ints

Op = Literal[
    "fma",
    "dot",
    "dot_bf16",
    "tile_dot",
    "tile_row",
    "tile_config",
    "multiply_add_int",
    "load",
    "store",
    "masked_load",
    "shuffle",
    "vector_op",
    "scalar",
]
"""A class of instructions, by the name of its throughput in `OpCosts`."""


Ops = Mapping[Op, Ints]
"""Instructions of each class."""


class Access(enum.Enum):
    """How a kernel goes over the lines of an operand in memory."""

    DEMAND = "demand"
    """Each line is waited for, or all units wait for lines to arrive."""
    OVERLAPPED = "overlapped"
    """Lines arrive while the core computes on others."""
    STREAMED = "streamed"
    """Lines arrive while the core computes on others; but however little it computes,
    all of them take as long as if each was waited for."""
    STORED = "stored"
    """Lines are written back."""


@dataclasses.dataclass(frozen=True)
class Lines:
    """Lines of an operand that a phase reads or writes itself, where they lie.

    Lines of operands in L1 cost nothing, whoever counts them.
    """

    operand: int
    count: Ints
    access: Access
    starts: Ints = 0
    """Rows that are begun: each starts a hardware stream."""
    rows: Ints = 0
    """Rows, a line of each, that should stay in L1 side by side."""
    ahead: Ints | None = None
    """Rows, a line of each, that are prefetched before the first of them is used: they
    should stay in L2 side by side."""
    beside: Ints | None = None
    """Rows of other operands that enter L2 before these lines are used again."""
    hidden: bool = True
    """Whether their arrival overlaps with the phase; else it adds to it."""
    prefetched: bool = False
    """Whether the kernel has asked for each, long before, to come to L1: then only what
    is beyond L2 is paid for."""
    parts: Ints = 0
    """Parts of rows, of all rows together, each of which is read for itself, as those
    of strips are: where rows do not begin on lines, each ends in a line more."""
    copied: bool = False
    """Whether the lines are those of a copy in L2 that the kernel has made."""
    crossing: Ints = 0
    """Vectors that end in another line where rows do not begin on lines: each is loaded
    twice."""
    passes: Ints = 0
    """Further passes over all of the lines; they hit L2 as far as its sets hold the
    rows."""


@dataclasses.dataclass(frozen=True)
class Phase:
    """A part of a kernel whose instructions, chains and lines overlap."""

    ops: Ops = dataclasses.field(default_factory=dict)
    """Number of instructions of each sort that are issued."""
    chain: Ops = dataclasses.field(default_factory=dict)
    """The longest dependency chain: instructions of each class in it, one after
    another."""
    lines: tuple[Lines, ...] = ()
    times: Ints = 1
    """How often the phase runs."""
    latency: Ops | None = None
    """The latency of each run that its other instructions do not hide, as a chain. No
    run waits for another: they overlap as far as the schedulers hold instructions of
    several."""


@dataclasses.dataclass(frozen=True)
class OpCounts:
    """One run of a kernel."""

    phases: tuple[Phase, ...]
    kernels: int = 1
    """Kernel entries: 0 for straight code that needs no addresses."""
    loops: Ints = 0
    """Loops that are entered."""
    trips: Ints = 0
    """Trips of the loops, not counting their bodies."""

    def beside(self, lines: tuple[Lines, ...]) -> "OpCounts":
        """All phases as one, in which lines arrive."""
        ops = add(*(times(phase.ops, phase.times) for phase in self.phases))
        chain = add(*(times(phase.chain, phase.times) for phase in self.phases))
        return dataclasses.replace(self, phases=(Phase(ops, chain, lines),))

    @classmethod
    def of(cls, ops: Ops, kernels: int = 0) -> "OpCounts":
        """Straight code: one phase of instructions alone."""
        return cls((Phase(ops),), kernels)


def add(*parts: Ops) -> Ops:
    """The instructions of all parts together."""
    total: dict[Op, Ints] = {}
    for part in parts:
        for op, count in part.items():
            total[op] = total.get(op, 0) + count
    return total


def times(ops: Ops, count: Ints) -> Ops:
    """The instructions of ``count`` runs."""
    return {op: count * number for op, number in ops.items()}
