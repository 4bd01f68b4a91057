"""The kernels as rows: a name, a template, its parameters.

A number that suits some CPUs is a parameter here, never a constant of a template;
which kernels a CPU uses, its target says (`morello.machine`).
"""

import dataclasses
from collections.abc import Iterable

from morello.kernels.code.prefetch import NextRows, OwnRows
from morello.kernels.gemm.dot_bf16 import GemmDotBf16
from morello.kernels.gemm.outer import GemmOuter
from morello.kernels.gemm.strips import GemmStrips
from morello.kernels.gemm.sweep import GemmPanels, GemmRows
from morello.kernels.gemm.tiles import GemmRegisters, GemmTile
from morello.kernels.gemv.axpy import GemvAxpy
from morello.kernels.gemv.bytes import bytes_of
from morello.kernels.gemv.dot import GemvDot
from morello.kernels.gemv.elements import Halves, Whole
from morello.kernels.gemv.panels import GemvPanels, GemvStreams
from morello.kernels.graph.rows import GraphRows
from morello.kernels.graph.scalar import GraphScalar
from morello.kernels.int_dot.floats import IntDotFloat
from morello.kernels.int_dot.registers import IntDot
from morello.kernels.moves.interleave import Deinterleave, Interleave
from morello.kernels.moves.transpose import Transpose, TransposePrefetch
from morello.kernels.reduce import ReduceColumns, ReduceRows
from morello.kernels.scalar import Scalar
from morello.kernels.template import Kernel
from morello.kernels.vector import VectorMap
from morello.machine.isa import AVX2, AVX2_VNNI, AVX512, AVX512_VNNI_BF16, Isa, Op
from morello.spec import (
    L1,
    VRF,
    Binary,
    Dtype,
    Encoding,
    Fill,
    Max,
    Min,
    Move,
    Sum,
    Unary,
)
from morello.spec.layout import LINE_BYTES


def rows(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels that every instruction set has, in its vectors."""
    # Rows of tiles of three and of two vectors: sums, a row of rhs and a factor.
    few, many = (4, 6) if isa.registers < 32 else (8, 12)
    return (
        GemmRegisters(
            "gemm_registers",
            isa,
            "out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, over all of k.",
            tiles=((many, 2), (few, 3)),
        ),
        GemmTile(
            "gemm_tile",
            isa,
            "out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], all in L1, over all of k.",
        ),
        GemmRows(
            "gemm_rows",
            isa,
            "out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs gapless in "
            "L2.",
            most_rows=many,
            # Pages of the first level of the TLB, of 4 KiB.
            most_lines=64 * 4096 // LINE_BYTES,
            alias_bytes=4096,
            ways=8,
        ),
        GemmStrips(
            "gemm_strips",
            isa,
            "out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs in rows "
            "beyond L1, strip by strip.",
            most_rows=many,
            most_vectors=4,
            most_k=512,
            least_k=32,
        ),
        GemmPanels(
            "gemm_panels",
            isa,
            "out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs in panels "
            "in L2.",
            panels=(2, 3),
        ),
        GemvAxpy(
            "gemv_axpy",
            isa,
            "out[0,m,n] = or += lhs[0,m,k] in L1 · rhs[0,k,n], both of these anywhere.",
            element=Whole(isa),
            streams=8,
            prefetch=NextRows(),
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
            prefetch=NextRows(),
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
            prefetch=OwnRows(lines=128, to_l1=True),
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
            streams=8,
            prefetch=NextRows(),
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
        GemvDot(
            "gemv_dot",
            isa,
            "out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], over all of k, from any "
            "memory.",
            elements=(Whole(isa), Halves(isa)),
            streams=8,
            prefetch=NextRows(),
            far=False,
        ),
        GemvDot(
            "gemv_dot_prefetch",
            isa,
            "`gemv_dot` where rows prefetch their own lines, not the next rows.",
            elements=(Whole(isa), Halves(isa)),
            streams=4,
            prefetch=OwnRows(lines=128, to_l1=True),
        ),
        GemmOuter(
            "gemm_outer",
            isa,
            "out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], of few k in L1; out beyond "
            "L2.",
            most_k=6,
            # 8 to 64 lines are alike.
            distance=16,
        ),
        IntDot(
            "int_dot2",
            isa,
            "out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, of s16 into "
            "s32.",
            dtypes=(Dtype.S16, Dtype.S16, Dtype.S32),
            group=2,
            instructions=(Op.DOT2,),
            columns=(2,),
            rows=(few, many),
        ),
        IntDot(
            "int_dot4",
            isa,
            "out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, of u8 and s7 "
            "into s32.",
            dtypes=(Dtype.U8, Encoding.S7, Dtype.S32),
            group=4,
            instructions=(Op.DOT2_SATURATING, Op.DOT2),
            columns=(2,),
        ),
        IntDot(
            "int_dot2_saturating",
            isa,
            "out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1; pairs "
            "saturate to s16.",
            dtypes=(Dtype.U8, Dtype.S8, Dtype.S16),
            group=2,
            instructions=(Op.DOT2_SATURATING,),
            columns=(1, 2),
            rows=(few, many),
            saturating=True,
        ),
        IntDot(
            "int_dot2_saturating_wide",
            isa,
            "`int_dot2_saturating` in panels of 64 columns: few pairs of lhs to "
            "spread.",
            dtypes=(Dtype.U8, Dtype.S8, Dtype.S16),
            group=2,
            instructions=(Op.DOT2_SATURATING,),
            columns=(4,),
            rows=(few, many),
            saturating=True,
            alone=True,
        ),
        VectorMap(
            "copy_rows",
            isa,
            "dst = src in L1, where both have the same dimension innermost.",
            kind=Move,
            levels=(L1, L1),
        ),
        Interleave(
            "interleave2",
            isa,
            "dst = src in L1, from rows into panels that end in pairs of rows.",
            group=2,
        ),
        Interleave(
            "interleave4",
            isa,
            "dst = src in L1, from rows of bytes into panels that end in quads of "
            "rows.",
            group=4,
        ),
        VectorMap(
            "load",
            isa,
            "dst in registers = src in L1; the lanes after a short row become zero.",
            kind=Move,
            levels=(L1, VRF),
        ),
        VectorMap(
            "store",
            isa,
            "dst in L1 = src in registers; a short end of a row is stored in pieces.",
            kind=Move,
            levels=(VRF, L1),
        ),
        VectorMap(
            "fill_rows",
            isa,
            "out in L1 = a constant, along its innermost dimension.",
            kind=Fill,
            levels=(L1,),
        ),
        VectorMap(
            "fill_registers",
            isa,
            "out in registers = a constant, in every lane.",
            kind=Fill,
            levels=(VRF,),
        ),
        VectorMap(
            "unary_rows",
            isa,
            "out = f(src) in L1, along the innermost dimension.",
            kind=Unary,
            levels=(L1, L1),
            vectors=8,
        ),
        VectorMap(
            "binary_rows",
            isa,
            "out = f(lhs, rhs) in L1, along the innermost dimension.",
            kind=Binary,
            levels=(L1, L1, L1),
        ),
        GraphRows(
            "graph_rows",
            isa,
            "A graph without products of matrices, in one pass over rows in L1.",
            unroll=4,
            taps=16,
        ),
        ReduceRows(
            "max_rows",
            isa,
            "out[m] = max(out[m], src[m,n]) in L1, n innermost, over all of n.",
            kind=Max(accum=True),
            rows=4,
            accumulators=8,
        ),
        ReduceColumns(
            "max_columns",
            isa,
            "out[m] = max(out[m], src[m,n]) in L1, m innermost in both, over all of n.",
            kind=Max(accum=True),
            accumulators=8,
        ),
        ReduceRows(
            "min_rows",
            isa,
            "out[m] = min(out[m], src[m,n]) in L1, n innermost, over all of n.",
            kind=Min(accum=True),
            rows=4,
            accumulators=8,
        ),
        ReduceColumns(
            "min_columns",
            isa,
            "out[m] = min(out[m], src[m,n]) in L1, m innermost in both, over all of n.",
            kind=Min(accum=True),
            accumulators=8,
        ),
        ReduceRows(
            "sum_rows",
            isa,
            "out[m] += src[m,n] in L1, n innermost, over all of n.",
            kind=Sum(accum=True),
            rows=4,
            accumulators=8,
        ),
        ReduceColumns(
            "sum_columns",
            isa,
            "out[m] += src[m,n] in L1, m innermost in both, over all of n.",
            kind=Sum(accum=True),
            accumulators=8,
        ),
    )


def rows_of_8_lanes(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels whose shuffles are those of vectors of 32 bytes, and of scalars."""
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
            prefetch=OwnRows(lines=80, to_l1=False),
        ),
        GemvDot(
            "gemv_dot_streams",
            isa,
            "`gemv_dot` of one row or column, by 5 of the others far from each other.",
            elements=(Whole(isa), Halves(isa)),
            streams=5,
            prefetch=OwnRows(lines=80, to_l1=False),
            scattered=True,
        ),
        GemvDot(
            "gemv_dot_bytes",
            isa,
            "`gemv_dot` of u8 and s8 into s32, by pairs that are widened to 16 bits.",
            elements=(bytes_of(isa),),
            streams=8,
            prefetch=NextRows(),
            far=False,
        ),
        GemvAxpy(
            "gemv_axpy_bytes",
            isa,
            "`gemv_axpy` of u8 and s8 into s32, by pairs that are widened to 16 bits.",
            element=bytes_of(isa),
            far=False,
            streams=4,
            prefetch=NextRows(),
        ),
        GemmDotBf16(
            "gemm_dot_bf16",
            isa,
            "out[0,m,n] += lhs[0,m,k] · rhs[0,k,n], all in L1, over all of k, 16 at "
            "a time.",
        ),
        IntDotFloat(
            "int_dot2_float",
            isa,
            "out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], rhs in L1 or L2, of bytes in "
            "16 bits.",
            most_far_k=512,
        ),
        Transpose(
            "transpose",
            isa,
            "dst = src in L1, a block of up to 8 x 8 elements, of 4 bytes in dst.",
            group=1,
        ),
        TransposePrefetch(
            "transpose_prefetch",
            isa,
            "dst = src, to memory from anywhere, 8 or 16 columns of src of any length.",
            columns=(8, 16),
            distance=32,
        ),
        Transpose(
            "transpose_pairs",
            isa,
            "dst = src in L1, a block of up to 8 rows of 16 elements, transposed by "
            "pairs.",
            group=2,
        ),
        Deinterleave(
            "deinterleave",
            isa,
            "dst = src in L1, from rows of f32 or bf16 into odd-even packs of 16 of "
            "f32.",
        ),
        GraphScalar(
            "graph_scalar", isa, "A graph at one element of each of its values, in L1."
        ),
        Scalar(
            "scalar",
            isa,
            "One element of an operand each, in L1, in any layout, of any kind.",
        ),
    )


def by_name(kernels: Iterable[Kernel]) -> dict[str, Kernel]:
    """Name → kernel.

    Raises:
        ValueError: two kernels share a name.
    """
    found: dict[str, Kernel] = {}
    for kernel in kernels:
        if kernel.name in found:
            raise ValueError(
                f"two kernels are called '{kernel.name}': "
                f"{type(found[kernel.name]).__name__} and {type(kernel).__name__}"
            )
        found[kernel.name] = kernel
    return found


def rows_of_dots(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels where one instruction adds several products to a sum."""
    exact = tuple(
        IntDot(
            name,
            isa,
            "out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1, of "
            f"{lhs} and {rhs} into s32.",
            dtypes=(lhs, rhs, Dtype.S32),
            group=4,
            instructions=(Op.DOT4,),
            columns=(2,),
        )
        for name, lhs, rhs in (
            ("int_dot4_exact", Dtype.U8, Dtype.S8),
            ("int_dot4_signed", Dtype.S8, Dtype.S8),
            ("int_dot4_unsigned", Dtype.U8, Dtype.U8),
            ("int_dot4_signed_lhs", Dtype.S8, Dtype.U8),
        )
    )
    flushing = IntDot(
        "dot2_bf16",
        isa,
        "out[0,m,n] in registers += lhs[0,m,k] · rhs[0,k,n] in L1 or L2, of bf16 into "
        "f32, flushing.",
        dtypes=(Dtype.BF16, Dtype.BF16, Dtype.F32),
        group=2,
        instructions=(Op.DOT2_BF16,),
        columns=(2,),
        flushing=True,
        far=True,
    )
    dots = tuple(k for k in (*exact, flushing) if isa.has(k.instructions[0]))
    return (*dots, *rows_of_quads(isa))


def rows_of_quads(isa: Isa) -> tuple[Kernel, ...]:
    """Products of bytes with few rows, by the instruction that takes four at a time."""
    return (
        GemvDot(
            "gemv_dot4",
            isa,
            "`gemv_dot` of u8 and s8 into s32, four products at a time.",
            elements=(bytes_of(isa),),
            streams=8,
            prefetch=NextRows(),
            far=False,
        ),
        GemvAxpy(
            "gemv_axpy4",
            isa,
            "`gemv_axpy` of u8 and s8 into s32, four rows of rhs as one.",
            element=bytes_of(isa),
            far=False,
            streams=4,
            prefetch=NextRows(),
        ),
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
            prefetch=OwnRows(lines=128, to_l1=True),
        ),
        GemvAxpy(
            "gemv_axpy4_prefetch",
            isa,
            "`gemv_axpy4` where rows of rhs prefetch their own lines, not the next "
            "rows.",
            element=bytes_of(isa),
            streams=4,
            prefetch=OwnRows(lines=128, to_l1=True),
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
            streams=8,
            # Rows of few bytes for each product: twice as many lines as f32 has.
            prefetch=OwnRows(lines=256, to_l1=True),
        ),
    )


def named(kernels: Iterable[Kernel]) -> tuple[Kernel, ...]:
    """The kernels under the names that tell their instruction set."""
    return tuple(
        dataclasses.replace(kernel, name=kernel.name + kernel.isa.suffix)
        for kernel in kernels
    )


KERNELS: dict[str, Kernel] = by_name(
    named(
        (
            *rows(AVX2),
            *rows_of_8_lanes(AVX2),
            *rows(AVX512),
            *rows_of_lines(AVX512),
            *rows_of_dots(AVX2_VNNI),
            *rows_of_dots(AVX512_VNNI_BF16),
            *rows_of_far_quads(AVX512_VNNI_BF16),
        )
    )
)
"""Every kernel, by its name in schedules and in the IR."""
