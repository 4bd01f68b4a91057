"""The search: solve all Specs of a key at once, each key once, lowest first.

Read `Solver.solve`, then `_Run.table`. Tables depend on each other as their keys do:
levels only go down, layouts go from unpacked to packed, kinds get simpler. Within a
table the actions that leave it are gathers from solved tables, done once; the loops
stay in it and are swept along each axis until nothing changes, which is the optimum
since every loop goes to smaller points.
"""

import bisect
import dataclasses
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from morello.actions import ACTIONS, Action, Child, Expansion
from morello.errors import SearchError
from morello.search import axes as ax
from morello.search.axes import Axis, Box, Free
from morello.search.gather import look_up, positions
from morello.search.impl import Branch, Impl
from morello.search.layers import Layers
from morello.search.packed import Packed
from morello.search.shelf import Shelf
from morello.search.slices import Slices
from morello.search.sweep import plan_axis, sweep
from morello.search.table import (
    COST_BOUND,
    NO_ACTION,
    Costs,
    Floats,
    Table,
    TableId,
    frame_of,
)
from morello.spec import Level, Limits, Spec, SpecKey
from morello.spec.frame import Bools, Frame
from morello.targets import Target


@dataclasses.dataclass(frozen=True)
class Statistics:
    """What a search did."""

    tables: int
    specs: int
    """Points of all tables."""
    seconds: float


@dataclasses.dataclass(frozen=True)
class Solution:
    """The best program of a Spec, and what finding it took."""

    impl: Impl
    statistics: Statistics
    complete: bool = True
    """Whether the whole space was searched; if not, there may be a better program."""


Watch = Callable[[Statistics], None]
"""Told of a search before each table that is solved; what it raises ends the search,
and every table that was solved by then is kept."""


class Solver:
    """Finds the best program of a Spec on a target.

    Tables are kept for as long as the solver lives: a second Spec with the same sizes
    and limits costs nothing. With a database, tables that it has are not solved, and
    those that are solved are stored in it at once.
    """

    def __init__(
        self,
        target: Target,
        database: Layers | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.target = target
        self.database = database
        self.watch = watch
        self._runs: dict[tuple[Limits, Limits], _Run] = {}

    def tables(self, spec: Spec) -> tuple[Table, ...]:
        """The tables solved so far for goals with the limits of ``spec``."""
        return tuple(self.run_of(spec).shelf)

    def run_of(self, spec: Spec) -> "_Run":
        """The tables of goals with the limits of ``spec``, to be read."""
        room = ax.room(spec)
        limits = spec.limits.replace(Level.VRF, room.vrf)
        found = self._runs.get((limits, room))
        if found is None:
            shelf = Shelf(self.target, limits, room, self.database)
            found = _Run(limits, room, self.target, shelf, self.watch)
            self._runs[limits, room] = found
        return found

    def goal_table(self, spec: Spec) -> TableId:
        """The table that a goal is looked up in."""
        sizes = tuple(ax.size_axis(size) for size in spec.sizes)
        return self.run_of(spec).root(spec.key, sizes)

    def solve(self, spec: Spec) -> Solution:
        """The best program of ``spec``.

        Raises:
            SearchError: no program exists, with the likely reason; or the Spec counts
                on registers that the target does not have.
        """
        start = time.perf_counter()
        _check_registers(spec, self.target)
        run = self.run_of(spec)
        before = run.points
        with run.shelf.working():
            impl = run.program(spec, run.entry(self.goal_table(spec)))
        elapsed = time.perf_counter() - start
        return Solution(impl, Statistics(len(run.shelf), run.points - before, elapsed))


class _Run:
    """The tables of all goals with one set of limits."""

    def __init__(
        self,
        limits: Limits,
        room: Limits,
        target: Target,
        shelf: Shelf,
        watch: Watch | None = None,
    ) -> None:
        self.watch = watch
        self.start = time.perf_counter()
        self.limits = limits
        self.room = room
        self.target = target
        self.shelf = shelf
        self.points = 0
        self._boxes: dict[TableId, Box] = {}
        self._pending: set[TableId] = set()
        self._impls: dict[tuple[TableId, Spec], Impl] = {}

    def table(self, identity: TableId) -> Table:
        """The solved table, solving it and what it needs first if it is new."""
        self._ensure(identity)
        return self.shelf.table(identity)

    def costs(self, identity: TableId) -> Costs:
        """Its costs alone."""
        self._ensure(identity)
        return self.shelf.costs(identity)

    def entry(self, identity: TableId) -> Packed:
        """The same table as boxes."""
        self._ensure(identity)
        return self.shelf.entry(identity)

    def _ensure(self, identity: TableId) -> None:
        if identity in self.shelf:
            return
        box = self.box(identity)
        if self.shelf.fetch(identity, box, lambda: self.candidates(identity)):
            return
        if identity in self._pending:
            raise RuntimeError(f"the keys are not a DAG at {identity.key}")
        if self.watch is not None:
            elapsed = time.perf_counter() - self.start
            self.watch(Statistics(len(self.shelf), self.points, elapsed))
        self._pending.add(identity)
        try:
            solved = TableSolver(self, identity).solve()
        finally:  # a search that is interrupted may be taken up again
            self._pending.discard(identity)
        self.shelf.put(solved)
        self.points += solved.costs.size

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table."""
        return _candidates(identity.key, identity.sizes, self.target)

    def root(self, key: SpecKey, sizes: tuple[Axis, ...]) -> TableId:
        """The table of a goal."""
        goal = TableId(key, sizes, Free())
        return dataclasses.replace(goal, free=self.free(key, goal))

    def child_id(self, parent: TableId, child: Child) -> TableId:
        """The table that a hole of a parent's table is looked up in."""
        sizes = tuple(parent.sizes[d] for d in child.dims)
        return TableId(child.frame.key, sizes, self.free(child.frame.key, parent))

    def hole_id(self, parent: TableId, action: Action, child: Child) -> TableId:
        """The same for a hole of any action: loops may stay in their table."""
        if action.loop_dim(parent.key) is None:
            return self.child_id(parent, child)
        key = action.loop_key(parent.key)
        if key == parent.key:
            return parent
        return TableId(key, parent.sizes, self.free(key, parent))

    def free(self, key: SpecKey, parent: TableId) -> Free:
        """Which limits may differ from the goal's in a hole with this key.

        Those that may in the parent, and those of memories where an operand of either
        lies and so may have taken something.
        """
        lowest = min(t.level for t in (*key.tensors, *parent.key.tensors))
        vrf = parent.free.vrf or lowest is Level.VRF
        l1 = parent.free.l1 or lowest <= Level.L1
        l2 = parent.free.l2 or lowest <= Level.L2
        return Free(
            vrf and not ax.holds_registers(key),
            l1 and ax.matters(key, Level.L1, self.target),
            l2 and ax.matters(key, Level.L2, self.target),
        )

    def box(self, identity: TableId) -> Box:
        """The box of a table."""
        found = self._boxes.get(identity)
        if found is None:
            found = ax.box(
                identity.key,
                identity.sizes,
                self.limits,
                self.room,
                identity.free,
                self.target,
            )
            self._boxes[identity] = found
        return found

    def program(self, spec: Spec, table: Table | Packed) -> Impl:
        """The best program of a Spec of a table.

        Raises:
            SearchError: there is none.
        """
        known = self._impls.get((table.id, spec))
        if known is not None:
            return known
        action = table.decision(spec.sizes, spec.limits)
        if action is None:
            raise SearchError(
                f"no program exists for {spec}", _remedy(spec, self.target)
            )
        branches = []
        expansion = action.expand(Frame.of(spec), self.target)
        cost = int(expansion.cost)
        for child in expansion.children:
            if times := int(child.times):
                below = self.entry(self.hole_id(table.id, action, child))
                impl = self.program(child.frame.spec(), below)
                branches.append(Branch(child.role, times, impl))
                cost += times * impl.cost
        impl = Impl(spec, action, cost, tuple(branches))
        self._impls[table.id, spec] = impl
        return impl


def _check_registers(spec: Spec, target: Target) -> None:
    taken = int(ax.registers_taken(spec.key, spec.sizes))
    have = target.registers
    if spec.limits.vrf > have:
        raise SearchError(
            f"{spec} may use {spec.limits.vrf} registers, but target {target.name} has "
            f"{have}",
            f"give vrf={have} or less",
        )
    if taken > have:
        raise SearchError(
            f"the operands of {spec} that are in registers take {taken}, but target "
            f"{target.name} has {have}",
            "use smaller sizes, or operands in L1",
        )


def _remedy(spec: Spec, target: Target) -> str:
    dtypes = ",".join(map(str, spec.dtypes))
    return (
        f"target {target.name} has no kernels that make up {spec.kind.label} on "
        f"{dtypes} with these layouts and limits"
    )


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
        for index, action in enumerate(actions):
            dim = action.loop_dim(self.key)
            if dim is None:
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
        self._loop_within(own)

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
        if not plans:
            return
        slices = Slices.of(self.costs, len(self.box.sizes))
        costs, decisions = slices.costs, slices.decisions
        changed = True
        while changed:
            results = [
                sweep(costs, decisions, costs, dim, plan, indices)
                for dim, plan, indices in plans
            ]
            changed = any(results) and len(plans) > 1
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
        below = np.ascontiguousarray(aligned(table, self.box, dim))
        sweep(
            self.costs,
            self.decisions,
            below,
            dim,
            plan,
            np.asarray(list(loops), np.int32),
        )

    def _gather(self, index: int, action: Action, frame: Frame) -> None:
        """Try an action whose holes are in other tables, everywhere at once."""
        expansion = action.expand(frame, self.target)
        legal = _legal(expansion)
        if not np.any(legal):
            return
        identities = tuple(
            self.run.child_id(self.id, child) for child in expansion.children
        )
        window = self._window(expansion, identities)
        if window is None:
            return
        part = _restrict(frame, window)
        if part is not frame:
            expansion = action.expand(part, self.target)
            legal = _legal(expansion)
        axes = tuple(a[:n] for a, n in zip(self.box.axes, window, strict=True))
        total: Any = self._own(expansion)
        for child, identity in zip(expansion.children, identities, strict=True):
            table = self.run.costs(identity)
            if not table.costs.size:
                return
            total = total + look_up(table, part, axes, child.frame)
        self._improve(index, np.where(legal, total, np.inf), window)

    def _own(self, expansion: Expansion) -> Floats:
        """What an action costs by itself."""
        return np.asarray(expansion.cost, np.float64)

    def _improve(self, index: int, total: Floats, window: tuple[int, ...]) -> None:
        part = tuple(slice(0, extent) for extent in window)
        costs, decisions = self.costs[part], self.decisions[part]
        better = total < costs
        np.copyto(costs, total, where=better)
        np.copyto(decisions, np.int32(index), where=better)

    def _window(
        self, expansion: Expansion, identities: tuple[TableId, ...]
    ) -> tuple[int, ...] | None:
        """The part of the box, from its origin, outside which a hole has no program."""
        extents = list(self.box.shape)
        for child, identity in zip(expansion.children, identities, strict=True):
            below = self.run.box(identity)
            for place, dim in enumerate(child.dims):
                if not below.sizes[place]:
                    return None
                top = below.sizes[place][-1]
                fit = bisect.bisect_right(self.box.sizes[dim], top)
                extents[dim] = min(extents[dim], fit)
        return tuple(extents) if all(extents) else None


def _legal(expansion: Expansion) -> Bools:
    """Where in its frame an action applies."""
    legal: Bools = np.bool_(True)
    for condition in expansion.conditions:
        legal = legal & condition.holds
    return legal


def _candidates(
    key: SpecKey, sizes: tuple[Axis, ...], target: Target
) -> tuple[Action, ...]:
    return tuple(a for kind in ACTIONS for a in kind.candidates(key, sizes, target))


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
