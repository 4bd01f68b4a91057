"""Programs of a Spec from all over the space, good ones and bad ones: `Sampler`.

A walk goes down from the goal. At some Specs it takes the best decision; at others
every action that applies is priced with the best programs of its holes, and one is
drawn. Its boldness says how many Specs are others, its temperature how much dearer than
the best a decision may be. So a sample holds programs that differ from the optimum in
one decision, and others that have little in common with it.
"""

import dataclasses
import math
import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from morello.actions import Action, Child, Expansion, Move, Select
from morello.learned.ledger import FITTED, cost_of, decisions, with_costs
from morello.machine import Target
from morello.search import Branch, Impl, Solver
from morello.search.dp.table import TableId
from morello.spec import Spec
from morello.spec.frame import Frame

WALKS = tuple(
    (boldness, temperature, draws)
    for temperature in (0.02, 0.1, 0.3, 1.0)
    for boldness, draws in ((0.2, 1), (0.2, 2), (0.4, 4), (0.8, 12))
)
"""The kinds of walks, in turn: how likely a decision is drawn; the temperature: one
that costs e times the best is e^(1/temperature) times less likely than it; and how many
are drawn at most, after which the best are taken."""

MAX_NODES = 128
"""Nodes of a program's tree: each becomes code."""

_WAYS = 40
"""Actions that are priced at a Spec, but for the goal: drawn where there are more."""

MAX_EXCESS = 20.0
"""How many times the cost of the best a program of a sample may have."""

_TRIES = 20
"""Walks for each program that is wanted, until no more new ones are looked for."""


@dataclasses.dataclass(frozen=True)
class _Place:
    """Spec, and the table of the search that has it."""

    spec: Spec
    table: TableId


@dataclasses.dataclass(frozen=True)
class _Way:
    """An action at a place, its holes, and the least cost of beginning so."""

    action: Action
    holes: tuple[tuple[Child, _Place], ...]
    cost: int


class Sampler:
    """Draws programs of one goal.

    Args:
        spec: the goal.
        target: prices and space.
        rng: what is drawn follows from its state alone.
        solver: for the target as the goal sees it, if there is one that has solved it.

    Raises:
        SearchError: the goal has no program.
    """

    def __init__(
        self,
        spec: Spec,
        target: Target,
        rng: random.Random,
        solver: Solver | None = None,
    ) -> None:
        target = target.at(spec)
        solver = solver or Solver(target)
        self.best = solver.solve(spec).impl
        self._target = target
        self._rng = rng
        self._run = solver.run_of(spec)
        self._root = _Place(spec, solver.goal_table(spec))
        self._ways: dict[_Place, tuple[_Way, ...]] = {}

    def programs(self, count: int) -> tuple[Impl, ...]:
        """Up to ``count`` different programs, the best first; fewer if few are met."""
        drawn = {str(self.best): self.best}
        for turn in range(_TRIES * count):
            if len(drawn) >= count:
                break
            impl = self._walk(*WALKS[turn % len(WALKS)])
            if impl is not None and impl.cost <= MAX_EXCESS * self.best.cost:
                drawn.setdefault(str(impl), impl)
        return tuple(drawn.values())[:count]

    def cheapest(self, is_wanted: Callable[[Impl], bool]) -> Impl | None:
        """The cheapest of the programs that ``is_wanted`` accepts and that are the best
        but for their first decision; None if there is none.

        Decisions without an alternative do not count as the first.
        """

        def visit(place: _Place) -> Impl | None:
            expanded = self._expand(place, whole=True)
            ways = sorted(expanded, key=lambda way: way.cost)
            if len(ways) == len(ways[0].holes) == 1:
                below = visit(ways[0].holes[0][1])
                return below and self._program(place, ways[0], (below,))
            for way in ways:
                impl = self._program(place, way, tuple(self._bests(way)))
                if is_wanted(impl):
                    return impl
            return None

        return visit(self._root)

    def rivals(self) -> tuple[Impl, ...]:
        """The cheapest program that is mostly of another kernel than the best is, if
        there is one: which of the two is faster, a search has to know."""
        kernel = main_kernel(self.best)
        other = self.cheapest(lambda impl: main_kernel(impl) != kernel)
        return () if other is None else (other,)

    def _bests(self, way: _Way) -> Iterator[Impl]:
        """Best programs of the children, in order."""
        for _, hole in way.holes:
            yield self._run.best(hole.spec, hole.table)

    def _program(self, place: _Place, way: _Way, impls: tuple[Impl, ...]) -> Impl:
        """A program of a decision and of programs of its holes."""
        rewrite = way.action.apply(place.spec, self._target)
        cost = rewrite.total(tuple(impl.cost for impl in impls))
        branches = tuple(
            Branch(child.role, int(child.times), impl)
            for (child, _), impl in zip(way.holes, impls, strict=True)
        )
        return Impl(place.spec, way.action, cost, branches)

    def _walk(self, boldness: float, temperature: float, draws: int) -> Impl | None:
        """A program; None if it has become too long."""
        known: dict[Spec, Impl] = {}  # a schedule has one program for each Spec
        room = MAX_NODES

        def visit(place: _Place) -> Impl | None:
            nonlocal room, draws
            is_known = place.spec in known
            room -= sum(1 for _ in known[place.spec].walk()) if is_known else 1
            if room < 0 or place.spec in known:
                return known[place.spec] if room >= 0 else None
            if draws and self._rng.random() < boldness:
                draws -= 1
                way = self._draw(self._ways_at(place), temperature)
            else:
                way = self._best_way(place)
            impls = []
            for _, hole in way.holes:
                impl = visit(hole)
                if impl is None:
                    return None
                impls.append(impl)
            program = self._program(place, way, tuple(impls))
            known[place.spec] = program
            return program

        return visit(self._root)

    def _best_way(self, place: _Place) -> _Way:
        best = self._run.best(place.spec, place.table)
        expansion = best.action.expand(Frame.of(place.spec), self._target)
        holes = self._holes(place, best.action, expansion)
        return _Way(best.action, holes, best.cost)

    def _draw(self, ways: tuple[_Way, ...], temperature: float) -> _Way:
        least = max(1, min(way.cost for way in ways))
        weights = [(max(1, way.cost) / least) ** (-1 / temperature) for way in ways]
        return self._rng.choices(ways, weights)[0]

    def _ways_at(self, place: _Place) -> tuple[_Way, ...]:
        if place not in self._ways:
            whole = place == self._root
            self._ways[place] = tuple(self._expand(place, whole=whole))
        return self._ways[place]

    def _expand(self, place: _Place, *, whole: bool) -> Iterator[_Way]:
        """Enumerate the choices at a Spec: all of them, or the best and some
        others."""
        actions = self._run.candidates(place.table)
        if len(actions) > _WAYS and not whole:
            best = self._best_way(place).action
            actions = (best, *self._rng.sample(actions, _WAYS))
        for action in dict.fromkeys(actions):
            expansion = action.expand(Frame.of(place.spec), self._target)
            if expansion.refusal():
                continue
            holes = self._holes(place, action, expansion)
            cost: float = int(expansion.cost)
            for child, hole in holes:
                cost += int(child.times) * self._least(hole)
            if math.isfinite(cost):
                yield _Way(action, holes, int(cost))

    def _holes(
        self, place: _Place, action: Action, expansion: Expansion
    ) -> tuple[tuple[Child, _Place], ...]:
        return tuple(
            (
                child,
                _Place(
                    child.frame.spec(), self._run.hole_id(place.table, action, child)
                ),
            )
            for child in expansion.children
            if int(child.exists)
        )

    def _least(self, place: _Place) -> float:
        """The cost of the best program; infinite if there is none."""
        self._run.reach(place.table, place.spec)
        table = self._run.entry(place.table)
        cost = table.cost(place.spec.sizes, place.spec.limits)
        return math.inf if cost is None else cost


def main_kernel(impl: Impl) -> str:
    """The kernel that a program mostly pays for."""
    runs = decisions(impl)
    costs: dict[str, int] = defaultdict(int)
    for node in {(node.spec, node.action): node for node in impl.walk()}.values():
        if isinstance(node.action, Select):
            count = runs[node.spec, node.action]
            costs[node.action.kernel] += count * node.cost
    return max(costs, key=lambda name: costs[name])


def code_of(impl: Impl) -> Hashable:
    """Key of the code of a program: equal for programs that become the same code.

    A move that copies nothing says from where on an operand is near. It is paid for,
    but it does nothing, so that it may stand elsewhere, or be missing. Of levels,
    kernels only look whether operands lie beyond the caches, to ask for their lines.
    """
    if isinstance(impl.action, Move) and len(impl.branches) == 1:
        return code_of(impl.branches[0].impl)
    operands = tuple(
        (tensor.dtype, tensor.layout, tensor.contiguous, tensor.level.is_cache)
        for tensor in impl.spec.tensors
    )
    return (
        impl.action,
        impl.spec.sizes,
        () if impl.branches else operands,
        tuple((branch.role, code_of(branch.impl)) for branch in impl.branches),
    )


def perturbed(target: Target, rng: random.Random) -> Target:
    """The target with each cost multiplied by a random factor of at most two."""
    numbers = {}
    for name in FITTED:
        factor = 2.0 ** rng.uniform(-1, 1)
        value = cost_of(target, name)
        numbers[name] = max(1, round(value * factor))
    return with_costs(target, numbers)


def spread(impls: Sequence[Impl], costs: Sequence[float], count: int) -> list[Impl]:
    """``count`` of some programs: a third the cheapest, the others at even steps.

    The steps are in the logarithm of the cost, from the cheapest to the dearest, so
    that a sample is not made of nearly optimal programs alone.

    Returns:
        the programs, the cheapest first.
    """
    order = sorted(range(len(impls)), key=lambda i: costs[i])
    near, rest = order[: -(-count // 3)], order[-(-count // 3) :]
    if len(order) > count:
        logs = np.log(np.maximum([costs[i] for i in rest], 1.0))
        chosen = set()
        for aim in np.linspace(logs[0], logs[-1], count - len(near)):
            left = [j for j in range(len(rest)) if j not in chosen]
            chosen.add(min(left, key=lambda j: abs(logs[j] - aim)))
        rest = [rest[j] for j in sorted(chosen)]
    return [impls[i] for i in near + rest]
