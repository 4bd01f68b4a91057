"""The best layouts of operands that are packed before the kernel runs.

Each choice of layouts is a Spec of its own; they share most of their tables, since a
program that packs an operand itself has a hole with the same packed operand.
"""

import dataclasses
import itertools
import time
from collections.abc import Iterator

from morello.actions import ACTIONS
from morello.errors import SearchError
from morello.machine import Target
from morello.search.dp.solver import Solution, Solver
from morello.search.queries.best_program import Patience, best_program
from morello.search.storage.overlay import Overlay
from morello.search.storage.shelf import SHELF
from morello.spec import Layout, OpenSpec, Spec
from morello.spec.structure import packed_with


def best_settled(
    goal: OpenSpec,
    target: Target,
    database: Overlay | None = None,
    patience: Patience | None = None,
) -> tuple[Spec, Solution]:
    """The Spec with the layouts whose best program costs least, and that program.

    Packing is not counted: it is done once.

    Args:
        goal: what to compute.
        target: the machine.
        database: where tables are looked for, and stored when they are solved.
        patience: when to stop; then the layouts that were tried by then are compared.

    Raises:
        SearchError: no layouts have a program.
    """
    patience = patience or Patience()
    target = target.at(goal.spec)
    start = time.perf_counter()
    solver = Solver(target, database, shelf=SHELF)
    best: tuple[Spec, Solution] | None = None
    refusal: SearchError | None = None
    for spec in _settlements(goal, target):
        left = patience.after(time.perf_counter() - start)
        if left.seconds == 0 and best is not None:
            best = best[0], dataclasses.replace(best[1], complete=False)
            break
        try:
            solution = best_program(spec, target, database, left, solver)
        except SearchError as error:
            refusal = refusal or error
            if left.seconds == 0:
                break
            continue
        if best is None or solution.impl.cost < best[1].impl.cost:
            best = spec, solution
        if not solution.complete:
            best = best[0], dataclasses.replace(best[1], complete=False)
            break
    if best is not None:
        return best
    raise refusal or SearchError(f"no layouts to choose from for {goal.spec}")


def _settlements(goal: OpenSpec, target: Target) -> Iterator[Spec]:
    """Every choice of layouts, the plain one first; what follows an operand is packed
    where that is."""
    choices = [_layouts(goal.spec, index, target) for index in goal.open]
    places = {index: at for at, index in enumerate(goal.open)}
    along = [
        (at, places[first])
        for index, at in places.items()
        if (first := packed_with(goal.spec.kind, index)) != index
        and first in places
        and len(choices[at]) > 1
    ]
    for layouts in itertools.product(*choices):
        if all(layouts[a].is_packed == layouts[b].is_packed for a, b in along):
            yield goal.settled(layouts)


def _layouts(spec: Spec, operand: int, target: Target) -> tuple[Layout, ...]:
    """Layouts of an operand that a kernel may want, and that are filled by its size."""
    tensor = spec.tensors[operand]
    shape = spec.shape(operand)
    full = [
        form.layout
        for action in ACTIONS
        for form in action.forms_beforehand(spec.key, operand, target)
        if form.dtype is tensor.dtype
        and all(size >= form.layout.pack(dim) for dim, size in enumerate(shape))
    ]
    return tuple(dict.fromkeys((tensor.layout, *full)))
