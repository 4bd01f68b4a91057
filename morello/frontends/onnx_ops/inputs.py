"""The inputs of a graph of ONNX: those that are constants, and the shapes of others."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from morello.errors import ArgumentError


def with_constants(
    onnx: Any, proto: Any, constants: Mapping[str, Any], source: str
) -> Any:
    """The model with inputs as initializers.

    Raises:
        ArgumentError: there is no such input, or it has another dtype.
    """
    inputs = {value.name: value for value in proto.graph.input}
    for name, array in constants.items():
        if name not in inputs:
            raise ArgumentError(
                f"{source} has no input '{name}'", f"its inputs are {', '.join(inputs)}"
            )
        kind = inputs[name].type.tensor_type.elem_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
        value = np.asarray(array)
        if not np.can_cast(value.dtype, dtype, "same_kind"):
            raise ArgumentError(
                f"{source}: input '{name}' has elements of {dtype}, not {value.dtype}",
                f"give numpy.asarray(value, '{dtype}')",
            )
        held = onnx.numpy_helper.from_array(value.astype(dtype), name)
        proto.graph.initializer.append(held)
        proto.graph.input.remove(inputs.pop(name))
    return proto


def with_shapes(
    proto: Any,
    shapes: dict[str, Sequence[int | str]],
    source: str,
    sizes: Mapping[str, int] = MappingProxyType({}),
) -> Any:
    """The model with the shapes that were given.

    Args:
        shapes: by the names of inputs.
        sizes: of dimensions, by their names.

    Raises:
        ArgumentError: one is missing, or differs from the model's, or has no input.
    """
    names = [value.name for value in proto.graph.input]
    for name in shapes:
        if name not in names:
            raise ArgumentError(
                f"{source} has no input '{name}'", f"its inputs are {', '.join(names)}"
            )
    held = {initializer.name for initializer in proto.graph.initializer}
    _clear_any((*proto.graph.output, *proto.graph.value_info))
    for value in proto.graph.input:
        if value.name in held:
            continue
        dims = value.type.tensor_type.shape.dim
        if not value.type.tensor_type.HasField("shape"):  # not even how many
            for _ in shapes.get(value.name, "?"):
                dims.add()
        declared = [
            dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
            for dim in dims
        ]
        asked: Sequence[Any] = shapes.get(value.name, declared)
        static = [sizes.get(size, size) for size in asked]
        if not _fits(declared, static):
            raise _unfit(source, value.name, declared, shapes.get(value.name))
        for dim, size in zip(dims, static, strict=True):
            dim.dim_value = size
    _settle((*proto.graph.output, *proto.graph.value_info), sizes)
    return proto


def _unfit(source: str, name: str, declared: list[Any], asked: Any) -> ArgumentError:
    """An input has no shape of numbers, or another than was given."""
    example = [n if isinstance(n, int) and n > 0 else 8 for n in declared]
    words = ", ".join(map(str, declared))
    reason = "Specs have sizes that are numbers"
    if asked is not None:
        reason = f"({', '.join(map(str, asked))}) was given"
    return ArgumentError(
        f"{source}: input '{name}' has the shape ({words}), and {reason}",
        f"give the shape: shapes={{'{name}': {tuple(example)}}}, or "
        f"--shape {name}={','.join(map(str, example))}",
    )


def _fits(declared: list[Any], shape: Sequence[Any]) -> bool:
    """Whether a shape has a size for each dimension of an input."""
    return len(shape) == len(declared) and all(
        isinstance(size, int)
        and (size > 0 or size == was)
        and size >= 0
        and (not isinstance(was, int) or was in (size, _ANY))
        for was, size in zip(declared, shape, strict=True)
    )


def _clear_any(values: Iterable[Any]) -> None:
    """Take the size away from dimensions of any size."""
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value == _ANY:
                dim.Clear()


def _settle(values: Iterable[Any], sizes: Mapping[str, int]) -> None:
    """Replace the names of dimensions by their sizes."""
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]


_ANY = -1
"""The size that Paddle writes where it means none."""
