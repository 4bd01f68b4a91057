"""Types and constants of MLIR as shapes, dtypes and arrays."""

import math
import re
from typing import Any

import numpy as np

from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.elements.dtypes import FLOAT_NAMES, FLOATS, Dtype

_REMEDY = f"export the model in {' or '.join(d.numpy.name for d in FLOATS)}"
_INTEGER_REMEDY = (
    "leave what has integers (an embedding, places, masks) to the framework that calls"
)


def dynamic(kind: ir.Type) -> OpError | None:
    """Why a type has no Spec: its shape is dynamic; None where it is not."""
    kind = kind.maybe_downcast()
    if isinstance(kind, ir.UnrankedTensorType) or (
        isinstance(kind, ir.RankedTensorType) and not kind.has_static_shape
    ):
        return OpError(
            f"{kind} has a dynamic shape, and a Spec has sizes",
            "export it with static shapes, once for each",
        )
    return None


def refuse_dynamic(op: ir.Operation) -> None:
    """Check that every shape is known.

    Raises:
        OpError: one is not.
    """
    for value in (*op.operands, *op.results):
        refused = dynamic(value.type)
        if refused is not None:
            raise refused


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The shape of a tensor; none for a number.

    Raises:
        OpError: it is dynamic.
    """
    kind = value.type.maybe_downcast()
    refused = dynamic(kind)
    if refused is not None:
        raise refused
    return tuple(kind.shape) if isinstance(kind, ir.RankedTensorType) else ()


def index_maps(generic: ir.Operation) -> list[ir.AffineMap]:
    """How a `linalg.generic` reads and writes each of its operands."""
    maps = ir.ArrayAttr(generic.attributes["indexing_maps"])
    return [ir.AffineMapAttr(attribute).value for attribute in maps]


def extents_of(generic: ir.Operation) -> tuple[int, ...] | None:
    """The size of each dimension of a `linalg.generic`; None where one is the size of
    no axis by itself.

    Raises:
        OpError: a shape is dynamic.
    """
    extents: dict[int, int] = {}
    maps = index_maps(generic)
    for operand, index_map in zip(generic.operands, maps, strict=True):
        if not isinstance(operand.type.maybe_downcast(), ir.RankedTensorType):
            continue
        for extent, result in zip(shape_of(operand), index_map.results, strict=True):
            expr = result.maybe_downcast()
            if isinstance(expr, ir.AffineDimExpr):
                extents[expr.position] = extent
    count = maps[0].n_dims
    return tuple(extents[d] for d in range(count)) if len(extents) == count else None


def has_no_elements(kind: ir.Type) -> bool:
    """Whether a type is one of tensors without elements."""
    kind = kind.maybe_downcast()
    return (
        isinstance(kind, ir.RankedTensorType)
        and kind.has_static_shape
        and 0 in kind.shape
    )


def makes_nothing(op: ir.Operation) -> bool:
    """Whether every result of an op is a tensor without elements."""
    kinds = [result.type for result in op.results]
    return bool(kinds) and all(map(has_no_elements, kinds))


def dtype_of(kind: ir.Type) -> Dtype:
    """The dtype that a tensor has in memory: its float dtype, or f32. Truth values and
    places are numbers, too.

    Raises:
        OpError: a graph has no such elements.
    """
    kind = kind.maybe_downcast()
    element = kind.element_type if isinstance(kind, ir.RankedTensorType) else kind
    dtype = float_dtype(element)
    if dtype is not None:
        return dtype
    if isinstance(element, ir.F64Type | ir.IntegerType | ir.IndexType):
        return Dtype.F32
    raise _unknown_elements(element)


def float_dtype(element: ir.Type) -> Dtype | None:
    """The dtype of a float type that graphs store; None of other types."""
    name = str(element)
    return next((dtype for dtype in FLOATS if dtype.mlir == name), None)


def numpy_type(kind: ir.Type) -> np.dtype[Any] | None:
    """The dtype of NumPy for a number, or for the elements of a tensor; None where it
    has none."""
    kind = kind.maybe_downcast()
    if isinstance(kind, ir.RankedTensorType):
        kind = kind.element_type.maybe_downcast()
    if isinstance(kind, ir.IndexType):
        return np.dtype(np.int64)
    if isinstance(kind, ir.F32Type | ir.F64Type):
        return np.dtype(f"f{kind.width // 8}")
    if isinstance(kind, ir.IntegerType) and kind.width in (1, 8, 16, 32, 64):
        return np.dtype(np.bool_ if kind.width == 1 else f"i{kind.width // 8}")
    return None


def array_type(kind: ir.Type, what: str) -> tuple[tuple[int, ...], Dtype]:
    """The shape and dtype of an argument or a result.

    Raises:
        OpError: no kernel takes such an array.
    """
    kind = kind.maybe_downcast()
    if not isinstance(kind, ir.RankedTensorType):
        raise OpError(f"{what} is {kind}, not a tensor", "pass tensors")
    refused = dynamic(kind)
    if refused is not None:
        raise refused
    if any(extent < 1 for extent in kind.shape):
        raise OpError(f"{what} is {kind}, which has no elements", "leave it out")
    if float_dtype(kind.element_type) is None:
        is_integer = isinstance(kind.element_type, ir.IntegerType)
        remedy = _INTEGER_REMEDY if is_integer else _REMEDY
        raise OpError(f"{what} is {kind}, and kernels take {FLOAT_NAMES}", remedy)
    return tuple(kind.shape), dtype_of(kind)


def constant_value(op: ir.Operation) -> ir.Attribute:
    """The number or the elements of an `arith.constant`.

    Raises:
        OpError: they are of a type that the bindings do not know, as complex numbers.
    """
    try:
        return op.attributes["value"].maybe_downcast()
    except TypeError as error:
        raise _unknown_elements(op.results[0].type) from error


def _unknown_elements(kind: ir.Type) -> OpError:
    kind = kind.maybe_downcast()
    element = kind.element_type if isinstance(kind, ir.RankedTensorType) else kind
    text = f"it has elements of {element}, and a graph has {FLOAT_NAMES}"
    return OpError(text, _REMEDY)


def constant_array(
    value: ir.Attribute, kind: ir.Type, resources: dict[str, str]
) -> np.ndarray[Any, Any]:
    """The elements of a constant, in the dtype that a graph has for them.

    Args:
        resources: of the module (`resources_of`).

    Raises:
        OpError: they are not in the module, or of another type than arrays have.
    """
    return stored_array(value, kind, resources, dtype_of(kind).numpy)


def stored_array(
    value: ir.Attribute, kind: ir.Type, resources: dict[str, str], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """The elements of a constant, converted to a NumPy dtype."""
    kind = kind.maybe_downcast()
    shape = tuple(kind.shape)
    if isinstance(value, ir.DenseElementsAttr):
        try:
            array = np.array(value)
        except (TypeError, ValueError, RuntimeError):  # bf16 has no buffer
            try:
                array = np.array(list(value), np.float64)
            except TypeError as error:  # integers of 2 or 4 bits
                raise _unknown_elements(kind.element_type) from error
        return array.astype(dtype).reshape(shape)
    name = str(value).partition("<")[2].partition(">")[0]
    raw = resources.get(name)
    if raw is None:
        raise OpError(
            "its elements are not in the module",
            "export it with its resources, or make the constant an argument",
        )
    stored = _stored(kind.element_type)
    data = bytes.fromhex(raw)[_HEADER:]
    if len(data) != math.prod(shape) * stored.itemsize:
        raise OpError(
            f"it has {len(data)} bytes of elements, not those of {kind}",
            "export the program again",
        )
    array = np.frombuffer(data, stored)
    return array.astype(dtype).reshape(shape)


_HEADER = 4
"""Bytes of a resource before its elements: their alignment."""

_RESOURCE = re.compile(r'(?<![\w.$-])([\w.$-]++|"[^"]*+"): "0x([0-9A-Fa-f]*+)"')
"""Each run of letters is tried from its beginning alone, or long ones would take time
that is quadratic in their length."""


def resources_of(text: str) -> dict[str, str]:
    """The bytes of `dense_resource` constants of a module as text, in hexadecimal."""
    _, begins, section = text.rpartition("{-#")
    if not begins:
        return {}
    return {name.strip('"'): data for name, data in _RESOURCE.findall(section)}


def _stored(element: ir.Type) -> np.dtype[Any]:
    """How a resource has elements of a type.

    Raises:
        OpError: as no array has.
    """
    dtype = float_dtype(element)
    if dtype is not None:
        return dtype.numpy
    if isinstance(element, ir.IntegerType) and element.width in (1, 8, 16, 32, 64):
        width = element.width
        return np.dtype(np.bool_) if width == 1 else np.dtype(f"i{width // 8}")
    if isinstance(element, ir.F64Type):
        return np.dtype(np.float64)
    raise _unknown_elements(element)
