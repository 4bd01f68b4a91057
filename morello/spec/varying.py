"""Operands of which a dimension has the size that each call says."""

from morello.spec.spec import Spec


def varies_inside(spec: Spec) -> str:
    """Why memory cannot hold an operand for any size of a Spec's ranges; empty if it
    can: what varies is outermost, so that no stride depends on it."""
    varying = {dim for one in spec.ranges for dim in one.dims}
    for index, (operand, tensor) in enumerate(
        zip(spec.kind.operands, spec.tensors, strict=True)
    ):
        dims = varying & {*operand.dims}
        if not dims:
            continue
        shape = spec.physical_shape(index)
        places = zip(tensor.layout.dims, shape, strict=True)
        first = next((d for d, extent in places if extent > 1), None)
        outer = {operand.axis(dim) for dim in dims}
        if not operand.is_plain or tensor.level.is_registers or first is None:
            return f"'{operand.name}' is in registers, or read through a window"
        if {first.dim} != outer or first.pack:
            return f"'{operand.name}' has a size that varies inside of its rows"
    return ""
