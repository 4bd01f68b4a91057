"""Comparing what the search found with what the enumeration found."""

import dataclasses
from collections import Counter, defaultdict
from unittest import mock

import numpy as np

from morello.errors import SearchError
from morello.search import Solver
from morello.search.dp import reachable
from morello.search.dp.table import TableId, position
from morello.spec import Limits, Spec, SpecKey
from tests.search.brute_force import BruteForce, BudgetError


@dataclasses.dataclass
class Agreement:
    """How many Specs of each kind were compared, and those that differ."""

    goals: Counter[str] = dataclasses.field(default_factory=Counter)
    """Specs that were given to the search, by the label of their kind."""
    points: Counter[str] = dataclasses.field(default_factory=Counter)
    """Specs below those, read in the tables of the search."""
    programs: Counter[str] = dataclasses.field(default_factory=Counter)
    """Of either, those that have a program."""
    mismatches: list[str] = dataclasses.field(default_factory=list)


def searched(solver: Solver, spec: Spec) -> int | None:
    """The cost that the search reports; None if it says that there is no program."""
    try:
        return solver.solve(spec).impl.cost
    except SearchError:
        return None


def compare(
    spec: Spec, solver: Solver, brute: BruteForce, agreement: Agreement
) -> None:
    """Compare a goal, and every Spec that its enumeration finished."""
    with mock.patch.multiple(reachable, FEW_SIZES=0, WORTH=0):
        cost = searched(solver, spec)
    try:
        best = brute.best(spec)
    except BudgetError:
        pass
    else:
        agreement.goals[spec.kind.label] += 1
        agreement.programs[spec.kind.label] += best is not None
        if cost != best:
            agreement.mismatches.append(f"{spec}: search {cost}, enumeration {best}")
    _compare_tables(spec, solver, brute, agreement)


def _compare_boxes(
    spec: Spec, solver: Solver, brute: BruteForce, agreement: Agreement
) -> None:
    """Whatever Spec the enumeration came to is a point that is solved, of its table or
    of one that has all of it."""
    run = solver.run_of(spec)
    tables: defaultdict[SpecKey, list[TableId]] = defaultdict(list)
    for identity in run.store:
        tables[identity.key].append(identity)
    for (key, axes), family in brute.families.items():
        for sizes, left in family.costs:
            limits = Limits(spec.limits.memories, left)
            wholes = [run.whole_box(t) for t in tables[key] if t.sizes == axes]
            boxes = [run.box(t) for t in tables[key]]
            is_point, is_solved = (
                any(position(box, sizes, limits) is not None for box in some)
                for some in (wholes, boxes)
            )
            if is_point and not is_solved:
                agreement.mismatches.append(
                    f"{key} {sizes} {left} below {spec}: left out"
                )


def _compare_tables(
    spec: Spec, solver: Solver, brute: BruteForce, agreement: Agreement
) -> None:
    _compare_boxes(spec, solver, brute, agreement)
    for table in solver.tables(spec):
        family = brute.families.get((table.id.key, table.id.sizes))
        if family is None:
            continue
        label = table.id.key.kind.label
        for (sizes, left), best in family.costs.items():
            point = table.point(sizes, Limits(spec.limits.memories, left))
            if point is None:
                continue
            cost = table.costs[point]
            agreement.points[label] += 1
            agreement.programs[label] += best is not None
            if cost != (np.inf if best is None else best):
                agreement.mismatches.append(
                    f"{table.id.key} {sizes} {left} below {spec}: search {cost}, "
                    f"enumeration {best}"
                )
