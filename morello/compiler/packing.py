"""Arguments in a kernel's layout, made from arrays in logical order."""

from typing import Any

import numpy as np

from morello.errors import ArgumentError
from morello.runtime.calls.diagnose import diagnose_form
from morello.runtime.calls.foreign_arrays import shared
from morello.runtime.calls.parameter import Parameter
from morello.spec import Array, Spec
from morello.suggestions import did_you_mean


def pack(
    spec: Spec, settled: tuple[int, ...], array: Any, operand: str | None
) -> Array:
    """The argument that holds ``array``: C-contiguous, padding zero, and without the
    dimensions of 1 that ``array`` leaves out.

    Args:
        spec: the Spec of the kernel.
        settled: the operands whose layouts the search chose.
        array: an input in logical order, of any strides, NumPy's or another library's;
            a batch of 1 may be left out.
        operand: its name; None for the only one that is packed.

    Raises:
        ArgumentError: the array does not fit the operand, or it is not clear which
            operand is meant.
    """
    index = _operand(spec, settled, operand)
    parameter = _logical(spec, index)
    if not isinstance(array, np.ndarray):
        array = shared(array, parameter)
    diagnose_form(array, parameter)
    physical = spec.to_physical(index, array)
    left_out = len(spec.shape(index)) - array.ndim
    return physical.reshape(physical.shape[left_out:])


def _operand(spec: Spec, settled: tuple[int, ...], name: str | None) -> int:
    inputs = {o.name: i for i, o in enumerate(spec.kind.operands) if not o.is_written}
    if name is not None:
        if name not in inputs:
            raise ArgumentError(
                f"'operand' is {name!r}, which is no input of {spec.kind.label}",
                f"name one of {', '.join(inputs)}{did_you_mean(str(name), inputs)}",
            )
        return inputs[name]
    packed = settled or tuple(
        i for i in inputs.values() if not spec.tensors[i].layout.is_row_major
    )
    if len(packed) != 1:
        count = len(packed) or "none"
        raise ArgumentError(
            f"'operand' is left out, and of the inputs {count} have layouts of their "
            "own",
            f"name one of {', '.join(inputs)}",
        )
    return packed[0]


def _logical(spec: Spec, index: int) -> Parameter:
    """The parameter of an operand in logical order."""
    shape = spec.shape(index)
    optional = spec.kind.optional_dims
    left_out = [n for n in range(1, optional + 1) if all(s == 1 for s in shape[:n])]
    return Parameter(
        spec.kind.operands[index].name,
        spec.dtypes[index].numpy,
        shape,
        tuple(shape[n:] for n in left_out),
    )
