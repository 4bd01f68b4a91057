"""Solving one table: gathers from tables below it, then its own loops.

Actions that leave the table are gathers from solved tables, done once; the loops stay
in it and are swept along each axis until nothing changes, which is the optimum since
every loop goes to smaller points. A peeled reduction has one hole in the table, at a
smaller size of the reduction, and others that leave it: so the sizes of a reduction
that overwrites are settled one after another, ascending.
"""

import bisect
import copy
import dataclasses
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np

from morello.actions import Action, Child, Expansion, Peel
from morello.actions.loops import tile_key
from morello.errors import SearchError
from morello.search.axes import Box, Free
from morello.search.gather import look_up, positions
from morello.search.pins import Fixed
from morello.search.slices import Slices
from morello.search.sweep import Plan, plan_axis, sweep, sweep_around
from morello.search.table import (
    COST_BOUND,
    NO_ACTION,
    Costs,
    Floats,
    Table,
    TableId,
    frame_of,
)
from morello.spec import Level, Limits, SpecKey
from morello.spec.frame import Bools, Frame
from morello.targets import Target


class Tables(Protocol):
    """What one table is solved from."""

    target: Target
    limits: Limits

    def box(self, identity: TableId) -> Box:
        """The box of a table."""

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table."""

    def child_id(self, parent: TableId, child: Child) -> TableId:
        """The table that a hole of a parent's table is looked up in."""

    def free(self, key: SpecKey, parent: TableId) -> Free:
        """Which limits may differ from the goal's in a hole with this key."""

    def costs(self, identity: TableId) -> Costs:
        """The costs of a table."""

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

    def solve(self) -> Table:
        """The table, once every table that it needs is solved."""
        actions = self.run.candidates(self.id)
        if self.costs.size:
            self._settle(actions)
        finite = self.costs[np.isfinite(self.costs)]
        if finite.size and finite.max() >= COST_BOUND:
            raise SearchError(
                f"a program of {self.key} costs {finite.max():.3g} millicycles, more "
                f"than can be counted exactly",
                "use smaller sizes",
            )
        return Table(self.id, self.box, actions, self.costs, self.decisions)

    def _settle(self, actions: tuple[Action, ...]) -> None:
        frame = frame_of(self.key, self.box, self.run.limits)
        loops: dict[tuple[int, SpecKey], dict[int, Action]] = {}
        peels: dict[int, Peel] = {}
        for index, action in enumerate(actions):
            dim = action.loop_dim(self.key)
            if isinstance(action, Peel) and self._stays(action):
                peels[index] = action
            elif dim is None:
                self._gather(index, action, frame)
            else:
                group = dim, action.loop_key(self.key)
                loops.setdefault(group, {})[index] = action
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
            self._loop_within(own)

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
        priced = {i: (peel, self._price(peel, frame)) for i, peel in peels.items()}
        for dim in self.key.kind.reductions:
            axis = self.box.sizes[dim]
            for at in range(len(axis)):
                part = self._part(dim, at)
                for index, (peel, price) in priced.items():
                    if price is not None and peel.size in axis[:at]:
                        part._improve(index, *self._first(dim, at, peel, *price))
                part._loop_within(loops)

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

    def _loop_within(self, loops: dict[int, dict[int, Action]]) -> None:
        """Loops whose holes are in this table, until nothing changes."""
        plans = []
        for dim, found in loops.items():
            axis = self.box.sizes[dim]
            plan = plan_axis(
                self.key, dim, axis, axis, tuple(found.values()), self.target
            )
            if not plan.is_empty:
                plans.append((dim, plan, np.asarray(list(found), np.int32)))
                self._count_loops(dim, plan)
        if not plans:
            return
        if self.pinned:  # slices that cost the same may have other pins
            _repeat(
                lambda dim, plan, indices: sweep_around(
                    self.costs, self.decisions, dim, plan, indices, self.fixed
                ),
                plans,
            )
            return
        slices = Slices.of(self.costs, len(self.box.sizes))
        costs, decisions = slices.costs, slices.decisions
        _repeat(
            lambda dim, plan, indices: sweep(
                costs, decisions, costs, dim, plan, indices
            ),
            plans,
        )
        slices.write_back(self.costs, self.decisions)

    def _loop_below(self, dim: int, key: SpecKey, loops: dict[int, Action]) -> None:
        """Loops whose tiles have another key: an operand stops being contiguous."""
        identity = TableId(key, self.id.sizes, self.run.free(key, self.id))
        table = self.run.costs(identity)
        if not table.costs.size:
            return
        plan = plan_axis(
            self.key,
            dim,
            self.box.sizes[dim],
            table.box.sizes[dim],
            tuple(loops.values()),
            self.target,
        )
        self._count_loops(dim, plan)
        below = np.ascontiguousarray(aligned(table, self.box, dim))
        sweep(
            self.costs,
            self.decisions,
            below,
            dim,
            plan,
            np.asarray(list(loops), np.int32),
        )

    def _count_loops(self, dim: int, plan: Plan) -> None:
        self.impls += len(plan.actions) * (self.costs.size // self.costs.shape[dim])

    def _gather(self, index: int, action: Action, frame: Frame) -> None:
        """Try an action whose holes are in other tables, everywhere at once."""
        price = self._price(action, frame)
        if price is not None:
            self._improve(index, *price)

    def _price(
        self, action: Action, frame: Frame
    ) -> tuple[Floats, tuple[int, ...]] | None:
        """What an action costs with its holes in other tables, and where it applies.

        The part of the box, from its origin; None if it is empty.
        """
        expansion = action.expand(frame, self.target)
        legal = _legal(expansion)
        if not np.any(legal):
            return None
        identities = tuple(
            self.run.child_id(self.id, child) for child in expansion.children
        )
        window = self._window(frame, expansion, identities)
        if window is None:
            return None
        part = _restrict(frame, window)
        if part is not frame:
            expansion = action.expand(part, self.target)
            legal = _legal(expansion)
        axes = tuple(a[:n] for a, n in zip(self.box.axes, window, strict=True))
        total: Any = self._own(expansion)
        for child, identity in zip(expansion.children, identities, strict=True):
            if identity == self.id:
                continue
            table = self.run.costs(identity)
            if not table.costs.size:
                return None
            total = total + self._hole(child, look_up(table, part, axes, child.frame))
        total = np.where(legal, total, np.inf)
        self.impls += int(np.count_nonzero(legal)) * (total.size // np.size(legal))
        return total, window

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

    def _window(
        self, frame: Frame, expansion: Expansion, identities: tuple[TableId, ...]
    ) -> tuple[int, ...] | None:
        """The part of the box, from its origin, outside which a hole has no program."""
        extents = list(self.box.shape)
        for child, identity in zip(expansion.children, identities, strict=True):
            below = self.run.box(identity)
            for place, dim in enumerate(child.dims):
                if not below.sizes[place]:
                    return None
                if child.frame.sizes[place] is not frame.sizes[dim]:
                    continue  # a part of the dimension
                top = below.sizes[place][-1]
                fit = bisect.bisect_right(self.box.sizes[dim], top)
                extents[dim] = min(extents[dim], fit)
        return tuple(extents) if all(extents) else None


def _repeat(step: Callable[..., bool], plans: list[tuple[Any, ...]]) -> None:
    """Sweep along every axis until no cost falls; one axis is done after one sweep."""
    changed = True
    while changed:
        results = [step(*plan) for plan in plans]
        changed = any(results) and len(plans) > 1


def _legal(expansion: Expansion) -> Bools:
    """Where in its frame an action applies."""
    legal: Bools = np.bool_(True)
    for condition in expansion.conditions:
        legal = legal & condition.holds
    return legal


def _restrict(frame: Frame, window: tuple[int, ...]) -> Frame:
    if all(size.shape[dim] == window[dim] for dim, size in enumerate(frame.sizes)):
        return frame
    sizes = tuple(
        array[(slice(None),) * dim + (slice(window[dim]),)]
        for dim, array in enumerate(frame.sizes)
    )
    left = frame.limits.vrf
    if np.ndim(left):
        part = tuple(
            slice(window[dim]) if extent > 1 else slice(None)
            for dim, extent in enumerate(left.shape)
        )
        left = left[part]
    return Frame(frame.key, sizes, frame.limits.replace(Level.VRF, left))


def aligned(table: Costs, box: Box, dim: int) -> Floats:
    """A table's costs at the coordinates of another box, on all axes but ``dim``."""
    costs = table.costs
    for place, (theirs, ours) in enumerate(zip(table.box.axes, box.axes, strict=True)):
        if place == dim or theirs == ours:
            continue
        found, gaps = positions(theirs, ours)
        costs = costs.take(found, axis=place)
        if gaps:
            window = (slice(None),) * place + (found < 0,)
            costs[window] = np.inf
    return costs
