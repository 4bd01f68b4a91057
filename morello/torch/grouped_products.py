"""Products of groups of rows, each with a matrix of its own: mixtures of experts.

Offsets, which a call reads, say where groups end. One program multiplies any number of
rows with a matrix; it is called for each group that has rows, and reads and writes them
where they lie.
"""

import itertools
from typing import Any

import torch
from torch.fx import GraphModule, Node

from morello.torch.growing import OfAnySize, call_programs
from morello.torch.native_call import SizedCall, address_of, empty_strided
from morello.torch.options import Options
from morello.torch.partition import is_plain

_NAMES = ("aten::_grouped_mm", "transformers::grouped_mm_fallback")
"""Ops of rows, matrices and offsets; the second is that of `transformers` for dtypes
which Inductor does not take."""


class GroupsCall(SizedCall):
    """Calls a program of rows and a matrix for each group of rows."""

    def __call__(self, rows: Any, matrices: Any, ends: list[int]) -> Any:
        """The products.

        Args:
            rows: of all groups.
            matrices: one for each group, as the program reads them.
            ends: where each group ends, in order.
        """
        rows, matrices = rows.contiguous(), matrices.contiguous()
        (((_, columns), _, dtype),) = self._forms
        result = empty_strided((len(rows), columns), (columns, 1), dtype)
        result[ends[-1] :].zero_()
        source, target = address_of(rows), address_of(result)
        matrix = address_of(matrices)
        bytes_read = rows.shape[1] * rows.itemsize
        bytes_written = columns * result.itemsize
        step = matrices[0].nbytes
        start = 0
        for end in ends:
            if end > start:
                self._run(
                    source + start * bytes_read,
                    matrix,
                    target + start * bytes_written,
                    end - start,
                )
            matrix += step
            start = end
        return result


class GroupedProduct(OfAnySize):
    """The op on any groups of up to as many rows as it has."""

    __name__ = "grouped_product"
    what = "a product of groups of rows"
    size = "the rows of a group"
    call = GroupsCall

    @property
    def _is_turned(self) -> bool:
        """Whether the columns of matrices lie one after the other."""
        return not self.inputs[1].meta["val"].is_contiguous()

    def __call__(self, rows: Any, matrices: Any, offsets: Any) -> Any:
        """The products; eager's where its program is not there, or groups overlap."""
        ends = offsets.tolist() if self.run is not None else []
        if not _is_in_order(ends, len(rows)):
            return self.eager(rows, matrices, offsets)
        assert self.run is not None
        return self.run(rows, matrices.mT if self._is_turned else matrices, ends)

    def computed(self, *tensors: Any) -> Any:
        """The product of the rows of one group and its matrix."""
        rows, matrix = tensors
        return torch.mm(rows, matrix.t() if self._is_turned else matrix)

    def examples(self, size: int) -> list[Any]:
        """Some rows, and a matrix."""
        rows, matrices = (node.meta["val"] for node in self.inputs[:2])
        _, terms, columns = matrices.shape
        shape = (columns, terms) if self._is_turned else (terms, columns)
        return [
            torch.empty((size, terms), dtype=rows.dtype),
            torch.empty(shape, dtype=matrices.dtype),
        ]


def _is_in_order(ends: list[int], rows: int) -> bool:
    """Whether groups follow each other, and are within the rows."""
    if not ends:
        return False
    pairs = itertools.pairwise((0, *ends, rows))
    return all(start <= end for start, end in pairs)


def take_grouped_products(graph: GraphModule, options: Options) -> None:
    """Make products of groups of rows calls of programs, in place; ops of one form
    share one."""
    ops = []
    for node in graph.graph.nodes:
        if node.op == "call_function" and _is_taken(node):
            rows, matrices, _ = (value.meta["val"] for value in node.all_input_nodes)
            stored = rows.dtype, matrices.shape, matrices.stride()
            sizes = range(1, max(len(rows), 2) + 1)
            program = GroupedProduct.of(node, (), sizes, options)
            ops.append((node, (node.target, rows.shape, *stored), program))
    call_programs(graph, ops)


def _is_taken(node: Node) -> bool:
    """Whether a node is such a product of rows, which one program computes."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.name() not in _NAMES:
        return False
    inputs, value = node.all_input_nodes, node.meta["val"]
    if len(inputs) != 3 or [*node.args[:2]] != inputs[:2]:
        return False  # one read twice, or without offsets, or with a bias
    rows, matrices, _ = (each.meta["val"] for each in inputs)
    return (
        is_plain(value)
        and is_plain(rows)
        and is_plain(matrices)
        and rows.dtype == matrices.dtype == value.dtype
        and rows.dim() == 2
        and matrices.dim() == 3
        and value.is_contiguous()
        and (matrices.is_contiguous() or matrices.mT.is_contiguous())
    )
