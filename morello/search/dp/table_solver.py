"""Solving one table: gathers from tables below it, then its own loops.

Actions that leave the table are gathers from solved tables, done once; the loops stay
in it, and one pass over its points in ascending order finds the optimum, since every
loop goes to smaller points. A peeled reduction has one hole in the table, at a
smaller size of the reduction, and others that leave it: so the sizes of a reduction
that overwrites are settled one after another, ascending.
"""

import copy
import dataclasses
from typing import Protocol, Self

import numpy as np

from morello.actions import Action, Child, Expansion, Peel
from morello.actions.loops import tile_key
from morello.errors import SearchError
from morello.search.dp import axes as ax
from morello.search.dp.axes import Axis, Box
from morello.search.dp.evaluate import Applied, Below
from morello.search.dp.fused import improve
from morello.search.dp.gather import positions
from morello.search.dp.limit_slices import Slices
from morello.search.dp.table import (
    COST_BOUND,
    NO_ACTION,
    Costs,
    Floats,
    Table,
    TableId,
    frame_of,
)
from morello.search.dp.tiling import Loops, plan_loops, sweep
from morello.search.queries.pins import Fixed
from morello.spec import Limits, SpecKey
from morello.spec.frame import Bools, Frame


class Tables(Below, Protocol):
    """What one table is solved from."""

    limits: Limits
    room: Limits

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table."""

    def loop_id(self, parent: TableId, key: SpecKey) -> TableId:
        """The table of the tiles of loops, where these have another key."""

    def fixed(self, identity: TableId) -> tuple[Fixed, ...]:
        """The points of a table that are decided already."""


class TableSolver:
    """Solves one table; what counting programs does otherwise is a method."""

    def __init__(self, run: Tables, identity: TableId) -> None:
        self.run = run
        self.id = identity
        self.key = identity.key
        self.target = run.target
        self.box = run.box(identity)
        self.costs = np.full(self.box.shape, np.inf)
        self.decisions = np.full(self.box.shape, NO_ACTION, np.int32)
        self.impls = 0
        """Implementations whose costs were compared."""
        self.fixed = np.zeros(self.box.shape, np.bool_)
        """Points that are pinned: no action may improve them."""
        self.pinned = False
        """Whether there are any."""
        self.actions: tuple[Action, ...] = ()
        self.slices: Slices | None = None
        """The final costs, and what was chosen last, where they are kept as slices."""
        self.nowhere: Bools | None = None
        """Sizes without a program, of which `table` has yet to erase the decisions."""

    def solve(self) -> Costs:
        """The costs, once every table that is needed is solved."""
        self.actions = self.run.candidates(self.id)
        if self.costs.size:
            self._settle(self.actions)
        costs = Costs.of(self.box, self.costs)
        if self.slices is not None:
            costs = Costs(self.box, self.slices.costs, self.slices.place)
        finite = costs.slices[np.isfinite(costs.slices)]
        if finite.size and finite.max() >= COST_BOUND:
            raise SearchError(
                f"a program of {self.key} costs {finite.max():.3g} millicycles, more "
                f"than can be counted exactly",
                "use smaller sizes",
            )
        return costs

    def table(self) -> Table:
        """What was solved, with the decisions."""
        if self.slices is not None:
            self.slices.write_back(self.costs, self.decisions)
            self.slices = None
            if self.nowhere is not None:
                self.decisions[self.nowhere] = NO_ACTION
        actions = dict(enumerate(self.actions))
        return Table(self.id, self.box, actions, self.costs, self.decisions)

    def _settle(self, actions: tuple[Action, ...]) -> None:
        frame = frame_of(self.key, self.box, self.run.limits)
        loops: dict[tuple[int, SpecKey], dict[int, Action]] = {}
        peels: dict[int, Peel] = {}
        keys: dict[tuple[type[Action], int], SpecKey] = {}
        for index, action in enumerate(actions):
            dim = action.loop_dim(self.key)
            if isinstance(action, Peel) and self._stays(action):
                peels[index] = action
            elif dim is None:
                self._gather(index, action, frame)
            else:
                same = type(action), dim
                if same not in keys:
                    keys[same] = action.loop_key(self.key)
                loops.setdefault((dim, keys[same]), {})[index] = action
        own = {}
        for (dim, key), found in loops.items():
            if key == self.key:
                own[dim] = found
            else:
                self._loop_below(dim, key, found)
        self._fix(actions)
        if peels:
            self._peel_within(peels, own, frame)
        else:
            self.slices = self._loop_within(own)
        self._leave_out()

    def _leave_out(self) -> None:
        """No program where an operand could not lie at its level: no goal leads there,
        and boxes need not describe it."""
        sizes = self.box.shape[: len(self.box.sizes)]
        lies = ax.lies(self.key, self.id.sizes, self.box, self.run.room)
        nowhere = ~np.broadcast_to(lies, sizes)
        if nowhere.any():
            if self.slices is None:
                self.costs[nowhere] = np.inf
                self.decisions[nowhere] = NO_ACTION
            else:
                self.slices.costs[nowhere] = np.inf
                self.nowhere = nowhere

    def _stays(self, peel: Peel) -> bool:
        """Whether the first part of a peeled reduction is in this table."""
        return tile_key(self.key, self.key.kind.dims.index(peel.dim)) == self.key

    def _peel_within(
        self,
        peels: dict[int, Peel],
        loops: dict[int, dict[int, Action]],
        frame: Frame,
    ) -> None:
        """Peeled reductions whose first part is in this table, and loops.

        Neither loop nor action makes a Spec with a greater reduction, so that one size
        of it after another is final.
        """
        priced: dict[int, tuple[Peel, Floats, tuple[int, ...]]] = {}
        for index, peel in peels.items():
            applied = Applied.of(peel, self.id, self.box, frame, self.run)
            if applied is not None:
                priced[index] = peel, self._total(applied), applied.window
        for dim in self.key.kind.reductions:
            axis = self.box.sizes[dim]
            for at in range(len(axis)):
                part = self._part(dim, at)
                for index, (peel, price, window) in priced.items():
                    if peel.size in axis[:at]:
                        first = self._first(dim, at, peel, price, window)
                        part._improve(index, *first)
                slices = part._loop_within(loops)
                if slices is not None:
                    slices.write_back(part.costs, part.decisions)

    def _first(
        self, dim: int, at: int, peel: Peel, others: Floats, window: tuple[int, ...]
    ) -> tuple[Floats, tuple[int, ...]]:
        """What a peeled reduction costs at one of its sizes, and where.

        Args:
            at: the coordinate of the size.
            others: what all but the first part costs, at every size.
            window: where it does.
        """
        ends = (*window[:dim], 1, *window[dim + 1 :])
        here, first = (list(map(slice, window)) for _ in range(2))
        here[dim] = slice(at, at + 1)
        place = self.box.sizes[dim].index(peel.size)
        first[dim] = slice(place, place + 1)
        total = np.broadcast_to(others, window)[tuple(here)] + self.costs[tuple(first)]
        return total, ends

    def _part(self, dim: int, at: int) -> Self:
        """The table at one coordinate of a dimension."""
        window = (slice(None),) * dim + (slice(at, at + 1),)
        part = copy.copy(self)
        sizes = list(self.box.sizes)
        sizes[dim] = sizes[dim][at : at + 1]
        part.box = dataclasses.replace(self.box, sizes=tuple(sizes))
        part.costs, part.decisions = self.costs[window], self.decisions[window]
        part.fixed = self.fixed[window]
        return part

    def _fix(self, actions: tuple[Action, ...]) -> None:
        """Decide the points that are pinned, before anything is made of them."""
        for fixed in self.run.fixed(self.id):
            self.costs[fixed.point] = fixed.cost
            self.decisions[fixed.point] = actions.index(fixed.action)
            self.fixed[fixed.point] = True
            self.pinned = True

    def _loop_within(self, loops: dict[int, dict[int, Action]]) -> Slices | None:
        """Loops whose holes are in this table.

        Returns:
            what is to be written back; None if nothing is.
        """
        plans = []
        for dim, found in loops.items():
            planned = self._plan(dim, self.box.sizes[dim], found)
            if not planned.plan.is_empty:
                plans.append((planned, np.asarray(list(found), np.int32)))
                self._count_loops(planned)
        if not plans:
            return None
        if self.pinned:  # slices that cost the same may have other pins
            costs, decisions, fixed = map(
                np.ascontiguousarray, (self.costs, self.decisions, self.fixed)
            )
            sweep(costs, decisions, plans, fixed=fixed)
            self.costs[...], self.decisions[...] = costs, decisions
            return None
        slices = Slices.of(self.costs, len(self.box.sizes))
        sweep(slices.costs, slices.decisions, plans)
        return slices

    def _loop_below(self, dim: int, key: SpecKey, loops: dict[int, Action]) -> None:
        """Loops whose tiles have another key: an operand stops being contiguous."""
        table = self.run.costs(self.run.loop_id(self.id, key))
        if not table.slices.size:
            return
        planned = self._plan(dim, table.box.sizes[dim], loops)
        self._count_loops(planned)
        below = np.ascontiguousarray(aligned(table, self.box, dim))
        indices = np.asarray(list(loops), np.int32)
        sweep(self.costs, self.decisions, [(planned, indices)], below)

    def _plan(self, dim: int, below: Axis, loops: dict[int, Action]) -> Loops:
        """The loops along a dimension, with holes in a table that has these sizes."""
        sizes, actions = self.box.sizes, tuple(loops.values())
        return plan_loops(self.key, dim, sizes, below, actions, self.target)

    def _count_loops(self, planned: Loops) -> None:
        others = self.costs.size // self.costs.shape[planned.dim]
        self.impls += len(planned.plan.actions) * others

    def _gather(self, index: int, action: Action, frame: Frame) -> None:
        """Try an action whose holes are in other tables, everywhere at once."""
        applied = Applied.of(action, self.id, self.box, frame, self.run)
        if applied is not None:
            self._choose(index, applied)

    def _choose(self, index: int, applied: Applied) -> None:
        """Take an action where it is the best so far."""
        compared = improve(self.costs, self.decisions, index, applied)
        if compared is None:
            self._improve(index, self._total(applied), applied.window)
        else:
            self.impls += compared

    def _total(self, applied: Applied) -> Floats:
        """What an action costs, with its holes that are in other tables."""
        total = applied.total(self._own(applied.expansion), self._hole)
        self.impls += applied.compared(total.size)
        return total

    def _own(self, expansion: Expansion) -> Floats:
        """What an action costs by itself."""
        return np.asarray(expansion.cost, np.float64)

    def _hole(self, child: Child, costs: Floats) -> Floats:
        """What a hole adds, given its costs: nothing where there is none.

        One that does not count must have a program all the same.
        """
        if child.there is None:
            once = isinstance(child.times, int) and child.times == 1
            return costs if once else child.times * costs
        hidden = np.where(np.isfinite(costs), 0.0, np.inf)
        counted = np.where(child.times, costs, hidden) * np.maximum(child.times, 1)
        return np.where(child.there, counted, 0.0)

    def _improve(self, index: int, total: Floats, window: tuple[int, ...]) -> None:
        part = tuple(slice(0, extent) for extent in window)
        costs, decisions = self.costs[part], self.decisions[part]
        better = total < costs
        if self.pinned:
            better &= ~self.fixed[part]
        np.copyto(costs, total, where=better)
        np.copyto(decisions, np.int32(index), where=better)


def aligned(table: Costs, box: Box, dim: int) -> Floats:
    """A table's costs at the coordinates of another box, on all axes but ``dim``."""
    dims = len(box.sizes)
    costs: Floats = table.slices
    for place, (theirs, ours) in enumerate(
        zip(table.box.sizes, box.sizes, strict=True)
    ):
        if place != dim and theirs != ours:
            found, gaps = positions(theirs, ours)
            costs = costs.take(found, axis=place)
            if gaps:
                costs[(slice(None),) * place + (found < 0,)] = np.inf
    limits = zip(table.box.axes[dims:], box.axes[dims:], strict=True)
    classes = [positions(theirs, ours)[0] for theirs, ours in limits]
    chosen = table.place.reshape(table.box.shape[dims:])[np.ix_(*classes)]
    costs = costs.take(chosen, axis=-1)
    for place, here in enumerate(classes, dims):
        if (here < 0).any():
            costs[(slice(None),) * place + (here < 0,)] = np.inf
    return costs
