"""The scalar kernel: one element of any kind, which makes the space complete."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.cost.counts import OpCounts
from morello.kernels.code.elements import CountedElements, EmittedElements
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import in_l1
from morello.kernels.template import Kernel
from morello.spec import Form, Kind, Layout, Spec, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True)
class Scalar(Kernel):
    """One element of each operand, in L1, in any layout and dtype.

    Of a dimension that a kind takes in groups (`Kind.grain`) it is one group, or a part
    of one at the end.
    """

    def accepts(self, key: SpecKey) -> bool:
        """Whether the kind reads operands and is no graph; a reduction has to add to
        its output."""
        kind = key.kind
        reads = any(operand.is_read for operand in kind.operands)
        adds = kind.accumulates or not kind.reductions
        return kind.as_graph is None and reads and adds and in_l1(*key.tensors)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Row-major, where no loop gets down to a group because packs cut groups."""
        tensor, row = key.tensors[operand], key.kind.operands[operand]
        if any(
            _cuts_groups(tensor.layout, row.axis(dim), key.kind.grain(dim))
            for dim in row.dims
        ):
            return (Form(tensor.dtype, Layout.row_major(tensor.rank)),)
        return ()

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Every size is 1, or that of a group."""
        kind = frame.key.kind
        one = np.bool_(True)
        for dim, size in enumerate(frame.sizes):
            one = one & (size <= kind.grain(dim))
        groups = [f"{kind.dims[d]} to {kind.grain(d)}" for d in _grouped(kind)]
        if not groups:
            return (Condition(one, "takes one element: tile every dimension to 1"),)
        tiles = ", ".join([*groups, "every other dimension to 1"])
        return (Condition(one, f"takes one group of neighbours: tile {tiles}"),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Scalar reads and operations; each step of a group adds the same number."""
        one, two = (
            CountedElements.of(frame.key.kind, frame.key.dtypes, steps)
            for steps in (1, 2)
        )
        count = one.reads + one.operations
        for dim in _grouped(frame.key.kind):
            step = two.reads + two.operations - count
            count = count + (frame.sizes[dim] - 1) * step
        return OpCounts.of({"scalar": count})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """The element of the output, by the kind's own meaning."""
        grouped = _grouped(spec.kind)

        def at(operand: int, step: int) -> tuple[int, ...]:
            row = spec.kind.operands[operand]
            steps = {row.axis(dim): step for dim in grouped if dim in row.dims}
            return tuple(steps.get(axis, 0) for axis in range(row.rank))

        def read(operand: int, step: int) -> Value:
            return emitter.load_element(operands[operand], at(operand, step))

        steps = max((spec.sizes[dim] for dim in grouped), default=1)
        elements: Any = EmittedElements(emitter, read, steps=steps)
        result = spec.kind.element(elements, spec.dtypes)
        (out,) = spec.kind.written
        emitter.store_element(result, operands[out], at(out, 0))


def _grouped(kind: Kind) -> list[int]:
    """The dimensions that a kind takes in groups."""
    return [dim for dim in range(len(kind.dims)) if kind.grain(dim) > 1]


def _cuts_groups(layout: Layout, dim: int, group: int) -> bool:
    """Whether tiles of a group along a dimension are none of a layout."""
    if group == 1:
        return False
    odd_even = any(d.odd_even and d.dim == dim for d in layout.dims)
    return odd_even or (layout.pack(dim) > 1 and layout.pack(dim) % group != 0)
