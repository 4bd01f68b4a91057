"""Programs with holes: decisions that a person made, which the search completes.

A `Partial` is a tree of actions without Specs: it is applied to a Spec by `complete`,
which asks for the program of each hole. It is stored as JSON, action by action, so that
a database can hold it and a search read it without MLIR.
"""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from morello.actions import Action
from morello.errors import ScheduleError
from morello.machine import Target
from morello.search.impl import Branch, Impl
from morello.search.ranges.at_size import CostsAtSizes
from morello.search.storage.serialize import action_data, read_action
from morello.search.storage.strangers import bounded_json
from morello.spec import Spec


@dataclasses.dataclass(frozen=True)
class Partial:
    """A decision and those below it; or a hole."""

    action: Action | None = None
    """None for a hole, whose program is the search's to choose."""
    branches: tuple["Partial", ...] = ()
    """One for each hole that the action leaves, in order."""

    @classmethod
    def of(cls, impl: Impl) -> "Partial":
        """The decisions of a whole program."""
        return cls(impl.action, tuple(cls.of(b.impl) for b in impl.branches))

    @property
    def holes(self) -> int:
        """How many holes it has."""
        if self.action is None:
            return 1
        return sum(branch.holes for branch in self.branches)

    @classmethod
    def parse(cls, text: str) -> "Partial":
        """The decisions that `str` writes.

        Raises:
            ScheduleError: the text is not one, or has an action that this version of
                Morello does not.
        """
        try:
            return _from_data(bounded_json(text))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ScheduleError(f"a stored schedule cannot be read: {error}") from error

    def __str__(self) -> str:
        return json.dumps(_to_data(self), separators=(",", ":"))


HOLE = Partial()


def complete(
    partial: Partial, spec: Spec, target: Target, fill: Callable[[Spec], Impl]
) -> Impl:
    """The program of ``spec`` that begins with the decisions of ``partial``.

    Args:
        partial: what is decided.
        spec: what it is to compute.
        target: the machine as it is for a goal of these sizes, of which each part of a
            range may see another.
        fill: gives the program of a hole.

    Raises:
        ScheduleError: an action does not apply.
        SearchError: a hole has no program (from ``fill``).
    """

    def completed(partial: Partial, part: Spec, target: Target) -> Impl:
        if part.ranges and partial.action is not None and partial.action.splits_sizes:
            # Parts of the goal's range, and not of what remains of a loop.
            return _applied(
                partial, part, target, lambda p, s: completed(p, s, target.at(s, spec))
            )
        return _Completion(target, fill).program(partial, part)

    return completed(partial, spec, target)


def _applied(
    partial: Partial, spec: Spec, target: Target, below: Callable[[Partial, Spec], Impl]
) -> Impl:
    """A decision applied to a Spec, and programs in its holes."""
    assert partial.action is not None
    rewrite = partial.action.apply(spec, target)
    if len(rewrite.holes) != len(partial.branches):
        raise ScheduleError(
            f"{partial.action} leaves {len(rewrite.holes)} holes of {spec}, but "
            f"the schedule goes on in {len(partial.branches)}"
        )
    branches = tuple(
        Branch(hole.role, hole.times, below(decided, hole.spec))
        for hole, decided in zip(rewrite.holes, partial.branches, strict=True)
    )
    cost = rewrite.total(tuple(branch.impl.cost for branch in branches))
    return Impl(spec, partial.action, cost, branches)


class _Completion:
    """Applies decisions; where a Spec comes again with the same, its program is one."""

    def __init__(self, target: Target, fill: Callable[[Spec], Impl]) -> None:
        self._target = target
        self._fill = fill
        self._costs = CostsAtSizes(target)
        self._known: dict[Spec, tuple[Partial, Impl]] = {}

    def program(self, partial: Partial, spec: Spec) -> Impl:
        if partial.action is None:
            return self._fill(spec)
        decided, known = self._known.get(spec, (HOLE, None))
        if known is not None and decided == partial:
            return known
        impl = _applied(partial, spec, self._target, self.program)
        if spec.ranges and not impl.action.splits_sizes:
            impl = self._costs.at_greatest(impl)
        self._known[spec] = partial, impl
        return impl


def _to_data(partial: Partial) -> Any:
    """Null for a hole; else the action's data and those of its branches."""
    if partial.action is None:
        return None
    below = [_to_data(branch) for branch in partial.branches]
    return [*action_data(partial.action), below]


def _from_data(data: Any) -> Partial:
    if data is None:
        return HOLE
    name, fields, below = data
    return Partial(read_action((name, fields)), tuple(map(_from_data, below)))
