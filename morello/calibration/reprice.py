"""The cost of a program under other coefficients, and how it follows each of them."""

import dataclasses

import numpy as np
import numpy.typing as npt

from morello.actions import Action
from morello.search import Branch, Impl
from morello.spec import Spec
from morello.spec.frame import Frame
from morello.targets import Target
from morello.targets.coefficients import Coefficients

Vector = npt.NDArray[np.float64]

FITTED = tuple(
    field.name
    for field in dataclasses.fields(Coefficients)
    if field.name != "strided_factor"
)
"""The coefficients that are costs. The factor of strided lines has no unit: it is
chosen among a few values, and the cost is linear in the others but for maxima."""

Decision = tuple[Spec, Action]


def reprice(impl: Impl, target: Target) -> Impl:
    """The same program with its costs on ``target``.

    Raises:
        ScheduleError: an action does not apply on this target.
    """
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


class Prices:
    """Costs and their slopes on one target; what decisions share is counted once."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._above, self._below = [], []
        self._widths = []
        for name in FITTED:
            value = getattr(target.coefficients, name)
            step = max(1, value // 64)
            low = max(0, value - step)
            self._above.append(_with(target, name, value + step))
            self._below.append(_with(target, name, low))
            self._widths.append(value + step - low)
        self._slopes: dict[Decision, Vector] = {}
        self._costs: dict[Decision, int] = {}

    def cost(self, impl: Impl) -> int:
        """Millicycles of a call."""
        return sum(
            runs * self._cost(decision) for decision, runs in decisions(impl).items()
        )

    def slopes(self, impl: Impl) -> Vector:
        """How the cost changes with each of `FITTED`: mostly how often it is paid.

        Where two parts of a kernel bind alike, each is counted half.
        """
        total = np.zeros(len(FITTED))
        for decision, runs in decisions(impl).items():
            total += runs * self._slope(decision)
        return total

    def _cost(self, decision: Decision) -> int:
        if decision not in self._costs:
            self._costs[decision] = _own(decision, self.target)
        return self._costs[decision]

    def _slope(self, decision: Decision) -> Vector:
        if decision not in self._slopes:
            self._slopes[decision] = np.array(
                [
                    (_own(decision, above) - _own(decision, below)) / width
                    for above, below, width in zip(
                        self._above, self._below, self._widths, strict=True
                    )
                ]
            )
        return self._slopes[decision]


def with_coefficients(target: Target, coefficients: Coefficients) -> Target:
    """The target with other costs."""
    return dataclasses.replace(target, coefficients=coefficients)


def _with(target: Target, name: str, value: int) -> Target:
    changed = dataclasses.replace(target.coefficients, **{name: value})
    return with_coefficients(target, changed)


def _own(decision: Decision, target: Target) -> int:
    spec, action = decision
    return int(action.expand(Frame.of(spec), target).cost)
