"""The table of element functions: one row each, from which every part of Morello reads.

A row has the sequence that defines the function in f32, the function itself in f64, how
far the two are apart, and its names in other languages. A new function is a new row:
graphs, kernels, bounds and the import of MLIR follow.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.spec.array_elements import ArrayElements
from morello.spec.elements import Elements
from morello.spec.functions import angles, elementary, powers

Array = np.ndarray[Any, np.dtype[Any]]
Exact = Callable[..., Any]
"""Takes arrays of f64, and gives one."""
Code = Callable[..., Any]
"""Takes `Elements` and as many values as the function has arguments."""


@dataclasses.dataclass(frozen=True)
class ElementFunction:
    """A function of one, two or three numbers."""

    count: int
    """Of its arguments."""
    code: Code
    """Its definition in f32, operation by operation."""
    exact: Exact
    """The function itself, of arrays of f64."""
    mlir: tuple[str, ...] = ()
    """The ops of MLIR that are this function of floats."""
    numpy: tuple[Any, ...] = ()
    """The functions of NumPy that are it."""
    ulps: float = 8
    """What the results of the code are off by at most, in units of the last place, and
    half as much more; 0 for a function that rounds nothing."""
    relative: float = 0.0
    """A relative error beyond that, of results that cancel."""
    least: float = 2.0**-149
    """What a result is off by at most where it becomes 0."""
    most_change: float = math.inf
    """By how much two results differ at most where the arguments are far apart."""


def _method(name: str) -> Code:
    """An operation of `Elements` as a function of two values."""

    def function(e: Elements, a: Any, b: Any) -> Any:
        return getattr(e, name)(a, b)

    return function


def _in_f32(code: Code) -> Callable[[Array], Array]:
    """A function of numbers of f32 that gives some of these."""

    def function(x: Array) -> Array:
        found: Array = code(ArrayElements(()), np.asarray(x, np.float32))
        return found.astype(np.float64)

    return function


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_ERF = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Array) -> Array:
    return np.asarray(_ERF(x), np.float64)


def _round_away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


def _truth(function: Exact) -> Exact:
    return lambda a, b: np.asarray(function(a, b), np.float64)


def _row(code: Code, exact: Exact, *mlir: str, **other: Any) -> Any:
    """A row of a function of one number."""
    return ElementFunction(1, code, exact, mlir, **other)


def _pair(code: Code, exact: Exact, *mlir: str, **other: Any) -> Any:
    """A row of a function of two numbers."""
    return ElementFunction(2, code, exact, mlir, **other)


_OF_ONE: dict[str, ElementFunction] = {
    "abs": _row(
        elementary.absolute, np.abs, "math.absf", numpy=(np.abs, np.fabs), ulps=0
    ),
    "copy": _row(elementary.copy, np.positive, numpy=(np.positive,), ulps=0),
    "erf": _row(elementary.erf, _erf, "math.erf"),
    "exp": _row(elementary.exp, np.exp, "math.exp", numpy=(np.exp,)),
    "gelu": _row(
        elementary.gelu,
        lambda x: x * _sigmoid(1.5957691216057308 * (x + 0.044715 * x**3)),
        relative=2.0**-15,
        least=2.0**-120,
    ),
    "log": _row(elementary.log, np.log, "math.log", numpy=(np.log,)),
    "neg": _row(
        elementary.neg, np.negative, "arith.negf", numpy=(np.negative,), ulps=0
    ),
    "relu": _row(elementary.relu, lambda x: np.maximum(x, 0), ulps=0),
    "rsqrt": _row(elementary.rsqrt, lambda x: 1 / np.sqrt(x), "math.rsqrt"),
    "sigmoid": _row(elementary.sigmoid, _sigmoid, least=2.0**-126),
    "silu": _row(
        elementary.silu,
        lambda x: x * _sigmoid(x),
        relative=2.0**-17,
        least=2.0**-120,
    ),
    "sqrt": _row(elementary.sqrt, np.sqrt, "math.sqrt", numpy=(np.sqrt,)),
    "square": _row(elementary.square, np.square, numpy=(np.square,)),
    "tanh": _row(elementary.tanh, np.tanh, "math.tanh", numpy=(np.tanh,)),
}
"""Functions of one number that are kinds, too."""

_OF_TWO: dict[str, ElementFunction] = {
    "add": _pair(_method("add"), np.add, "arith.addf", numpy=(np.add,)),
    "div": _pair(_method("divide"), np.divide, "arith.divf", numpy=(np.divide,)),
    "maximum": _pair(
        elementary.maximum,
        np.maximum,
        "arith.maximumf",
        "arith.maxnumf",
        numpy=(np.maximum,),
        ulps=0,
    ),
    "minimum": _pair(
        elementary.minimum,
        np.minimum,
        "arith.minimumf",
        "arith.minnumf",
        numpy=(np.minimum,),
        ulps=0,
    ),
    "mul": _pair(_method("multiply"), np.multiply, "arith.mulf", numpy=(np.multiply,)),
    "sub": _pair(_method("subtract"), np.subtract, "arith.subf", numpy=(np.subtract,)),
}
"""Functions of two numbers that are kinds, too."""

_OTHERS: dict[str, ElementFunction] = {
    "atan": _row(angles.atan, np.arctan, "math.atan", numpy=(np.arctan,)),
    "ceil": _row(elementary.ceil, np.ceil, "math.ceil", numpy=(np.ceil,), ulps=0),
    "cos": _row(angles.cos, np.cos, "math.cos", numpy=(np.cos,), most_change=2),
    "equal": _pair(elementary.equal, _truth(np.equal), numpy=(np.equal,)),
    "exp2": _row(powers.exp2, np.exp2, "math.exp2", numpy=(np.exp2,)),
    "expm1": _row(powers.expm1, np.expm1, "math.expm1", numpy=(np.expm1,)),
    "floor": _row(elementary.floor, np.floor, "math.floor", numpy=(np.floor,), ulps=0),
    "less": _pair(elementary.less, _truth(np.less), numpy=(np.less,)),
    "less_equal": _pair(
        elementary.less_equal, _truth(np.less_equal), numpy=(np.less_equal,)
    ),
    "log1p": _row(powers.log1p, np.log1p, "math.log1p", numpy=(np.log1p,)),
    "log2": _row(powers.log2, np.log2, "math.log2", numpy=(np.log2,)),
    "pow": _pair(powers.power, np.power, "math.powf", numpy=(np.power,)),
    "round": _row(
        elementary.round_even, np.rint, "math.roundeven", numpy=(np.rint,), ulps=0
    ),
    "round_away": _row(elementary.round_away, _round_away, "math.round", ulps=0),
    "round_bf16": _row(elementary.round_bf16, _in_f32(elementary.round_bf16), ulps=0),
    "round_f16": _row(elementary.round_f16, _in_f32(elementary.round_f16), ulps=0),
    "sign": _row(
        elementary.sign,
        lambda x: np.where(x == 0, x, np.sign(x)),
        numpy=(np.sign,),
        ulps=0,
    ),
    "sin": _row(angles.sin, np.sin, "math.sin", numpy=(np.sin,), most_change=2),
    "trunc": _row(elementary.trunc, np.trunc, "math.trunc", numpy=(np.trunc,), ulps=0),
    "where": ElementFunction(
        3, elementary.where, lambda c, a, b: np.where(c != 0, a, b), ulps=0
    ),
}

ROWS: dict[str, ElementFunction] = {**_OF_ONE, **_OF_TWO, **_OTHERS}
"""All that an expression of a graph may call. Conditions are numbers, too: 0 is
false."""

UNARY: dict[str, Code] = {name: row.code for name, row in _OF_ONE.items()}
"""The functions of one number that are kinds."""

BINARY: dict[str, Code] = {name: row.code for name, row in _OF_TWO.items()}
"""The functions of two numbers that are kinds."""

FUNCTIONS: dict[str, tuple[int, Code]] = {
    name: (row.count, row.code) for name, row in ROWS.items()
}
"""How many numbers each takes, and its code."""
