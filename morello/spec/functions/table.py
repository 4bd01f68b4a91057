"""The table of element functions: one row each, from which every part of Morello reads.

A row has the sequence that defines the function in f32, the function itself in f64, how
far the two are apart, and its names in other languages. A new function is a new row:
graphs, kernels, bounds and all front ends follow, and a test computes it by each name.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.spec.elements.dtypes import BYTES, NARROW_FLOATS, UPPER_HALVES, Dtype
from morello.spec.elements.operations import Elements
from morello.spec.functions import (
    angles,
    elementary,
    error_functions,
    hyperbolic,
    powers,
    remainders,
)

Array = np.ndarray[Any, np.dtype[Any]]
Exact = Callable[..., Any]
"""Takes arrays of f64, and gives one."""
Code = Callable[..., Any]
"""Takes `Elements` and as many values as the function has arguments."""


@dataclasses.dataclass(frozen=True)
class ElementFunction:
    """A function of one, two or three numbers."""

    count: int
    """The number of arguments."""
    code: Code
    """The definition in f32, operation by operation."""
    exact: Exact
    """The function itself, of arrays of f64."""
    mlir: tuple[str, ...] = ()
    """The ops of MLIR that are this function of floats."""
    numpy: tuple[Any, ...] = ()
    """The functions of NumPy that are it; those of `jax.numpy` have their names."""
    stablehlo: tuple[str, ...] = ()
    """The ops of StableHLO and CHLO that are it."""
    onnx: tuple[str, ...] = ()
    """The operators of ONNX that are it."""
    aten: tuple[str, ...] = ()
    """The ops of ATen that are it, with their overloads."""
    ulps: float = 8
    """The greatest error of the code, in units of the last place, and half as much
    more; 0 for a function that rounds nothing."""
    relative: float = 0.0
    """A relative error beyond that, of results that cancel."""
    least: float = 2.0**-149
    """The greatest error of a result that becomes 0."""
    most_change: float = math.inf
    """By how much two results differ at most where the arguments are far apart."""
    jump: Exact | None = None
    """By how much two results may differ where the arguments hardly do, of those."""
    is_long: bool = False
    """Whether a value is worth a place in memory rather than computing it again."""


def _in(narrow: Any) -> Exact:
    """The nearest numbers of a narrow float."""

    def function(x: Array) -> Array:
        with np.errstate(over="ignore"):
            return x.astype(np.float32).astype(narrow).astype(np.float64)

    return function


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _of_numbers(function: Callable[[float], float]) -> Exact:
    """A function of arrays, by one of numbers."""
    each = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(each(x), np.float64)


def _round_away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


def _in_byte(dtype: Dtype) -> Exact:
    """The nearest number of a dtype of bytes; 0 of NaN."""
    limits = dtype.lowest, dtype.highest
    return lambda x: np.clip(np.rint(np.where(np.isnan(x), 0, x)), *limits) + 0.0


def _truth(function: Exact) -> Exact:
    return lambda a, b: np.asarray(function(a, b), np.float64)


def _row(
    code: Code,
    exact: Exact,
    mlir: str = "",
    stablehlo: str = "",
    onnx: str = "",
    aten: str = "",
    **other: Any,
) -> ElementFunction:
    """A row with the names of a language in one string.

    Args:
        exact: NumPy's function of this meaning, unless `numpy` is given.
    """
    numpy = other.pop("numpy", (exact,) if isinstance(exact, np.ufunc) else ())
    return ElementFunction(
        1,
        code,
        exact,
        tuple(mlir.split()),
        numpy,
        tuple(stablehlo.split()),
        tuple(onnx.split()),
        tuple(aten.split()),
        **other,
    )


def _method(name: str) -> Code:
    """An operation of `Elements` as a function of values."""

    def function(e: Elements, *values: Any) -> Any:
        return getattr(e, name)(*values)

    return function


def _pair(code: Code, exact: Exact, *names: str, **other: Any) -> ElementFunction:
    """A row of a function of two numbers."""
    return dataclasses.replace(_row(code, exact, *names, **other), count=2)


_OF_ONE: dict[str, ElementFunction] = {
    "abs": _row(
        elementary.absolute,
        np.abs,
        *("math.absf", "stablehlo.abs", "Abs", "abs"),
        numpy=(np.abs, np.fabs),
        ulps=0,
    ),
    "copy": _row(elementary.copy, np.positive, onnx="Identity", ulps=0),
    "erf": _row(
        error_functions.erf,
        _of_numbers(math.erf),
        *("math.erf", "chlo.erf", "Erf", "erf"),
        is_long=True,
    ),
    "exp": _row(
        elementary.exp,
        np.exp,
        *("math.exp", "stablehlo.exponential", "Exp", "exp"),
        is_long=True,
    ),
    "gelu": _row(
        elementary.gelu,
        lambda x: x * _sigmoid(1.5957691216057308 * (x + 0.044715 * x**3)),
        relative=2.0**-15,
        least=2.0**-120,
        is_long=True,
    ),
    "log": _row(
        elementary.log,
        np.log,
        *("math.log", "stablehlo.log", "Log", "log"),
        is_long=True,
    ),
    "neg": _row(
        elementary.neg,
        np.negative,
        *("arith.negf", "stablehlo.negate", "Neg", "neg"),
        ulps=0,
    ),
    "relu": _row(
        elementary.relu, lambda x: np.maximum(x, 0), onnx="Relu", aten="relu", ulps=0
    ),
    "rsqrt": _row(
        elementary.rsqrt,
        lambda x: 1 / np.sqrt(x),
        *("math.rsqrt", "stablehlo.rsqrt", "", "rsqrt"),
        is_long=True,
    ),
    "sigmoid": _row(
        elementary.sigmoid,
        _sigmoid,
        *("", "stablehlo.logistic", "Sigmoid", "sigmoid"),
        least=2.0**-126,
        is_long=True,
    ),
    "silu": _row(
        elementary.silu,
        lambda x: x * _sigmoid(x),
        aten="silu",
        relative=2.0**-17,
        least=2.0**-120,
        is_long=True,
    ),
    "sqrt": _row(
        elementary.sqrt,
        np.sqrt,
        *("math.sqrt", "stablehlo.sqrt", "Sqrt", "sqrt"),
        is_long=True,
    ),
    "square": _row(elementary.square, np.square),
    "tanh": _row(
        elementary.tanh,
        np.tanh,
        *("math.tanh", "stablehlo.tanh", "Tanh", "tanh"),
        is_long=True,
    ),
}
"""Functions of one number that are short names of Specs, too."""

_OF_TWO: dict[str, ElementFunction] = {
    "add": _pair(
        _method("add"), np.add, "arith.addf", "stablehlo.add", "Add", "add.Tensor"
    ),
    "div": _pair(
        _method("divide"),
        np.divide,
        *("arith.divf", "stablehlo.divide", "Div", "div.Tensor"),
        is_long=True,
    ),
    "maximum": _pair(
        elementary.maximum,
        np.maximum,
        *("arith.maximumf", "stablehlo.maximum", "Max", "maximum"),
        ulps=0,
    ),
    "minimum": _pair(
        elementary.minimum,
        np.minimum,
        *("arith.minimumf", "stablehlo.minimum", "Min", "minimum"),
        ulps=0,
    ),
    "mul": _pair(
        _method("multiply"),
        np.multiply,
        *("arith.mulf", "stablehlo.multiply", "Mul", "mul.Tensor"),
    ),
    "sub": _pair(
        _method("subtract"),
        np.subtract,
        *("arith.subf", "stablehlo.subtract", "Sub", "sub.Tensor"),
    ),
}
"""Functions of two numbers that are kinds, too."""

_OTHERS: dict[str, ElementFunction] = {
    "acos": _row(
        angles.acos, np.arccos, "math.acos", "chlo.acos", "Acos", "acos", is_long=True
    ),
    "acosh": _row(
        hyperbolic.acosh,
        np.arccosh,
        *("math.acosh", "chlo.acosh", "Acosh", "acosh"),
        is_long=True,
    ),
    "asin": _row(
        angles.asin, np.arcsin, "math.asin", "chlo.asin", "Asin", "asin", is_long=True
    ),
    "asinh": _row(
        hyperbolic.asinh,
        np.arcsinh,
        *("math.asinh", "chlo.asinh", "Asinh", "asinh"),
        is_long=True,
    ),
    "atan": _row(
        angles.atan, np.arctan, "math.atan", "chlo.atan", "Atan", "atan", is_long=True
    ),
    "atan2": _pair(
        angles.atan2,
        np.arctan2,
        *("math.atan2", "stablehlo.atan2", "", "atan2"),
        is_long=True,
    ),
    "atanh": _row(
        hyperbolic.atanh,
        np.arctanh,
        *("math.atanh", "chlo.atanh", "Atanh", "atanh"),
        is_long=True,
    ),
    "cbrt": _row(powers.cbrt, np.cbrt, "math.cbrt", "stablehlo.cbrt", is_long=True),
    "ceil": _row(
        elementary.ceil, np.ceil, "math.ceil", "stablehlo.ceil", "Ceil", "ceil", ulps=0
    ),
    "copysign": _pair(elementary.copysign, np.copysign, "math.copysign", ulps=0),
    "cos": _row(
        angles.cos,
        np.cos,
        *("math.cos", "stablehlo.cosine", "Cos", "cos"),
        most_change=2,
        is_long=True,
    ),
    "cosh": _row(
        hyperbolic.cosh, np.cosh, "math.cosh", "chlo.cosh", "Cosh", "cosh", is_long=True
    ),
    "equal": _pair(
        elementary.equal,
        _truth(np.equal),
        numpy=(np.equal,),
        onnx="Equal",
        aten="eq.Tensor",
    ),
    "erfc": _row(
        error_functions.erfc,
        _of_numbers(math.erfc),
        *("math.erfc", "chlo.erfc"),
        is_long=True,
    ),
    "exp2": _row(powers.exp2, np.exp2, "math.exp2", aten="exp2", is_long=True),
    "expm1": _row(
        powers.expm1,
        np.expm1,
        *("math.expm1", "stablehlo.exponential_minus_one", "", "expm1"),
        is_long=True,
    ),
    "floor": _row(
        elementary.floor,
        np.floor,
        *("math.floor", "stablehlo.floor", "Floor", "floor"),
        ulps=0,
    ),
    "floor_divide": _pair(remainders.floor_divide, np.floor_divide, is_long=True),
    "fma": ElementFunction(
        3,
        _method("multiply_add"),
        lambda a, b, c: a * b + c,
        mlir=("math.fma",),
        ulps=1,
    ),
    "fmax": _pair(elementary.fmax, np.fmax, "arith.maxnumf", aten="fmax", ulps=0),
    "fmin": _pair(elementary.fmin, np.fmin, "arith.minnumf", aten="fmin", ulps=0),
    "fmod": _pair(
        remainders.fmod,
        np.fmod,
        *("arith.remf", "stablehlo.remainder", "", "fmod.Tensor"),
        ulps=0,
        jump=lambda a, b: np.abs(b),
        is_long=True,
    ),
    "hypot": _pair(powers.hypot, np.hypot, is_long=True),
    "less": _pair(
        elementary.less,
        _truth(np.less),
        numpy=(np.less,),
        onnx="Less",
        aten="lt.Tensor",
    ),
    "less_equal": _pair(
        elementary.less_equal,
        _truth(np.less_equal),
        numpy=(np.less_equal,),
        onnx="LessOrEqual",
        aten="le.Tensor",
    ),
    "log10": _row(powers.log10, np.log10, "math.log10", aten="log10", is_long=True),
    "log1p": _row(
        powers.log1p,
        np.log1p,
        *("math.log1p", "stablehlo.log_plus_one", "", "log1p"),
        is_long=True,
    ),
    "log2": _row(powers.log2, np.log2, "math.log2", aten="log2", is_long=True),
    "pow": _pair(
        powers.power,
        np.power,
        *("math.powf", "stablehlo.power", "Pow", "pow.Tensor_Tensor"),
        is_long=True,
    ),
    "remainder": _pair(
        remainders.remainder,
        np.remainder,
        aten="remainder.Tensor",
        ulps=1,
        jump=lambda a, b: np.abs(b),
        is_long=True,
    ),
    "round": _row(
        elementary.round_even,
        np.rint,
        *("math.roundeven", "stablehlo.round_nearest_even", "Round", "round"),
        ulps=0,
    ),
    "round_away": _row(
        elementary.round_away,
        _round_away,
        *("math.round", "stablehlo.round_nearest_afz"),
        ulps=0,
    ),
    **{
        dtype.rounding: _row(elementary.rounding(dtype), _in(dtype.numpy), ulps=0)
        for dtype in NARROW_FLOATS
    },
    **{
        dtype.narrowing: _row(
            elementary.rounding(dtype),
            _in(dtype.numpy),
            ulps=2.0 ** (22 - dtype.mantissa),  # both roundings, half as much each
            least=2.0**-133,
        )
        for dtype in UPPER_HALVES
    },
    **{
        dtype.rounding: _row(elementary.byte_rounding(dtype), _in_byte(dtype), ulps=0)
        for dtype in BYTES
    },
    "sign": _row(
        elementary.sign,
        lambda x: np.where(x == 0, x, np.sign(x)),
        *("", "stablehlo.sign", "Sign"),
        numpy=(np.sign,),
        ulps=0,
    ),
    "sin": _row(
        angles.sin,
        np.sin,
        *("math.sin", "stablehlo.sine", "Sin", "sin"),
        most_change=2,
        is_long=True,
    ),
    "sinh": _row(
        hyperbolic.sinh, np.sinh, "math.sinh", "chlo.sinh", "Sinh", "sinh", is_long=True
    ),
    "tan": _row(
        angles.tan, np.tan, "math.tan", "stablehlo.tan", "Tan", "tan", is_long=True
    ),
    "trunc": _row(elementary.trunc, np.trunc, "math.trunc", aten="trunc", ulps=0),
    "where": ElementFunction(
        3, elementary.where, lambda c, a, b: np.where(c != 0, a, b), ulps=0
    ),
}

ROWS: dict[str, ElementFunction] = {**_OF_ONE, **_OF_TWO, **_OTHERS}
"""All that an expression of a graph may call. Conditions are numbers, too: 0 is
false."""

UNARY: dict[str, Code] = {name: row.code for name, row in _OF_ONE.items()}
"""The functions of one number that are short names of Specs."""

BINARY: dict[str, Code] = {name: row.code for name, row in _OF_TWO.items()}
"""The functions of two numbers that are kinds."""


def _negative(e: Elements, x: Any) -> Any:
    """An integer with the other sign, modulo 2^32."""
    return e.subtract(e.constant(Dtype.S32, 0), x)


INTEGER: dict[str, Code] = {
    "abs": lambda e, x: e.maximum(Dtype.S32, x, _negative(e, x)),
    "add": _method("add"),
    "copy": elementary.copy,
    "maximum": lambda e, a, b: e.maximum(Dtype.S32, a, b),
    "minimum": lambda e, a, b: e.minimum(Dtype.S32, a, b),
    "mul": _method("multiply"),
    "neg": _negative,
    "square": elementary.square,
    "sub": _method("subtract"),
}
"""The functions that s32 has, too, and their code there."""

FUNCTIONS: dict[str, tuple[int, Code]] = {
    name: (row.count, row.code) for name, row in ROWS.items()
}
"""How many numbers each takes, and its code."""

BYTE_WORDS: dict[Dtype, Code] = {dtype: elementary.byte_word(dtype) for dtype in BYTES}
"""Values of s32 whose lowest bits are the rounded bytes."""
