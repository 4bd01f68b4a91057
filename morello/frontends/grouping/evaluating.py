"""The definition of a part, computed in NumPy: `evaluate_part`."""

import numpy as np

from morello.frontends.grouping.parts import Part
from morello.frontends.nodes.tensors import Array, Tensors
from morello.spec.kind import each


def evaluate_part(part: Part, known: dict[int, Array], tensors: Tensors) -> None:
    """Compute a part by its definition: sums are in f64, and rounded once.

    Args:
        known: the elements of each root, in one dimension; outputs are added.
    """
    kind = part.kind
    dtypes = tuple(form.dtype for form in part.forms)
    read, written = [], []
    for axes, operand, form in zip(
        kind.operands, part.operands, part.forms, strict=True
    ):
        if operand.tensor not in known:
            size = int(np.prod(tensors.all[operand.tensor].shape))
            known[operand.tensor] = np.zeros(size, form.dtype.numpy)
        whole = known[operand.tensor]
        strides = [step * whole.itemsize for step in operand.strides]
        memory = np.lib.stride_tricks.as_strided(
            whole[operand.offset :], operand.shape, strides
        )
        if axes.is_read:
            read.append(form.layout.to_logical(memory, axes.sizes(part.sizes)))
        if axes.is_written:
            shape = axes.sizes(part.sizes)
            written.append((memory, form.layout, shape))
    results = each(kind.evaluate(part.sizes, dtypes, tuple(map(np.array, read))))
    for (memory, layout, shape), array in zip(written, results, strict=True):
        memory[...] = layout.to_physical(np.broadcast_to(array, shape))
