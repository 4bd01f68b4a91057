"""Dot products with rows that ask for their own lines, into L1."""

import dataclasses

import numpy as np

from morello.kernels.dot_block import DotBlock, chains_of, step_of, unit_of
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.matmul_dot import MatmulDot
from morello.kernels.prefetch import AHEAD, ROWS, long_rows
from morello.spec import Form, Level, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints

_K = 2
"""Of the dimensions of the product."""


@dataclasses.dataclass(frozen=True)
class MatmulDotAhead(MatmulDot):
    """`matmul_dot` where rows ask for what comes soon, not for other rows.

    To ask for a line costs nothing: it is used where `matmul_dot` would wait.
    """

    def accepts(self, key: SpecKey) -> bool:
        """The same, with both operands beyond L2 or the long one alone."""
        sides = key.tensors[:2]
        return super().accepts(key) and any(t.level is Level.MEM for t in sides)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Long rows beyond L2, twice as many of them as are read side by side."""
        _, m, _, n = frame.sizes
        few, many = np.minimum(m, n), np.maximum(m, n)
        side = self.rows(frame.key, few)
        lhs, rhs, out = frame.key.tensors
        far = np.where(m >= n, lhs.level is Level.MEM, rhs.level is Level.MEM)
        unit = unit_of(frame.key.dtypes, self.isa)
        chains = chains_of(few * side, unit // self.isa.lanes(out.dtype))
        step = step_of(chains, unit)
        ahead = np.where(
            m >= n,
            AHEAD.elements(side, lhs.dtype.itemsize, step),
            AHEAD.elements(side, rhs.dtype.itemsize, step),
        )
        return (
            *super().conditions(frame),
            Condition(far, "needs the longer side beyond L2: use matmul_dot"),
            long_rows(frame, _K, ahead),
            Condition(
                many >= 2 * side,
                "takes twice the rows that it reads side by side: use matmul_dot",
            ),
        )

    def rows(self, key: SpecKey, few: Ints) -> Ints:
        """At most `ROWS`."""
        return np.minimum(super().rows(key, few), ROWS)

    def block(
        self, emitter: Emitter, spec: Spec, lhs: Buffer, rhs: Buffer, out: Buffer
    ) -> DotBlock:
        """One that asks so."""
        return DotBlock(emitter, spec, lhs, rhs, out, AHEAD)

    def followed(self, many: int, side: int) -> int:
        """All whole blocks but the last."""
        return (many // side - 1) * side

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Those of `matmul_dot` do."""
        return ()
