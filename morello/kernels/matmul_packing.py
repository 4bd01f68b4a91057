"""Matmul of the first rows while rhs, which they are multiplied by, is packed.

To pack is to wait for lines, and computes nothing; the products of a few rows take no
longer than that, and find each vector of rhs in a register. So they are done meanwhile.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.kernels.base import Copied, Kernel
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.matmul_block import blocks_cost
from morello.kernels.rules import in_l1, size_is_one
from morello.kernels.steps import TOGETHER, run_steps
from morello.kernels.vectors import REGISTERS, as_ints, lanes_of, vectors_of
from morello.spec import Dtype, Layout, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div
from morello.targets.coefficients import Coefficients

_COLUMNS = 16
"""Columns of a panel: a cache line."""

_LANES = lanes_of(Dtype.F32)

_VECTORS = _COLUMNS // _LANES

_MOST_M = 6
"""Rows whose sums have registers beside a line of rhs and two factors."""

_BAND = 64
"""Rows of rhs that are packed panel by panel before the next ones. Each is a stream, in
a page of its own: of more, prefetchers follow too few. Of fewer, sums leave registers
and come back more often."""


@dataclasses.dataclass(frozen=True)
class MatmulPacking(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs beyond L1, row-major,
    which is left in panels of 16 columns, too.

    Some rows of rhs after others, of these panel after panel. Sums wait in out until
    the next rows of rhs.
    """

    name: ClassVar[str] = "matmul_packing"
    copied: ClassVar[Copied | None] = Copied(
        1, Layout.parse(f"[0,2,1,2p{_COLUMNS}]"), _MOST_M
    )

    def accepts(self, key: SpecKey) -> bool:
        """f32; all row-major; rhs beyond L1."""
        if not isinstance(key.kind, Matmul) or set(key.dtypes) != {Dtype.F32}:
            return False
        lhs, rhs, out = key.tensors
        return (
            in_l1(lhs, out)
            and rhs.level in (Level.L2, Level.GL)
            and all(t.layout == Layout.row_major(3) for t in key.tensors)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows, whole panels, all registers."""
        _, m, _, n = frame.sizes
        return (
            size_is_one(frame, 0),
            Condition(m <= _MOST_M, f"takes at most {_MOST_M} rows: tile m smaller"),
            Condition(
                n % _COLUMNS == 0,
                f"takes whole panels: tile n to a multiple of {_COLUMNS}",
            ),
            Condition(frame.limits.vrf >= REGISTERS, "needs all registers"),
        )

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The blocks, the stores of panels, and sums that wait in out between bands.

        For lines of rhs, and those of the copy, the action pays that uses the kernel.
        """
        c = coefficients
        _, m, k, n = frame.sizes
        between = np.maximum(ceil_div(k, _BAND) - 1, 0)
        sums = m * vectors_of(n, _LANES) * (c.load + c.store) + c.loop_setup
        setup = c.kernel_setup + 2 * c.loop_setup + 2 * c.fma_latency
        copied = 2 * c.store * k * (n // _COLUMNS)
        return as_ints(
            setup + blocks_cost(frame, _COLUMNS, c) + copied + between * sums
        )

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """The first band, a loop over whole ones, and what is left of k."""
        k = spec.sizes[2]
        panels = _Panels(emitter, spec, operands)
        first = min(k, _BAND)
        whole = k // _BAND * _BAND
        panels.write(0, first, begins=True)

        def band(start: Value, carried: Sequence[Value]) -> list[Value]:
            panels.write(start, _BAND)
            return []

        if whole > 2 * _BAND:
            emitter.loop(_BAND, whole, _BAND, (), band)
        elif whole > _BAND:
            band(_BAND, ())
        if k > whole >= _BAND:
            panels.write(whole, k - whole)


@dataclasses.dataclass(frozen=True)
class _Panels:
    """Writes the code of a band: some rows of rhs."""

    emitter: Emitter
    spec: Spec
    operands: Sequence[Buffer]

    def write(self, start: Value, count: int, begins: bool = False) -> None:
        """All panels of ``count`` rows; sums begin anew where a band ``begins`` out."""

        def panel(number: Value, carried: Sequence[Value]) -> list[Value]:
            self._panel(number, start, count, begins)
            return []

        panels = self.spec.sizes[3] // _COLUMNS
        if panels > 1:
            self.emitter.loop(0, panels, 1, (), panel)
        else:
            panel(0, ())

    def _panel(self, number: Value, start: Value, count: int, begins: bool) -> None:
        emitter = self.emitter
        lhs, rhs, out, copy = self.operands
        m = self.spec.sizes[1]
        columns = [Pack(number, _COLUMNS, j * _LANES) for j in range(_VECTORS)]
        places = [(0, i, column) for i in range(m) for column in columns]
        if begins and not self.spec.kind.accumulates:
            zero = emitter.constant(Dtype.F32, 0.0, _LANES)
            sums: Sequence[Value] = [zero] * len(places)
        else:
            sums = [emitter.load(out, place, _LANES) for place in places]

        def step(by: Value, carried: Sequence[Value]) -> list[Value]:
            at = emitter.offset(start, by)
            line = [emitter.load(rhs, (0, at, column), _LANES) for column in columns]
            for vector, column in zip(line, columns, strict=True):
                emitter.store(vector, copy, (0, at, column))
            found = []
            for i in range(m):
                element = emitter.load_element(lhs, (0, i, at))
                factor = emitter.broadcast(element, _LANES)
                for j, vector in enumerate(line):
                    chain = carried[i * _VECTORS + j]
                    found.append(emitter.multiply_add(factor, vector, chain))
            return found

        for place, total in zip(
            places, run_steps(emitter, count, sums, step, TOGETHER), strict=True
        ):
            emitter.store(total, out, place)
