"""The kernels as rows: a name, a template, its parameters.

A number that suits some CPUs is a parameter here, never a constant of a template;
which kernels a CPU uses, its target says (`morello.machine`).
"""

import dataclasses
from collections.abc import Iterable
from functools import lru_cache

from morello.kernels.gemm.dot_bf16 import GemmDotBf16
from morello.kernels.gemm.far_panels import GemmFarPanels
from morello.kernels.gemm.outer import GemmOuter
from morello.kernels.gemm.strips import GemmStrips
from morello.kernels.gemm.sweep import GemmPanels, GemmRows
from morello.kernels.gemm.tile_dot import TileDot
from morello.kernels.gemm.tiles import GemmRegisters, GemmTile
from morello.kernels.gemm.windows import GemmWindows
from morello.kernels.gemv import table as gemv
from morello.kernels.graph.rows import GraphRows
from morello.kernels.graph.scalar import GraphScalar
from morello.kernels.graph.taps import GraphTaps
from morello.kernels.int_dot.floats import IntDotFloat
from morello.kernels.int_dot.registers import IntDot
from morello.kernels.moves.interleave import Deinterleave, Interleave
from morello.kernels.moves.transpose import Transpose, TransposePrefetch
from morello.kernels.reduce import ReduceColumns, ReduceRows
from morello.kernels.scalar import Scalar
from morello.kernels.template import Kernel
from morello.kernels.vector import VectorMap
from morello.machine.isa import (
    AVX2,
    AVX2_VNNI,
    AVX512,
    AVX512_AMX,
    AVX512_VNNI_BF16,
    Isa,
    Op,
)
from morello.spec import L1, VRF, Compose, Dtype, Encoding, Fill, Kind, Move
from morello.spec.tensors.layout import LINE_BYTES


def rows(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels that every instruction set has, in its vectors."""
    # Rows of tiles of three and of two vectors: sums, a row of rhs and a factor.
    few, many = (4, 6) if isa.registers < 32 else (8, 12)
    by_rows = GemmRows(
        "gemm_rows",
        isa,
        "out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs gapless in L2.",
        most_rows=many,
        # Pages of the first level of the TLB, of 4 KiB.
        most_lines=64 * 4096 // LINE_BYTES,
        alias_bytes=4096,
        ways=8,
    )
    by_panels = GemmPanels(
        "gemm_panels",
        isa,
        "out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs in panels in L2.",
        panels=(2, 3),
    )
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
        by_rows,
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
        by_panels,
        GemmFarPanels(
            "gemm_far_panels",
            isa,
            "out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs in panels in "
            "memory.",
            rhs=(Dtype.F16, Dtype.BF16),
            panels=(3,) if isa.line_vectors == 1 else (1, 2),
            distance=6144,
        ),
        GemmWindows(
            "gemm_windows",
            isa,
            "out[v,f] (+)= x[v+j,c] · w[j,c,f], over all of j and c; w in panels or "
            "gapless in L2.",
            sweeps=(by_panels, by_rows),
        ),
        *gemv.rows(isa),
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
        *(
            IntDot(
                f"int_dot2_{rhs}",
                isa,
                "`int_dot2` of rhs in L1 or L2, in bytes that it widens: k need not be "
                "cut.",
                dtypes=(Dtype.S16, rhs, Dtype.S32),
                group=2,
                instructions=(Op.DOT2,),
                columns=(2,),
                rows=(few, many),
                far=True,
                # A page ahead: prefetchers stop where pages end.
                distance=4096,
            )
            for rhs in (Dtype.S8, Dtype.U8)
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
            "map_rows",
            isa,
            "out = f(in, …) in L1, element by element, along the innermost dimension.",
            kind=Compose,
            levels=(L1,),
            vectors=8,
        ),
        GraphRows(
            "graph_rows",
            isa,
            "A graph without products of matrices, in one pass over rows in L1, or "
            "over windows of an image where it lies.",
            unroll=4,
            sums=8,
            taps=16,
        ),
        ReduceRows(
            "reduce_rows",
            isa,
            "out[m] = or f= src[m,n] in L1, n innermost, over all of n.",
            rows=4,
            accumulators=8,
        ),
        ReduceColumns(
            "reduce_columns",
            isa,
            "out[m] = or f= src[m,n] in L1, m innermost in both, over all of n.",
            accumulators=8,
        ),
    )


def rows_of_8_lanes(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels whose shuffles are those of vectors of 32 bytes, and of scalars."""
    return (
        *gemv.rows_of_8_lanes(isa),
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
    kernel_of: dict[str, Kernel] = {}
    for kernel in kernels:
        if kernel.name in kernel_of:
            raise ValueError(
                f"two kernels are called '{kernel.name}': "
                f"{type(kernel_of[kernel.name]).__name__} and {type(kernel).__name__}"
            )
        kernel_of[kernel.name] = kernel
    return kernel_of


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
    taps = GraphTaps(
        "graph_taps4",
        isa,
        "A graph of a filter of bytes over an image, channel by channel, four taps at "
        "a time.",
        unroll=4,
        sums=isa.registers // 2,
        taps=16,
        room=16384,
    )
    dots = tuple(k for k in (*exact, flushing) if isa.has(k.instructions[0]))
    return (*dots, taps, *gemv.rows_of_quads(isa))


def rows_of_tiles(isa: Isa) -> tuple[Kernel, ...]:
    """The kernels of registers that are tiles."""
    return tuple(
        TileDot(
            name,
            isa,
            f"out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], of {lhs} and {rhs} into {out}, "
            "in tiles, over all of k; rhs in panels in L1 or L2.",
            dtypes=(lhs, rhs, out),
            instruction=instruction,
        )
        for name, lhs, rhs, out, instruction in (
            ("tile_dot2_bf16", Dtype.BF16, Dtype.BF16, Dtype.F32, Op.TILE_DOT_BF16),
            ("tile_dot4_exact", Dtype.U8, Dtype.S8, Dtype.S32, Op.TILE_DOT_U8S8),
            ("tile_dot4_signed", Dtype.S8, Dtype.S8, Dtype.S32, Op.TILE_DOT_S8S8),
            ("tile_dot4_unsigned", Dtype.U8, Dtype.U8, Dtype.S32, Op.TILE_DOT_U8U8),
            ("tile_dot4_signed_lhs", Dtype.S8, Dtype.U8, Dtype.S32, Op.TILE_DOT_S8U8),
        )
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
            *gemv.rows_of_pairs(AVX2),
            *rows(AVX512),
            *gemv.rows_of_lines(AVX512),
            *rows_of_dots(AVX2_VNNI),
            *rows_of_dots(AVX512_VNNI_BF16),
            *gemv.rows_of_far_quads(AVX512_VNNI_BF16),
            *rows_of_tiles(AVX512_AMX),
        )
    )
)
"""Every kernel, by its name in schedules and in the IR."""


@lru_cache(maxsize=1024)
def kernels_for(kind: type[Kind], names: tuple[str, ...]) -> tuple[Kernel, ...]:
    """Filter kernels by name to those that may accept a key of a class of kinds."""
    named_so = (KERNELS[name] for name in names)
    return tuple(k for k in named_so if issubclass(kind, k.of_kind))
