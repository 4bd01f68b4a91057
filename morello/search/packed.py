"""A solved table at rest: boxes, from which a decision is read or dense arrays made."""

import dataclasses
from functools import cached_property

from morello.actions import Action
from morello.search.axes import Box
from morello.search.compress import CostBoxes, LabelBoxes
from morello.search.table import Table, TableId, position
from morello.spec import Limits


@dataclasses.dataclass(frozen=True)
class Packed:
    """What a `Table` holds, as boxes."""

    id: TableId
    box: Box
    actions: tuple[Action, ...]
    """What decisions index."""
    decisions: LabelBoxes
    costs: CostBoxes

    @classmethod
    def of(cls, table: Table) -> "Packed":
        """The boxes of a table; `expand` gives the very same arrays back."""
        return cls(
            table.id,
            table.box,
            table.actions,
            LabelBoxes.of(table.decisions),
            CostBoxes.of(table.costs, table.box),
        )

    def expand(self) -> Table:
        """The table with dense arrays."""
        return Table(
            self.id,
            self.box,
            self.actions,
            self.costs.expand(),
            self.decisions.expand(),
        )

    def look_up(
        self, sizes: tuple[int, ...], limits: Limits
    ) -> tuple[Action, int] | None:
        """The decision for a Spec and its cost; None where it has no program."""
        point = position(self.box, sizes, limits)
        label = -1 if point is None else self.decisions.at(point)
        if point is None or label < 0:
            return None
        return self.actions[label], int(self.costs.at(point))

    @cached_property
    def points(self) -> int:
        """The points of the table."""
        total = 1
        for extent in self.box.shape:
            total *= extent
        return total

    @property
    def bytes(self) -> int:
        """The memory that the boxes take."""
        arrays = (
            self.decisions.ends,
            self.decisions.labels,
            self.costs.ends,
            self.costs.corners,
        )
        return sum(array.nbytes for array in arrays)
