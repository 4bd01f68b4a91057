"""Descriptions of target machines for the search and the code generator."""

import dataclasses
from functools import lru_cache
from typing import Any

import numpy as np

from morello.errors import TargetError
from morello.lazy import cached_property
from morello.machine.costs import Coefficients, OpCosts
from morello.machine.isa import Isa
from morello.machine.operand_context import PLAIN, OperandContext
from morello.spec import Spec
from morello.spec.elements.dtypes import Dtype
from morello.spec.hashing import HashedOnce
from morello.spec.tensors.limits import Limits, cache_classes, snap_down
from morello.spec.tensors.memories import L1, L2, VRF, Memory, memories_of

CACHE_CLASSES = 5
"""Powers of two that may remain of a cache, beside nothing."""

FEW_CLASSES = 4
"""Classes of what is left of a cache, below goals of several products."""

MAX_THREADS = 1024
"""The most threads of a parallel loop: the processors of an affinity mask of
Linux."""


RANGES = {
    "l1_lines": (4, 1 << 20),
    "l1_ways": (1, 1 << 20),
    "l2_lines": (8, 1 << 24),
    "l3_lines": (1, 1 << 32),
    "scheduler_entries": (1, 1 << 20),
    "first_part": (1, 1 << 31),
    "threads": (1, MAX_THREADS),
}
"""The least and the most that each number of a target can be."""

MOST_COST = 10**9
"""The greatest cost of one thing, in 1/1000 cycle: sums of products stay numbers."""


def _check(target: str, name: str, value: int, least: int, most: int) -> None:
    """Refuse a number that no machine has.

    Raises:
        TargetError: it is out of range.
    """
    if not least <= value <= most:
        raise TargetError(
            f"the target '{target}' has {name}={value}",
            f"give a whole number from {least} to {most}",
        )


@dataclasses.dataclass(frozen=True)
class Target(HashedOnce):
    """A machine: levels, capacities, vector width, costs and kernels.

    Values are data: two targets with the same fields give the same programs.
    """

    name: str
    cpu: str
    """The processor that LLVM generates code for."""
    features: tuple[str, ...]
    """CPU features that the generated code needs."""
    isa: Isa
    """The vector registers and instructions: registers are that wide in VRF."""
    l1_lines: int
    """Lines of the first-level data cache."""
    l1_ways: int
    """The associativity of L1; the number of its sets is a power of two."""
    l2_lines: int
    """Lines of the second-level cache, a power of two."""
    coefficients: Coefficients
    ops: OpCosts
    """Throughputs and latencies of its instructions."""
    kernels: tuple[str, ...]
    """The kernels that it can run, by name."""
    l3_lines: int = 9 << 15
    """Lines of the last-level cache that a program can count on, here 18 of 32 MiB:
    where operands are larger together, they come from DRAM."""
    scheduler_entries: int = 60
    """Vector instructions that the core holds until their operands are there; here
    those of a Haswell."""
    first_part: int = 256
    """The least first part of a reduction that the search tries to overwrite with."""
    threads: int = 1
    """How many threads a parallel loop has."""
    relayouts: bool = True
    """Whether operands may take other layouts. Without, programs are slower, and found
    in a few seconds."""
    shared_ports: bool = False
    """Whether multiply-adds share their ports with all other vector instructions."""
    some_ports_multiply: bool = False
    """Whether multiply-adds have some of the ports of other vector instructions: each
    takes the place of one of these."""
    stale: tuple[str, ...] = ()
    """The prices whose kernels, or terms of the cost model, are not those that they
    were measured with (`morello.machine.digests`)."""
    operand_context: OperandContext = PLAIN
    """How the operands of the goal lie that is searched for."""

    __hash__ = HashedOnce.__hash__

    def __post_init__(self) -> None:
        for name, (least, most) in RANGES.items():
            _check(self.name, name, getattr(self, name), least, most)
        for costs in (self.coefficients, self.ops):
            for field in dataclasses.fields(costs):
                value = getattr(costs, field.name)
                _check(self.name, field.name, value, 0, MOST_COST)
        if self.l2_lines.bit_count() != 1:
            raise TargetError(
                f"the target '{self.name}' has l2_lines={self.l2_lines}",
                "give a power of two",
            )
        if self.l1_lines % self.l1_ways or self._l1_sets.bit_count() != 1:
            raise TargetError(
                f"the target '{self.name}' has l1_ways={self.l1_ways}, into which its "
                f"l1_lines={self.l1_lines} cannot be divided for a power of two of "
                "sets",
                "give l1_lines that are l1_ways times a power of two",
            )

    def at(self, goal: Spec, whole: Spec | None = None) -> "Target":
        """The target as the Specs below a goal see it: it prices their lines and rows.

        A search is given this one, so that all programs it compares are priced alike.

        Args:
            whole: the Spec of ranges that the goal is a part of the sizes of; of two
                ranges all parts see what the greatest sizes see.
        """
        if whole is not None and len(whole.ranges) > 1:
            goal = whole
        near, sets = 3 * self.l2_lines // 4, self._l1_sets
        context = OperandContext.of(goal, near, self.l3_lines, sets, whole)
        return self.in_context(context)

    @property
    def _l1_sets(self) -> int:
        return self.l1_lines // self.l1_ways

    def in_context(self, context: OperandContext) -> "Target":
        """The target with other surroundings; itself if it has these."""
        if context == self.operand_context:
            return self
        return _in_context(self, context)

    @cached_property
    def plain(self) -> "Target":
        """The target without the context of a goal. Goals share what is found out for
        it: keys of children, forms, kernels, loops. Contexts change costs of lines."""
        return self.in_context(PLAIN)

    @cached_property
    def prices(self) -> Coefficients:
        """Cost coefficients that apply where the operands of the goal are."""
        prices = self.coefficients
        if self.operand_context.far:
            prices = prices.in_dram()
        if self.operand_context.near:
            prices = prices.in_l2()
        return prices

    @property
    def l2_rows(self) -> int:
        """Aliased rows that L2 is sure to hold: they fill half of their sets."""
        return self.l2_lines // (2 * max(1, self.operand_context.row_distance))

    @property
    def counted_l2_lines(self) -> int:
        """The lines of L2 that programs count on: half of it.

        Its sets fill unevenly: which pages an operand has is chance, and what passes
        through to L1 takes room, too.
        """
        return self.l2_lines // 2

    @property
    def llvm_features(self) -> str:
        """The features of the CPU, as LLVM spells them."""
        return ",".join(f"+{feature}" for feature in self.features)

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """Memories of the target, in the order of `MEMORIES`."""
        return memories_of((*self.features, *self.isa.features))

    @cached_property
    def caches(self) -> tuple[Memory, ...]:
        """Caches of the target, the nearest first."""
        return tuple(memory for memory in self.memories if memory.is_cache)

    @property
    def home(self) -> Memory:
        """The memory that holds operands of the goal from call to call, if they are in
        main memory."""
        return L2 if self.operand_context.near else self.memories[-1]

    @cached_property
    def limits(self) -> Limits:
        """Capacities of all memories but main memory: the limits of a whole program."""
        counted = tuple(memory for memory in self.memories if not memory.is_main)
        return Limits(counted, tuple(map(self.capacity, counted)))

    def capacity(self, memory: Memory) -> int:
        """The registers or lines of a memory that a program can count on."""
        capacities = {
            VRF: self.isa.registers,
            L1: self.l1_lines,
            L2: self.counted_l2_lines,
        }
        return memory.count or capacities[memory]

    def lanes(self, registers: Memory, dtype: Dtype) -> int:
        """Elements of ``dtype`` in a row of a register of a register file."""
        return registers.row_bytes // dtype.itemsize or self.isa.lanes(dtype)

    def classes(self, cache: Memory) -> tuple[int, ...]:
        """Amounts of a cache that may remain free, ascending, in lines."""
        chained = self.operand_context.chained
        count = FEW_CLASSES if chained else CACHE_CLASSES
        return cache_classes(self.capacity(cache), count)

    def take(self, limits: Limits, memory: Memory, amount: Any) -> Limits:
        """Limits after ``amount`` of a memory is taken, in registers or cache lines.

        Works on integers and arrays. The result is undefined where ``amount`` does not
        fit, for which callers have a condition. Memories that the limits do not count
        are unlimited.
        """
        if memory not in limits.memories:
            return limits
        left = np.maximum(limits[memory] - amount, 0)
        if memory.is_registers:
            return limits.replace(memory, left)
        return limits.replace(memory, snap_down(left, self.classes(memory)))


@lru_cache(maxsize=1024)
def _in_context(target: Target, context: OperandContext) -> Target:
    """The one target with these surroundings: comparing it is quick."""
    return dataclasses.replace(target, operand_context=context)
