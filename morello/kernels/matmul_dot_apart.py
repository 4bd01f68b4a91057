"""Dot products of one row with rows far from each other, which are read on and on."""

import dataclasses
from typing import ClassVar

import numpy as np

from morello.kernels.dot_block import DotBlock
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.matmul_dot import COLUMNS, MatmulDot
from morello.kernels.streams import RUNS, WIDENED, apart
from morello.spec import Dtype, Form, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints


@dataclasses.dataclass(frozen=True)
class MatmulDotApart(MatmulDot):
    """`matmul_dot` of one row or column, by 5 of the others far from each other."""

    asks: ClassVar[bool] = False

    def rows(self, key: SpecKey, few: Ints) -> Ints:
        """As many as are read at a time."""
        return RUNS

    def runs(self, frame: Frame, operand: int) -> Ints:
        """Once for each that is read on: a row goes over into the next."""
        return RUNS

    def accepts(self, key: SpecKey) -> bool:
        """The same, with an operand beyond L2."""
        sides = key.tensors[:2]
        return super().accepts(key) and any(t.level is Level.MEM for t in sides)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row or column, and more of the others than it reads at a time."""
        _, m, _, n = frame.sizes
        return (
            *super().conditions(frame),
            Condition(np.minimum(m, n) == 1, "takes one row or column: use matmul_dot"),
            Condition(
                np.maximum(m, n) >= 2 * RUNS,
                f"takes at least {2 * RUNS} of the others: use matmul_dot",
            ),
        )

    def block(
        self, emitter: Emitter, spec: Spec, lhs: Buffer, rhs: Buffer, out: Buffer
    ) -> DotBlock:
        """One that asks for its own lines where it widens them."""
        many = (lhs if spec.sizes[1] >= spec.sizes[3] else rhs).tensor.dtype
        ahead = WIDENED if many is Dtype.BF16 else None
        return DotBlock(emitter, spec, lhs, rhs, out, ahead)

    def write(self, block: DotBlock) -> None:
        """Five at a time."""
        many = max(block.spec.sizes[1], block.spec.sizes[3])
        apart(block.emitter, many, block.write, asks=block.ahead is not None)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Those of `matmul_dot` do."""
        return ()

    def forms_beforehand(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Columns of bf16, which it reads faster than rows are read."""
        if operand != 1 or not isinstance(key.kind, Matmul):
            return ()
        fits = key.dtypes[1:] == (Dtype.BF16, Dtype.F32)
        return (Form(Dtype.BF16, COLUMNS),) if fits else ()
