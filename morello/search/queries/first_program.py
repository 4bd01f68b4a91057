"""Programs of a Spec in milliseconds, for who cannot wait for the best one.

`first_programs` go down from the goal, decision by decision, by `Action.turn`: kernels,
moves, cuts, loops. Of what applies the first is taken whose holes have programs. Holes
whose best program a stopped search knows already have that. A few orders are tried;
each gives a program that is legal and priced as every other, and often several times
slower than the best. A pinned Spec has the program of its pin.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from morello.actions import Action, Expansion, candidates
from morello.errors import ScheduleError, SearchError
from morello.search.dp.solver import Solver
from morello.search.dp.table import TableId, position
from morello.search.impl import Branch, Impl
from morello.search.queries.partial_program import complete
from morello.spec import Spec
from morello.spec.frame import Frame


def first_programs(
    spec: Spec, solver: Solver, pause: Callable[[], None]
) -> Iterator[Impl]:
    """Programs of a goal, of each order of decisions one.

    Args:
        spec: the goal.
        solver: what it has solved is used.
        pause: called before each decision; what it raises ends the search.
    """
    for order in _orders(spec):
        impl = _Descent(solver, spec, order, pause, {}).program()
        if impl is not None:
            yield impl


@dataclasses.dataclass(frozen=True)
class _Order:
    """Order of decisions within a turn."""

    shares: bool
    """Whether loops of several threads come before all else, or last."""
    small: bool
    """Whether small tiles come before large ones."""
    step: int
    """Divisor of the binary logarithm of tile sizes."""

    def tiles(self, axis: tuple[int, ...], size: int) -> tuple[int, ...]:
        """The size of a dimension, and those below it that a tile may have."""
        logarithms = range(0, size.bit_length(), self.step)
        smaller = {1 << one for one in logarithms}
        return tuple(s for s in axis if s == size or (s < size and s in smaller))

    def of(self, actions: tuple[Action, ...]) -> list[Action]:
        """The actions, first things first."""
        ordered = actions if self.small else tuple(reversed(actions))
        return sorted(ordered, key=lambda a: (a.forks is not self.shares, a.turn))


def _orders(spec: Spec) -> Iterator[_Order]:
    """The orders that are tried, the quickest first."""
    for small, step in (True, 6), (False, 6), (False, 2):
        for shares in (False,) if spec.serial else (False, True):
            yield _Order(shares, small, step)


class _Descent:
    """One way down from a goal; a Spec that is met again has the program it had."""

    def __init__(
        self,
        solver: Solver,
        goal: Spec,
        order: _Order,
        pause: Callable[[], None],
        known: dict[Spec, Impl | None],
    ) -> None:
        self._solver = solver
        self._run = solver.run_of(goal)
        self._goal = goal
        self._root = solver.goal_table(goal)
        self._order = order
        self._pause = pause
        self._known = known

    def program(self) -> Impl | None:
        """A program of the goal."""
        return self._below(self._goal, self._root)

    def _below(self, spec: Spec, table: TableId) -> Impl | None:
        """A program of a Spec; a circle has none."""
        if spec not in self._known:
            self._known[spec] = None
            self._known[spec] = (
                self._solved(spec, table)
                or self._pinned(spec, table)
                or self._decided(spec, table)
            )
        return self._known[spec]

    def _pinned(self, spec: Spec, table: TableId) -> Impl | None:
        """The program that a pin says; None where there is none that applies."""
        run, box = self._run, self._run.whole_box(table)
        point = position(box, spec.sizes, spec.limits)
        for pin in run.pinned.pins.of(spec.key):
            if position(box, pin.spec.sizes, pin.spec.limits) == point:
                with contextlib.suppress(ScheduleError, SearchError):
                    return complete(pin.program, spec, run.target, self._hole)
        return None

    def _hole(self, spec: Spec) -> Impl:
        """The program of a hole of a pin, which is a goal of its own."""
        parts = self._solver, spec, self._order, self._pause, self._known
        program = _Descent(*parts).program()
        if program is None:
            raise SearchError(f"no program of {spec} was found at once")
        return program

    def _solved(self, spec: Spec, table: TableId) -> Impl | None:
        """The best program, where the table is solved."""
        if table not in self._run.store:
            return None
        entry = self._run.entry(table)
        if entry.cost(spec.sizes, spec.limits) is None:
            return None
        return self._run.program(spec, entry)

    def _decided(self, spec: Spec, table: TableId) -> Impl | None:
        """A program that begins with the first action that leads to one; of kernels
        with the best."""
        frame, target = Frame.of(spec), self._run.target
        best: Impl | None = None
        sizes = tuple(map(self._order.tiles, table.sizes, spec.sizes))
        for action in self._order.of(candidates(spec.key, sizes, target)):
            if best is not None and best.action.turn < action.turn:
                break
            self._pause()
            impl = self._filled(spec, table, action, action.expand(frame, target))
            if impl is not None and (best is None or impl.cost < best.cost):
                best = impl
            if best is not None and best.branches:
                break
        return best

    def _filled(
        self, spec: Spec, table: TableId, action: Action, expansion: Expansion
    ) -> Impl | None:
        """The program that begins with an action; None where it does not apply, or a
        hole has none."""
        if expansion.refusal():
            return None
        cost, branches = int(expansion.cost), []
        for child in expansion.children:
            if not int(child.exists):
                continue
            hole = self._run.hole_id(table, action, child)
            below = self._below(child.frame.spec(), hole)
            if below is None:
                return None
            cost += int(child.times) * below.cost
            branches.append(Branch(child.role, int(child.times), below))
        return Impl(spec, action, cost, tuple(branches))
