"""One action on all sizes of a range: the Specs with ranges that it leaves.

The conditions of the action have to hold at each size, with what is left of the
memories at the greatest. A dimension of a hole that depends on the range is as long as
that, or a multiple of it; what remains of a loop along it is a range of its own.
"""

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from morello.errors import ScheduleError
from morello.machine import Target
from morello.spec import Limits, SizeRange, Spec
from morello.spec.frame import Frame
from morello.spec.varying import why_settled

_PARTS = frozenset({"main", "remainder", "low", "high"})
"""Holes that some sizes have and others have not."""

Array = np.ndarray[Any, Any]


class Left(NamedTuple):
    """A hole: its role, its Spec, and how often it counts at the greatest size."""

    role: str
    spec: Spec
    times: int


class Rewriting(Protocol):
    """An action (`morello.actions.base.Action`)."""

    name: ClassVar[str]
    takes_ranges: ClassVar[bool]

    def passes(self, spec: Spec) -> bool:
        """Whether it passes the ranges of a Spec on."""

    def expand(self, frame: Frame, target: Target) -> Any:
        """The rewrite of every Spec of a frame."""


class SizesError(ScheduleError):
    """An action does not apply at some sizes of a range.

    Args:
        what, remedy: as of any error.
        holds: for each size, ascending, whether it applies.
    """

    def __init__(self, what: str, holds: Array, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.holds = holds


def rewrite_over(
    action: Rewriting, spec: Spec, target: Target
) -> tuple[int, tuple[Left, ...]]:
    """The cost of the rewrite of a Spec with a range, and the holes that it leaves.

    Raises:
        SizesError: the action does not apply at some size.
        ScheduleError: it applies to settled sizes alone, or there are two ranges.
    """
    if len(spec.ranges) > 1:
        raise ScheduleError(f"{action.name} takes one range of sizes, not two")
    one = spec.ranges[0]
    sizes = np.asarray(one.sizes(spec.greatest[0]))
    if not action.takes_ranges or not action.passes(spec):
        raise SizesError(
            f"{action} takes settled sizes, but each call says that of dimension "
            f"{spec.kind.dims[one.dims[0]]} of {spec}",
            np.zeros(len(sizes), bool),
            "part the sizes by 'range'",
        )
    frame = Frame(
        spec.key,
        tuple(sizes if d in one.dims else s for d, s in enumerate(spec.sizes)),
        spec.limits,
    )
    expansion = action.expand(frame, target)
    holds = np.ones(len(sizes), bool)
    for condition in expansion.conditions:
        if not condition.is_of_settled or np.ndim(condition.holds) == 0:
            holds &= np.broadcast_to(condition.holds, sizes.shape)
    if not holds.all():
        size = int(sizes[np.argmin(holds)])
        settled = action.expand(Frame.of(spec.at(size)), target)
        reason = settled.refusal() or "it leaves other holes"
        raise SizesError(
            f"{action.name} does not apply to {spec} at the size {size}: {reason}",
            holds,
        )
    holes = tuple(
        _hole(action, child, sizes)
        for child in expansion.children
        if np.any(child.exists)
    )
    return (int(_last(expansion.cost)), holes)


def _hole(action: Rewriting, child: Any, sizes: Array) -> Left:
    exists = np.broadcast_to(child.exists, sizes.shape) != 0
    if not exists.all() and child.role not in _PARTS:
        raise SizesError(f"{action} leaves '{child.role}' of some sizes only", exists)
    frame = child.frame
    wholes = [np.broadcast_to(size, sizes.shape)[exists] for size in frame.sizes]
    varying = {dim: own for dim, own in enumerate(wholes) if np.ptp(own)}
    ranges: tuple[SizeRange, ...] = ()
    if varying:
        first, *others = varying.values()
        if any(not np.array_equal(own, first) for own in others):
            raise SizesError(f"{action} leaves two ranges of sizes", ~exists)
        if child.role != "remainder":
            _check_multiple(action, first, sizes[exists])
        found = np.unique(first)
        step = int(np.gcd.reduce(np.diff(found)))
        ranges = (SizeRange(tuple(varying), int(found[0]), step),)
    free = tuple(int(np.min(amount)) for amount in frame.limits.free)
    limits = Limits(frame.limits.memories, free)
    key = frame.key
    greatest = tuple(int(own.max()) for own in wholes)
    spec = Spec(key.kind, greatest, key.tensors, limits, key.serial, ranges=ranges)
    reason = why_settled(spec)
    if reason:
        raise SizesError(f"{action} leaves {spec}: {reason}", ~exists)
    return Left(child.role, spec, int(_last(child.times)))


def _check_multiple(action: Rewriting, own: Array, sizes: Array) -> None:
    """Refuse sizes of a hole that are no multiple of the range's."""
    if np.any(own * sizes[-1] != sizes * own[-1]):
        raise SizesError(
            f"{action} leaves sizes that are no multiples of the range's",
            np.zeros(len(sizes), bool),
        )


def _last(numbers: Any) -> Any:
    """The number of the greatest size."""
    return np.asarray(numbers).reshape(-1)[-1]
