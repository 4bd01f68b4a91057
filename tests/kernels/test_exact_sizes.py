"""Kernels of products: exact at every edge size; the reasons for what they refuse."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator

import pytest

from morello.kernels import KERNELS
from morello.machine import AVX2
from morello.spec import Matmul, Spec, parse_spec
from morello.spec.frame import Frame
from tests.kernels.harness import EDGE, TWIN, check_random, legal_cases, limits_of, spec
from tests.tables import rows

Sizes = tuple[int, int, int]
"""The sizes m, k and n."""

ROWS, COLUMNS = "[0,1,2]", "[0,2,1]"
SAME = ("f32", "s32")
BOTH = tuple(itertools.product((True, False), SAME))
"""Products that are added to out and that overwrite it, of each dtype."""


@dataclasses.dataclass(frozen=True)
class Exact:
    """Products of a kernel in one form, at many sizes."""

    kernel: str
    forms: tuple[str, str, str]
    sizes: tuple[Sizes, ...]
    kind: Matmul
    some_from: int
    """The least k that the kernel takes, where it refuses some m and n; else 0."""

    def __str__(self) -> str:
        name = "accum" if self.kind.accum else "overwrite"
        return f"{self.kernel}-{'-'.join(self.forms)}-{name}"


def exact(
    kernel: str,
    forms: str,
    sizes: Iterable[Sizes],
    accum: bool = True,
    some_from: int = 0,
    saturating: bool = False,
) -> Exact:
    """A row; of a form without a layout that is row-major."""
    lhs, rhs, out = (f if "[" in f else f + ROWS for f in forms.split())
    kind = Matmul(accum, saturating)
    return Exact(kernel, (lhs, rhs, out), tuple(dict.fromkeys(sizes)), kind, some_from)


def mixed(lhs: str, rhs: str = f"MEM{ROWS}", narrow: str = "bf16") -> str:
    """The forms of a product of a narrow rhs, in f32."""
    return f"{lhs}@L1 {narrow}@{rhs} f32@L1"


def near(dtype: str, rhs: str = "L1", lhs: str = "L1", columns: str = ROWS) -> str:
    """The forms of a product of one dtype whose output is in L1."""
    return f"{dtype}@{lhs} {dtype}@{rhs}{columns} {dtype}@L1"


def axpy() -> Iterator[Exact]:
    """Rows of rhs that are scaled and added, of f32 and s32."""
    for dtype in SAME:
        edge = EDGE if dtype == "f32" else TWIN
        sides = (3, 11), (8, 16), (17, 40)
        sizes = [(m, k, n) for m in range(1, 7) for k, n in sides]
        sizes += [(1, 9, n) for n in edge] + [(4, 9, n) for n in TWIN]
        sizes += [(1, k, 19) for k in edge] + [(3, k, 19) for k in TWIN]
        yield exact("gemv_axpy", near(dtype), sizes)
        over = itertools.product((1, 6), (1, 3, 8, 9, 16, 17, 40), (5, 16, 32, 50))
        yield exact("gemv_axpy", near(dtype, "MEM"), over, False)
        for accum, few in ((True, (2, 5, 6)), (False, (2, 6))):
            some = few if dtype == "f32" else few[: len(few) - 1]
            lengths = itertools.product(some, (8, 11, 12, 17, 40), (5, 16, 50))
            yield exact("gemv_axpy_4", near(dtype, "MEM"), lengths, accum)
    ahead = itertools.product((1, 2, 6), (1, 8, 15, 16, 17, 40), (5, 16, 50))
    yield exact("gemv_axpy", near("f32", "MEM"), ahead)
    for accum, dtype in BOTH:
        sizes = [(m, k, 1024) for m in (1, 2, 6) for k in (8, 11, 12)]
        sizes += [(m, 9, n) for m in (1, 3) for n in (1025, 1032, 1040, 1100, 2053)]
        sizes += [(1, k, n) for k in (8, 13) for n in (256, 263, 300, 511)]
        yield exact("gemv_axpy_prefetch", near(dtype, "MEM"), sizes, accum)
        edge = EDGE if accum and dtype == "f32" else TWIN
        sizes = [(1, k, 50) for k in (10, 11, 14, 15, 31)]
        sizes += [(1, 16, n) for n in (*edge, 96)]
        yield exact(
            "gemv_axpy_streams", near(dtype, "MEM", columns="[0,1,2]!"), sizes, accum
        )


def axpy_of_bf16() -> Iterator[Exact]:
    """Rows and panels of bf16 that are scaled and added."""
    for lhs in ("bf16", "f32"):
        edge = EDGE if lhs == "bf16" else TWIN
        sizes = [(1, 9, n) for n in edge] + [(2, 9, n) for n in TWIN]
        sizes += [(1, k, 75) for k in edge] + [(2, k, 32) for k in TWIN]
        yield exact("gemv_axpy_bf16", mixed(lhs), sizes)
        over = itertools.product((1, 2), (1, 8, 9, 16, 24), (5, 32, 64, 75))
        yield exact("gemv_axpy_bf16", mixed(lhs), over, False)
        every = range(1, 65) if lhs == "bf16" else (*range(1, 65, 5), 32, 64)
        sizes = [(m, 7, n) for m in (1, 2) for n in every]
        some = (1, 31, 32, 33, 64)
        sizes += [(m, k, n) for m in (1, 2) for k in (1, 40) for n in some]
        yield exact("gemv_axpy_bf16", mixed(lhs, "L2[0,2,1,2p64]"), sizes, some_from=1)
    for lhs, accum in (("bf16", True), ("f32", False)):
        edge = EDGE if accum else TWIN
        sizes = [(1, 13, n) for n in (*edge, 64, 75, 96)]
        sizes += [(1, k, 70) for k in (10, 11, 14, 15, 31)]
        yield exact("gemv_axpy_bf16_streams", mixed(lhs, "MEM[0,1,2]!"), sizes, accum)
        sizes = [(1, 50, n) for n in (*edge, 192, 200)]
        sizes += [(1, k, 160) for k in (48, 49, 51, 52, 96, 131)]
        panels = mixed(lhs, "MEM[0,2,1,2p64]")
        yield exact("gemv_axpy_bf16_prefetch", panels, sizes, accum)
        sizes = [(1, 10, n) for n in (*edge, 96, 97, 111, 112, 200, 300)]
        sizes += [(1, k, 230) for k in edge if k >= 10]
        panels = mixed(lhs, "MEM[0,2,1,2p16]")
        yield exact("gemv_axpy_bf16_streams", panels, sizes, accum)


def dot() -> Iterator[Exact]:
    """Dot products along columns of rhs, of f32 and s32."""
    far = {"rhs": "MEM", "lhs": "MEM", "columns": COLUMNS}
    for accum, dtype in BOTH:
        first = accum and dtype == "f32"
        edge, columns = (
            (EDGE, (*range(1, 10), 17)) if first else (TWIN, (1, 4, 7, 8, 17))
        )
        sides = [(m, n) for m in range(1, 5) for n in columns]
        sizes = [(m, 19, n) for m, n in sides] + [(n, 19, m) for m, n in sides]
        sizes += [(1, k, 9) for k in edge]
        sizes += [(m, k, n) for k in TWIN for m, n in ((7, 2), (1, 1))]
        sizes += [(m, 9, n) for e in edge for m, n in ((1, e), (e, 1))]
        yield exact("gemv_dot", near(dtype, columns=COLUMNS), sizes, accum)
        sides = [(1, 8), (1, 15), (9, 1), (2, 13), (12, 3), (4, 7)]
        sizes = [(m, k, n) for m, n in sides for k in (2048, 2055)]
        sizes += [(8, k, 1) for k in (1024, 1025, 1033, 1040, 1070)]
        sizes += [(m, k, 1) for m in (8, 13) for k in (256, 263, 300, 511)]
        yield exact("gemv_dot_prefetch", near(dtype, **far), sizes, accum)
        sizes = [(1, k, n) for n in (10, 14, 31) for k in (1, 19, 40)]
        edge = EDGE if first else TWIN
        sizes += [(12, k, 1) for k in edge] + [(m, 19, 1) for m in (10, 14, 50)]
        yield exact("gemv_dot_streams", near(dtype, **far), sizes, accum)
    sides = [(1, 8), (1, 17), (40, 1), (2, 13), (9, 3), (4, 12)]
    sizes = [(m, k, n) for m, n in sides for k in (1, 16, 33, 100)]
    yield exact("gemv_dot", near("f32", **far), sizes)


def dot_of_bf16() -> Iterator[Exact]:
    """Dot products along columns of bf16."""
    columns = f"MEM{COLUMNS}"
    for lhs in ("bf16", "f32"):
        sizes = [(m, k, n) for m, n in ((1, 8), (1, 11), (2, 9)) for k in (4096, 4121)]
        yield exact("gemv_dot_prefetch", mixed(lhs, columns), sizes)
        edge = EDGE if lhs == "bf16" else TWIN
        sizes = [(1, k, 13) for k in edge] + [(1, 40, n) for n in (10, 14, 31)]
        yield exact("gemv_dot_streams", mixed(lhs, columns), sizes)
    for lhs, accum in (("bf16", True), ("f32", False)):
        edge = EDGE if accum else TWIN
        sizes = [(1, k, 9) for k in edge]
        sizes += [(m, k, n) for k in TWIN for m, n in ((7, 2), (2, 17))]
        sizes += [(m, 33, n) for e in edge for m, n in ((1, e), (e, 1))]
        sizes += [(2, 33, e) for e in TWIN]
        yield exact("gemv_dot", mixed(lhs, columns), sizes, accum)


def halves() -> Iterator[Exact]:
    """Few rows of f16, or of bytes that become f32, in both widths."""
    for isa, (lhs, accum) in itertools.product(
        ("", "_512"), (("f16", True), ("f32", False))
    ):
        sizes = [(1, 9, n) for n in TWIN] + [(m, 9, 75) for m in range(2, 9)]
        sizes += [(m, k, 40) for m in (1, 2) for k in (1, 8, 15, 16, 17, 40)]
        some = 0 if isa else 1  # of more rows registers are too few
        product = mixed(lhs, narrow="f16")
        yield exact(f"gemv_axpy_f16{isa}", product, sizes, accum, some)
        ahead = itertools.product((1, 2), (8, 13, 16), (1024, 1031, 1100))
        yield exact(f"gemv_axpy_f16_rows{isa}", product, ahead, accum)
    narrow = (("f16", "f16", True), ("f32", "f16", False), ("f32", "s8", False))
    bytes_of = (("f32", "u8", True), ("u8", "s8", False))
    for isa, (lhs, rhs, accum) in itertools.product(("", "_512"), (*narrow, *bytes_of)):
        sizes = [(1, k, 9) for k in TWIN] + [(2, k, 5) for k in (7, 31, 33, 100)]
        sizes += [(1, 37, n) for n in (1, 7, 8, 17)] + [(9, 37, 1)]
        columns = mixed(lhs, f"MEM{COLUMNS}", rhs)
        yield exact(f"gemv_dot{isa}", columns, sizes, accum)


def gemm() -> Iterator[Exact]:
    """Blocks of f32 and s32: their sums in registers, in L1, and beyond."""
    for accum, dtype in BOTH:
        sizes = [(3, k, 528) for k in range(1, 7)]
        sizes += [(m, 2, n) for m in (2, 5) for n in (512, 513, 520, 527, 999, 1024)]
        yield exact("gemm_outer", f"{dtype}@L1 {dtype}@L1 {dtype}@MEM", sizes, accum)
    for dtype in SAME:
        sizes = [(m, 5, n) for m in EDGE for n in (3, 8, 16)]
        sizes += [(m, 5, n) for m in (1, 3, 6) for n in EDGE]
        sizes += [(1, 9, n) for n in range(90, 113)]
        sizes += [(m, k, n) for k in EDGE for m, n in ((3, 11), (6, 16))]
        registers = f"{dtype}@L1 {dtype}@L1 {dtype}@VRF[0,1,2]v8"
        yield exact("gemm_registers", registers, sizes, some_from=1)
    for accum in (True, False):
        edge = EDGE if accum else TWIN
        sizes = [(m, 5, 8) for m in edge] + [(m, 5, n) for m in TWIN for n in (3, 16)]
        sizes += [(3, 5, n) for n in edge] + [(m, 5, n) for m in (1, 6) for n in TWIN]
        sizes += [(1, 9, n) for n in range(90, 113)]
        sizes += [(6, k, 16) for k in edge] + [(3, k, 11) for k in TWIN]
        yield exact("gemm_tile", near("f32"), sizes, accum, 1)
        sizes = [(1, 5, n) for n in edge]
        sizes += [(m, 5, n) for m in range(2, 7) for n in TWIN]
        sizes += [(3, k, 51) for k in edge]
        sizes += [(m, k, n) for k in TWIN for m, n in ((4, 48), (6, 40))]
        yield exact("gemm_rows", near("f32", "L2", columns="[0,1,2]!"), sizes, accum, 1)
    for lhs in (COLUMNS, "[0,1,2,1p6]"):
        sizes = [(m, 7, n) for m in (1, 2, 6) for n in (64, 67)]
        forms = f"f32@L1{lhs} f32@L2[0,1,2]! f32@L1"
        yield exact("gemm_rows", forms, sizes)
        yield exact("gemm_rows", forms, sizes, False)


def panels() -> Iterator[Exact]:
    """Blocks of f32 whose rhs is in panels, or is copied strip by strip."""
    for accum, columns in itertools.product((True, False), (16, 24)):
        sizes = [(m, 5, columns * n) for m in range(1, 7) for n in (1, 2, 3, 7)]
        forms = f"f32@L1 f32@L2[0,2,1,2p{columns}] f32@L1"
        yield exact("gemm_panels", forms, sizes, accum, columns == 24)
    for gaps in ("", "!"):
        forms = f"f32@L1{ROWS}{gaps} f32@L2[0,2,1,2p16] f32@L1"
        sizes = [(m, k, 96) for k in EDGE for m in (2, 6)]
        yield exact("gemm_panels", forms, sizes)
    for narrow, accum in (("f16", True), ("bf16", False)):
        for columns, isa, most, k in (
            (8, "", 13, 384),
            (16, "", 6, 192),
            (48, "_512", 9, 64),
        ):
            forms = f"f32@L2[0,2,1] {narrow}@MEM[0,2,1,2p{columns}] f32@MEM"
            sizes = [(m, k + m, 3 * columns - m) for m in (2, most - 1, most)]
            sizes += [(3, k, n) for n in (1, columns, 2 * columns)]
            yield exact(f"gemm_far_panels{isa}", forms, sizes, accum)
    for accum, isa in itertools.product((True, False), ("", "_512")):
        sizes = [(m, 37, 50) for m in (*range(5, 15), 25, 38)]
        # Rows of rhs that are copied strip by strip, and fewer; columns beside whole
        # strips, and fewer than a strip.
        beside = (8, 33), (31, 70), (32, 15), (40, 16), (34, 97)
        sizes += [(m, k, n) for m in (6, 13) for k, n in beside]
        yield exact(f"gemm_strips{isa}", "f32@L1 f32@L2 f32@L2", sizes, accum)


def edges(edge: tuple[int, ...] = EDGE, m: int = 6) -> list[Sizes]:
    """Every size on one axis at a time, beside those of a full tile; some beside those
    of smaller ones."""
    sizes = [(rows, 5, 16) for rows in edge] + [(m, 5, n) for n in edge]
    sizes += [(m, k, 16) for k in edge]
    sizes += [(rows, 5, n) for rows in TWIN for n in (3, 8)]
    sizes += [(rows, 5, n) for rows in (1, 3) for n in TWIN]
    return sizes + [(rows, k, n) for k in TWIN for rows, n in ((3, 11), (4, 32))]


def layouts() -> Iterator[Exact]:
    """Products of one dtype whose factors are in any layout."""
    sizes = [(6, 7, 16), (4, 7, 24), (3, 7, 9), (5, 7, 7), (1, 7, 1)]
    lhs = (COLUMNS, "[0,1,2,1p6]", "[0,1,2,1p4]")
    rhs = (ROWS, "[0,2,1,2p16]", "[0,2,1,2p24]")
    for dtype, a, b in itertools.product(SAME, lhs, rhs):
        forms = f"{dtype}@L1{a} {dtype}@L1{b} {dtype}@VRF[0,1,2]v8"
        yield exact("gemm_registers", forms, sizes, some_from=1)


PAIR_LHS = ("[0,1,2,1p6,2p2]", "[0,1,2,1p4,2p2]", "[0,1,2]")


def narrow_factors() -> Iterator[Exact]:
    """Factors that are narrower than their sums: cast, or multiplied in groups."""
    for mix, m, edge in (
        ("bf16 bf16 f32", 6, EDGE),
        ("f32 bf16 f32", 6, TWIN),
        ("u8 s8 s32", 5, EDGE),  # six rows need another register
        ("u8 s8 s16", 6, TWIN),
        ("s16 s8 s32", 5, TWIN),
    ):
        lhs, rhs, out = mix.split()
        held = f"{out}@VRF[0,1,2]v{16 if out == 's16' else 8}"
        forms = f"{lhs}@L1 {rhs}@L1 {held}"
        yield exact("gemm_registers", forms, edges(edge, m), some_from=1)
        few = [(m, 7, 16), (3, 5, 9), (1, 4, 1)]
        for a, b in itertools.product((COLUMNS, "[0,1,2,1p6]"), ("[0,2,1,2p16]", ROWS)):
            yield exact("gemm_registers", f"{lhs}@L1{a} {rhs}@L1{b} {held}", few)
    for lhs in PAIR_LHS:
        edge = EDGE if lhs == PAIR_LHS[0] else TWIN
        pairs = f"s16@L1{lhs} s16@L1[0,2,1,2p16,1p2] s32@VRF[0,1,2]v8"
        yield exact("int_dot2", pairs, edges(edge), some_from=2)
        pairs = f"u8@L1{lhs} s8@L1[0,2,1,2p32,1p2] s16@VRF[0,1,2]v16"
        yield exact("int_dot2_saturating", pairs, edges(edge), True, 2, True)
    sizes = [(1, k, 8) for k in EDGE] + [(1, k, n) for k in TWIN for n in (1, 3)]
    sizes += [(m, k, n) for m in range(1, 6) for n in range(1, 9) for k in (16, 33)]
    forms = f"f32@L1[0,1,2,2oe16] bf16@L1{COLUMNS} f32@L1"
    yield exact("gemm_dot_bf16", forms, sizes, some_from=2)


def bytes_in_groups() -> Iterator[Exact]:
    """Bytes that are multiplied in pairs by floats, or in quads."""
    panel = "s8z@{}[0,2,1,2p16,1p2]"
    near_bytes = f"u8w@L1 {panel.format('L1')} s32@L1"
    yield exact("int_dot2_float", near_bytes, edges(), some_from=2)
    for accum in (True, False):
        edge = EDGE if accum else TWIN
        sizes = [(6, 5, n) for n in (*edge, 112, 113, 130)]
        sizes += [(m, 5, n) for m in (1, 5) for n in (*TWIN, 112, 113, 130)]
        sizes += [(6, k, n) for k in (2, 9, 256, 257, 511, 512) for n in (17, 48, 60)]
        far_bytes = f"u8w@L1 {panel.format('L2')} s32@L1"
        yield exact("int_dot2_float", far_bytes, sizes, accum)
    sizes = [(m, 5, 8) for m in EDGE] + [(3, k, 11) for k in EDGE]
    sizes += [(1, 5, n) for n in EDGE] + edges(TWIN)
    sizes += [(m, k, 8) for m in (7, 12) for k in (4, 6, 9)]
    quads = "u8@L1 s7@L1[0,2,1,2p16,1p4] s32@VRF[0,1,2]v8"
    yield exact("int_dot4", quads, sizes, some_from=4)
    for signs, name in (
        ("u8 s8", "int_dot4_exact_512"),
        ("s8 s8", "int_dot4_signed_512"),
        ("u8 u8", "int_dot4_unsigned_512"),
        ("s8 u8", "int_dot4_signed_lhs_512"),
    ):
        lhs, rhs = signs.split()
        sizes = [(3, k, n) for k in (*EDGE, 11, 12) for n in (9, 16, 32) if k >= 4]
        sizes += [(m, 7, n) for m in EDGE for n in (1, 15, 17, 32)]
        quads = f"{lhs}@L1 {rhs}@L1[0,2,1,2p32,1p4] s32@VRF[0,1,2]v16"
        yield exact(name, quads, sizes, some_from=4)


TABLES = (
    axpy,
    axpy_of_bf16,
    dot,
    dot_of_bf16,
    halves,
    gemm,
    panels,
    layouts,
    narrow_factors,
    bytes_in_groups,
)
EXACT = [row for table in TABLES for row in table()]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("row", EXACT, ids=str)
def test_every_edge_size_is_exact(row: Exact) -> None:
    limits = limits_of(row.kernel)
    specs = [spec(row.kind, (1, *s), *row.forms, limits=limits) for s in row.sizes]
    cases = legal_cases(row.kernel, tuple(specs))
    if row.some_from:
        wanted = {k for _, k, _ in row.sizes if k >= row.some_from}
        assert {case.spec.sizes[2] for case in cases} == wanted
    else:
        assert len(cases) == len(specs)
    check_random(cases)


@pytest.mark.parametrize(("kernel", "text", "reason"), rows(__file__, "refusals"))
def test_what_does_not_fit_says_why(kernel: str, text: str, reason: str) -> None:
    goal: Spec = parse_spec(text, AVX2.limits)
    conditions = KERNELS[kernel].conditions(Frame.of(goal))
    assert KERNELS[kernel].accepts(goal.key)
    assert reason in [c.text for c in conditions if not c.holds]
