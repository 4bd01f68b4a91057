"""MLIR's casts and integer instructions on scalars and vectors, in NumPy."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from morello.mlir import ir
from morello.spec import Dtype
from morello.spec.elements.casts import cast
from morello.spec.kind import Array

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
}


def dtype_of(kind: ir.Type) -> Any:
    """The NumPy dtype of a scalar type."""
    return DTYPES[str(kind)]


def bitcast(op: ir.Operation) -> Callable[..., Any]:
    """The same bits; of a vector perhaps as other lanes."""
    dtype = _element(op.results[0].type)
    return lambda a: (
        np.ascontiguousarray(a).view(dtype) if np.ndim(a) else a.view(dtype)
    )


def sign_extend(op: ir.Operation) -> Callable[..., Any]:
    """To more bits; a bool is 0 or -1."""
    dtype = _element(op.results[0].type)

    def run(a: Any) -> Any:
        wide = np.asarray(a).astype(dtype)
        return (-wide if np.asarray(a).dtype == np.bool_ else wide)[()]

    return run


def zero_extend(op: ir.Operation) -> Callable[..., Any]:
    """To more bits, the upper ones zero."""
    dtype = np.dtype(_element(op.results[0].type))
    return lambda a: _unsigned(a).astype(f"u{dtype.itemsize}").view(dtype)[()]


def truncate(op: ir.Operation) -> Callable[..., Any]:
    """To fewer bits."""
    dtype = _element(op.results[0].type)
    return lambda a: np.asarray(a).astype(dtype)[()]


def integer_to_float(op: ir.Operation) -> Callable[..., Any]:
    """To the nearest float, ties to even."""
    dtype = _element(op.results[0].type)
    return lambda a: np.asarray(a).astype(dtype)[()]


def unsigned_to_float(op: ir.Operation) -> Callable[..., Any]:
    """To the nearest float, ties to even, of bits that are no sign."""
    dtype = _element(op.results[0].type)
    return lambda a: _unsigned(a).astype(dtype)[()]


def cast_float(op: ir.Operation) -> Callable[..., Any]:
    """A float of another width, as VCVTPH2PS and VCVTPS2PH have it."""
    source, dest = (
        Dtype.parse(str(_scalar(value.type))) for value in (op.operands[0], op.result)
    )
    return lambda a: cast(np.asarray(a), source, dest)[()]


def shift_left(a: Any, b: Any) -> Any:
    """By the bits that b says."""
    return np.left_shift(a, b)


def shift_right_unsigned(a: Any, b: Any) -> Any:
    """By the bits that b says; zeros come in."""
    return (_unsigned(a) >> _unsigned(b)).view(np.asarray(a).dtype)[()]


def intrinsic(op: ir.Operation) -> Callable[..., Any]:
    """VPMADDWD, VPMADDUBSW."""
    return INTRINSICS[ir.StringAttr(op.attributes["intrin"]).value]


def _pairs(products: Array) -> Array:
    return products[0::2] + products[1::2]


def _multiply_pairs(a: Array, b: Array) -> Array:
    return _pairs(a.astype(np.int32) * b.astype(np.int32))


def _multiply_pairs_saturating(a: Array, b: Array) -> Array:
    sums = _pairs(a.view(np.uint8).astype(np.int32) * b.astype(np.int32))
    return np.clip(sums, -(1 << 15), (1 << 15) - 1).astype(np.int16)


def _read_control(word: Array) -> None:
    """MXCSR as a process has it that set nothing, and a flag that was raised."""
    word[...] = 0x1FA0


def _set_control(word: Array) -> None:
    """Where nothing was set, nothing is to be changed."""
    raise AssertionError("the control register is changed")


INTRINSICS = {
    "llvm.x86.avx2.pmadd.wd": _multiply_pairs,
    "llvm.x86.avx2.pmadd.ub.sw": _multiply_pairs_saturating,
    "llvm.x86.sse.stmxcsr": _read_control,
    "llvm.x86.sse.ldmxcsr": _set_control,
}


def run_of(array: Array, at: tuple[int, ...], width: int) -> Array:
    """A view of ``width`` elements from a position on, across packs at the end too."""
    inner = array.shape[-1]
    while at[-1] + width > inner:  # the outer dimension has to be contiguous
        *outer, rows, columns = array.shape
        assert array.strides[-2] == columns * array.strides[-1], "a vector leaves a row"
        array = array.reshape(*outer, rows * columns)
        at = (*at[:-2], at[-2] * columns + at[-1])
        inner = rows * columns
    run: Array = array[(*at[:-1], slice(at[-1], at[-1] + width))]
    return run


def _element(kind: ir.Type) -> Any:
    return dtype_of(_scalar(kind))


def _scalar(kind: ir.Type) -> ir.Type:
    """The type of a scalar, or of the lanes of a vector."""
    return kind.element_type if isinstance(kind, ir.VectorType) else kind


def _unsigned(a: Any) -> Array:
    array = np.asarray(a)
    return array.view(f"u{array.dtype.itemsize}")
