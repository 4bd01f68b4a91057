"""Equal slices of a table: limits that leave the same costs everywhere.

Most limits do not decide: what is left of a cache often gives the costs that another
class gives. Work along the sizes is done once for each distinct slice.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from morello.search.table import NO_ACTION, Floats, Integers


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
        columns = costs.reshape(math.prod(sizes), -1)
        first: dict[bytes, int] = {}
        kept: list[int] = []
        place = []
        for index, row in enumerate(np.ascontiguousarray(columns.T)):
            name = row.tobytes()
            if name not in first:
                first[name] = len(kept)
                kept.append(index)
            place.append(first[name])
        distinct = np.ascontiguousarray(columns[:, kept]).reshape(*sizes, len(kept))
        decisions = np.full(distinct.shape, NO_ACTION, np.int32)
        return cls(distinct, decisions, np.asarray(place))

    def write_back(
        self, costs: Floats, decisions: np.ndarray[Any, np.dtype[np.int32]]
    ) -> None:
        """Put costs, and decisions where one was made, into the table's arrays."""
        shape = costs.shape
        costs[...] = self.costs.take(self.place, axis=-1).reshape(shape)
        chosen = self.decisions.take(self.place, axis=-1).reshape(shape)
        np.copyto(decisions, chosen, where=chosen != NO_ACTION)
