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
        sizes. Where none are, its arrays are those of the slices.

        Args:
            others: arrays of the same shape that have to be equal in equal slices, too.
        """
        sizes = costs.shape[:dims]
        points = math.prod(sizes)
        every = (costs, *others)
        parts = [np.ascontiguousarray(part.reshape(points, -1)) for part in every]
        count = parts[0].shape[1]
        place = np.arange(count)
        if count > 1:
            columns = np.concatenate(parts) if others else parts[0]
            first, room = np.zeros((2, count), np.int64)
            compiled().equal_columns(columns, first, room)
            is_first = first == place
            if not is_first.all():
                place = (is_first.cumsum() - 1)[first]
                distinct = np.flatnonzero(is_first)
                parts = [part.take(distinct, axis=1) for part in parts]
        slices, *rest = parts
        slices = slices.reshape(*sizes, slices.shape[1])
        decisions = np.full(slices.shape, NO_ACTION, np.int32)
        return cls(slices, decisions, place, tuple(rest))

    def write_back(self, decisions: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        """Put decisions, where one was made, into those of the whole table."""
        chosen = self.decisions.take(self.place, axis=-1).reshape(decisions.shape)
        np.copyto(decisions, chosen, where=chosen != NO_ACTION)
