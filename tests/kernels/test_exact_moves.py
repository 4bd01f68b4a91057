"""Kernels of moves, fills and maxima: exact at every edge size, layout and dtype."""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator

import pytest

from morello.kernels.code.casts import cast_lanes
from morello.machine.isa import AVX2 as ISA
from morello.spec import ELEMENT_TYPES, Dtype, Fill, Kind, Move
from tests.kernels.harness import EDGE, Case, check_random, legal, legal_cases, spec
from tests.named_kinds import named

DTYPES = ("f32", "s32", "u32", "bf16", "u16", "s16", "u8", "s8")
CASTS = """
bf16-f32 f32-bf16 f16-f32 f32-f16 bf16-f16 f16-bf16 u8-s16 s8-s16 u8-s32 s8-s32 s16-s32
u16-s32 s32-s16 s16-s8 s32-u8 u8-s8 u8-u8w s8-s8z
"""
PAIRS = tuple(tuple(cast.split("-")) for cast in CASTS.split())
"""The dtypes of moves that cast."""

NARROW = [d.value for d in Dtype if d.computes_in]


@dataclasses.dataclass(frozen=True)
class Exact:
    """A kernel of a kind, whose operands have one form, at many sizes."""

    kernel: str
    kinds: tuple[Kind, ...]
    """Each size has one of them, in turn."""
    forms: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...]

    @property
    def group(self) -> str:
        """The kernel and the dtype of its first operand: one test has all of them."""
        return f"{self.kernel}-{self.forms[0].partition('@')[0]}"


def move(kernel: str, src: str, dst: str, sizes: Iterable[tuple[int, ...]]) -> Exact:
    """A row of a move."""
    some = tuple(sizes)
    return Exact(kernel, (Move(len(some[0])),), (src, dst), some)


def near(dtype: str, layout: str = "[0,1]") -> str:
    """The form of an operand in L1."""
    return f"{dtype}@L1{layout}"


def held(dtype: str) -> str:
    """The form of an operand in registers."""
    return f"{dtype}@VRF[0,1]v{32 // Dtype.parse(dtype).itemsize}"


EDGES = [(rows, n) for n in EDGE for rows in (1, 3)] + [(m, 5) for m in EDGE]
SMALL = list(itertools.product(range(1, 9), range(1, 9)))


def fills() -> Iterator[Exact]:
    """Fills with zero and with the lowest number."""
    kinds = (Fill(2, "zero"), Fill(2, "lowest"), Fill(2, "lowest"))
    for dtype in (element.value for element in ELEMENT_TYPES):
        for kernel, form in (
            ("fill_rows", near(dtype)),
            ("fill_registers", held(dtype)),
        ):
            yield Exact(kernel, kinds, (form,), tuple(EDGES))
    for layout in ("[1,0]", "[0,1,1p16]", "[0,1,1oe16]", "[0,1,0p6]"):
        sizes = [(1, 1), (3, 1)] if "oe" in layout else EDGES
        yield Exact("fill_rows", kinds, (near("f32", layout),), tuple(sizes))


def copies() -> Iterator[Exact]:
    """Moves between memories, with casts and without."""
    for src, dst in (*((dtype, dtype) for dtype in DTYPES), *PAIRS):
        yield move("copy_rows", near(src), near(dst), EDGES)
        if legal("load", spec(Move(2), (1, 5), near(src), held(dst))):
            yield move("load", near(src), held(dst), EDGES)
        if legal("store", spec(Move(2), (1, 5), held(src), near(dst))):
            yield move("store", held(src), near(dst), EDGES)
    forms = ("[0,1,2]", "[0,2,1,2p16]", "[1,0,2]", "[0,1,2,2p24]")
    for src, dst in itertools.product(forms, forms):
        for dtype, rows, n in (("f32", 3, 16), ("s32", 1, 11), ("u8", 5, 4)):
            yield move("copy_rows", near(dtype, src), near(dtype, dst), [(1, rows, n)])
    for src, dst in itertools.product(("[0,1,2,1p6]", "[0,2,1]"), repeat=2):
        yield move("copy_rows", near("f32", src), near("f32", dst), [(1, 6, 5)])
    for panel in (near("f32", "[0,2,1,2p16]"), near("f32", "[1,0,2]")):
        sizes = [(1, 3, n) for n in range(1, 17)]
        yield move("load", panel, "f32@VRF[0,1,2]v8", sizes)
        yield move("store", "f32@VRF[0,1,2]v8", panel, sizes)


def transposes() -> Iterator[Exact]:
    """Moves to another innermost dimension."""
    for dtype in ("f32", "s32"):
        yield move("transpose", near(dtype), near(dtype, "[1,0]"), SMALL)
    for src in ("bf16", "f16", "u8", "s8", "s16", "u16"):
        dst = "f32" if src in NARROW else "s32"
        for layout in ("[1,0]", "[0,1,0p6]"):
            yield move("transpose", near(src), near(dst, layout), SMALL)
    for src, dst in (
        ("[0,1,2]", "[0,1,2,1p6]"),
        ("[0,1,2,1p6]", "[0,1,2]"),
        ("[0,2,1]", "[0,2,1,2p16]"),
        ("[0,1,2,1p4]", "[0,2,1,2p16]"),
    ):
        sizes = [(1, m, n) for m in range(1, 7) for n in (1, 3, 4, 5, 8)]
        yield move("transpose", near("f32", src), near("f32", dst), sizes)
    # Loops that ask ahead, loops that do not, and rows that remain.
    rows = (*range(1, 20), 31, 32, 33, 47, 48, 49, 64, 65, 80, 127)
    long = "transpose_prefetch"
    yield move(long, "f32@L2[0,1]", "f32@MEM[1,0]", [(m, 8) for m in rows])
    yield move(long, "s32@MEM[0,1]", "s32@MEM[1,0]", [(m, 16) for m in rows])
    yield move(long, near("f32", "[1,0]"), "f32@MEM[0,1]", [(16, 70)])
    yield move(long, near("f32", "[0,1,2]"), "f32@MEM[0,2,1]", [(1, 40, 8)])
    yield move(long, near("f32", "[0,1,2]"), "f32@MEM[2,1,0]", [(40, 1, 8)])


def interleaves() -> Iterator[Exact]:
    """Moves into panels of pairs, and of even elements before odd ones."""
    for src, dst in (
        ("u8", "s16"),
        ("s8", "s16"),
        ("s16", "s16"),
        ("s8", "s8"),
        ("u8", "u8"),
    ):
        sizes = [(1, k, n) for k in range(2, 9) for n in range(1, 33)]
        source, panel = near(src, "[0,1,2]"), near(dst, "[0,2,1,2p32,1p2]")
        yield move("interleave2", source, panel, sizes)
        sizes = [(1, m, k) for m in range(1, 9) for k in range(2, 17)]
        for pack in (6, 8):
            panel = near(dst, f"[0,1,2,1p{pack},2p2]")
            yield move("transpose_pairs", source, panel, sizes)
    for src in ("bf16", "f16", "f32"):
        sizes = [(1, n) for n in EDGE if n % 16 == 0] + [(3, 16), (3, 32)]
        yield move("deinterleave", near(src), near("f32", "[0,1,1oe16]"), sizes)


def elements() -> Iterator[Exact]:
    """Moves of one element between any layouts."""
    plain = ("[0,1]", "[1,0]", "[0,1,1p16]", "[0,1,1oe16]", "[0,1,0p4]")
    others = ("[0,1]", "[1,0]", "[0,1,1oe16]", "[0,1,0p4,1p2]")
    same = [(dtype, dtype, plain) for dtype in DTYPES]
    for src, dst, layouts in (*same, *((*pair, others) for pair in PAIRS)):
        for a, b in itertools.product(layouts, layouts):
            yield move("scalar", near(src, a), near(dst, b), [(1, 1)])


def maxima() -> Iterator[Exact]:
    """Maxima of rows, along vectors and across them."""
    kinds = (named("max_accum"),)
    for dtype in ("f32", "s32"):
        out = near(dtype, "[0]")
        rows = [
            ("reduce_rows", "[0,1]", [(m, n) for n in EDGE for m in (1, 3, 4)]),
            ("reduce_rows", "[1,0,1p33]", [(2, n) for n in EDGE]),
            ("reduce_columns", "[1,0]", [(m, 5) for m in EDGE]),
            ("reduce_columns", "[1,0]", [(m, n) for n in EDGE for m in (3, 11)]),
            ("reduce_columns", "[0,1,0p6]", [(m, 7) for m in range(1, 7)]),
        ]
        for kernel, layout, sizes in rows:
            yield Exact(kernel, kinds, (near(dtype, layout), out), tuple(sizes))
        layouts = ("[0,1]", "[1,0]", "[0,1,1oe16]", "[0,1,0p4]")
        for src, dst in itertools.product(layouts, ("[0]", "[0,0p4]", "[0,0oe4]")):
            forms = near(dtype, src), near(dtype, dst)
            yield Exact("graph_scalar", kinds, forms, ((1, 1),))


GROUPS: dict[str, list[Exact]] = defaultdict(list)
for table in (fills, copies, transposes, interleaves, elements, maxima):
    for row in table():
        GROUPS[row.group].append(row)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("group", GROUPS)
def test_every_edge_size_is_exact(group: str) -> None:
    every: list[Case] = []
    for row in GROUPS[group]:
        kinds = itertools.cycle(row.kinds)
        specs = [spec(next(kinds), size, *row.forms) for size in row.sizes]
        cases = legal_cases(row.kernel, tuple(specs))
        assert 3 * len(cases) >= len(specs), row  # long rows are for loops
        every += cases
    check_random(every)


@pytest.mark.parametrize(("src", "dst"), PAIRS)
def test_registers_are_cast_by_whole_vectors(src: str, dst: str) -> None:
    lanes = cast_lanes(ISA, Dtype.parse(src), Dtype.parse(dst))
    for name, forms, of in (
        ("load", (near(src), held(dst)), dst),
        ("store", (held(src), near(dst)), src),
    ):
        takes = legal(name, spec(Move(2), (1, 5), *forms))
        assert takes == (lanes == 32 // Dtype.parse(of).itemsize)
