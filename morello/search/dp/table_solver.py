"""Solving one table: gathers from tables below it, then its own loops.

Actions that leave the table are gathers from solved tables, done once; the loops stay
in it, and one pass over its points in ascending order finds the optimum, since every
loop goes to smaller points. A peeled reduction has one hole in the table, at a
smaller size of the reduction, and others that leave it: so the sizes of a reduction
that overwrites are settled one after another, ascending.
"""

import dataclasses
from array import array
from collections.abc import Iterable
from operator import itemgetter
from typing import Protocol

import numpy as np

from morello.actions import Action
from morello.errors import SearchError
from morello.search.compiled import compiled
from morello.search.compiled.words import ACTION, EXTENT, HOLE, STRIDE
from morello.search.dp import axes as ax
from morello.search.dp.box import Axis, Box
from morello.search.dp.evaluate import Below, Gathered, positions
from morello.search.dp.grouping import grouped
from morello.search.dp.limit_slices import Slices
from morello.search.dp.table import (
    COST_BOUND,
    NO_ACTION,
    Costs,
    Floats,
    Integers,
    Table,
    TableId,
)
from morello.search.dp.tiling import (
    Decisions,
    Loops,
    Peeled,
    axis_words,
    peel_words,
    plan_loops,
)
from morello.search.queries.pins import Fixed
from morello.spec import Limits, SpecKey
from morello.spec.frame import Bools

_NO_COSTS, _NO_DECISIONS = np.empty(0), np.empty(0, np.int32)
"""The arrays of a table whose room is not made yet, or that are slices by now."""


class Tables(Below, Protocol):
    """The interface through which the solver of one table reads other tables."""

    room: Limits

    @property
    def dense(self) -> ax.Dense:
        """The axes of sizes that are goals each."""

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table."""

    def loop_id(self, parent: TableId, key: SpecKey) -> TableId:
        """The table of the tiles of loops, where these have another key."""

    def pause(self) -> None:
        """Let Ctrl-C, or what watches the search, end it."""

    def fixed(self, identity: TableId) -> tuple[Fixed, ...]:
        """Points of a table that pins decide, each with its action."""


class TableSolver:
    """Solves one table; what counting programs does otherwise is a method."""

    def __init__(self, run: Tables, identity: TableId) -> None:
        self.run = run
        self.id = identity
        self.key = identity.key
        self.target = run.target
        self.box = run.box(identity)
        self.costs, self.decisions = _NO_COSTS, _NO_DECISIONS
        self.impls = 0
        """Implementations whose costs were compared."""
        self.fixed: Bools | None = None
        """Points that are pinned, if any are: no action may improve them."""
        self.actions: tuple[Action, ...] = ()
        self.slices: Slices | None = None
        """The final costs, and what was chosen last, where they are kept as slices."""
        self.nowhere: Bools | None = None
        """Sizes without a program, of which `table` has yet to erase the decisions."""

    def solve(self) -> Costs:
        """The costs, once every table that is needed is solved."""
        self.actions = self.run.candidates(self.id)
        self._settle(self.actions)
        self._narrow_decisions()
        costs = self._cost_slices()
        too_much = np.count_nonzero(costs.slices >= COST_BOUND)
        if too_much and too_much > np.count_nonzero(costs.slices == np.inf):
            most = np.max(costs.slices, where=np.isfinite(costs.slices), initial=0.0)
            raise SearchError(
                f"a program of {self.key} costs {most:.3g} millicycles, more "
                f"than can be counted exactly",
                "use smaller sizes",
            )
        return costs

    def table(self) -> Table:
        """The solved table, with its decisions."""
        costs = self._cost_slices()
        decisions = self.decisions.astype(np.int32, copy=False)
        if self.slices is not None:
            self.slices.write_back(decisions)
            if self.nowhere is not None:
                decisions[self.nowhere] = NO_ACTION
        actions = dict(enumerate(self.actions))
        return Table(self.id, self.box, actions, costs, decisions)

    def _narrow_decisions(self) -> None:
        """Keep decisions in the fewest bytes: few tables are read before they go."""
        dtype = np.min_scalar_type(-max(1, len(self.actions)))
        self.decisions = self.decisions.astype(dtype)
        if self.slices is not None:
            narrow = self.slices.decisions.astype(dtype)
            self.slices = dataclasses.replace(self.slices, decisions=narrow)

    def _cost_slices(self) -> Costs:
        """The costs as they are kept."""
        if self.slices is None:
            return Costs.of(self.box, self.costs)
        return Costs(self.box, self.slices.costs, self.slices.place)

    def _begin(self) -> None:
        """Make room for what is chosen: not before the tables below are solved, since
        many wait for theirs at once."""
        self.costs = np.full(self.box.shape, np.inf)
        self.decisions = np.full(self.box.shape, NO_ACTION, np.int32)

    def _settle(self, actions: tuple[Action, ...]) -> None:
        if not self.box.size:
            self._begin()
            return
        groups = grouped(actions, self.key)
        loops = groups.loops.items()
        tiles = [self.run.loop_id(self.id, k) for (_, k), _ in loops if k != self.key]
        self._gather(groups.gathers, tiles)
        in_table = {}
        for (dim, key), loops_along in loops:
            if key == self.key:
                in_table[dim] = loops_along
            else:
                self._loop_below(dim, key, loops_along)
        self._fix(actions)
        self._loop_within(in_table, self._peels(groups.parts))
        self._leave_out()

    def _leave_out(self) -> None:
        """No program where an operand could not lie at its level: no goal leads there,
        and boxes need not describe it."""
        run = self.run
        lies = ax.lies(self.key, self.id.sizes, self.box, run.room, run.dense)
        if lies.all():
            return
        nowhere = ~np.broadcast_to(lies, self.box.shape[: len(self.box.sizes)])
        if self.slices is None:
            self.costs[nowhere] = np.inf
            self.decisions[nowhere] = NO_ACTION
        else:
            self.slices.costs[nowhere] = np.inf
            self.nowhere = nowhere

    def _peels(self, actions: dict[int, Action]) -> list[Peeled]:
        """The reductions whose first part is in this table, with the cost of the
        rest."""
        peels = []
        for index, action in actions.items():
            dim, size = action.first_part(self.key) or (0, 0)
            gathered = self._gathered(action)
            if gathered is None or size not in self.box.sizes[dim][:-1]:
                continue
            others = self._totals(*_words([(index, *gathered)]))
            place = self.box.sizes[dim].index(size)
            peels.append(Peeled(dim, place, index, others))
        return peels

    def _fix(self, actions: tuple[Action, ...]) -> None:
        """Decide the pinned points, before other points are computed from them."""
        for fixed in self.run.fixed(self.id):
            if self.fixed is None:
                self.fixed = np.zeros(self.box.shape, np.bool_)
            self.costs[fixed.point] = fixed.cost
            self.decisions[fixed.point] = actions.index(fixed.action)
            self.fixed[fixed.point] = True

    def _loop_within(
        self, loops: dict[int, dict[int, Action]], peels: list[Peeled]
    ) -> None:
        """Loops whose holes are in this table, and peeled reductions."""
        plans = []
        for dim, loops_of_dim in loops.items():
            loops_along = self._plan(dim, self.box.sizes[dim], loops_of_dim)
            if not loops_along.plan.is_empty:
                plans.append(loops_along)
        if not plans and not peels:
            return
        sizes = self.box.shape[: len(self.box.sizes)]
        axes, _alive = axis_words(plans, sizes)
        if self.fixed is not None:  # slices that cost the same may have other pins
            width = self.costs[(0,) * len(sizes)].size
            arrays = (self.costs.reshape(-1), self.decisions.reshape(-1))
            room = np.empty(width), np.empty(width, np.int32)
            peeled = peel_words(peels, sizes), self.fixed.reshape(-1)
            compiled().sweep_around(*arrays, *room, axes, *peeled)
            return
        totals = tuple(peel.others for peel in peels)
        slices = self.slices = Slices.of(self.costs, len(sizes), totals)
        self.costs = _NO_COSTS  # the slices have them: a table that waits is small
        few = [
            dataclasses.replace(peel, others=others)
            for peel, others in zip(peels, slices.others, strict=True)
        ]
        self._sweep(slices, axes, peel_words(few, sizes))

    def _sweep(self, slices: Slices, axes: Integers, peels: Integers) -> None:
        """Loops and peeled reductions on the distinct slices."""
        costs = slices.costs.reshape(-1)
        width = slices.costs.shape[-1]
        decisions = slices.decisions.reshape(-1)
        room = _room_of_run(axes, width)
        compiled().sweep(costs, decisions, costs, *room, width, axes, peels)

    def _loop_below(self, dim: int, key: SpecKey, loops: dict[int, Action]) -> None:
        """Loops whose tiles have another key: an operand stops being contiguous."""
        table = self.run.costs(self.run.loop_id(self.id, key))
        if not table.slices.size:
            return
        planned = self._plan(dim, table.box.sizes[dim], loops)
        if planned.plan.is_empty:
            return
        below = np.ascontiguousarray(aligned(table, self.box, dim))
        axes, _alive = axis_words([planned], below.shape)
        self._sweep_below(below, axes)

    def _sweep_below(self, below: Floats, axes: Integers) -> None:
        """Loops whose holes are in another table, which has its arrays."""
        costs, decisions = self.costs.reshape(-1), self.decisions.reshape(-1)
        width = self.costs[(0,) * len(self.box.sizes)].size
        room, peels = _room_of_run(axes, width), peel_words((), ())
        compiled().sweep(costs, decisions, below.reshape(-1), *room, width, axes, peels)

    def _plan(self, dim: int, below: Axis, loops: dict[int, Action]) -> Loops:
        """The loops along a dimension, with holes in a table that has these sizes."""
        self.run.pause()
        sizes, actions = self.box.sizes, tuple(loops.values())
        form = actions[0].loop_form(self.key, self.target)
        plan = plan_loops(form, dim, sizes[dim], below, actions, self.target.plain)
        others = self.costs.size // max(1, self.costs.shape[dim])
        self.impls += len(plan.actions) * others
        codes = np.asarray(list(loops), np.int32)
        return Loops(dim, self.costs.shape[: len(sizes)], plan, codes)

    def _gather(self, actions: dict[int, Action], tiles: list[TableId]) -> None:
        """Actions whose holes are in other tables, everywhere at once.

        Args:
            actions: by their place among the candidates.
            tiles: tables of loops, which are solved after those of the holes.
        """
        leads = self._leads(actions, ends=False)
        # What makes other graphs is the last of the actions, and has longer axes below.
        holes = (b for _, below in leads.values() for b in below)
        ascending = sorted(dict.fromkeys(holes), key=_extent)
        for identity in (*reversed(ascending), *tiles):
            self.run.costs(identity)
        self._begin()
        leads |= self._leads(actions, ends=True)
        choices = [
            (index, gathered, [self.run.costs(b) for b in below])
            for index, (gathered, below) in sorted(leads.items(), key=itemgetter(0))
        ]
        if choices:
            self._choose(*_words(choices))

    def _leads(
        self, actions: dict[int, Action], ends: bool
    ) -> dict[int, tuple[Gathered, list[TableId]]]:
        """The actions that lead somewhere, of those that end a program or of the
        others, with the tables of their holes."""
        return {
            index: lead
            for index, action in actions.items()
            if action.ends == ends and (lead := self._holes(action)) is not None
        }

    def _gathered(self, action: Action) -> tuple[Gathered, list[Costs]] | None:
        """An action, and the tables of its holes; None where it leads nowhere."""
        lead = self._holes(action)
        if lead is None:
            return None
        gathered, holes = lead
        return gathered, [self.run.costs(b) for b in holes]

    def _holes(self, action: Action) -> tuple[Gathered, list[TableId]] | None:
        """An action, and the other tables that its holes are in; None where it leads
        nowhere."""
        run = self.run
        run.pause()
        evaluated = run.evaluations.evaluated(action, self.key, self.box)
        if evaluated is None:
            return None
        below = run.holes(self.id, action, evaluated)
        boxes = tuple(None if b == self.id else run.box(b) for b in below)
        gathered = run.evaluations.gathered(evaluated, boxes)
        if gathered is None:
            return None
        return gathered, [b for b in below if b != self.id]

    def _choose(self, actions: Integers, holes: Integers) -> None:
        """Take each action where it is the best so far."""
        costs, decisions = self.costs.reshape(-1), self.decisions.reshape(-1)
        near, far = self.box.classes
        room = np.empty(near * far)
        self.impls += compiled().gather(
            costs, decisions, room, near, far, actions, holes
        )

    def _totals(self, actions: Integers, holes: Integers) -> Floats:
        """Costs of one action at all points, including its children in other tables."""
        totals = np.full(self.box.shape, np.inf)
        caches = self.box.classes
        self.impls += compiled().gather_totals(
            totals.reshape(-1), *caches, actions[0], holes
        )
        return totals


def _extent(identity: TableId) -> tuple[int, int]:
    """A number for how much of other tables is part of one: that of longer axes, and of
    more memories that may have been taken from."""
    longest = max((axis[-1] for axis in identity.sizes), default=0)
    return longest, len(identity.free)


def _room_of_run(axes: Integers, width: int) -> tuple[Floats, Decisions]:
    """Room for the costs and decisions of a run of points (`compiled/tiling.py`)."""
    run = min((row[STRIDE] * row[EXTENT] for row in axes.tolist()), default=0)
    return np.empty(run * width), np.empty(run * width, np.int32)


def _words(
    evaluated: Iterable[tuple[int, Gathered, list[Costs]]],
) -> tuple[Integers, Integers]:
    """Actions and their holes as `compiled/gather.py` reads them."""
    actions, holes = array("q"), array("q")
    for index, gathered, tables in evaluated:
        first = len(holes) // len(HOLE)
        actions.extend((index, *gathered.action, first, len(tables)))
        for table, places in zip(tables, gathered.holes, strict=True):
            holes.extend((*table.words, *places))
    return (
        np.frombuffer(actions, np.int64).reshape(-1, len(ACTION)),
        np.frombuffer(holes, np.int64).reshape(-1, len(HOLE)),
    )


def aligned(table: Costs, box: Box, dim: int) -> Floats:
    """A table's costs at the coordinates of another box, on all axes but ``dim``."""
    dims = len(box.sizes)
    costs: Floats = table.slices
    for place, (theirs, ours) in enumerate(
        zip(table.box.sizes, box.sizes, strict=True)
    ):
        if place != dim and theirs != ours:
            places, gaps = positions(theirs, ours)
            costs = costs.take(np.maximum(places, 0), axis=place)
            if gaps:
                costs[(slice(None),) * place + (places < 0,)] = np.inf
    slices = table.place.reshape(table.box.shape[dims:])
    if table.box.limits == box.limits:
        return costs.take(slices, axis=-1)
    limits = zip(table.box.limits, box.limits, strict=True)
    classes = [positions(theirs, ours)[0] for theirs, ours in limits]
    mesh = np.ix_(*(np.maximum(here, 0) for here in classes))
    costs = costs.take(slices[mesh], axis=-1)
    for place, here in enumerate(classes, dims):
        if (here < 0).any():
            costs[(slice(None),) * place + (here < 0,)] = np.inf
    return costs
