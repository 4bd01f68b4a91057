"""gemm_tile: exact in every layout; its loop; its cost."""

import itertools

import pytest

from morello.kernels import KERNELS
from morello.kernels.code.unroll import UNROLL
from morello.machine.targets.avx2 import AVX2
from morello.spec import Matmul, Spec, parse_spec
from morello.spec.frame import Frame
from tests.kernels.harness import check_random, legal_cases, price, spec
from tests.kernels.test_assembly import assembly, loop, opcodes, touches_stack

LHS = ("[0,1,2]", "[0,2,1]", "[0,1,2,1p6]", "[0,1,2,1p4]")
RHS = ("[0,1,2]", "[0,2,1,2p16]", "[0,2,1,2p24]")
OUT = ("[0,1,2]", "[0,2,1,2p24]")


def block(
    accum: bool,
    sizes: tuple[int, ...],
    forms: tuple[str, str, str] = ("[0,1,2]",) * 3,
    dtypes: tuple[str, str] = ("f32", "f32"),
) -> Spec:
    tensors = [f"{d}@L1{f}" for d, f in zip((*dtypes, "f32"), forms, strict=True)]
    return spec(Matmul(accum), sizes, *tensors)


@pytest.mark.parametrize(
    ("lhs", "rhs", "asks"),
    [
        ("[0,1,2]", "[0,1,2]", (True, True)),
        ("[0,2,1]", "[0,2,1]", (True, True)),
        ("[0,1,2,1p4]", "[0,2,1,2p8]", (True, True)),  # other panels than it asks for
        ("[0,1,2]", "[0,2,1,1p4]", (False, True)),
        ("[0,1,2]", "[0,1,2,1p8]", (False, True)),
        ("[0,2,1,2p8]", "[0,1,2]", (True, False)),
        ("[0,1,2,2p4]", "[0,1,2,1p4]", (False, False)),
    ],
)
def test_it_asks_for_an_operand_unless_the_other_is_packed_along_k(
    lhs: str, rhs: str, asks: tuple[bool, bool]
) -> None:
    """Nothing unpacks what is packed, and its loop reads no packs along k."""
    text = f"matmul:16x16x32:f32:lhs={lhs}@L2:rhs={rhs}@L2"
    key = parse_spec(text, AVX2.limits).key
    kernel = KERNELS["gemm_registers"]
    assert tuple(bool(kernel.forms(key, operand)) for operand in (0, 1)) == asks


@pytest.mark.sampled(5)
def test_every_layout_and_narrower_factors_are_exact() -> None:
    sizes = [(1, 6, 7, 16), (1, 4, 7, 24), (1, 3, 5, 9), (1, 1, 4, 1)]
    dtypes = (("f32", "f32"), ("f32", "bf16"), ("bf16", "bf16"))
    every = itertools.product(sizes, itertools.product(LHS, RHS, OUT))
    specs = [
        block((number + more) % 2 == 0, s, forms, dtypes[(number + more) % 3])
        for number, (s, forms) in enumerate(every)
        for more in range(3 if s == sizes[0] else 1)
    ]
    check_random(legal_cases("gemm_tile", tuple(specs)))


@pytest.mark.parametrize("accum", [True, False])
@pytest.mark.parametrize(("m", "n"), [(6, 16), (4, 24)])
def test_the_loop_has_the_sums_and_nothing_of_out(accum: bool, m: int, n: int) -> None:
    forms = f"[0,1,2,1p{m}]", f"[0,2,1,2p{n}]", "[0,1,2]"
    lines = assembly("gemm_tile", block(accum, (1, m, 256, n), forms))
    body = loop(lines)
    counts = opcodes(body)
    assert m * n // 8 == 12
    assert counts["vfmadd231ps"] == 12 * UNROLL
    assert counts["vbroadcastss"] == m * UNROLL
    assert counts["vmovups"] == n // 8 * UNROLL
    # Beside the products and loads: two pointers or counters, a comparison, a jump.
    assert len(body) - (12 + m + n // 8) * UNROLL <= 4
    assert not touches_stack(body)
    # A line at each 16 columns and at the last one, before the loop.
    asked = opcodes(lines)["prefetcht0"]
    assert asked == (m * (-(-(n - 1) // 16) + 1) if accum else 0)


def test_the_way_out_costs_little_beside_the_loop() -> None:
    """Twice the k costs twice as much, but for the sums that are added."""

    def cost(k: int) -> int:
        frame = Frame.of(block(True, (1, 6, k, 16)))
        return int(price("gemm_tile", frame))

    assert cost(512) - cost(256) == 256 * 12 * AVX2.ops.fma
    assert cost(256) < 1.02 * (cost(512) - cost(256))
    # Of a short loop the loads and stores are what takes time.
    assert cost(1) > 4 * (cost(257) - cost(256))


def test_narrow_factors_cost_more_where_registers_do_not_hold_them() -> None:
    def more(m: int, dtype: str) -> float:
        each, plain = (
            price("gemm_tile", Frame.of(block(True, (1, m, 64, 16), dtypes=(d, "f32"))))
            for d in (dtype, "f32")
        )
        return each / plain - 1

    assert more(2, "bf16") < 0.1 < more(6, "bf16")
    assert more(2, "f16") > more(2, "bf16")
