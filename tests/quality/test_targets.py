"""Every target: what the search finds on it is exact, of every kind and product."""

import dataclasses
import random

import pytest

from morello.machine import AVX2, TARGETS, Target
from morello.search import Solver
from morello.search.impl import Impl
from morello.spec import Layout, Spec, argument_tensor
from tests.kernels.harness import skip_where_it_cannot_run
from tests.quality.bounds import check_bound, is_bounded
from tests.quality.execution import check_all
from tests.quality.programs import build_programs
from tests.quality.searched_programs import PRODUCTS
from tests.quality.specs import KINDS, random_spec

OTHERS = [target for target in TARGETS.values() if target is not AVX2]
"""`test_searched_programs.py` has more of `AVX2`."""

SIZES = ((1, 13, 21, 37), (1, 1, 65, 67))
"""Of products: rows and columns that no register tile divides, and a row."""


def goals(target: Target) -> list[Spec]:
    """Specs within the limits of a target."""
    found = []
    for kind, dtypes in PRODUCTS:
        rows = tuple(argument_tensor(dtype, Layout.row_major(3)) for dtype in dtypes)
        found += [Spec(kind, sizes, rows, target.limits) for sizes in SIZES]
    rng = random.Random(f"goals of {target.name}")
    others = {kind for kind in KINDS if not kind.reuses_inputs}
    while others:
        spec = random_spec(rng)
        if spec.kind in others:
            others.remove(spec.kind)
            found.append(dataclasses.replace(spec, limits=target.limits))
    return found


@pytest.mark.parametrize("target", OTHERS, ids=lambda target: target.name)
def test_searched_programs_are_exact(target: Target) -> None:
    skip_where_it_cannot_run(target.isa)
    specs, solver = goals(target), Solver(target)
    impls: list[Impl] = [solver.solve(spec).impl for spec in specs]
    labels = [f"{spec} on {target.name}" for spec in specs]
    programs = build_programs(impls, labels, target)
    check_all(programs, 0, lambda p, rng: is_bounded(p.spec) and check_bound(p, rng))
