"""The cost of a program under other coefficients, and how it follows each of them."""

import dataclasses
from collections.abc import Iterator, Sequence

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


class Ledger:
    """Many programs, to be priced again and again: their decisions, found once."""

    def __init__(self, impls: Sequence[Impl]) -> None:
        places: dict[Decision, int] = {}
        found = [decisions(impl) for impl in impls]
        for one in found:
            for decision in one:
                places.setdefault(decision, len(places))
        self._decisions = tuple(places)
        self._runs = np.zeros((len(impls), len(places)))
        for row, one in zip(self._runs, found, strict=True):
            row[[places[decision] for decision in one]] = list(one.values())

    def costs(self, target: Target) -> Vector:
        """Millicycles of a call of each program; at least 1."""
        own = np.array([_own(decision, target) for decision in self._decisions])
        return np.asarray(np.maximum(self._runs @ own, 1.0), np.float64)

    def slopes(self, target: Target) -> Vector:
        """`Prices.slopes`, a row for each program."""
        prices = Prices(target)
        own = np.array([prices.slope(decision) for decision in self._decisions])
        return np.asarray(self._runs @ own)


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
        self._changed: dict[range, tuple[Target, Target]] = {}
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
            total += runs * self.slope(decision)
        return total

    def _cost(self, decision: Decision) -> int:
        if decision not in self._costs:
            self._costs[decision] = _own(decision, self.target)
        return self._costs[decision]

    def slope(self, decision: Decision) -> Vector:
        """The same of one decision, run once."""
        if decision not in self._slopes:
            slopes = np.zeros(len(FITTED))
            for index in self._paid(decision, range(len(FITTED))):
                above = _own(decision, self._above[index])
                below = _own(decision, self._below[index])
                slopes[index] = (above - below) / self._widths[index]
            self._slopes[decision] = slopes
        return self._slopes[decision]

    def _paid(self, decision: Decision, part: range) -> Iterator[int]:
        """The coefficients of a part that a decision pays for.

        A cost never falls when coefficients grow: where none of a part shows when all
        of it change, none is looked at. Mostly one or two are left.
        """
        if part not in self._changed:
            up, down = (
                _mixed(self.target, {FITTED[i]: way[i] for i in part})
                for way in (self._above, self._below)
            )
            self._changed[part] = up, down
        up, down = self._changed[part]
        if _own(decision, up) == _own(decision, down):
            return
        if len(part) == 1:
            yield part[0]
            return
        middle = len(part) // 2
        yield from self._paid(decision, part[:middle])
        yield from self._paid(decision, part[middle:])


def with_coefficients(target: Target, coefficients: Coefficients) -> Target:
    """The target with other costs."""
    return dataclasses.replace(target, coefficients=coefficients)


def _with(target: Target, name: str, value: int) -> Target:
    changed = dataclasses.replace(target.coefficients, **{name: value})
    return with_coefficients(target, changed)


def _mixed(target: Target, sources: dict[str, Target]) -> Target:
    """The target with each of some costs as another target has it."""
    numbers = {name: getattr(t.coefficients, name) for name, t in sources.items()}
    return with_coefficients(
        target, dataclasses.replace(target.coefficients, **numbers)
    )


def _own(decision: Decision, target: Target) -> int:
    spec, action = decision
    return int(action.expand(Frame.of(spec), target).cost)
