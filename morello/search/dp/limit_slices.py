"""Equal slices of a table: limits that leave the same costs everywhere.

Most limits do not decide: what is left of a cache often gives the costs that another
class gives. Work along the sizes is done once for each distinct slice.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.search.dp.machine_code import address
from morello.search.dp.native_python import I64, compile_native
from morello.search.dp.table import NO_ACTION, Floats, Integers


@dataclasses.dataclass(frozen=True)
class Slices:
    """The distinct slices of a table over its limits.

    Args:
        costs: one slice an index of the last axis, the sizes before it.
        decisions: what was chosen in them since; `NO_ACTION` where nothing was.
        place: for each combination of limits, the slice that stands for it.
    """

    costs: Floats
    decisions: np.ndarray[Any, np.dtype[np.int32]]
    place: Integers

    @classmethod
    def of(cls, costs: Floats, dims: int) -> "Slices":
        """The distinct slices of ``costs``, whose first ``dims`` axes are sizes."""
        sizes = costs.shape[:dims]
        columns = np.ascontiguousarray(costs.reshape(math.prod(sizes), -1))
        rows, count = columns.shape
        first, old = np.zeros((2, count), np.int64)
        _native()["equal_columns"](*map(address, (columns, first, old)), rows, count)
        kept, place = np.unique(first, return_inverse=True)
        distinct = columns.take(kept, axis=1).reshape(*sizes, len(kept))
        decisions = np.full(distinct.shape, NO_ACTION, np.int32)
        return cls(distinct, decisions, place)

    def write_back(
        self, costs: Floats, decisions: np.ndarray[Any, np.dtype[np.int32]]
    ) -> None:
        """Put costs, and decisions where one was made, into the table's arrays."""
        shape = costs.shape
        costs[...] = self.costs.take(self.place, axis=-1).reshape(shape)
        chosen = self.decisions.take(self.place, axis=-1).reshape(shape)
        np.copyto(decisions, chosen, where=chosen != NO_ACTION)


def equal_columns(bits: I64, first: I64, old: I64, rows: int, count: int) -> int:
    """Put into ``first`` for each column the first one that equals it, bit for bit.

    Row by row: columns that were equal so far part where a row has them differ. ``old``
    is room for as many numbers as ``first``; both start as zeros.
    """
    for row in range(rows):
        base = row * count
        differs = 0
        for j in range(1, count):
            if bits[base + j] != bits[base + first[j]]:
                differs = 1
                break
        if differs:
            for j in range(count):
                old[j] = first[j]
            for j in range(1, count):
                k = old[j]
                while old[k] != old[j] or bits[base + k] != bits[base + j]:
                    k += 1
                first[j] = k
    return 0


@functools.cache
def _native() -> dict[str, Callable[..., int]]:
    return compile_native(equal_columns)
