"""De-duplicated limit slices of a table: limits that leave the same costs everywhere.

Most limits do not decide: what is left of a cache often gives the costs that another
class gives. Work along the sizes is done once for each distinct slice.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from morello.search.compiled import compiled
from morello.search.dp.table import NO_ACTION, Floats, Integers


@dataclasses.dataclass(frozen=True)
class Slices:
    """The distinct slices of a table over its limits.

    Args:
        costs: one slice an index of the last axis, the sizes before it.
        decisions: what was chosen in them since; `NO_ACTION` where nothing was.
        place: for each combination of limits, the slice that stands for it.
        others: what varies beside the costs, one slice for each of theirs.
    """

    costs: Floats
    decisions: np.ndarray[Any, np.dtype[np.int32]]
    place: Integers
    others: tuple[Floats, ...] = ()

    @classmethod
    def of(cls, costs: Floats, dims: int, others: tuple[Floats, ...] = ()) -> "Slices":
        """Group the slices of ``costs`` that are equal; its first ``dims`` axes are
        sizes.

        Args:
            others: arrays of the same shape that have to be equal in equal slices, too.
        """
        sizes = costs.shape[:dims]
        points = math.prod(sizes)
        parts = [part.reshape(points, -1) for part in (costs, *others)]
        columns = np.ascontiguousarray(np.concatenate(parts) if others else parts[0])
        first, room = np.zeros((2, columns.shape[1]), np.int64)
        if len(first) > 1:
            compiled().equal_columns(columns, first, room)
        own_first = first == np.arange(len(first))
        distinct_columns, place = (
            np.flatnonzero(own_first),
            (own_first.cumsum() - 1)[first],
        )
        distinct = columns.take(distinct_columns, axis=1)
        slices = distinct[:points].reshape(*sizes, len(distinct_columns))
        rest = [
            np.ascontiguousarray(distinct[k * points : (k + 1) * points])
            for k in range(1, len(parts))
        ]
        decisions = np.full(slices.shape, NO_ACTION, np.int32)
        return cls(slices, decisions, place, tuple(rest))

    def write_back(self, decisions: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        """Put decisions, where one was made, into those of the whole table."""
        chosen = self.decisions.take(self.place, axis=-1).reshape(decisions.shape)
        np.copyto(decisions, chosen, where=chosen != NO_ACTION)
