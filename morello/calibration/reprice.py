"""The cost of a program under other coefficients, and how it follows each of them."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from morello.actions import Action
from morello.cost.coefficients import Coefficients, OpCosts, names
from morello.cost.operand_context import OperandContext
from morello.machine import Target
from morello.search import Branch, Impl
from morello.spec import Limits, Spec, SpecKey
from morello.spec.frame import Frame

Vector = npt.NDArray[np.float64]

FITTED = names(Coefficients, OpCosts)
"""The coefficients that are costs: a cost is linear in them but for maxima."""

Decision = tuple[Spec, Action]


def reprice(impl: Impl, target: Target) -> Impl:
    """The same program with its costs on ``target``.

    Raises:
        ScheduleError: an action does not apply on this target.
    """
    target = target.at(impl.spec)
    known: dict[int, Impl] = {}

    def visit(node: Impl) -> Impl:
        found = known.get(id(node))
        if found is None:
            branches = tuple(
                Branch(branch.role, branch.times, visit(branch.impl))
                for branch in node.branches
            )
            rewrite = node.action.apply(node.spec, target)
            cost = rewrite.total(tuple(branch.impl.cost for branch in branches))
            found = known[id(node)] = Impl(node.spec, node.action, cost, branches)
        return found

    return visit(impl)


def decisions(impl: Impl) -> dict[Decision, int]:
    """Each different decision of a program, and how often a call runs it."""
    found: dict[Decision, int] = {}

    def visit(node: Impl, runs: int) -> None:
        key = node.spec, node.action
        found[key] = found.get(key, 0) + runs
        for branch in node.branches:
            visit(branch.impl, runs * branch.times)

    visit(impl, 1)
    return found


class Ledger:
    """Many programs, to be priced again and again: their decisions, found once.

    Args:
        impls: the programs.
        machine: the target, as far as goals are seen by it (`Target.at`).
    """

    def __init__(self, impls: Sequence[Impl], machine: Target) -> None:
        places: dict[tuple[OperandContext, Decision], int] = {}
        found = []
        for impl in impls:
            around = machine.at(impl.spec).operand_context
            paid = {(around, one): runs for one, runs in decisions(impl).items()}
            found.append(paid)
            for decision in paid:
                places.setdefault(decision, len(places))
        self._runs = np.zeros((len(impls), len(places)))
        for row, paid in zip(self._runs, found, strict=True):
            row[[places[decision] for decision in paid]] = list(paid.values())
        groups: dict[tuple[OperandContext, SpecKey, Action], list[Spec]] = {}
        order: dict[tuple[OperandContext, SpecKey, Action], list[int]] = {}
        for (around, (spec, action)), place in places.items():
            groups.setdefault((around, spec.key, action), []).append(spec)
            order.setdefault((around, spec.key, action), []).append(place)
        self._groups = tuple(
            _Group(key[0], key[2], _frame(specs), np.array(order[key]))
            for key, specs in groups.items()
        )

    def costs(self, target: Target) -> Vector:
        """Millicycles of a call of each program; at least 1."""
        own = np.zeros(self._runs.shape[1])
        for group in self._groups:
            own[group.places] = group.cost(target)
        return np.asarray(np.maximum(self._runs @ own, 1.0), np.float64)

    def slopes(self, target: Target) -> Vector:
        """How each cost changes with each of `FITTED`: mostly how often it is paid.

        Where two parts of a kernel bind alike, each is counted half.

        Returns:
            programs x coefficients.
        """
        steps = _Steps(target)
        own = np.zeros((self._runs.shape[1], len(FITTED)))
        for group in self._groups:
            own[group.places] = steps.slopes(group)
        return self._runs @ own


@dataclasses.dataclass(frozen=True)
class _Group:
    """Decisions for the same action on Specs of one key, below goals that lie alike."""

    operand_context: OperandContext
    action: Action
    frame: Frame
    places: npt.NDArray[np.int64]
    """Where each Spec stands among all decisions."""

    def cost(self, target: Target) -> Vector:
        """What the action costs by itself on each Spec."""
        cost = self.action.expand(
            self.frame, target.in_context(self.operand_context)
        ).cost
        return np.asarray(np.broadcast_to(cost, self.places.shape), np.float64)


class _Steps:
    """A target with coefficients a little above and below its own."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._above, self._below = [], []
        self._widths = []
        for name in FITTED:
            value = cost_of(target, name)
            step = max(1, value // 64)
            low = max(0, value - step)
            self._above.append(with_costs(target, {name: value + step}))
            self._below.append(with_costs(target, {name: low}))
            self._widths.append(value + step - low)
        self._changed: dict[range, tuple[Target, Target]] = {}

    def slopes(self, group: _Group) -> Vector:
        """Specs x coefficients: differences of the cost by those of coefficients."""
        found = np.zeros((len(group.places), len(FITTED)))
        for index in self._paid(group, range(len(FITTED))):
            rise = group.cost(self._above[index]) - group.cost(self._below[index])
            found[:, index] = rise / self._widths[index]
        return found

    def _paid(self, group: _Group, part: range) -> Iterator[int]:
        """The coefficients of a part that some Spec of a group pays for.

        A cost never falls when coefficients grow: where none of a part shows when all
        of it change, none is looked at. Mostly one or two are left.
        """
        if part not in self._changed:
            up, down = (
                with_costs(
                    self._target, {FITTED[i]: cost_of(way[i], FITTED[i]) for i in part}
                )
                for way in (self._above, self._below)
            )
            self._changed[part] = up, down
        up, down = self._changed[part]
        if np.array_equal(group.cost(up), group.cost(down)):
            return
        if len(part) == 1:
            yield part[0]
            return
        middle = len(part) // 2
        yield from self._paid(group, part[:middle])
        yield from self._paid(group, part[middle:])


def _frame(specs: Sequence[Spec]) -> Frame:
    """The Specs of one key as arrays."""
    sizes = np.array([spec.sizes for spec in specs], np.int64)
    limits = np.array(
        [(s.limits.vrf, s.limits.l1, s.limits.l2) for s in specs], np.int64
    )
    return Frame(specs[0].key, tuple(sizes.T), Limits(*limits.T))


def cost_of(target: Target, name: str) -> int:
    """One of `FITTED`."""
    own = target.coefficients if hasattr(target.coefficients, name) else target.ops
    return int(getattr(own, name))


def coefficients_of(target: Target) -> Vector:
    """The costs of `FITTED`."""
    return np.array([cost_of(target, name) for name in FITTED], np.float64)


def with_costs(target: Target, costs: Mapping[str, int]) -> Target:
    """The target with some other costs."""
    coefficients, ops = names(Coefficients), names(OpCosts)
    return dataclasses.replace(
        target,
        coefficients=dataclasses.replace(
            target.coefficients, **{n: v for n, v in costs.items() if n in coefficients}
        ),
        ops=dataclasses.replace(
            target.ops, **{n: v for n, v in costs.items() if n in ops}
        ),
    )
