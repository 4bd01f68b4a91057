"""The points of each table that programs of a goal need: a pass from the goal down.

Before anything is solved, each table gets the box of the points that some program may
come to, as bounds on each axis. It is closed: a loop in the table leads to all smaller
sizes, and what an action leaves in another table, wherever it applies in the box, is in
the box of that. So the optimum of the goal is that of whole tables, whatever they cost.

A table is visited once all that leads to it was, as a rule: one of which more is needed
later is visited again. One that is a part of another which was visited, as a table of a
key with fewer sizes may be, is not followed: it will be cut from that one.
"""

import heapq
import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from morello.actions import Action
from morello.search.dp.axes import goal_dims
from morello.search.dp.box import (
    ANY,
    Axis,
    Box,
    Spans,
    all_of,
    is_within,
    part_of,
    spans_in,
    united,
)
from morello.search.dp.evaluate import Evaluated, Evaluations, Ranges
from morello.search.dp.grouping import Grouped, grouped
from morello.search.dp.table import TableId
from morello.spec import SpecKey

WORTH = 512
"""How many points have to be left out of a table, times how many times more it has than
are needed; else it is solved whole. The more tables are, the more do goals share, and
keys share what an action says on a box, which takes as long as thousands of points."""

FEW_SIZES = 1 << 17
"""Goals with so many combinations of sizes, all of them twice for each dimension, are
not followed: to follow one takes as long as some million points, which the tables of
these hardly have more than."""


def pays(axes: tuple[Axis, ...]) -> bool:
    """Whether a goal with these axes has so many points that it pays to follow it: the
    more dimensions there are, the more tables have points of each combination."""
    return math.prod(2 * len(axis) for axis in axes if len(axis) > 1) > FEW_SIZES


class Tables(Protocol):
    """The interface through which the pass asks what leads where."""

    evaluations: Evaluations

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table."""

    def whole_box(self, identity: TableId) -> Box:
        """The box of all points of a table."""

    def holes(
        self, identity: TableId, action: Action, evaluated: Evaluated
    ) -> list[TableId]:
        """The tables of the holes of an action."""

    def loop_id(self, parent: TableId, key: SpecKey) -> TableId:
        """The table of the tiles of loops, where these have another key."""

    def has_part(self, other: TableId, identity: TableId) -> bool:
        """Whether a table is part of a larger one of the same key."""

    def pause(self) -> None:
        """Let Ctrl-C, or what watches the search, end it."""


class Reachability:
    """One pass, from points of a table.

    Args:
        tables: tell what leads where.
        known: the boxes of earlier passes, which only grow.
        read: gives the box of a table that need not be solved for its points in another
            one, so that the pass ends there; None for one that has to be solved.
        is_through: whether tables are followed though an earlier pass was there.
    """

    def __init__(
        self,
        tables: Tables,
        known: dict[TableId, Box],
        read: Callable[[TableId, Box], Box | None],
        is_through: bool = False,
    ) -> None:
        self._tables = tables
        self._known = known
        self._read = read
        self._is_through = is_through
        self.has_read = False
        """Whether it ended at a table that is read, or cut from another one."""
        self.wholes: dict[TableId, TableId] = {}
        """For each table that is part of a larger one, that larger table."""
        self._followed: dict[SpecKey, list[TableId]] = {}
        self._spans: dict[TableId, Spans] = {}
        self._boxes: dict[TableId, Box] = {}
        self._waiting: list[tuple[tuple[int, ...], int, int, TableId]] = []
        self._queued: set[TableId] = set()
        self._numbers = itertools.count()

    def boxes(self, root: TableId, spans: Spans) -> dict[TableId, Box]:
        """The boxes of ``root`` and of all that its points lead to.

        Args:
            spans: those points.
        """
        self._need(root, spans)
        self._queue(root)
        while self._waiting:
            *_, identity = heapq.heappop(self._waiting)
            self._queued.discard(identity)
            self._boxes[identity] = self._visit(identity, identity is root)
        return self._boxes

    def _visit(self, identity: TableId, is_root: bool) -> Box:
        """Add the points of other tables that those of a table need; return its box."""
        tables, key = self._tables, identity.key
        tables.pause()
        whole = tables.whole_box(identity)
        groups = grouped(tables.candidates(identity), key)
        spans: Spans | None = None
        box = whole
        while spans != self._spans[identity]:
            spans = _closed(identity, whole, self._spans[identity], groups)
            box = part_of(whole, spans)
            read = self._read(identity, box)
            if read is not None:
                self.has_read = True
                self._spans[identity] = spans_in(whole, read) or ()
                return read
            self._spans[identity] = spans
            if not (is_root or self._is_through) and self._is_part(identity, box):
                self.has_read = True
                return box
            for action in (*groups.parts.values(), *groups.gathers.values()):
                if not action.ends:
                    self._follow(identity, action, box)
        for dim, tiles in groups.loops:
            if tiles != key:
                below = tables.loop_id(identity, tiles)
                self._need(below, _of_tiles(tables.whole_box(below), box, dim))
        self.wholes.pop(identity, None)
        followed = self._followed.setdefault(key, [])
        if identity not in followed:
            followed.append(identity)
        return box

    def _is_part(self, identity: TableId, box: Box) -> bool:
        """Whether some points of a table are those of another one that was followed."""
        has_part = self._tables.has_part
        for other in self._followed.get(identity.key, ()):
            has_points = spans_in(self._boxes[other], box) is not None
            if has_points and other is not identity and has_part(other, identity):
                self.wholes[identity] = other
                return True
        return False

    def _follow(self, identity: TableId, action: Action, box: Box) -> None:
        """Add the points of the child Specs of an action on the Specs of a box."""
        tables = self._tables
        evaluated = tables.evaluations.evaluated(action, identity.key, box)
        if evaluated is None:
            return
        holes = tables.holes(identity, action, evaluated)
        for hole, ranges in zip(holes, evaluated.ranges, strict=True):
            spans = ranges and _located(tables.whole_box(hole), ranges)
            self._need(hole, spans or ())

    def _need(self, identity: TableId, spans: Spans) -> None:
        """Add points of a table to those that are needed; there may be none so far."""
        before = self._spans.get(identity)
        if before is None:
            whole = self._tables.whole_box(identity)
            known = self._known.get(identity)
            before = () if known is None else spans_in(whole, known) or ()
            self._spans[identity] = before
            if known is None:
                self._boxes[identity] = part_of(whole, before)
            if self._is_through and united(before, spans):
                self._queue(identity)
        if spans is before or is_within(spans, before):
            return
        self._spans[identity] = united(before, spans)
        self._queue(identity)

    def _queue(self, identity: TableId) -> None:
        """Queue a table to be visited, even if it was visited before."""
        if self._spans[identity] and identity not in self._queued:
            self._queued.add(identity)
            extent = len(identity.free) + sum(map(len, identity.sizes))
            turn = rank(identity.key), -extent, next(self._numbers)
            heapq.heappush(self._waiting, (*turn, identity))


def _closed(identity: TableId, whole: Box, spans: Spans, groups: Grouped) -> Spans:
    """The points that those of a table lead to by loops and first parts, and with them
    those of other goals that share the table; all points where few could be left out.
    """
    closed = list(spans)
    for dim, tiles in groups.loops:
        if tiles == identity.key:
            closed[dim] = 0, closed[dim][1]
    for action in groups.parts.values():
        dim, size = action.first_part(identity.key) or (0, 0)
        if size in whole.sizes[dim]:
            first, last = closed[dim]
            closed[dim] = min(first, whole.sizes[dim].index(size)), last
    for dim in goal_dims(identity.key, identity.sizes):
        closed[dim] = 0, len(whole.sizes[dim])
    points = math.prod(last - first for first, last in closed)
    is_less = (whole.size - points) * whole.size >= WORTH * points
    return tuple(closed) if is_less else all_of(whole)


@lru_cache(maxsize=65536)
def _located(whole: Box, ranges: Ranges) -> Spans:
    """The positions of all points of a table whose coordinates are from the least to
    the greatest of some; nothing where there are none."""
    spans = []
    for axis, (least, greatest) in zip(whole.axes, ranges, strict=True):
        if axis == (ANY,):
            spans.append((0, 1))
            continue
        first, last = bisect_left(axis, least), bisect_right(axis, greatest)
        if first >= last:
            return ()
        spans.append((first, last))
    return tuple(spans)


@lru_cache(maxsize=65536)
def _of_tiles(whole: Box, box: Box, dim: int) -> Spans:
    """The positions of the tiles that loops over a dimension make of the Specs of a
    box: any smaller size along it, and those of the box along the others."""
    ranges = []
    for place, (axis, theirs) in enumerate(zip(box.axes, whole.axes, strict=True)):
        if not axis or not theirs:
            return ()
        if place == dim:
            ranges.append((0, axis[-1] - 1))
        elif axis == (ANY,):
            ranges.append((theirs[0], theirs[-1]))
        else:
            ranges.append((axis[0], axis[-1]))
    return _located(whole, tuple(ranges))


@lru_cache(maxsize=65536)
def rank(key: SpecKey) -> tuple[int, ...]:
    """Order of a key among all: as a rule a key comes before those that it leads to."""
    kind, graph = key.kind, key.kind.as_graph
    tensors = key.tensors
    return (
        int(kind.moves_data),
        0 if graph is None else -len(graph.nodes),
        0 if graph is None else -len(graph.padded_dims),
        -len(kind.dims),
        int(kind.accumulates),
        int(key.serial),
        sum(len(tensor.level.path) for tensor in tensors),
        sum(tensor.dtype.itemsize for tensor in tensors),
        sum(tensor.layout.is_packed for tensor in tensors),
        -sum(tensor.contiguous for tensor in tensors),
    )
