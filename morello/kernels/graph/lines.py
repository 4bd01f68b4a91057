"""Lines of operands that rows side by side read, and write, where they lie.

A group of rows reads all that its windows cover before the next group begins. What
both read comes from L1 again if a group's lines stay there, else from L2, where the
rows of a whole band of windows stay.
"""

import dataclasses

import numpy as np

from morello.cost.counts import Access, Lines
from morello.kernels.predicates import free_lines, in_l1, product
from morello.spec.frame import Frame, Ints
from morello.spec.graphs.graph import Graph
from morello.spec.tensors.layout import ceil_div


def reads_windows(graph: Graph, rows: list[int], reduced: frozenset[int]) -> bool:
    """Whether an input is read through windows, along rows of the output, of places
    that are reduced."""
    return any(
        not axis.is_plain and rows[-1] in axis.dims and reduced & {*axis.dims}
        for value in range(len(graph.inputs))
        for axis in graph.axes(value)
    )


@dataclasses.dataclass(frozen=True)
class RowLines:
    """The cache lines that one run of a kernel touches in all rows."""

    frame: Frame
    rows: list[int]
    """The dimensions of the rows, the last one that of rows side by side."""
    together: Ints
    """Rows side by side."""

    @property
    def band(self) -> Ints:
        """Lines of all operands that the rows along the last dimension read: L2 keeps
        them for those of the next place of the others."""
        return self._of_all(self._sizes(self.frame.sizes[self.rows[-1]]))

    def lines(self) -> tuple[Lines, ...]:
        """Lines of the operands that are beyond L1."""
        key = self.frame.key
        far = [i for i, t in enumerate(key.tensors) if not in_l1(t)]
        return tuple(lines for operand in far for lines in self._of(operand))

    def _of(self, operand: int) -> tuple[Lines, ...]:
        form, tensor = (
            self.frame.key.kind.operands[operand],
            self.frame.key.tensors[operand],
        )
        first = self._lines(operand, self.frame.sizes)
        lines: tuple[Lines, ...] = ()
        if form.is_read:
            again = np.maximum(self._brought(operand) // np.maximum(first, 1) - 1, 0)
            runs = tensor.runs(self.frame.operand_sizes(operand))
            starts = runs * (runs > 1)
            lines = (Lines(operand, first, Access.STREAMED, starts, passes=again),)
        if form.is_written:
            lines = (*lines, Lines(operand, first, Access.STORED))
        return lines

    def _brought(self, operand: int) -> Ints:
        """Lines that come to L1."""
        sizes, dims = self.frame.sizes, self.frame.key.kind.operands[operand].dims
        along = sizes[self.rows[-1]]
        outer = product(tuple(sizes[dim] for dim in self.rows[:-1]))
        group = self._sizes(self.together)
        stays = 2 * self._of_all(group) <= free_lines(self.frame)[0]
        band = self._lines(operand, self._sizes(along))
        once = band * outer if {*dims} & {*self.rows} else band
        each = outer * ceil_div(along, self.together) * self._lines(operand, group)
        return np.where(stays, once, each)

    def _sizes(self, along: Ints) -> tuple[Ints, ...]:
        """Sizes of which the dimensions of rows are 1, but for the last of them."""
        sizes = [1 if d in self.rows else s for d, s in enumerate(self.frame.sizes)]
        sizes[self.rows[-1]] = along
        return tuple(sizes)

    def _of_all(self, sizes: tuple[Ints, ...]) -> Ints:
        operands = range(len(self.frame.key.tensors))
        return sum(self._lines(operand, sizes) for operand in operands)

    def _lines(self, operand: int, sizes: tuple[Ints, ...]) -> Ints:
        """Lines of a tile: all places that windows reach, as far as there are."""
        key = self.frame.key
        axes = key.kind.operands[operand].axes
        whole = self.frame.operand_sizes(operand)
        tile = tuple(
            np.minimum(axis.reach(sizes), size)
            for axis, size in zip(axes, whole, strict=True)
        )
        return key.tensors[operand].lines(tile)
