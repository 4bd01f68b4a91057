"""gemm_outer: where it applies; what it asks for."""

from morello.kernels import KERNELS
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.spec import Matmul, Spec
from morello.spec.frame import Frame
from tests.kernels.harness import price, spec
from tests.kernels.test_assembly import assembly, loops, opcodes, touches_stack

NAME = "gemm_outer"


def outer(sizes: tuple[int, ...], accum: bool = False) -> Spec:
    forms = "f32@L1[0,1,2]", "f32@L1[0,1,2]", "f32@MEM[0,1,2]"
    return spec(Matmul(accum), sizes, *forms)


def test_out_in_a_cache_is_left_to_others() -> None:
    near = "f32@L1[0,1,2]", "f32@L1[0,1,2]", "f32@L2[0,1,2]"
    assert not KERNELS[NAME].accepts(spec(Matmul(False), (1, 2, 1, 512), *near).key)


def test_each_line_of_out_is_asked_for_once() -> None:
    """By its own row, or by the one before; the last row asks for no other."""
    lines = assembly(NAME, outer((1, 40, 3, 1024)))
    bodies = [body for body in loops(lines) if opcodes(body)["vfmadd231ps"]]
    assert [opcodes(body)["prefetcht0"] for body in bodies] == [1, 1, 1]
    for body in bodies:
        counts = opcodes(body)
        assert counts["vfmadd231ps"] + counts["vfmadd213ps"] == 6
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
