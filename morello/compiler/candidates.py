"""The cheapest program of each class of a Spec: `candidates`."""

import dataclasses
import math
import operator
from typing import SupportsIndex

from morello.compiler.goal import goal_of
from morello.compiler.stages import program_schedule
from morello.compiler.target_choice import chosen_target
from morello.compiler.threads import thread_count
from morello.errors import MorelloError
from morello.machine import Target
from morello.processes.small_stacks import on_large_stack
from morello.processes.subinterpreters import in_any_interpreter
from morello.search import Impl, Solver, best_settled
from morello.search.queries.best_program import parallel_goal
from morello.search.queries.k_best import k_best
from morello.search.queries.program_class import class_text
from morello.search.storage.overlay import Overlay, PathLike, open_database
from morello.search.storage.shelf import SHELF
from morello.spec import OpenSpec, Spec, print_spec


@dataclasses.dataclass(frozen=True)
class Candidate:
    """The cheapest program of a class, as a value; `print` shows it as a tree."""

    spec: Spec
    """Spec that the program computes."""
    target: Target
    """Target that the program is priced for."""
    impl: Impl
    """The program, as a tree of decisions."""
    features: tuple[str, ...]
    """The class: the kernels, what is copied where in which form (``rhs[0,2,1]@L2``),
    where temporaries of a graph are, which dimensions threads share."""

    @property
    def cost(self) -> int:
        """The predicted cost of a call, in 1/1000 cycles."""
        return self.impl.cost

    @property
    def schedule(self) -> str:
        """A module with the Spec and the program as its schedule, which
        ``compile(spec, schedule=…)`` takes."""
        return program_schedule(self.spec, self.target, self.impl)

    def __str__(self) -> str:
        goal = print_spec(
            dataclasses.replace(self.spec, serial=True), self.target.limits
        )
        return f"{goal}: {self.cost} millicycles, {self.class_text}\n{self.impl}"

    @property
    def class_text(self) -> str:
        """The class on one line."""
        return class_text(frozenset(self.features))


@on_large_stack
@in_any_interpreter
def candidates(
    spec: str | Spec | OpenSpec,
    k: int = 8,
    *,
    target: str | Target | None = None,
    threads: int | None = 1,
    db: PathLike | Overlay | None = None,
) -> tuple[Candidate, ...]:
    """The cheapest program of each of the ``k`` cheapest classes of a Spec.

    Programs of one class run the same kernels and copy the same operands to the same
    memories in the same forms; they differ in the order and the sizes of loops. The
    first is the program that `compile` takes; costs ascend. There may be fewer.

    Args:
        spec: what to compute, as `compile` takes it.
        k: how many, at least 1.
        target: as `compile` takes it.
        threads: the most threads that a call may use.
        db: the database, as `compile` takes it.

    Raises:
        MorelloError: ``k`` is less than 1.
        SpecError, TargetError, SearchError, DatabaseError: as `compile` raises them.
    """
    if isinstance(k, bool) or not isinstance(k, SupportsIndex) or operator.index(k) < 1:
        raise MorelloError(f"{k!r} candidates", "give a whole number from 1 on")
    machine = chosen_target(target, None)
    goal = goal_of(spec, machine)
    wanted, machine = parallel_goal(goal.spec, machine, thread_count(threads, None))
    overlay = open_database(db)
    if not goal.is_settled:
        wanted, _ = best_settled(OpenSpec(wanted, goal.open), machine, overlay)
    solver = Solver(machine.at(wanted), overlay, shelf=SHELF)
    return find_candidates(wanted, machine, solver, operator.index(k))


def find_candidates(
    goal: Spec, target: Target, solver: Solver, k: int, until: float = math.inf
) -> tuple[Candidate, ...]:
    """The candidates of a goal.

    Args:
        solver: for the target as the goal sees it (`Target.at`).
        until: when those found so far are enough, by `time.perf_counter`.

    Raises:
        SearchError: the goal has no program.
    """
    return tuple(
        Candidate(goal, target, one.impl, tuple(sorted(one.features)))
        for one in k_best(solver, goal, k, until)
    )
