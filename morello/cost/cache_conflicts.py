"""Conflict misses: rows a power of two apart fall into the same sets of a cache.

A set holds as many lines as it has ways. Rows that are a multiple of 4 KiB apart all
meet in one set of an L1 of 32 KiB and 8 ways, and 64 of them in one of L2: a strip of
more rows is not there in the next pass over it, and every line is a miss again. Rows
2 KiB apart meet in two sets: half as many lines are.

A tile does not know how far its rows are apart: the goal does, and the target has it
from there (`Target.at`).
"""

import dataclasses
import math

import numpy as np

from morello.machine.target import Target
from morello.spec import SpecKey, TensorSpec
from morello.spec.frame import Frame, Ints

_PASS = 16
"""Uses of a line in one pass over a tile in L2: a block of what uses it."""

_SHORT = 4
"""Lines of a row of a strip, at most: no kernel has sums of more vectors side by side.
Longer rows are read along, line after line."""


@dataclasses.dataclass(frozen=True)
class CacheConflicts:
    """The conflict misses on a target."""

    target: Target

    def of_tile(self, frame: Frame, operand: int, dest: TensorSpec) -> Ints:
        """Millicycles a line of a tile that is brought to a cache: 0 if unaliased."""
        if not self.aliased(frame.key, operand):
            return 0
        source, sizes = frame.key.tensors[operand], frame.operand_sizes(operand)
        runs = source.runs(sizes)
        if not dest.level.is_near:
            again = (runs > self.target.l2_rows) * self.passes(frame, operand)
            return again * self.target.prices.line_mem_demand
        strip = is_strip(frame, operand)
        many = 2 * runs > self.target.l1_ways
        return (strip | many) * self._l1

    def of_pass(self, frame: Frame, operand: int) -> Ints:
        """Millicycles a line of a further pass over an operand that a kernel has
        brought to L2."""
        if not self.aliased(frame.key, operand):
            return 0
        runs = frame.key.tensors[operand].runs(frame.operand_sizes(operand))
        return (runs > self.target.l2_rows) * self.target.prices.line_mem_demand

    def of_rows(self, frame: Frame, operand: int, rows: Ints) -> Ints:
        """Millicycles a line that a kernel reads of ``rows`` rows side by side."""
        if not self.aliased(frame.key, operand):
            return 0
        return (rows > self.target.l1_ways) * self._l1

    def of_ahead(self, frame: Frame, operand: int, rows: Ints | None) -> Ints:
        """Millicycles a line of ``rows`` rows that a kernel prefetches before it uses
        the first: of more than L2 holds each line has left it by then. From the
        last-level cache it is back in time; from DRAM it comes once more."""
        far = self.target.operand_context.far
        if rows is None or not far or not self.aliased(frame.key, operand):
            return 0
        return (rows > self.target.l2_rows) * self.target.prices.line_mem_overlapped

    def of_beside(self, frame: Frame, operand: int, rows: Ints | None) -> Ints:
        """Millicycles a line of an operand in L2 that is used again after ``rows`` rows
        of another, which lie alike, have come there: of more together than L2 holds
        each has left it. Of more by itself, `of_tile` says so."""
        if rows is None or not self.aliased(frame.key, operand):
            return 0
        runs = frame.key.tensors[operand].runs(frame.operand_sizes(operand))
        together = (runs <= self.target.l2_rows) & (runs + rows > self.target.l2_rows)
        return together * self.target.prices.line_mem_demand

    def aliased(self, key: SpecKey, operand: int) -> bool:
        """Whether rows of an operand may share sets: not those of a buffer."""
        name, tensor = key.kind.operands[operand].name, key.tensors[operand]
        context = self.target.operand_context
        return (
            context.has_aliased(name, tensor.dtype.itemsize)
            and not tensor.layout.is_packed
        )

    @staticmethod
    def passes(frame: Frame, operand: int) -> Ints:
        """How often a tile in L2 is passed over, for blocks of what uses it."""
        return np.maximum(uses(frame, operand) // _PASS, 1)

    @property
    def _l1(self) -> int:
        """A conflict miss of L1, as far as rows share one set."""
        sets = self.target.l1_lines // self.target.l1_ways
        distance = min(self.target.operand_context.row_distance, sets)
        return self.target.prices.conflict_l1 * distance // sets


def uses(frame: Frame, operand: int) -> Ints:
    """How often each element of an operand is used."""
    dims = frame.key.kind.operands[operand].dims
    return math.prod(n for dim, n in enumerate(frame.sizes) if dim not in dims)


def is_strip(frame: Frame, operand: int) -> Ints:
    """Whether a tile is a part of a strip: short parts of rows.

    The rows of a strip are more than a tile of it has: where a loop splits them, the
    others come by before these are used again. So a tile of one row is a part of a
    strip, too, if a reduction goes on to the next row.
    """
    source, sizes = frame.key.tensors[operand], frame.operand_sizes(operand)
    runs = source.runs(sizes)
    rows = (runs > 1) | is_read_across(frame.key, operand)
    return rows & (source.lines(sizes) <= _SHORT * runs)


def is_read_across(key: SpecKey, operand: int) -> bool:
    """Whether a reduction goes from row to row of an operand, not along them."""
    form, tensor = key.kind.operands[operand], key.tensors[operand]
    reductions = set(key.kind.reductions).intersection(form.dims)
    along = form.axes[tensor.layout.streamed].dims
    return bool(reductions) and reductions.isdisjoint(along)
