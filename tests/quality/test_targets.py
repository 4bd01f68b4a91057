"""Every target: what the search finds on it is exact, of every kind and product."""

import dataclasses
import random

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.actions import Select
from morello.machine import AVX2, TARGETS, Target, find_target
from morello.search import Solver
from morello.search.impl import Impl
from morello.spec import L2, Layout, Spec, argument_tensor, parse_spec
from tests.kernels.harness import skip_where_it_cannot_run
from tests.named_kinds import reuses_inputs
from tests.quality.bounds import check_bound, is_bounded
from tests.quality.execution import check_all
from tests.quality.programs import build_programs
from tests.quality.searched_programs import PRODUCTS
from tests.quality.specs import KINDS, random_spec

OTHERS = [*{t.isa: t for t in TARGETS.values() if t.isa != AVX2.isa}.values()]
"""One of each other instruction set: `test_searched_programs.py` has more of AVX2."""

SIZES = ((1, 7, 5, 37), (1, 1, 17, 67))
"""Of products, one after another: rows and columns that no register tile divides, and
a row."""


def goals(target: Target) -> list[Spec]:
    """Specs within the limits of a target."""
    specs = []
    # What goes by L2 is the same on every target, and most of the tables.
    near = target.limits.replace(L2, 0)
    for place, (kind, dtypes) in enumerate(PRODUCTS):
        rows = tuple(argument_tensor(dtype, Layout.row_major(3)) for dtype in dtypes)
        sizes = SIZES[place % len(SIZES)]
        specs.append(Spec(kind, sizes, rows, target.limits if not place else near))
    rng = random.Random(f"goals of {target.name}")
    others = {k for k in KINDS if not (reuses_inputs(k) and k.has_element)}
    while others:
        spec = random_spec(rng)
        if spec.kind in others:
            others.remove(spec.kind)
            specs.append(dataclasses.replace(spec, limits=near))
    return specs


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", OTHERS, ids=lambda target: target.name)
def test_searched_programs_are_exact(target: Target) -> None:
    skip_where_it_cannot_run(target.isa)
    specs, solver = goals(target), Solver(target)
    impls: list[Impl] = [solver.solve(spec).impl for spec in specs]
    labels = [f"{spec} on {target.name}" for spec in specs]
    programs = build_programs(impls, labels, target)
    check_all(programs, 0, lambda p, rng: is_bounded(p.spec) and check_bound(p, rng))


CHEAP = find_target("avx512-vnni-bf16{dot_bf16=250,dot_bf16_latency=2500}")
"""Where `vdpbf16ps` is faster than to widen bf16: not so on the CPU of the costs."""


def kernels(impl: Impl) -> set[str]:
    return {
        node.action.kernel for node in impl.walk() if isinstance(node.action, Select)
    }


@pytest.mark.sampled(2)
def test_products_flush_only_where_the_spec_says_so() -> None:
    skip_where_it_cannot_run(CHEAP.isa)
    text = "matmul:7x10x35:bf16,bf16,f32:l2=0"
    flushing = parse_spec(f"{text}:flushing=true", CHEAP.limits)
    impl = Solver(CHEAP).solve(flushing).impl
    assert "dot2_bf16_512" in kernels(impl)
    exact = Solver(CHEAP).solve(parse_spec(text, CHEAP.limits)).impl
    assert "dot2_bf16_512" not in kernels(exact)
    programs = build_programs([impl, exact], [text, text], CHEAP)
    check_all(programs, 0)


@pytest.mark.sampled(2)
def test_denormals_count_as_zero_where_products_flush() -> None:
    """64 products of 2^-128, whose sum is a normal number: the contract is needed."""
    skip_where_it_cannot_run(CHEAP.isa)
    lhs, rhs = (
        np.full(shape, 2.0**-64, ml_dtypes.bfloat16) for shape in ((7, 64), (64, 32))
    )
    text = "matmul:7x64x32:bf16,bf16,f32:l2=0"
    by_target = {}
    for option in ("", ":flushing=true"):
        by_target[option] = morello.compile(text + option, target=CHEAP)(lhs, rhs)
    assert np.all(by_target[""] == np.float32(2.0**-122))
    assert np.all(by_target[":flushing=true"] == 0)
