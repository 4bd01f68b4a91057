"""gemm_strips: exact for one block of rows and several; where it applies; its cost."""

import dataclasses

import pytest

from morello.kernels import KERNELS
from morello.machine import Target
from morello.machine.targets.avx2_zen5 import AVX2_ZEN5
from morello.machine.targets.avx512_zen5 import AVX512_ZEN5
from morello.spec import L2, Limits, Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import (
    check_random,
    legal,
    legal_cases,
    limits_of,
    price,
    spec,
)

NAME = "gemm_strips"
ARGUMENTS = 3 * ["f32@MEM[0,1,2]!"]
EDGES = ((8, 33), (31, 70), (32, 15), (40, 16), (34, 97))
"""Rows of rhs that are copied strip by strip, and fewer; columns beside whole strips,
and fewer than a strip."""


def strips(
    accum: bool, sizes: tuple[int, ...], rhs: str = "f32@L2[0,1,2]", lhs: str = "L1"
) -> Spec:
    return spec(Matmul(accum), sizes, f"f32@{lhs}[0,1,2]", rhs, "f32@L2[0,1,2]")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [NAME, f"{NAME}_512"])
@pytest.mark.parametrize("accum", [True, False])
def test_every_count_of_rows_is_exact(name: str, accum: bool) -> None:
    sizes = [(1, m, 37, 50) for m in (*range(5, 15), 25, 38)]
    sizes += [(1, m, k, n) for m in (6, 13) for k, n in EDGES]
    limits = limits_of(name)
    given = (dataclasses.replace(strips(accum, s), limits=limits) for s in sizes)
    cases = legal_cases(name, tuple(given))
    assert len(cases) == len(sizes)
    check_random(cases)


@pytest.mark.parametrize(
    ("sizes", "vrf", "l2", "reason"),
    [
        ((2, 8, 64, 32), 16, 16384, "needs b = 1"),
        ((1, 4, 64, 32), 16, 16384, "takes more than 4 rows of lhs"),
        ((1, 8, 7, 32), 16, 16384, "takes at least 8 rows of rhs"),
        ((1, 8, 513, 32), 16, 16384, "takes at most 512 rows of rhs"),
        ((1, 8, 64, 32), 15, 16384, "needs all registers"),
        ((1, 8, 512, 512), 16, 1024, "needs room in L2"),
        ((1, 8, 16, 4096), 16, 1024, "needs room in L2"),
    ],
)
def test_what_does_not_fit_says_why(
    sizes: tuple[int, ...], vrf: int, l2: int, reason: str
) -> None:
    given = strips(True, sizes, "f32@MEM[0,1,2]")
    given = Spec(
        given.kind, given.sizes, given.tensors, Limits.of(vrf=vrf, l1=512, l2=l2)
    )
    conditions = KERNELS[NAME].conditions(Frame.of(given))
    assert any(reason in c.text for c in conditions if not c.holds)


def test_a_strip_needs_room_not_all_of_rhs() -> None:
    wide = strips(True, (1, 12, 512, 1 << 20), "f32@MEM[0,1,2]")
    assert legal(NAME, wide)


def test_rhs_is_beyond_l1_and_lhs_is_near() -> None:
    sizes = (1, 12, 64, 64)
    assert legal(NAME, strips(True, sizes, "f32@MEM[0,1,2]", "L2"))
    assert not legal(NAME, strips(True, sizes, "f32@L1[0,1,2]"))
    assert not legal(NAME, strips(True, sizes, lhs="MEM"))


def test_lines_from_memory_arrive_while_many_rows_are_multiplied() -> None:
    """Of eight rows the lines take a part of the time, of sixty next to none."""

    def beyond_products(m: int) -> float:
        far, near = (
            price(NAME, Frame.of(strips(True, (1, m, 512, 1600), rhs)), AVX2_ZEN5)
            for rhs in ("f32@MEM[0,1,2]", "f32@L2[0,1,2]")
        )
        return far / near - 1

    assert beyond_products(60) < 0.03
    assert beyond_products(8) > 2 * beyond_products(60)


def test_rows_that_begin_within_lines_cost_a_load_more() -> None:
    given = Frame.of(strips(True, (1, 8, 64, 960)))
    aligned, crossing = (
        price(NAME, given, AVX2_ZEN5.at(spec(Matmul(True), (1, 8, 64, n), *ARGUMENTS)))
        for n in (1008, 1009)
    )
    assert crossing > aligned


def test_whole_lines_that_are_copied_cost_their_stores_where_nothing_waits() -> None:
    """A second block of rows adds the copy. Memory hides it, and so do products where a
    store is half a line."""

    def second_block(name: str, target: Target, rows: int, rhs: str) -> float:
        one, two = (
            price(name, Frame.of(strips(True, (1, m, 192, 480), rhs)), target)
            for m in (rows, 2 * rows)
        )
        return two / one

    for name, target, rows, is_seen in (
        (NAME, AVX2_ZEN5, 6, False),
        (f"{NAME}_512", AVX512_ZEN5, 12, True),
    ):
        near = second_block(name, target, rows, "f32@L2[0,1,2]")
        far = second_block(name, target, rows, "f32@MEM[0,1,2]")
        assert (near > 1.1 * far) == is_seen


def test_it_needs_what_is_left_of_l2() -> None:
    key = strips(True, (1, 12, 64, 64), "f32@MEM[0,1,2]").key
    assert KERNELS[NAME].levels_needed(key) == {L2}
