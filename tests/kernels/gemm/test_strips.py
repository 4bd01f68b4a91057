"""gemm_strips: where it applies; its cost."""

from morello.kernels import KERNELS
from morello.machine import Target
from morello.machine.targets.avx2_zen5 import AVX2_ZEN5
from morello.machine.targets.avx512_zen5 import AVX512_ZEN5
from morello.spec import L2, Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import legal, price, spec

NAME = "gemm_strips"
FAR = (1, 6, 4096, 4100)
"""Sizes of a product whose operands are in DRAM."""
ARGUMENTS = 3 * ["f32@MEM[0,1,2]!"]


def strips(
    accum: bool, sizes: tuple[int, ...], rhs: str = "f32@L2[0,1,2]", lhs: str = "L1"
) -> Spec:
    return spec(Matmul(accum), sizes, f"f32@{lhs}[0,1,2]", rhs, "f32@L2[0,1,2]")


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


def test_lines_are_waited_for_where_a_strip_is_short() -> None:
    """Rows that follow each other at once make a product dearer."""

    def of_each_row(k: int, rhs: str) -> float:
        frame = Frame.of(strips(True, (1, 6, k, 1600), rhs))
        return price(NAME, frame, AVX2_ZEN5.at(spec(Matmul(True), FAR, *ARGUMENTS))) / k

    far, near = "f32@MEM[0,1,2]", "f32@L2[0,1,2]"
    waits = of_each_row(32, far) - of_each_row(32, near)
    assert waits > 1.5 * (of_each_row(256, far) - of_each_row(256, near))


def test_rows_that_begin_within_lines_cost_a_load_more() -> None:
    frame = Frame.of(strips(True, (1, 8, 64, 960)))
    aligned, crossing = (
        price(NAME, frame, AVX2_ZEN5.at(spec(Matmul(True), (1, 8, 64, n), *ARGUMENTS)))
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
