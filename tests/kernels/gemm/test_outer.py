"""gemm_outer: exact at edges; where it applies; what it asks for."""

import pytest

from morello.kernels import KERNELS
from morello.machine.targets.avx2 import AVX2
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.spec import L1, L2, Limits, Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import check_random, legal_cases, price, spec
from tests.kernels.test_assembly import assembly, loops, opcodes, touches_stack

NAME = "gemm_outer"


def outer(
    sizes: tuple[int, ...], dtype: str = "f32", accum: bool = False, vrf: int = 16
) -> Spec:
    forms = f"{dtype}@L1[0,1,2]", f"{dtype}@L1[0,1,2]", f"{dtype}@MEM[0,1,2]"
    limits = Limits.of(vrf=vrf, l1=AVX2.limits[L1], l2=AVX2.limits[L2])
    return spec(Matmul(accum), sizes, *forms, limits=limits)


@pytest.mark.parametrize("accum", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_it_is_exact_at_edges(dtype: str, accum: bool) -> None:
    sizes = [(1, 3, k, 528) for k in range(1, 7)]
    sizes += [(1, m, 2, n) for m in (2, 5) for n in (512, 513, 520, 527, 999, 1024)]
    given = [outer(s, dtype, accum) for s in sizes]
    cases = legal_cases(NAME, tuple(given))
    assert len(cases) == len(given)
    check_random(cases)


@pytest.mark.parametrize(
    ("sizes", "vrf", "reason"),
    [
        ((2, 2, 1, 512), 16, "needs b = 1"),
        ((1, 1, 1, 512), 16, "takes two rows or more: use gemv_axpy"),
        ((1, 2, 7, 512), 16, "takes at most 6 k"),
        ((1, 2, 1, 511), 16, "takes rows twice as long as the prefetch distance"),
        ((1, 2, 1, 512), 9, "needs free registers for factors and sums"),
    ],
)
def test_what_does_not_fit_says_why(
    sizes: tuple[int, ...], vrf: int, reason: str
) -> None:
    conditions = KERNELS[NAME].conditions(Frame.of(outer(sizes, vrf=vrf)))
    (found,) = [c.text for c in conditions if not c.holds]
    assert reason in found


def test_out_in_a_cache_is_left_to_others() -> None:
    near = "f32@L1[0,1,2]", "f32@L1[0,1,2]", "f32@L2[0,1,2]"
    assert not KERNELS[NAME].accepts(spec(Matmul(False), (1, 2, 1, 512), *near).key)


def test_each_line_of_out_is_asked_for_once() -> None:
    """By its own row, or by the one before; the last row asks for no other."""
    lines = assembly(NAME, outer((1, 40, 3, 1024)))
    bodies = [body for body in loops(lines) if opcodes(body)["vfmadd231ps"]]
    assert [opcodes(body)["prefetcht0"] for body in bodies] == [1, 1, 1]
    for body in bodies:
        found = opcodes(body)
        assert found["vfmadd231ps"] + found["vfmadd213ps"] == 6
        assert sum("%ymm" in s.split(",")[0] for s in body if "vmovups" in s) == 2
        assert not touches_stack(body)


def test_lines_of_out_count_where_arithmetic_is_less() -> None:
    c = AVX2_GOLDEN_COVE.coefficients

    def cost(k: int, accum: bool = False) -> int:
        frame = Frame.of(outer((1, 64, k, 1024), accum=accum))
        return int(price(NAME, frame, AVX2_GOLDEN_COVE))

    lines, load = 64 * 1024 // 16, AVX2_GOLDEN_COVE.ops.load
    assert cost(2) - cost(1) == 64 * load
    held = lines * (c.line_mem_overlapped + c.line_l2)
    assert cost(1, True) - cost(1) >= held
    products = 64 * 1024 // 8 * 6
    assert cost(6) >= products * load > lines * (c.store_mem + c.store_l2)
