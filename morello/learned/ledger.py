"""Programs as the decisions that they pay for, found once and priced again and again.

A program costs the sum of its decisions, each times how often a call runs it. Decisions
for one action on Specs of one key are priced together, as one frame.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from morello.actions import Action
from morello.machine import Target
from morello.machine.costs import Coefficients, OpCosts, names
from morello.machine.operand_context import OperandContext
from morello.search.impl import Impl
from morello.spec import Limits, Spec, SpecKey
from morello.spec.frame import Frame

Vector = npt.NDArray[np.float64]

FITTED = names(Coefficients, OpCosts)
"""The coefficients that are costs: a cost is linear in them but for maxima."""

_TRAINED_AS = {
    "line_mem_fetched": "line_mem_demand",
    "line_dram_fetched": "line_dram_demand",
}
"""Coefficients whose parts models were trained to see among those of another."""

_UNIT = 1000
"""The price in millicycles of one instruction or line while it is counted."""

Decision = tuple[Spec, Action]


def decisions(impl: Impl) -> dict[Decision, int]:
    """Each different decision of a program, and how often a call runs it."""
    runs_of: dict[Decision, int] = {}

    def visit(node: Impl, runs: int) -> None:
        key = node.spec, node.action
        runs_of[key] = runs_of.get(key, 0) + runs
        for branch in node.branches:
            visit(branch.impl, runs * branch.times)

    visit(impl, 1)
    return runs_of


@dataclasses.dataclass(frozen=True)
class Group:
    """Decisions for the same action on Specs of one key, below goals that lie alike."""

    operand_context: OperandContext
    action: Action
    frame: Frame
    places: npt.NDArray[np.int64]
    """Index of each Spec among all decisions."""

    def cost(self, target: Target) -> Vector:
        """Millicycles of the action by itself, without its children, on each
        Spec."""
        cost = self.action.expand(
            self.frame, target.in_context(self.operand_context)
        ).cost
        return np.asarray(np.broadcast_to(cost, self.places.shape), np.float64)


class Decisions:
    """Many programs and their decisions, found once.

    Args:
        impls: the programs.
        machine: the target, as far as goals are seen by it (`Target.at`).
    """

    def __init__(self, impls: Sequence[Impl], machine: Target) -> None:
        places: dict[tuple[OperandContext, Decision], int] = {}
        paid_by_program = []
        for impl in impls:
            around = machine.at(impl.spec).operand_context
            paid = {(around, one): runs for one, runs in decisions(impl).items()}
            paid_by_program.append(paid)
            for decision in paid:
                places.setdefault(decision, len(places))
        self.decisions = tuple(decision for _, decision in places)
        """All decisions, in the order of the columns of `runs`."""
        self.runs = np.zeros((len(impls), len(places)))
        """How often each program runs each decision."""
        for row, paid in zip(self.runs, paid_by_program, strict=True):
            row[[places[decision] for decision in paid]] = list(paid.values())
        groups: dict[tuple[OperandContext, SpecKey, Action], list[Spec]] = {}
        order: dict[tuple[OperandContext, SpecKey, Action], list[int]] = {}
        for (around, (spec, action)), place in places.items():
            groups.setdefault((around, spec.key, action), []).append(spec)
            order.setdefault((around, spec.key, action), []).append(place)
        self.groups = tuple(
            Group(key[0], key[2], _frame(specs), np.array(order[key]))
            for key, specs in groups.items()
        )

    def decision_costs(self, target: Target) -> Vector:
        """Millicycles of each decision by itself, run once."""
        decision_costs = np.zeros(self.runs.shape[1])
        for group in self.groups:
            decision_costs[group.places] = group.cost(target)
        return decision_costs

    def costs(self, target: Target) -> Vector:
        """Millicycles of a call of each program; at least 1."""
        total = self.runs @ self.decision_costs(target)
        return np.asarray(np.maximum(total, 1.0), np.float64)


class Counts:
    """How often decisions pay for each of `FITTED`.

    All prices but some are 0, so that no maximum hides a count. Those that a group of
    decisions does not count are found by halves.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._priced: dict[range, Target] = {}

    def of(self, group: Group) -> Iterator[tuple[int, Vector]]:
        """Each coefficient that some decision counts, and how often each does."""
        return self._visit(group, range(len(FITTED)))

    def _visit(self, group: Group, part: range) -> Iterator[tuple[int, Vector]]:
        if part not in self._priced:
            prices = {n: _UNIT * (i in part) for i, n in enumerate(FITTED)}
            self._priced[part] = with_costs(self._target, prices)
        cost = group.cost(self._priced[part])
        if not cost.any():
            return
        if len(part) == 1:
            yield part[0], cost / _UNIT
            return
        middle = len(part) // 2
        yield from self._visit(group, part[:middle])
        yield from self._visit(group, part[middle:])


def parts_by_name(parts: Vector) -> dict[str, float]:
    """Parts of a cost that are paid for each of `FITTED`, by the names that models were
    trained with."""
    named: dict[str, float] = {}
    for coefficient, part in zip(FITTED, parts.tolist(), strict=True):
        name = _TRAINED_AS.get(coefficient, coefficient)
        named[name] = named.get(name, 0.0) + part
    return named


def _frame(specs: Sequence[Spec]) -> Frame:
    """Frame of several Specs that have one key."""
    sizes = np.array([spec.sizes for spec in specs], np.int64)
    limits = np.array([s.limits.free for s in specs], np.int64)
    return Frame(
        specs[0].key, tuple(sizes.T), Limits(specs[0].limits.memories, tuple(limits.T))
    )


def cost_of(target: Target, name: str) -> int:
    """One of `FITTED`."""
    coefficients = (
        target.coefficients if hasattr(target.coefficients, name) else target.ops
    )
    return int(getattr(coefficients, name))


def with_costs(target: Target, costs: Mapping[str, int]) -> Target:
    """The target with some other costs: if they differ, none is stale."""
    coefficients, ops = names(Coefficients), names(OpCosts)
    changed = dataclasses.replace(
        target,
        coefficients=dataclasses.replace(
            target.coefficients, **{n: v for n, v in costs.items() if n in coefficients}
        ),
        ops=dataclasses.replace(
            target.ops, **{n: v for n, v in costs.items() if n in ops}
        ),
    )
    return target if changed == target else dataclasses.replace(changed, stale=())
