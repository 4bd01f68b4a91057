"""Kernels: the leaves of programs, straight vector code for small tiles.

Read `base.py` (what a kernel is), `emitter.py` (what it can write), then any kernel.
`KERNELS` maps the name that schedules use to the kernel. To add one: write its module,
add it to `_ALL`. Nothing here knows of MLIR: `morello.passes.parts.emission` writes
the code.
"""

from collections.abc import Iterable

from morello.kernels.base import Kernel
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.fill import FillRegisters, FillRows
from morello.kernels.matmul_axpy import MatmulAxpy, MatmulAxpyFour
from morello.kernels.matmul_axpy_ahead import MatmulAxpyAhead
from morello.kernels.matmul_axpy_apart import MatmulAxpyApart
from morello.kernels.matmul_axpy_bf16 import MatmulAxpyBf16
from morello.kernels.matmul_axpy_bf16_ahead import MatmulAxpyBf16Ahead
from morello.kernels.matmul_axpy_bf16_apart import MatmulAxpyBf16Apart
from morello.kernels.matmul_block import MatmulBlock
from morello.kernels.matmul_broadcast import MatmulBroadcast
from morello.kernels.matmul_dot import MatmulDot
from morello.kernels.matmul_dot_ahead import MatmulDotAhead
from morello.kernels.matmul_dot_apart import MatmulDotApart
from morello.kernels.matmul_dot_halves import MatmulDotHalves
from morello.kernels.matmul_outer import MatmulOuter
from morello.kernels.matmul_pairs import MatmulPairs
from morello.kernels.matmul_pairs_float import MatmulPairsFloat
from morello.kernels.matmul_panels import MatmulPanels
from morello.kernels.matmul_quads import MatmulQuads
from morello.kernels.matmul_rows import MatmulRows
from morello.kernels.matmul_saturating import (
    MatmulSaturatingPairs,
    MatmulSaturatingPairsWide,
    MatmulSaturatingScalar,
)
from morello.kernels.matmul_scalar import MatmulScalar
from morello.kernels.max_columns import MaxColumns
from morello.kernels.max_rows import MaxRows
from morello.kernels.max_scalar import MaxScalar
from morello.kernels.move_interleave import MoveInterleave, MoveInterleaveQuads
from morello.kernels.move_odd_even import MoveOddEven
from morello.kernels.move_pair_transpose import MovePairTranspose
from morello.kernels.move_registers import MoveLoad, MoveStore
from morello.kernels.move_rows import MoveRows
from morello.kernels.move_scalar import MoveScalar
from morello.kernels.move_transpose import MoveTranspose
from morello.kernels.move_transpose_ahead import MoveTransposeAhead

_ALL: tuple[Kernel, ...] = (
    MatmulBroadcast(),
    MatmulBlock(),
    MatmulRows(),
    MatmulPanels(),
    MatmulAxpy(),
    MatmulAxpyFour(),
    MatmulAxpyAhead(),
    MatmulAxpyApart(),
    MatmulAxpyBf16(),
    MatmulAxpyBf16Ahead(),
    MatmulAxpyBf16Apart(),
    MatmulOuter(),
    MatmulDot(),
    MatmulDotAhead(),
    MatmulDotApart(),
    MatmulScalar(),
    MatmulDotHalves(),
    MatmulPairs(),
    MatmulPairsFloat(),
    MatmulQuads(),
    MatmulSaturatingPairs(),
    MatmulSaturatingPairsWide(),
    MatmulSaturatingScalar(),
    MoveRows(),
    MoveTranspose(),
    MoveTransposeAhead(),
    MoveInterleave(),
    MoveInterleaveQuads(),
    MovePairTranspose(),
    MoveOddEven(),
    MoveLoad(),
    MoveStore(),
    MoveScalar(),
    FillRows(),
    FillRegisters(),
    MaxRows(),
    MaxColumns(),
    MaxScalar(),
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


KERNELS: dict[str, Kernel] = by_name(_ALL)
"""Every kernel, by its name in schedules and in the IR."""

__all__ = ["KERNELS", "Buffer", "Emitter", "Kernel", "by_name"]
