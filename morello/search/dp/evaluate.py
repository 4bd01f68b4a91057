"""An action on all of a table at once: where it applies, and its holes' tables."""

import bisect
import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from morello.actions import Action, Child, Expansion
from morello.machine import Target
from morello.search.dp.axes import Axis, Box
from morello.search.dp.gather import Known, known_axes, look_up
from morello.search.dp.table import Costs, Floats, TableId
from morello.spec import Level, Limits
from morello.spec.frame import Bools, Frame


class Below(Protocol):
    """What says of the holes of an action where they are looked up."""

    target: Target

    def box(self, identity: TableId) -> Box:
        """The box of a table."""

    def child_id(self, parent: TableId, child: Child) -> TableId:
        """The table that a hole of a parent's table is looked up in."""

    def costs(self, identity: TableId) -> Costs:
        """The costs of a table."""


@dataclasses.dataclass(frozen=True)
class Applied:
    """An action, expanded on the part of a table where its holes may have programs.

    Args:
        window: the part of the box, from its origin.
        axes: the coordinates there, of the sizes and of the limits.
        frame: the Specs there.
        legal: where the action applies; it broadcasts to the window.
        holes: those that are in other tables, and the costs of these.
    """

    window: tuple[int, ...]
    axes: tuple[Axis, ...]
    frame: Frame
    expansion: Expansion
    legal: Bools
    holes: tuple[tuple[Child, Costs], ...]

    @classmethod
    def of(
        cls, action: Action, identity: TableId, box: Box, frame: Frame, run: Below
    ) -> "Applied | None":
        """An action on a table; None where it applies nowhere or leads nowhere."""
        expansion = action.expand(frame, run.target)
        legal = _legal(expansion)
        if not np.any(legal):
            return None
        identities = tuple(
            run.child_id(identity, child) for child in expansion.children
        )
        boxes = tuple(run.box(below) for below in identities)
        window = _window(box, frame, expansion, boxes)
        if window is None:
            return None
        part = _restrict(frame, window)
        if part is not frame:
            expansion = _cut(expansion, frame, part, window)
            legal = _cut_array(legal, window)
        holes = []
        for child, below in zip(expansion.children, identities, strict=True):
            if below == identity:
                continue
            table = run.costs(below)
            if not table.slices.size:
                return None
            holes.append((child, table))
        axes = tuple(a[:n] for a, n in zip(box.axes, window, strict=True))
        return cls(window, axes, part, expansion, legal, tuple(holes))

    @functools.cached_property
    def known(self) -> Known:
        """The dimension and the coordinates of each array of the frame."""
        return known_axes(self.frame, self.axes)

    def total(self, own: Any, hole: Callable[[Child, Floats], Floats]) -> Floats:
        """What the action costs: an array that broadcasts to the window.

        Args:
            own: what it costs by itself.
            hole: what a hole adds, given its costs.
        """
        total = own
        for child, table in self.holes:
            costs = look_up(table, self.frame, self.axes, child.frame)
            total = total + hole(child, costs)
        return np.where(self.legal, total, np.inf)

    def compared(self, size: int) -> int:
        """How many implementations that is, where so many costs tell all."""
        return int(np.count_nonzero(self.legal)) * (size // np.size(self.legal))


def _legal(expansion: Expansion) -> Bools:
    """Where in its frame an action applies."""
    legal: Bools = np.bool_(True)
    for condition in expansion.conditions:
        legal = legal & condition.holds
    return legal


def _window(
    box: Box, frame: Frame, expansion: Expansion, boxes: tuple[Box, ...]
) -> tuple[int, ...] | None:
    """The part of the box, from its origin, outside which a hole has no program."""
    extents = list(box.shape)
    for child, below in zip(expansion.children, boxes, strict=True):
        for place, dim in enumerate(child.dims):
            if not below.sizes[place]:
                return None
            if child.frame.sizes[place] is not frame.sizes[dim]:
                continue  # a part of the dimension
            top = below.sizes[place][-1]
            extents[dim] = min(extents[dim], bisect.bisect_right(box.sizes[dim], top))
    return tuple(extents) if all(extents) else None


def _cut(
    expansion: Expansion, frame: Frame, part: Frame, window: tuple[int, ...]
) -> Expansion:
    """What an action makes of the part of a frame; its conditions are left out."""
    ours = {
        id(whole): cut
        for whole, cut in zip(
            (*frame.sizes, frame.limits.vrf),
            (*part.sizes, part.limits.vrf),
            strict=True,
        )
    }

    def cut(values: Any) -> Any:
        known = ours.get(id(values))
        return _cut_array(values, window) if known is None else known

    children = []
    for child in expansion.children:
        limits = child.frame.limits
        below = Frame(
            child.frame.key,
            tuple(map(cut, child.frame.sizes)),
            Limits(cut(limits.vrf), cut(limits.l1), cut(limits.l2)),
        )
        there = None if child.there is None else cut(child.there)
        times = cut(child.times)
        children.append(Child(child.role, below, times, child.dims, there))
    return Expansion((), cut(expansion.cost), tuple(children))


def _cut_array(values: Any, window: tuple[int, ...]) -> Any:
    """The part from the origin of what broadcasts to a box; itself if it is all."""
    if not np.ndim(values):
        return values
    shape = values.shape
    if all(extent <= top for extent, top in zip(shape, window, strict=True)):
        return values
    return values[tuple(map(slice, window))]


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
