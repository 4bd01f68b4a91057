"""Matmul of a few rows with rows of rhs that ask for their own lines, into L1."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.kernels.axpy_columns import VECTORS, Columns
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.matmul_axpy import MatmulAxpy
from morello.kernels.prefetch import AHEAD, ROWS, long_rows
from morello.spec import Level, Spec, SpecKey
from morello.spec.frame import Condition, Frame

_N = 3
"""Of the dimensions of the product."""


@dataclasses.dataclass(frozen=True)
class MatmulAxpyAhead(MatmulAxpy):
    """`matmul_axpy` where rows of rhs ask for what comes soon, not for other rows.

    To ask for a line costs nothing: it is used where `matmul_axpy` would wait.
    """

    rows: ClassVar[int] = ROWS

    def accepts(self, key: SpecKey) -> bool:
        """The same, with rhs beyond L2."""
        return super().accepts(key) and key.tensors[1].level is Level.MEM

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Long rows, twice as many of them as are read side by side."""
        itemsize = frame.key.tensors[1].dtype.itemsize
        step = VECTORS * self.isa.lanes(frame.key.tensors[1].dtype)
        return (
            *super().conditions(frame),
            long_rows(frame, _N, AHEAD.elements(self.rows, itemsize, step)),
            Condition(
                frame.sizes[2] >= 2 * self.rows,
                f"takes at least {2 * self.rows} rows of rhs: use matmul_axpy",
            ),
        )

    def room(self, frame: Frame) -> tuple[Condition, ...]:
        """What is asked for takes a quarter of L1, whatever the rows."""
        return ()

    def columns(
        self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]
    ) -> Columns:
        """Those that ask so."""
        return Columns(emitter, spec, operands, self.rows, AHEAD)
