"""GEMV of one row in its axpy form, of which rhs is beyond L2, in panels."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts
from morello.kernels.code.vectors import vectors_of
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.gemv.axpy import GemvAxpy
from morello.kernels.gemv.columns import Columns
from morello.kernels.gemv.halves import Halves
from morello.kernels.gemv.narrow import Narrow
from morello.kernels.gemv.streams import run_streams
from morello.kernels.predicates import free_vectors, size_is_one, within_pack
from morello.machine.isa import Isa
from morello.spec import Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.tensors.layout import ceil_div


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvPanels(GemvAxpy):
    """Panel after panel, lines prefetched into L1.

    The panels of an operand are one run of memory. The hardware prefetcher stops at
    pages of 4 KiB on some cores; a loop that prefetches goes on over them, and from
    panel to panel.
    Nothing behind the operand is prefetched.
    """

    element: Halves | Narrow
    distance: int
    """Rows of a panel from what is read to what is prefetched; 0 if nothing is."""

    def accepts(self, key: SpecKey) -> bool:
        """Panels that are not known to be in a cache."""
        return super().accepts(key) and key.tensors[1].layout.is_packed

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row; panels from which the prefetch reaches the next one at most."""
        return _one_row(frame, self.isa, self.distance)

    def op_counts(self, frame: Frame) -> OpCounts:
        """The products of each panel, one panel after another."""
        _, _, k, n = frame.sizes
        panels = ceil_div(n, self.columns)
        phases = self.element.phases(frame, 1, panels * (k + 4), panels)
        return OpCounts(phases, kernels=1, loops=panels)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Emit a loop over panels; the last rows of the last one prefetch nothing."""
        code = self.code(emitter, spec, operands)
        _, _, k, n = spec.sizes
        columns, distance = self.columns, self.distance
        last = (n - 1) // columns

        def panel(number: Value, carried: Sequence[Value]) -> list[Value]:
            code.once(Pack(number, columns), columns, distance, k if distance else 0)
            return []

        if last > 1:
            emitter.loop(0, last, 1, (), panel)
        elif last:
            panel(0, ())
        width = n - last * columns
        rows = k - distance if distance else 0
        code.for_width(width).once(Pack(last, columns), width, distance, rows)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvStreams(GemvAxpy):
    """Rows or panels far from each other, side by side.

    Rows and panels are read on to their neighbours, and prefetch their own lines.
    """

    element: Halves

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Conditions: one row of lhs, all vector registers free, and rhs longer than
        what one trip reads."""
        return _one_row(frame, self.isa, self.blocks * self.streams)

    def op_counts(self, frame: Frame) -> OpCounts:
        """The products of a few rows, or of a few panels, at a time."""
        _, _, k, n = frame.sizes
        if not frame.key.tensors[1].layout.is_packed:
            return super().op_counts(frame)
        calls = ceil_div(vectors_of(n, self.columns), self.streams)
        phases = self.element.phases(frame, 1, calls * (k + 4), calls)
        return OpCounts(phases, kernels=1, loops=calls)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Rows in passes over out; panels in a loop over full ones, then the last."""
        code = self.code(emitter, spec, operands)
        if operands[1].tensor.layout.is_packed:
            self._panels(code, spec.sizes[3])
        else:
            code.write(self.scattered)

    def _panels(self, code: Columns, n: int) -> None:
        columns, emitter = self.columns, code.emitter

        def panels(numbers: Sequence[Value], after: int) -> None:
            following = [emitter.offset(number, after) for number in numbers]
            code.at_places(
                [(Pack(number, columns), columns) for number in numbers],
                [Pack(number, columns) for number in following] if after else [],
            )

        whole, left = divmod(n, columns)
        run_streams(emitter, self.streams, whole, panels, prefetches=True)
        if left:
            code.for_width(left).once(Pack(whole, columns), left)


def _one_row(frame: Frame, isa: Isa, least: int) -> tuple[Condition, ...]:
    """One row of lhs, ``least`` rows of rhs, or any of 0, all registers."""
    enough = Condition(
        frame.sizes[2] >= least, f"takes at least {least} k: do not split k"
    )
    return (
        size_is_one(frame, 0),
        size_is_one(frame, 1),
        *((enough,) if least else ()),
        *within_pack(frame, 0, 1),
        Condition(free_vectors(frame) >= isa.registers, "needs all registers"),
    )
