"""One action on all sizes of ranges: the Specs with ranges that it leaves.

The conditions of the action have to hold at each size, with what is left of the
memories at the greatest. A dimension of a hole that depends on a range is as long as
that, or a multiple of it; what remains of a loop along it is a range of its own.

Of a range without end conditions are asked at the sizes that have a price, and what
keeps more for a greater size is refused: loops, and what these leave, decide there.
"""

import dataclasses
import itertools
import math
from typing import Any, ClassVar, NamedTuple, NoReturn, Protocol

import numpy as np

from morello.errors import ScheduleError
from morello.machine import Target
from morello.spec import Limits, SizeRange, Spec, SpecKey
from morello.spec.frame import Frame, Ints
from morello.spec.varying import why_settled

_PARTS = frozenset({"main", "remainder", "low", "high"})
"""Roles of the holes that may be missing at some of the sizes."""

Array = np.ndarray[Any, Any]


class Left(NamedTuple):
    """A hole: its role, its Spec, how often it counts at the greatest sizes, and for
    each range of it that of the rewritten Spec which it follows from."""

    role: str
    spec: Spec
    times: int
    follows: tuple[int, ...]


class Rewriting(Protocol):
    """An action (`morello.actions.base.Action`)."""

    name: ClassVar[str]
    takes_ranges: ClassVar[bool]

    @property
    def loop_size(self) -> int:
        """The size of a tile of the loop that it makes."""

    def loop_dim(self, key: SpecKey) -> int | None:
        """The dimension that it makes a loop over."""

    def passes(self, spec: Spec) -> bool:
        """Whether it passes the ranges of a Spec on."""

    def is_unbounded(self, spec: Spec) -> bool:
        """Whether it needs no more memory or code the greater a size is."""

    def varying_cost(
        self, frame: Frame, varying: frozenset[int], target: Target
    ) -> Ints:
        """Millicycles beside the cost of its expansion."""

    def expand(self, frame: Frame, target: Target) -> Any:
        """The rewrite of every Spec of a frame."""


class SizesError(ScheduleError):
    """An action does not apply at some sizes of a range.

    Args:
        what, remedy: as of any error.
        holds: for each of `Spec.calls` whether it applies.
    """

    def __init__(self, what: str, holds: Array, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.holds = holds


def rewrite_over(
    action: Rewriting, spec: Spec, target: Target
) -> tuple[int, tuple[Left, ...]]:
    """The cost of the rewrite of a Spec with ranges, and the holes that it leaves.

    Raises:
        SizesError: the action does not apply at some size, or to settled sizes alone.
    """
    frame = Frame.over(spec)
    grid = tuple(map(len, spec.every_size))
    calls = math.prod(grid)
    if not action.takes_ranges or not action.passes(spec):
        dims = (dim for one in spec.ranges for dim in one.dims)
        raise SizesError(
            f"{action} takes settled sizes, but each call says that of dimension "
            f"{' and '.join(spec.kind.dims[dim] for dim in dims)} of {spec}",
            np.zeros(calls, bool),
            "part the sizes by 'range'",
        )
    if not _takes_end(action, spec):
        raise SizesError(
            f"{action} takes sizes up to one, but those of {spec} have no end",
            np.zeros(calls, bool),
            "part the sizes by 'range', or tile them",
        )
    expansion = action.expand(frame, target)
    holds = np.ones(calls, bool)
    for condition in expansion.conditions:
        if not condition.is_of_settled or np.ndim(condition.holds) == 0:
            holds &= np.broadcast_to(condition.holds, holds.shape)
    if not holds.all():
        _refuse(action, spec, target, holds)
    holes = tuple(
        _child_of_same_sizes(action, child, spec, frame)
        or _child_of_other_sizes(action, child, spec, grid)
        for child in expansion.children
        if np.any(child.exists)
    )
    varying = frozenset(dim for one in spec.ranges for dim in one.dims)
    cost = expansion.cost + action.varying_cost(frame, varying, target)
    return (int(_last(cost)), holes)


def _takes_end(action: Rewriting, spec: Spec) -> bool:
    """Whether an action takes sizes without end where some of a Spec have none. Those
    that have a price leave all that can remain of a loop."""
    for axis, (one, sizes) in enumerate(zip(spec.ranges, spec.every_size, strict=True)):
        if one.is_open and not action.is_unbounded(spec):
            return False
        if one.is_open and _is_along(action, spec, axis):
            period = action.loop_size // math.gcd(action.loop_size, one.step)
            if len(sizes) < period:
                return False
    return True


def _is_along(action: Rewriting, spec: Spec, axis: int) -> bool:
    """Whether an action makes a loop along a range."""
    return action.loop_dim(spec.key) in spec.ranges[axis].dims


def _refuse(action: Rewriting, spec: Spec, target: Target, holds: Array) -> NoReturn:
    """Refuse an action that does not apply at some sizes."""
    call = next(itertools.islice(spec.calls, int(np.argmin(holds)), None))
    settled = action.expand(Frame.of(spec.point(*call)), target)
    reason = settled.refusal() or "it leaves other holes"
    word = "size" if len(call) == 1 else "sizes"
    raise SizesError(
        f"{action.name} does not apply to {spec} at the {word} "
        f"{' and '.join(map(str, call))}: {reason}",
        holds,
    )


def _child_of_same_sizes(
    action: Rewriting, child: Any, spec: Spec, frame: Frame
) -> Left | None:
    """A hole that every call has, of whose dimensions each is as long as one of the
    rewritten Spec, or settled; None of another.

    Args:
        frame: of all calls of the rewritten Spec.
    """
    if np.ndim(child.exists):
        return None
    axes = {
        id(frame.sizes[dim]): axis
        for axis, one in enumerate(spec.ranges)
        for dim in one.dims
    }
    varying: dict[int, list[int]] = {}
    greatest = []
    for dim, size in enumerate(child.frame.sizes):
        if np.ndim(size) == 0:
            greatest.append(int(size))
            continue
        axis = axes.get(id(size))
        if axis is None:
            return None
        varying.setdefault(axis, []).append(dim)
        greatest.append(spec.greatest[axis])
    ranges = {
        axis: dataclasses.replace(spec.ranges[axis], dims=tuple(dims))
        for axis, dims in varying.items()
    }
    exists = np.ones(math.prod(map(len, spec.every_size)), bool)
    return _child(action, child, tuple(greatest), ranges, exists)


def _child(
    action: Rewriting,
    child: Any,
    greatest: tuple[int, ...],
    ranges: dict[int, SizeRange],
    exists: Array,
) -> Left:
    """A hole with ranges, each by that which it follows from.

    Args:
        exists: for each call whether it has the hole.

    Raises:
        SizesError: memory cannot hold an operand of any size.
    """
    key, limits = child.frame.key, child.frame.limits
    free = Limits(limits.memories, tuple(int(np.min(one)) for one in limits.free))
    follows = sorted(ranges, key=lambda axis: ranges[axis].dims)
    child_ranges = tuple(ranges[axis] for axis in follows)
    left = Spec(key.kind, greatest, key.tensors, free, key.serial, ranges=child_ranges)
    reason = why_settled(left)
    if reason:
        raise SizesError(f"{action} leaves {left}: {reason}", ~exists)
    return Left(child.role, left, int(_last(child.times)), tuple(follows))


def _child_of_other_sizes(
    action: Rewriting, child: Any, spec: Spec, grid: tuple[int, ...]
) -> Left:
    """The Spec of a hole.

    Args:
        grid: how many sizes each range of the rewritten Spec has.
    """
    exists = np.broadcast_to(child.exists, math.prod(grid)) != 0
    if not exists.all() and child.role not in _PARTS:
        raise SizesError(f"{action} leaves '{child.role}' of some sizes only", exists)
    places = _places(action, exists, grid)
    frame = child.frame
    varying: dict[int, dict[int, Array]] = {}
    greatest = []
    for dim, size in enumerate(frame.sizes):
        hole_sizes = np.broadcast_to(size, exists.shape).reshape(grid)[np.ix_(*places)]
        greatest.append(int(hole_sizes.max()))
        along = [axis for axis in range(len(grid)) if np.ptp(hole_sizes, axis).any()]
        if len(along) > 1:
            raise SizesError(f"{action} leaves a size of two ranges", ~exists)
        for axis in along:
            line = np.moveaxis(hole_sizes, axis, 0).reshape(len(places[axis]), -1)[:, 0]
            varying.setdefault(axis, {})[dim] = line
    ranges = {}
    for axis, lines in varying.items():
        sizes = np.asarray(spec.every_size[axis])[places[axis]]
        one = _range(action, child.role, lines, sizes, exists)
        is_rest = child.role == "remainder" and _is_along(action, spec, axis)
        is_open = spec.ranges[axis].is_open and not is_rest and child.role != "low"
        ranges[axis] = dataclasses.replace(one, is_open=is_open)
    return _child(action, child, tuple(greatest), ranges, exists)


def _places(action: Rewriting, exists: Array, grid: tuple[int, ...]) -> list[Array]:
    """Indices of the sizes of each range at which an action leaves a child Spec; it
    leaves one at every combination of these."""
    there = exists.reshape(grid)
    axes = range(len(grid))
    places = [
        np.flatnonzero(there.any(tuple(other for other in axes if other != axis)))
        for axis in axes
    ]
    if not there[np.ix_(*places)].all():
        raise SizesError(f"{action} leaves a hole of some pairs of sizes", ~exists)
    return places


def _range(
    action: Rewriting, role: str, lines: dict[int, Array], sizes: Array, exists: Array
) -> SizeRange:
    """The range of the dimensions of a hole that follow from one range.

    Args:
        lines: the sizes of each.
        sizes: of the range that they follow from.
        exists: for each call whether it has the hole.
    """
    first, *others = lines.values()
    if any(not np.array_equal(other, first) for other in others):
        raise SizesError(f"{action} leaves two ranges of sizes", ~exists)
    if role != "remainder":
        _check_multiple(action, first, sizes, exists)
    sizes_of_dim = np.unique(first)
    step = int(np.gcd.reduce(np.diff(sizes_of_dim)))
    return SizeRange(tuple(lines), int(sizes_of_dim[0]), step)


def _check_multiple(
    action: Rewriting, hole_sizes: Array, sizes: Array, exists: Array
) -> None:
    """Refuse sizes of a hole that are no multiple of the range's."""
    if np.any(hole_sizes * sizes[-1] != sizes * hole_sizes[-1]):
        raise SizesError(
            f"{action} leaves sizes that are no multiples of the range's",
            np.zeros_like(exists),
        )


def _last(numbers: Any) -> Any:
    """The number of the greatest size."""
    return np.asarray(numbers).reshape(-1)[-1]
