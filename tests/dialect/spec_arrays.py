"""Physical arrays of the operands of Specs, and Specs that are run on such arrays."""

from typing import Any

import numpy as np

from morello.spec import VRF, Layout, Spec, TensorSpec
from morello.spec.checking import bit_patterns
from morello.spec.kind import Array


def coordinates(
    layout: Layout, sizes: tuple[int, ...]
) -> tuple[np.ndarray[Any, Any], ...]:
    """For each physical dimension, the index of every element in logical order."""
    return layout.index_map(tuple(np.indices(sizes)))


def unpack(array: Array, tensor: TensorSpec, sizes: tuple[int, ...]) -> Array:
    """The logical array that a physical one holds."""
    if tensor.level is VRF:
        return array.reshape(*array.shape[:-2], -1)[..., : sizes[-1]].copy()
    return array[coordinates(tensor.layout, sizes)]


def pack(array: Array, tensor: TensorSpec, value: Array) -> None:
    """Write a logical array into a physical one; padding stays as it is."""
    if tensor.level is VRF:
        for index in np.ndindex(*value.shape):
            lane = index[-1] % tensor.vector_width
            array[(*index[:-1], index[-1] // tensor.vector_width, lane)] = value[index]
    else:
        array[coordinates(tensor.layout, value.shape)] = value


def new_buffer(
    rng: np.random.Generator, tensor: TensorSpec, shape: tuple[int, ...]
) -> Array:
    """An array of physical shape ``shape`` with arbitrary bits."""
    if tensor.level is VRF:
        shape = (*shape, tensor.vector_width)
    return bit_patterns(rng, tensor.dtype, shape)


def run_spec(spec: Spec, arrays: list[Array]) -> None:
    """Do what a Spec says to physical arrays."""
    operands = spec.kind.operands
    # A buffer does not know whether its integers have a sign, nor of bf16.
    arrays = [
        array.view(tensor.dtype.numpy)
        for array, tensor in zip(arrays, spec.tensors, strict=True)
    ]
    inputs = [
        unpack(array, tensor, spec.shape(i))
        for i, (array, tensor) in enumerate(zip(arrays, spec.tensors, strict=True))
        if operands[i].is_read
    ]
    with np.errstate(all="ignore"):
        outputs = spec.outputs(*inputs)
    for place, out in zip(spec.kind.written, outputs, strict=True):
        pack(arrays[place], spec.tensors[place], out)
