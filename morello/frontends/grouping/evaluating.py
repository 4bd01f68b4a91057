"""The definition of a part, computed in NumPy: `evaluate_part`."""

import numpy as np

from morello.frontends.grouping.parts import Part
from morello.frontends.nodes.tensors import Array, Tensors


def evaluate_part(part: Part, known: dict[int, Array], tensors: Tensors) -> None:
    """Compute a part by its definition: sums are in f64, and rounded once.

    Args:
        known: the elements of each root, in one dimension; outputs are added.
    """
    views, dtypes = [], []
    for operand in part.operands:
        dtype = tensors.dtype(operand.tensor)
        if operand.tensor not in known:
            size = int(np.prod(tensors.all[operand.tensor].shape))
            known[operand.tensor] = np.zeros(size, dtype.numpy)
        whole = known[operand.tensor]
        strides = [step * whole.itemsize for step in operand.strides]
        views.append(
            np.lib.stride_tricks.as_strided(
                whole[operand.offset :], operand.shape, strides
            )
        )
        dtypes.append(dtype)
    kind = part.kind
    read = [v for v, o in zip(views, kind.operands, strict=True) if o.is_read]
    made = kind.evaluate(part.sizes, tuple(dtypes), tuple(map(np.array, read)))
    if not isinstance(made, tuple):
        made = (made,)
    written = [v for v, o in zip(views, kind.operands, strict=True) if o.is_written]
    for view, array in zip(written, made, strict=True):
        view[...] = array
