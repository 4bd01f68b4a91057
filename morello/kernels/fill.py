"""Fills of rows in L1 and of registers."""

import dataclasses
from collections.abc import Sequence
from itertools import product as every

from morello.cost.counts import OpCounts
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import (
    in_l1,
    in_registers,
    others,
    within_block,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.kernels.vectors import (
    overlapping,
    overlapping_count,
    vectors_of,
)
from morello.spec import Fill, Spec, SpecKey
from morello.spec.frame import Condition, Frame


def _value(spec: Spec) -> float | int:
    """The number that a fill writes.

    Raises:
        TypeError: the Spec is not a fill; `Kernel.accepts` was not asked.
    """
    if not isinstance(spec.kind, Fill):
        raise TypeError(f"{spec} is not a fill")
    return spec.kind.number(spec.tensors[0].dtype)


@dataclasses.dataclass(frozen=True)
class FillRows(Kernel):
    """out in L1 = a constant, along its innermost dimension."""

    def accepts(self, key: SpecKey) -> bool:
        """Any dtype, any layout."""
        return isinstance(key.kind, Fill) and in_l1(*key.tensors)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """A row stays within one pack; the code stays short; interleaved: one."""
        (out,) = frame.key.tensors
        inner = out.layout.innermost
        lanes = self.isa.lanes(out.dtype)
        one = tuple(
            Condition(
                frame.sizes[d.dim] == 1,
                f"takes one element of the odd-even dimension d{d.dim}: tile it to 1",
            )
            for d in out.layout.dims
            if d.odd_even
        )
        rows = others(frame.sizes, inner)
        return (
            *one,
            *within_pack(frame, 0, inner),
            within_block(rows * vectors_of(frame.sizes[inner], lanes), self.isa),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """A store for each vector."""
        (out,) = frame.key.tensors
        inner = out.layout.innermost
        stores = overlapping_count(frame.sizes[inner], self.isa.lanes(out.dtype))
        return OpCounts.of({"store": others(frame.sizes, inner) * stores})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Row by row, vector by vector."""
        (out,) = operands
        dtype = out.tensor.dtype
        inner = out.tensor.layout.innermost
        row = overlapping(spec.sizes[inner], self.isa.lanes(dtype))
        vectors = {
            width: emitter.constant(dtype, _value(spec), width)
            for width in sorted({width for _, width in row})
        }
        extents = [range(s) for s in spec.sizes]
        extents[inner] = range(1)
        for start in every(*extents):
            for column, width in row:
                at = (*start[:inner], column, *start[inner + 1 :])
                emitter.store(vectors[width], out, at)


@dataclasses.dataclass(frozen=True)
class FillRegisters(Kernel):
    """out in registers = a constant, in every lane."""

    def accepts(self, key: SpecKey) -> bool:
        """Any dtype, in registers."""
        return isinstance(key.kind, Fill) and in_registers(key.tensors[0], self.isa)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """No more registers than there are."""
        return (within_block(frame.key.tensors[0].registers(frame.sizes), self.isa),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """One vector operation for each register."""
        registers = frame.key.tensors[0].registers(frame.sizes)
        return OpCounts.of({"vector_op": registers})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Register by register."""
        (out,) = operands
        lanes = self.isa.lanes(out.tensor.dtype)
        vector = emitter.constant(out.tensor.dtype, _value(spec), lanes)
        *rows, n = spec.sizes
        for index in every(*map(range, rows), range(vectors_of(n, lanes))):
            emitter.store_register(vector, out, index)
