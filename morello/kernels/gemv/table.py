"""The kernels of GEMV as rows: `morello.kernels.table` has those of all families."""

from morello.kernels.code.prefetch import AlongRows
from morello.kernels.gemv.axpy import GemvAxpy
from morello.kernels.gemv.bytes import bytes_of, dots_of
from morello.kernels.gemv.dot import GemvDot
from morello.kernels.gemv.elements import Element, Whole
from morello.kernels.gemv.halves import Halves
from morello.kernels.gemv.narrow import Narrow, NarrowIntegers
from morello.kernels.gemv.panels import GemvPanels, GemvStreams
from morello.kernels.gemv.scaled import ScaledRows
from morello.kernels.gemv.scaled_bytes import ScaledBytes
from morello.kernels.gemv.scaled_pairs import ScaledPairs
from morello.kernels.template import Kernel
from morello.machine.isa import Isa


def products_along_k(isa: Isa) -> tuple[Element, ...]:
    """The element rows of the dot form in floats."""
    return (Whole(isa), Halves(isa), Narrow(isa), NarrowIntegers(isa))


def rows(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels that every instruction set has."""
    return (
        GemvAxpy(
            "gemv_axpy",
            isa,
            "out[0,m,n] = or += lhs[0,m,k] in L1 · rhs[0,k,n], both of these anywhere.",
            element=Whole(isa),
            far=False,
        ),
        GemvAxpy(
            "gemv_axpy_4",
            isa,
            "`gemv_axpy` by 4 rows of rhs at a time, beside rows of out in the "
            "same sets.",
            element=Whole(isa),
            blocks=2,
            streams=4,
            rows=(2, 6),
        ),
        GemvAxpy(
            "gemv_axpy_prefetch",
            isa,
            "`gemv_axpy` where rows of rhs prefetch their own lines, not the next "
            "rows.",
            element=Whole(isa),
            blocks=2,
            streams=4,
            # Golden Cove has 48 lines on their way from beyond L2 at a time.
            prefetch=AlongRows(lines=128, to_l1=True),
        ),
        GemvAxpy(
            "gemv_axpy_bf16",
            isa,
            "out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], in f32, of rhs in bf16 "
            "from anywhere.",
            element=Halves(isa),
            rows=(1, 2),
            far=False,
            panel=2 * isa.line_vectors,
        ),
        GemvPanels(
            "gemv_axpy_bf16_prefetch",
            isa,
            "out[0,0,n] = or += lhs[0,0,k] · rhs[0,k,n], in f32, of rhs in panels "
            "in memory.",
            element=Halves(isa),
            streams=1,
            prefetch=None,
            panel=2 * isa.line_vectors,
            # Two lines a row: what memory brings in some 200 ns.
            distance=48,
        ),
        GemvPanels(
            "gemv_axpy_f16_prefetch",
            isa,
            "`gemv_axpy_bf16_prefetch` of rhs in f16.",
            element=Narrow(isa),
            streams=1,
            prefetch=None,
            panel=4 * isa.line_vectors,
            distance=48,
        ),
        GemvPanels(
            "gemv_axpy_f16_panels",
            isa,
            "`gemv_axpy_f16_prefetch` where the hardware brings all of a panel.",
            element=Narrow(isa),
            streams=1,
            prefetch=None,
            panel=4 * isa.line_vectors,
            distance=0,
        ),
        GemvAxpy(
            "gemv_axpy_f16",
            isa,
            "out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], in f32, of rhs in f16 "
            "from anywhere.",
            element=Narrow(isa),
            rows=(1, 8),
            far=False,
        ),
        GemvAxpy(
            "gemv_axpy_f16_rows",
            isa,
            "`gemv_axpy_f16` where rows of rhs prefetch their own lines, not the next "
            "rows.",
            element=Narrow(isa),
            rows=(1, 8),
            blocks=1,
            prefetch=AlongRows(lines=256, to_l1=True),
        ),
        GemvDot(
            "gemv_dot",
            isa,
            "out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], over all of k, from any "
            "memory.",
            elements=products_along_k(isa),
            far=False,
        ),
        GemvDot(
            "gemv_dot_prefetch",
            isa,
            "`gemv_dot` where rows prefetch their own lines, not the next rows.",
            elements=products_along_k(isa),
            streams=4,
            prefetch=AlongRows(lines=128, to_l1=True),
        ),
        ScaledRows(
            "scaled_rows",
            isa,
            "out[m,n] = or += sum of a[m,k] · (s · (q[k,n] - z) + o), of integers of 8 "
            "or 4 bits.",
            panel=4,
            distance=4096,
        ),
        scaled_bytes(isa, "scaled_bytes"),
    )


def scaled_bytes(isa: Isa, name: str) -> Kernel:
    """Products of bytes with scaled integers, by the instructions that there are."""
    return ScaledBytes(
        name,
        isa,
        "out[m,n] = or += sum of d[m,k/g] · a[m,k] · (s · (q[k,n] - z) + o), of bytes "
        "and integers of 4 bits, or of 8 with VNNI.",
        panel=4,
        # Cores see lines in a row coming by themselves where each is one load.
        distance=0 if isa.line_vectors == 1 else 8192,
    )


def rows_of_pairs(isa: Isa) -> tuple[Kernel, ...]:
    """Products of scaled integers that are looked up as bytes."""
    return (
        ScaledPairs(
            "scaled_pairs",
            isa,
            "`scaled_rows` of integers of 4 bits, four bytes along k together, which "
            "become pairs of bf16.",
            panel=4,
            distance=4096,
        ),
    )


def rows_of_8_lanes(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels of vectors of 32 bytes: rows far apart, and pairs of bytes."""
    return (
        GemvAxpy(
            "gemv_axpy_streams",
            isa,
            "`gemv_axpy` of one row by 5 rows of rhs far from each other, without "
            "prefetch.",
            element=Whole(isa),
            blocks=2,
            # Zen 3 reads one stream with 0.75 of the bandwidth of four to eight; of
            # five, places are hardly ever a power of two apart.
            streams=5,
            prefetch=None,
            rows=(1, 1),
            scattered=True,
        ),
        GemvStreams(
            "gemv_axpy_bf16_streams",
            isa,
            "`gemv_axpy_bf16` of one row, by 5 rows or panels far from each other.",
            element=Halves(isa),
            blocks=2,
            scattered=True,
            panel=1,
            streams=5,
            # Widening takes so many instructions that Zen 3 sees 20 lines ahead.
            prefetch=AlongRows(lines=80, to_l1=False),
        ),
        GemvDot(
            "gemv_dot_streams",
            isa,
            "`gemv_dot` of one row or column, by 5 of the others far from each other.",
            elements=products_along_k(isa),
            streams=5,
            prefetch=AlongRows(lines=80, to_l1=False),
            scattered=True,
        ),
        GemvDot(
            "gemv_dot_bytes",
            isa,
            "`gemv_dot` of bytes into s32, by pairs that are widened to 16 bits.",
            elements=dots_of(isa),
            far=False,
        ),
        GemvAxpy(
            "gemv_axpy_bytes",
            isa,
            "`gemv_axpy` of u8 and s8 into s32, by pairs that are widened to 16 bits.",
            element=bytes_of(isa),
            far=False,
            streams=4,
        ),
    )


def rows_of_quads(isa: Isa) -> tuple[Kernel, ...]:
    """Products of bytes with few rows, by the instruction that takes four at a time."""
    return (
        GemvDot(
            "gemv_dot4",
            isa,
            "`gemv_dot` of bytes into s32: of u8 and s8 four products at a time, of "
            "others pairs in 16 bits.",
            elements=dots_of(isa),
            far=False,
        ),
        GemvAxpy(
            "gemv_axpy4",
            isa,
            "`gemv_axpy` of u8 and s8 into s32, four rows of rhs as one.",
            element=bytes_of(isa),
            far=False,
            streams=4,
        ),
        scaled_bytes(isa, "scaled_bytes4"),
    )


def rows_of_far_quads(isa: Isa) -> tuple[Kernel, ...]:
    """Products of bytes with few rows (`rows_of_quads`) for an operand beyond L2, whose
    cache lines vectors of 64 bytes wait for."""
    return (
        GemvDot(
            "gemv_dot4_prefetch",
            isa,
            "`gemv_dot4` where rows prefetch their own lines, not the next rows.",
            elements=(bytes_of(isa),),
            streams=4,
            prefetch=AlongRows(lines=128, to_l1=True),
        ),
        GemvAxpy(
            "gemv_axpy4_prefetch",
            isa,
            "`gemv_axpy4` where rows of rhs prefetch their own lines, not the next "
            "rows.",
            element=bytes_of(isa),
            streams=4,
            prefetch=AlongRows(lines=128, to_l1=True),
        ),
    )


def rows_of_lines(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels whose vectors are lines."""
    return (
        GemvAxpy(
            "gemv_axpy_bf16_rows",
            isa,
            "`gemv_axpy_bf16` where rows of rhs prefetch their own lines, not the next "
            "rows.",
            element=Halves(isa),
            rows=(1, 2),
            blocks=1,
            # Rows of few bytes for each product: twice as many lines as f32 has.
            prefetch=AlongRows(lines=256, to_l1=True),
        ),
    )
