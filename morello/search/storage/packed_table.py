"""A solved table at rest: boxes, from which a decision is read or dense arrays made."""

import dataclasses
import math
from collections.abc import Callable, Mapping

from morello.actions import Action
from morello.lazy import cached_property
from morello.search.dp.box import Box, spans_in
from morello.search.dp.table import NO_ACTION, Costs, Table, TableId, position
from morello.search.storage.boxes import CostBoxes, LabelBoxes
from morello.spec import Limits


@dataclasses.dataclass(frozen=True)
class Packed:
    """Contents of a `Table`, as boxes."""

    id: TableId
    box: Box
    actions: Mapping[int, Action]
    """Action of each decision, as in `Table`."""
    decisions: LabelBoxes
    read_costs: Callable[[], CostBoxes]
    """Gives the costs: programs are found without, and reading them takes long."""
    goal: str = ""
    """Text of the Spec whose search solved it; empty where nobody said."""

    @classmethod
    def of(cls, table: Table, goal: str = "") -> "Packed":
        """The boxes of a table; `expand` gives the very same arrays back."""
        costs = CostBoxes.of(table.cost_slices)
        return cls(
            table.id,
            table.box,
            table.actions,
            LabelBoxes.of(table.decisions),
            lambda: costs,
            goal,
        )

    def part(self, identity: TableId, box: Box) -> "Packed | None":
        """Some points of the table, as another one: of a goal with shorter axes, or
        those alone that a goal needs. None if it has not all of them.

        Args:
            identity: of that table.
            box: the points.
        """
        spans = spans_in(self.box, box)
        if not spans:
            return None
        if box is self.box:
            return dataclasses.replace(self, id=identity)
        first = tuple(start for start, _ in spans)
        return Packed(
            identity,
            box,
            self.actions,
            self.decisions.part(first, box.shape),
            lambda: self.costs.part(first, box.axes),
            self.goal,
        )

    def expand(self) -> Table:
        """The table with dense arrays."""
        return Table(
            self.id,
            self.box,
            self.actions,
            Costs.of(self.box, self.costs.expand()),
            self.decisions.expand(),
        )

    def decision(self, sizes: tuple[int, ...], limits: Limits) -> Action | None:
        """The decision for a Spec; None where it has no program."""
        point = position(self.box, sizes, limits)
        label = NO_ACTION if point is None else self.decisions.at(point)
        return None if label == NO_ACTION else self.actions[label]

    def cost(self, sizes: tuple[int, ...], limits: Limits) -> int | None:
        """The cost of a Spec; None where it has no program."""
        point = position(self.box, sizes, limits)
        cost = math.inf if point is None else self.costs.at(point)
        return None if math.isinf(cost) else int(cost)

    @cached_property
    def costs(self) -> CostBoxes:
        """The boxes of costs."""
        return self.read_costs()

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
            self.costs.varying,
            self.costs.told,
        )
        return sum(array.nbytes for array in arrays)
