"""Operands of which a dimension has the size that each call says."""

from morello.spec.operand import Operand
from morello.spec.spec import Spec
from morello.spec.tensors.layout import Layout


def varying_places(spec: Spec, index: int) -> dict[int, int]:
    """`places_that_vary` of an operand of a Spec."""
    layout = spec.tensors[index].layout
    return places_that_vary(spec, spec.kind.operands[index], layout)


def places_that_vary(spec: Spec, operand: Operand, layout: Layout) -> dict[int, int]:
    """The physical dimensions of an operand whose size a call says, ascending, and the
    number of the range of each: the strides of those before follow from the sizes.

    Args:
        operand: on the dimensions of the Spec.
        layout: of the operand.
    """
    axes = {
        operand.axis(dim): number
        for number, one in enumerate(spec.ranges)
        for dim in one.dims
        if dim in operand.dims
    }
    return {p: axes[d.dim] for p, d in enumerate(layout.dims) if d.dim in axes}


def why_settled(spec: Spec) -> str:
    """Why memory cannot hold an operand for any size of a Spec's ranges; empty if it
    can."""
    for index, (operand, tensor) in enumerate(
        zip(spec.kind.operands, spec.tensors, strict=True)
    ):
        places = varying_places(spec, index)
        layout = tensor.layout
        if not all(operand.axes[layout.dims[place].dim].is_plain for place in places):
            return f"'{operand.name}' is read through a window along a size that varies"
        if places and tensor.level.is_registers:
            return f"'{operand.name}' is in registers"
        if any(layout.pack(layout.dims[place].dim) > 1 for place in places):
            return f"'{operand.name}' has a size that varies in packs"
    return ""
