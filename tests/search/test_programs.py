"""What a found program is: legal, of the cost it reports, and no worse with more."""

import dataclasses
import gc
import random
import re
import weakref
from collections.abc import Iterator

import pytest

from morello.actions import Select
from morello.errors import SearchError
from morello.kernels import KERNELS
from morello.machine import AVX2, Target
from morello.search import Impl, Solver, best_program
from morello.spec import L1, L2, VRF, Kind, Limits, parse_spec
from tests.search.agreement import searched
from tests.search.goals import KINDS, goals_of, random_goal

TEXTS = (
    "matmul:6x16x32:f32:l2=0",
    "matmul_accum:2x5x7x9:s32:lhs=[0,1,2]@L2:rhs=[0,1,2]@L2:out=[0,1,2]@L2",
    "matmul:17x9x31:f32:rhs=[0,2,1]@L2:lhs=[0,1,2]@L1:out=[0,1,2]@L2", "max:33x65:f32",
    "max_accum:16x100:s32:x0=[1,0]", "move:37x41:f32:src=[1,0]",
    "move:3x20x16:f32:dst=[0,2,1,2p16]", "fill:9x100:f32:value=lowest",
)  # fmt: skip


def repriced(impl: Impl, target: Target) -> int:
    """The cost of a program from its actions alone, bottom-up."""
    rewrite = impl.action.apply(impl.spec, target)
    below = [(b.role, b.times, b.impl.spec) for b in impl.branches]
    assert below == [(h.role, h.times, h.spec) for h in rewrite.holes]
    return rewrite.total(tuple(repriced(b.impl, target) for b in impl.branches))


def programs() -> Iterator[tuple[Impl, Target]]:
    """The programs of some Specs written down, and of random ones of every kind."""
    for text in TEXTS:
        spec = parse_spec(text, AVX2.limits)
        yield best_program(spec, AVX2).impl, AVX2.at(spec)
    rng = random.Random(11)
    for kind in KINDS * 4:
        spec = random_goal(rng, kind)
        if searched(solver := Solver(AVX2), spec) is not None:
            yield solver.solve(spec).impl, AVX2


@pytest.mark.sampled(5)
def test_every_program_is_legal_and_costs_what_it_says() -> None:
    seen = 0
    for impl, target in programs():
        for part in {id(p): p for p in impl.walk()}.values():
            assert repriced(part, target) == part.cost, f"{part.spec}: {part.action}"
        seen += 1
    assert seen >= 50


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_more_memory_is_never_worse(kind: Kind) -> None:
    rng = random.Random(f"memory {kind}")
    for _ in range(goals_of(kind, few=1, many=2)):
        goal = random_goal(rng, kind)
        for memory, amounts in AMOUNTS.items():
            limits = (goal.limits.replace(memory, amount) for amount in amounts)
            goals = (dataclasses.replace(goal, limits=more) for more in limits)
            costs = [searched(Solver(AVX2), roomier) for roomier in goals]
            known = [c if c is not None else 1 << 60 for c in costs]
            assert known == sorted(known, reverse=True), f"{goal} {memory} {costs}"


AMOUNTS = {VRF: (2, 6, 11, 16), L1: (0, 3, 32, 512), L2: (0, 40, 2048)}
"""More and more of each memory."""


def test_a_spec_without_a_program_is_refused() -> None:
    spec = parse_spec("matmul:4x4x4:f32:l1=0", AVX2.limits)
    with pytest.raises(
        SearchError,
        match=r"no program exists for matmul:1x4x4x4 .*l1=0.*; target avx2 has no "
        r"kernels that make up matmul on f32,f32,f32 with these layouts and limits",
    ):
        Solver(AVX2).solve(spec)


def test_a_cost_that_cannot_be_counted_is_refused() -> None:
    spec = parse_spec("max:1048576x8388608:f32:x0=[0,1,1oe8]", AVX2.limits)
    with pytest.raises(SearchError, match="more than can be counted exactly"):
        Solver(AVX2).solve(spec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fill:64:f32:vrf=17", "may use 17 registers, but target avx2 has 16; give"),
        (
            "fill:9x16:f32:out=[0,1]@VRFv8",
            "that are in registers take 18, but target avx2 has 16; use smaller sizes",
        ),
    ],
)
def test_registers_that_do_not_exist_are_refused(text: str, message: str) -> None:
    with pytest.raises(SearchError, match=message):
        Solver(AVX2).solve(parse_spec(text, AVX2.limits))


def test_statistics() -> None:
    solver = Solver(AVX2)
    spec = parse_spec("max:20x20:f32", AVX2.limits)
    first = solver.solve(spec).statistics
    tables = solver.tables(spec)
    assert first.tables == len(tables)
    assert first.specs == sum(t.costs.size for t in tables)
    assert solver.solve(spec).statistics.specs == 0
    assert (
        solver.tables(dataclasses.replace(spec, limits=Limits.of(vrf=1, l1=2, l2=3)))
        == ()
    )


def test_a_program_prints_as_a_tree() -> None:
    spec = parse_spec("fill:64:f32", AVX2.limits)
    lines = str(best_program(spec, AVX2).impl).splitlines()
    assert re.match(r"fill 64: move\(out, L[12], \[0\]\) \[\d+\]$", lines[0])
    leaf = f"{'  ' * (len(lines) - 1)}body 1 x fill 64: select(fill_rows) ["
    assert lines[-1].startswith(leaf)


def test_a_best_program_is_kept() -> None:
    spec = parse_spec("fill:64:f32", AVX2.limits)
    assert best_program(spec, AVX2) is best_program(spec, AVX2)


def test_leaves_are_where_kernels_work() -> None:
    impl = best_program(parse_spec(TEXTS[0], AVX2.limits), AVX2).impl
    leaves = [p for p in impl.walk() if not p.branches]
    assert leaves
    for leaf in leaves:
        assert isinstance(leaf.action, Select)
        assert KERNELS[leaf.action.kernel].accepts(leaf.spec.key)


def test_tables_are_freed_with_their_solver() -> None:
    """Nothing in a search refers to what refers to it: they may be gigabytes."""
    spec, solver = parse_spec("max:5x9:f32", AVX2.limits), Solver(AVX2)
    solver.solve(spec)
    tables = weakref.ref(solver.run_of(spec).store)
    gc.disable()
    try:
        del solver
        assert tables() is None
    finally:
        gc.enable()
