"""Identities of tables: which one a hole is looked up in, and the box of each."""

import dataclasses
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from morello.actions import Action, Child
from morello.machine import Target
from morello.search.dp import axes as ax
from morello.search.dp.axes import Free, Goals
from morello.search.dp.box import Axis, Box
from morello.search.dp.evaluate import Evaluated, Evaluations
from morello.search.dp.table import TableId, frame_of
from morello.search.storage.table_store import TableStore
from morello.spec import Limits, Memory, SpecKey
from morello.spec.embedding import ONE


@dataclasses.dataclass(frozen=True)
class _Known:
    """Facts about a key that the search asks for repeatedly.

    Args:
        passed: the memories that operands are in, or came through.
        decides: the memories whose remaining amount can still matter.
    """

    passed: frozenset[Memory]
    decides: Free

    @staticmethod
    @lru_cache(maxsize=65536)
    def of(key: SpecKey, target: Target) -> "_Known":
        """The facts on a target without a context: all goals share them."""
        levels = {tensor.level for tensor in key.tensors}
        passed = levels.union(*(level.path for level in levels))
        counted = target.limits.memories
        decides = tuple(m for m in counted if ax.matters(key, m, target))
        return _Known(frozenset(passed), decides)


class Identities:
    """Names the tables of goals with one set of limits.

    Args:
        limits: the limits of the goals.
        room: the memory that one operand of a goal may take.
        target: the machine that the goals are solved for.
        store: the tables.
        goals: the goals that are searched together.
    """

    def __init__(
        self,
        limits: Limits,
        room: Limits,
        target: Target,
        store: TableStore,
        goals: Goals,
    ) -> None:
        self.limits = limits
        self.room = room
        self.target = target
        self.store = store
        self.goals = goals
        self.evaluations = Evaluations(limits, target)
        self._below_of: dict[tuple[TableId, Action], list[TableId]] = {}
        self._boxes: dict[TableId, Box] = {}
        self._new_axes: dict[tuple[TableId, Action | None, str, int], Axis] = {}
        """For each hole, the sizes of a dimension that the parent Spec lacks."""
        self._keys: dict[SpecKey, _Known] = {}
        self._taken: dict[TableId, frozenset[Memory]] = {}
        """For each table, the memories that its programs may occupy in part."""

    @property
    def dense(self) -> ax.Dense:
        """The axes of which each size is a goal's."""
        return self.store.dense

    def tiles(self, actions: Iterable[Action], identity: TableId) -> Iterator[Action]:
        """The actions of which loops have tiles that a goal of one size would have:
        those of the ladder, where each size is a goal."""
        fine: dict[int, int] = {}  # of each dimension: long axes take long to look up
        for place, axis in enumerate(identity.sizes):
            if axis in self.dense:
                fine[place] = self.goals.fine if axis in self.goals.axes else ax.ALL
        for action in actions:
            dim = action.loop_dim(identity.key)
            if (
                dim is None
                or dim not in fine
                or ax.is_rung(action.loop_size, fine[dim])
            ):
                yield action

    def root(self, key: SpecKey, sizes: tuple[Axis, ...]) -> TableId:
        """The table of a goal."""
        return self.loop_id(TableId(key, sizes, ()), key)

    def child_id(
        self,
        parent: TableId,
        key: SpecKey,
        dims: tuple[int, ...],
        action: Action | None = None,
        role: str = "",
    ) -> TableId:
        """The table that a hole of a parent's table is looked up in.

        Args:
            key: of the hole.
            dims: for each of its dimensions, that of the parent (`Child.dims`).
            action: leaves the hole; goals that are searched together need it.
            role: of the hole.
        """
        sizes = tuple(
            [
                parent.sizes[d]
                if d >= 0
                else self._new_axis(key, dim, -1 - d, (parent, action, role))
                for dim, d in enumerate(dims)
            ]
        )
        return self._below(key, sizes, parent)

    def _new_axis(
        self,
        key: SpecKey,
        dim: int,
        size: int,
        hole: tuple[TableId, Action | None, str],
    ) -> Axis:
        """The sizes of a dimension of a hole that the parent Spec lacks. It has
        those of all goals that are searched together."""
        parent, action, role = hole
        if action is None or self.dense.isdisjoint(parent.sizes):
            return ax.new_axis(key, dim, size, self.target.threads)
        if (*hole, dim) not in self._new_axes:
            self._new_axes[*hole, dim] = self._axis_of_all(parent, action, role, dim)
        return self._new_axes[*hole, dim]

    def _axis_of_all(
        self, parent: TableId, action: Action, role: str, dim: int
    ) -> Axis:
        """The sizes that a hole of a whole table has along a dimension of its own."""
        frame = frame_of(parent.key, self.whole_box(parent), self.limits)
        children = action.expand(frame, self.target).children
        (child,) = (child for child in children if child.role == role)
        sizes = np.unique(child.frame.sizes[dim]).tolist()
        axes = (
            ax.new_axis(child.frame.key, dim, size, self.target.threads)
            for size in sizes
        )
        axis = tuple(sorted({one for sizes_of_one in axes for one in sizes_of_one}))
        # Where all axes are those of goals, equal axes mean the same in any order.
        if len(sizes) > 1 or self.dense.issuperset(parent.sizes):
            self.store.dense |= {axis}
        return axis

    def holes(
        self, identity: TableId, action: Action, evaluated: Evaluated
    ) -> list[TableId]:
        """The tables of the holes of an action on the points of a table."""
        known = self._below_of.get((identity, action))
        if known is not None:
            return known
        keys = self.evaluations.child_keys(action, identity.key)
        children = evaluated.children
        every_dims = tuple(child.dims for child in children)
        if any(dim < ONE for dims in every_dims for dim in dims):
            whole = self.whole_box(identity)
            if whole is not evaluated.box:
                every_dims = self.evaluations.child_dims(action, identity.key, whole)
        below = [
            self.child_id(identity, key, dims, action, child.role)
            for key, dims, child in zip(keys, every_dims, children, strict=True)
        ]
        self._below_of[identity, action] = below
        return below

    def hole_id(self, parent: TableId, action: Action, child: Child) -> TableId:
        """The table that contains a child of an action; that of a loop may be the
        parent's own."""
        if action.loop_dim(parent.key) is None:
            key = child.frame.key
            return self.child_id(parent, key, child.dims, action, child.role)
        key = action.loop_key(parent.key)
        if key == parent.key:
            return parent
        return self.loop_id(parent, key)

    def loop_id(self, parent: TableId, key: SpecKey) -> TableId:
        """The table of the tiles of loops, where these have another key."""
        return self._below(key, parent.sizes, parent)

    def _below(self, key: SpecKey, sizes: tuple[Axis, ...], parent: TableId) -> TableId:
        """The identity of a table that a parent's Specs lead to.

        Limits that may differ from the goal's are the parent's, and those of memories
        that hold an operand of parent or child, a part of which may thus be occupied.
        """
        known = self._known(key)
        taken = self._taken.get(parent)
        if taken is None:
            taken = self._known(parent.key).passed.union(parent.free)
            self._taken[parent] = taken
        free = [m for m in known.decides if m in known.passed or m in taken]
        return TableId(key, sizes, tuple(free))

    def _known(self, key: SpecKey) -> _Known:
        facts = self._keys.get(key)
        if facts is None:
            facts = self._keys[key] = _Known.of(key, self.target.plain)
        return facts

    def whole_box(self, identity: TableId) -> Box:
        """The box of all points of a table."""
        box = self._boxes.get(identity)
        if box is None:
            box = ax.box(
                identity.key,
                identity.sizes,
                self.limits,
                self.room,
                identity.free,
                self.target,
                self.dense,
            )
            self._boxes[identity] = box
        return box
