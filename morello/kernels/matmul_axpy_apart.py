"""Matmul of one row with rows of rhs far from each other, which are read on and on."""

import dataclasses
from typing import ClassVar

from morello.kernels.axpy_columns import Columns
from morello.kernels.matmul_axpy import MatmulAxpy
from morello.kernels.streams import RUNS
from morello.spec import Level, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True)
class MatmulAxpyApart(MatmulAxpy):
    """`matmul_axpy` of one row by 5 rows of rhs far from each other, none asked for."""

    rows: ClassVar[int] = RUNS
    asks: ClassVar[bool] = False

    def accepts(self, key: SpecKey) -> bool:
        """The same, with rhs beyond L2, whose rows go over into the next."""
        if not super().accepts(key):
            return False
        rhs = key.tensors[1]
        return rhs.level is Level.MEM and rhs.contiguous

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row of out, and more of rhs than it reads at a time."""
        _, m, k, _ = frame.sizes
        return (
            *super().conditions(frame),
            Condition(m == 1, "takes one row: use matmul_axpy"),
            Condition(
                k >= 2 * RUNS,
                f"takes at least {2 * RUNS} rows of rhs: use matmul_axpy",
            ),
        )

    def passes(self, columns: Columns, count: int) -> None:
        """Five rows at a time."""
        columns.passes_apart(count)
