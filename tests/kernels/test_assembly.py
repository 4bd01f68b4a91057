"""What the machine code of kernels looks like where speed depends on it."""

import itertools
import re
from collections import Counter

import pytest

from morello.kernels.code.unroll import UNROLL, UNROLL_INT
from morello.machine import AVX2, Target
from morello.machine.targets.avx512 import AVX512
from morello.spec import Matmul, Move, Spec, parse_spec
from tests.kernels.harness import Case, compiled, legal, spec
from tests.named_kinds import named

_LABEL = re.compile(r"^(\.LBB\w+):")


def assembly(name: str, goal: Spec) -> list[str]:
    """The instructions and labels of one kernel as a function."""
    return instructions(compiled([Case(name, goal)]).asm)


def instructions(listing: str) -> list[str]:
    """The instructions and labels, without directives and comments."""
    lines = map(str.strip, listing.splitlines())
    return [s for s in lines if s and not re.match(r"\.(?!L)|#", s)]


def loops(lines: list[str]) -> list[list[str]]:
    """The instructions of each loop that has none inside."""
    labels = {m[1]: i for i, s in enumerate(lines) if (m := _LABEL.match(s))}
    spans = [
        (labels[m[1]], i)
        for i, s in enumerate(lines)
        if (m := re.match(r"j\w+\s+(\.LBB\w+)", s)) and labels[m[1]] < i
    ]
    inner = [(a, b) for a, b in spans if not any(a <= c and d < b for c, d in spans)]
    return [lines[a + 1 : b] for a, b in inner]


def loop(lines: list[str]) -> list[str]:
    """The instructions of the one loop."""
    (only,) = loops(lines)
    return only


def opcodes(lines: list[str]) -> Counter[str]:
    return Counter(s.split()[0] for s in lines)


def touches_stack(lines: list[str]) -> bool:
    return any(re.search(r"\(%r[sb]p[,)]", s) for s in lines)


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [("[0,1,2,1p6]", "[0,2,1,2p16]"), ("[0,1,2]", "[0,1,2]")],
    ids=["panels", "rows"],
)
@pytest.mark.parametrize(("m", "n"), [(6, 16), (4, 24)])
def test_the_matmul_loop_keeps_its_sums_in_registers(
    lhs: str, rhs: str, m: int, n: int
) -> None:
    rhs = rhs.replace("2p16", f"2p{n}")
    forms = f"f32@L1{lhs}", f"f32@L1{rhs}", "f32@VRF[0,1,2]v8"
    lines = assembly("gemm_registers", spec(Matmul(True), (1, m, 256, n), *forms))
    body = loop(lines)
    counts = opcodes(body)
    assert m * n // 8 == 12
    assert counts["vfmadd231ps"] == 12 * UNROLL
    assert counts["vbroadcastss"] == m * UNROLL
    assert counts["vmovups"] == n // 8 * UNROLL
    assert all(re.search(r"%ymm\d+, %ymm\d+, %ymm\d+$", s) for s in body if "vfm" in s)
    assert not touches_stack(lines)
    # Beside the products and loads: two pointers or counters, a comparison, a jump.
    assert len(body) - (12 + m + n // 8) * UNROLL <= 4


@pytest.mark.parametrize(
    ("sizes", "gapless", "asks"),
    [
        ((1, 6, 512, 128), "!", 2),  # by each of two panels, which are written out
        ((1, 6, 512, 128), "", 1),  # a row by each of six
        ((1, 2, 512, 96), "", 2),  # two rows, three panels at a time
        ((1, 6, 512, 80), "", 0),  # fewer panels than rows
    ],
)
def test_loops_over_panels_ask_for_a_line_of_each_row_in_a_trip(
    sizes: tuple[int, ...], gapless: str, asks: int
) -> None:
    forms = f"f32@L1[0,1,2]{gapless}", "f32@L2[0,2,1,2p16]", "f32@L1[0,1,2]"
    lines = assembly("gemm_panels", spec(Matmul(False), sizes, *forms))
    assert opcodes(lines)["prefetcht1"] == asks
    for body in loops(lines):
        assert opcodes(body)["vfmadd231ps"] == 12 * UNROLL
        assert not touches_stack(body)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "panel", "target"),
    [
        *(("gemm_panels", panel, AVX2) for panel in (16, 24)),
        *(("gemm_panels_512", panel, AVX512) for panel in (32, 48)),
    ],
)
def test_no_loop_over_panels_touches_the_stack(
    name: str, panel: int, target: Target
) -> None:
    forms = "f32@L1[0,1,2]", f"f32@L2[0,2,1,2p{panel}]", "f32@L1[0,1,2]"
    sizes = [(1, m, 64, 28 * panel) for m in range(1, 15)]
    products = [spec(Matmul(True), s, *forms, limits=target.limits) for s in sizes]
    cases = [Case(name, one) for one in products if legal(name, one)]
    assert len(cases) >= 4
    assert not _spilling(cases)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "dtypes", ["f32 f32 f32", "f32 bf16 f32", "bf16 bf16 f32", "s32 s32 s32"]
)
def test_no_loop_of_a_shape_that_fits_registers_touches_the_stack(dtypes: str) -> None:
    lhs, rhs, out = dtypes.split()
    forms = f"{lhs}@L1[0,1,2]", f"{rhs}@L1[0,1,2]", f"{out}@VRF[0,1,2]v8"
    sizes = itertools.product(range(1, 15), (5, 8, 13, 16, 20, 24, 32, 48, 64, 96))
    specs = [spec(Matmul(True), (1, m, 64, n), *forms) for m, n in sizes]
    cases = [Case("gemm_registers", one) for one in specs]
    cases = [case for case in cases if legal(case.kernel, case.spec)]
    assert len(cases) > 30
    assert not _spilling(cases)


def _spilling(cases: list[Case]) -> list[tuple[int, ...]]:
    """The sizes of the cases that have a loop which touches the stack."""
    # Their functions, in order, are f0, f1, ...
    listing = "\n".join(instructions(compiled(cases).asm))
    bodies = re.split(r"^f\d+:$", listing, flags=re.MULTILINE)[1:]
    return [
        case.spec.sizes
        for case, body in zip(cases, bodies, strict=True)
        if any(touches_stack(lines) for lines in loops(body.splitlines()))
    ]


@pytest.mark.parametrize(("m", "n"), [(8, 48), (12, 32)])
def test_two_trips_keep_the_sums_of_most_registers(m: int, n: int) -> None:
    forms = "f32@L1[0,1,2]", "f32@L1[0,1,2]", "f32@VRF[0,1,2]v16"
    sizes = (1, m, 2 * UNROLL, n)
    lines = assembly("gemm_registers_512", spec(Matmul(True), sizes, *forms))
    assert opcodes(loop(lines))["vfmadd231ps"] == 24 * UNROLL
    assert not touches_stack(lines)


@pytest.mark.parametrize(("m", "n"), [(6, 16), (4, 24), (5, 16)])
def test_the_first_rows_of_a_block_are_done_before_the_last(m: int, n: int) -> None:
    """Behind the loop two rows have their last products, and are stored, at a time."""
    forms = "f32@L1[0,1,2]", "f32@L1[0,1,2]", "f32@L1[0,1,2]"
    lines = assembly("gemm_tile", spec(Matmul(False), (1, m, 64, n), *forms))
    (body,) = (b for b in loops(lines) if opcodes(b)["vfmadd231ps"])
    rest = lines[lines.index(body[-1]) + 1 :]
    vectors = n // 8
    sums = [s.split()[-1] for s in rest if s.startswith("vfmadd231ps")]
    assert len(sums) == 4 * m * vectors
    for start in range(0, len(sums), 8 * vectors):
        assert len(set(sums[start : start + 8 * vectors])) <= 2 * vectors
    last = max(i for i, s in enumerate(rest) if s.startswith("vfmadd231ps"))
    early = [s for s in rest[:last] if re.match(r"vmovups\s+%ymm", s)]
    assert len(early) >= (m - 2) * vectors - 2
    assert not touches_stack(rest)


@pytest.mark.parametrize(
    ("name", "out", "k"),
    [("gemm_tile", "f32@L1[0,1,2]", 512), ("gemm_registers", "f32@VRF[0,1,2]v8", 64)],
)
def test_a_long_sum_or_one_that_is_not_stored_ends_as_it_began(
    name: str, out: str, k: int
) -> None:
    forms = "f32@L1[0,1,2]", "f32@L1[0,1,2]", out
    lines = assembly(name, spec(Matmul(name != "gemm_tile"), (1, 6, k, 16), *forms))
    (body,) = (b for b in loops(lines) if opcodes(b)["vfmadd231ps"])
    assert opcodes(lines)["vfmadd231ps"] == opcodes(body)["vfmadd231ps"] == 48


def test_a_single_row_multiplies_straight_from_memory() -> None:
    forms = "f32@L1[0,1,2]", "f32@L1[0,1,2]", "f32@VRF[0,1,2]v8"
    lines = assembly("gemm_registers", spec(Matmul(True), (1, 1, 256, 96), *forms))
    counts = opcodes(loop(lines))
    assert counts["vfmadd231ps"] == 12 * counts["vbroadcastss"]
    assert counts["vmovups"] == 0
    assert not touches_stack(lines)


@pytest.mark.parametrize(("m", "n"), [(4, 16), (5, 16), (8, 8), (12, 8)])
def test_quads_take_three_instructions_for_32_products(m: int, n: int) -> None:
    forms = "u8@L1[0,1,2]", "s7@L1[0,2,1,2p16,1p4]", "s32@VRF[0,1,2]v8"
    lines = assembly("int_dot4", spec(Matmul(True), (1, m, 256, n), *forms))
    counts = opcodes(loop(lines))
    products = 2 * m * n // 8
    assert counts["vpmaddubsw"] == counts["vpmaddwd"] == counts["vpaddd"] == products
    assert counts["vpbroadcastd"] == 2 * m
    assert counts["vmovdqu"] == 2 * n // 8
    assert not touches_stack(lines)


@pytest.mark.parametrize("m", [2, 8, 12])
def test_quads_of_two_rows_of_a_vector_come_before_their_sums(m: int) -> None:
    """Sums between them would take the multipliers' turns."""
    forms = "u8@L1[0,1,2]", "s7@L1[0,2,1,2p16,1p4]", "s32@VRF[0,1,2]v8"
    lines = assembly("int_dot4", spec(Matmul(True), (1, m, 256, 8), *forms))
    products = sums = 0
    for op in (line.split()[0] for line in loop(lines)):
        products += op == "vpmaddwd"
        sums += op == "vpaddd"
        assert products >= sums + sums % 2
    assert products == sums == 2 * m


def test_quads_of_half_vectors_are_made_without_crossing_halves() -> None:
    """What crosses has one port on many cores, other shuffles two."""
    forms = "s7@L1[0,1,2]", "s7@L1[0,2,1,2p16,1p4]"
    counts = opcodes(assembly("interleave4", spec(Move(3), (1, 8, 16), *forms)))
    shuffles = {
        op: n for op, n in counts.items() if op.startswith(("vp", "vin", "vex"))
    }
    halves = "vpunpcklbw", "vpunpckhbw", "vpunpcklwd", "vpunpckhwd"
    assert shuffles == dict.fromkeys(halves, 4)
    assert counts["vmovdqu"] == 16


@pytest.mark.parametrize("n", [16, 96])
@pytest.mark.parametrize(("m", "steps"), [(4, 2), (5, 1), (6, 1)])
def test_bytes_by_float_keep_their_sums_in_registers(
    m: int, steps: int, n: int
) -> None:
    forms = "u8w@L1[0,1,2]", "s8z@L2[0,2,1,2p16,1p2]", "s32@L1[0,1,2]"
    lines = assembly("int_dot2_float", spec(Matmul(True), (1, m, 256, n), *forms))
    body = next(b for b in loops(lines) if any("vaddps" in line for line in b))
    counts = opcodes(body)
    assert counts["vpmaddwd"] == counts["vaddps"] == 2 * m * steps
    assert counts["vpbroadcastd"] == m * steps
    assert counts["vmovdqu"] == 2 * steps
    assert not touches_stack(body)
    # Both products of a row before its sums, which would delay the second one.
    products = sums = 0
    for op in (line.split()[0] for line in body):
        products += op == "vpmaddwd"
        sums += op == "vaddps"
        assert products >= sums + sums % 2
    # Beside those: two pointers or counters, a comparison, a jump.
    assert len(body) - (5 * m + 2) * steps <= 4


@pytest.mark.parametrize(
    ("name", "kind", "forms", "n", "product", "load"),
    [
        (
            "int_dot2",
            Matmul(True),
            ("s16@L1[0,1,2,1p6,2p2]", "s16@L1[0,2,1,2p16,1p2]", "s32@VRF[0,1,2]v8"),
            16,
            "vpmaddwd",
            "vpbroadcastd",
        ),
        (
            "int_dot2_saturating",
            Matmul(True, True),
            ("u8@L1[0,1,2,1p6,2p2]", "s8@L1[0,2,1,2p32,1p2]", "s16@VRF[0,1,2]v16"),
            32,
            "vpmaddubsw",
            "vpbroadcastw",
        ),
    ],
)
def test_the_loop_over_pairs_keeps_its_sums_in_registers(
    name: str, kind: Matmul, forms: tuple[str, ...], n: int, product: str, load: str
) -> None:
    body = loop(assembly(name, spec(kind, (1, 6, 256, n), *forms)))
    counts = opcodes(body)
    assert counts[product] == counts["vpaddd"] + counts["vpaddw"] == 12 * UNROLL_INT
    assert counts[load] == 6 * UNROLL_INT
    assert counts["vmovdqu"] == 2 * UNROLL_INT
    # Two products before their sums: sums would take the multipliers' turns.
    order = [line.split()[0] for line in body]
    assert sum(a == b == product for a, b in itertools.pairwise(order)) >= 4
    assert not touches_stack(body)
    # Beside these: two pointers or counters, a comparison, a jump.
    assert len(body) - (12 + 12 + 6 + 2) * UNROLL_INT <= 4


def test_the_integer_matmul_loop_keeps_its_sums_in_registers() -> None:
    forms = "s32@L1[0,1,2,1p6]", "s32@L1[0,2,1,2p16]", "s32@VRF[0,1,2]v8"
    lines = assembly("gemm_registers", spec(Matmul(True), (1, 5, 256, 16), *forms))
    counts = opcodes(loop(lines))
    assert counts["vpmulld"] == counts["vpaddd"] == 10 * UNROLL_INT
    assert counts["vmovdqa"] == 0
    assert not touches_stack(lines)


def test_a_narrow_end_is_one_masked_load() -> None:
    forms = "f32@L1[0,1,2]", "f32@L1[0,1,2]", "f32@VRF[0,1,2]v8"
    lines = assembly("gemm_registers", spec(Matmul(True), (1, 6, 256, 13), *forms))
    assert opcodes(loop(lines))["vmaskmovps"] == UNROLL
    assert not touches_stack(lines)


def test_a_narrow_end_is_one_masked_store() -> None:
    forms = "f32@VRF[0,1]v16", "f32@L1[0,1]"
    for n in range(1, 16):
        lines = assembly("store_512", spec(Move(2), (1, n), *forms))
        stores = [line for line in lines if line.endswith(("(%rsi)", "{%k1}"))]
        assert len(stores) == 1, n
        assert ("{%k1}" in stores[0]) == (n.bit_count() > 1)


def test_a_transpose_is_the_shuffles_of_avx() -> None:
    lines = assembly("transpose", spec(Move(2), (8, 8), "f32@L1[0,1]", "f32@L1[1,0]"))
    counts = opcodes(lines)
    names = ("vunpcklps", "vunpckhps", "vunpcklpd", "vunpckhpd")
    assert [counts[name] for name in names] == [4, 4, 4, 4]
    assert counts["vinsertf128"] + counts["vperm2f128"] == 8
    assert counts["vmovups"] == 16
    assert not touches_stack(lines)


def test_a_long_transpose_asks_for_each_line_once() -> None:
    forms = "f32@L2[0,1]", "f32@MEM[1,0]"
    lines = assembly("transpose_prefetch", spec(Move(2), (512, 16), *forms))
    counts = opcodes(lines)  # of a loop that asks for both, and of one for src alone
    assert counts["prefetcht0"] == 16
    assert counts["prefetcht1"] == 2 * 16
    assert counts["vunpcklps"] + counts["vunpckhps"] == 2 * 4 * 8
    assert not touches_stack(lines)


def test_packing_six_rows_takes_no_more_than_their_share() -> None:
    forms = "f32@L1[0,1,2]", "f32@L1[0,1,2,1p6]"
    lines = assembly("transpose", spec(Move(3), (1, 6, 8), *forms))
    counts = opcodes(lines)
    assert sum(v for k, v in counts.items() if k.startswith(("vunpck", "vshuf"))) == 10
    assert not touches_stack(lines)


def test_the_maximum_of_floats_has_no_branch_and_no_blend() -> None:
    lines = assembly(
        "reduce_rows", spec(named("max_accum"), (1, 999), "f32@L1[0,1]", "f32@L1[0]")
    )
    body = opcodes(loop(lines))
    assert body["vmaxps"] % 2 == 0
    assert body["vmaxps"] == 2 * body["vcmpunordps"] == 2 * body["vandps"]
    assert not any(opcode.startswith("j") for opcode in body)
    assert not any("blend" in opcode for opcode in body)


def of_graph(
    kernel: str, text: str, sizes: tuple[int, ...], *layouts: str
) -> Counter[str]:
    """The instructions of the longest loop of a graph whose operands are in L1."""
    kind = parse_spec(text, AVX2.limits).kind
    goal = spec(kind, sizes, *(f"f32@L1{layout}" for layout in layouts))
    return opcodes(max(loops(assembly(kernel, goal)), key=len))


def test_squares_are_summed_by_multiply_adds() -> None:
    """As products are: of the elements' distance from a mean, a row at a time."""
    text = "compose:4x768:f32:graph=y[r]=sum(square(x[r,n]-u[r]))"
    counts = of_graph("graph_rows", text, (4, 768), "[0,1]", "[0]", "[0]")
    fused = sum(count for op, count in counts.items() if op.startswith("vfmadd"))
    assert fused == counts["vsubps"] > 0
    assert not counts["vmulps"] + counts["vaddps"]


def test_a_number_is_rounded_to_a_whole_one_by_one_instruction() -> None:
    text = "compose:4x768:f32:graph=y[r,n]=round(x[r,n])"
    counts = of_graph("graph_rows", text, (4, 768), "[0,1]", "[0,1]")
    assert counts["vroundps"] > 0
    assert not counts["vaddps"] + counts["vandps"] + counts["vcmpltps"]


def test_exp_is_nine_multiply_adds_and_a_power_of_two() -> None:
    """With no lower bound on AVX-512: where the power is 0, a mask says so."""
    text = "compose:1x4096:f32:graph=y[r,n]=exp(x[r,n])"
    counts = of_graph("graph_rows_512", text, (1, 4096), "[0,1]", "[0,1]")
    fused = sum(count for op, count in counts.items() if op.startswith("vfm"))
    assert fused == 9 * counts["vscalefps"] > 0
    assert counts["vminps"] == counts["vscalefps"]
    assert not counts["vmaxps"] + counts["vmulps"]


def test_the_maximum_of_a_row_is_one_choice_a_vector_and_a_check_of_two() -> None:
    text = "compose:1x4096:f32:graph=y[r]=max(x[r,n])"
    counts = of_graph("graph_rows_512", text, (1, 4096), "[0,1]", "[0]")
    assert counts["vrangeps"] == 2 * counts["vcmpunordps"] > 0
    assert not counts["vmaxps"] + counts["vandps"]


def test_vectors_side_by_side_are_computed_in_turn() -> None:
    """So that between two multiply-adds of a chain there are those of the others."""
    kind = parse_spec("compose:1x4096:f32:graph=y[r,n]=exp(x[r,n])", AVX2.limits).kind
    goal = spec(kind, (1, 4096), "f32@L1[0,1]", "f32@L1[0,1]")
    inner = max(loops(assembly("graph_rows_512", goal)), key=len)
    fused = [line.split()[-1] for line in inner if "vfmadd" in line]
    last = dict.fromkeys(fused, -4)
    for place, register in enumerate(fused):
        assert place - last[register] >= 3
        last[register] = place
    assert not touches_stack(inner)


def test_the_maximum_of_rows_on_their_own_is_one_choice_a_vector() -> None:
    goal = spec(named("max_accum"), (4, 999), "f32@L1[0,1]", "f32@L1[0]")
    counts = opcodes(loop(assembly("reduce_rows_512", goal)))
    assert counts["vrangeps"] == 2 * counts["vcmpunordps"] == 8


def test_functions_have_short_code() -> None:
    """A load of each of many vectors is a stream of its own to a prefetcher."""
    kind = parse_spec("exp:1x512:f32", AVX2.limits).kind
    tensors = "f32@L1[0,1]", "f32@L1[0,1]"
    assert legal("map_rows_512", spec(kind, (1, 8 * 16), *tensors))
    assert not legal("map_rows_512", spec(kind, (1, 8 * 16 + 1), *tensors))


def test_long_rows_are_not_written_out_one_by_one() -> None:
    """A loop of two long rows stays one, with one load for each vector of a step."""
    kind = parse_spec("compose:2x4096:f32:graph=y[r]=sum(x[r,n])", AVX2.limits).kind
    goal = spec(kind, (2, 4096), "f32@L1[0,1]", "f32@L1[0]")
    lines = assembly("graph_rows_512", goal)
    assert len([body for body in loops(lines) if len(body) < 20]) == 1


def _of_nibbles(m: int, lhs: str, panel: int) -> Spec:
    """A product of some rows with integers of 4 bits in panels."""
    near, far = "[0,1]@L1/strided", "[0,1]@L2/strided"
    factors = f"x0={near}" if lhs == "f32" else f"x0={near}:x1={near}"
    a = "x0[m,k]" if lhs == "f32" else "x0[m,k//32]*x1[m,k]"
    s, q = ("x1", "x2") if lhs == "f32" else ("x2", "x3")
    graph = f"out v0[m,n]=sum({a}*({s}[k//32,n]*({q}[k/2,n]-8)))"
    integers = f"{q}=[1,0,1p{panel},0p4]@L2:v0={near}"
    target = AVX512 if panel == 64 else AVX2
    return parse_spec(
        f"compose:{m}x64x256:{lhs},f16,u8,f32:graph={graph}:{factors}:{s}={far}"
        f":{integers}",
        target.limits,
    )


@pytest.mark.parametrize(
    ("name", "lhs", "product"),
    [
        ("scaled_rows_512", "f32", "vfmadd"),
        ("scaled_bytes4_512", "f32,s8", "vpdpbusd"),
    ],
)
def test_products_of_8_rows_read_their_factors_from_memory(
    name: str, lhs: str, product: str
) -> None:
    """A load by itself would take the place of a product."""
    bodies = [
        [s for s in body if product in s]
        for body in loops(assembly(name, _of_nibbles(8, lhs, 64)))
    ]
    products = max(bodies, key=len)
    assert len(products) >= 8 * 8
    assert sum("{1to16}" in s for s in products) >= 0.85 * len(products)


def test_no_factor_of_bytes_is_spilled() -> None:
    bodies = loops(assembly("scaled_bytes", _of_nibbles(4, "f32,s8", 32)))
    body = max(bodies, key=lambda lines: opcodes(lines)["vpmaddubsw"])
    assert opcodes(body)["vpmaddubsw"] == 2 * 4 * 8
    assert not touches_stack([s for s in body if "vpmaddubsw" in s])
