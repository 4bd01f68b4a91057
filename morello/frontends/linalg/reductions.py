"""Bodies that reduce: which reduction one is, of what, and from which start."""

import math

from morello.frontends.linalg.bodies import Number, constant
from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import Call, Expression, Reference, references

_REDUCTIONS = {
    **{"add": "sum", "maximum": "max", "minimum": "min"},
    **{"fmax": "max", "fmin": "min"},
}


NEUTRAL = {"sum": 0.0, "max": -math.inf, "min": math.inf}


NEUTRAL_S32 = {"sum": 0, "max": Dtype.S32.lowest, "min": Dtype.S32.highest}


_LEAST_NUMBERS = {"fmax": -math.inf, "fmin": math.inf}


_NEUTRAL_TRUTH = {"sum": 0, "max": 0, "min": 1}


MERGE = {"sum": "add", "max": "maximum", "min": "minimum"}


_NUMBERS_ONLY = frozenset({"arith.maxnumf", "arith.minnumf"})
"""Reductions that take a number before NaN."""


OUT = -1
"""The reference to what the first output holds so far; others count down from it."""


def neutral_of(reduction: str, result: ir.RankedTensorType) -> float:
    """The start of a reduction that changes no element of the type of a result."""
    element = result.element_type
    is_truth = isinstance(element, ir.IntegerType) and element.width == 1
    return (_NEUTRAL_TRUTH if is_truth else NEUTRAL)[reduction]


def is_nothing(body: ir.Block, start: Number | None) -> bool:
    """Whether a reduction begins with NaN, which its function leaves out."""
    leaves_out = any(op.operation.name in _NUMBERS_ONLY for op in body.operations)
    return leaves_out and start is not None and math.isnan(start)


def reduced(reduction: str, number: float, count: int, start: Number) -> float:
    """The result of reducing ``count`` copies of one number, from a start value."""
    if reduction == "sum":
        return number * count + float(start)
    return (max if reduction == "max" else min)(number, float(start))


def split(expression: Expression, out: int) -> tuple[str, Expression]:
    """The reduction that a body is, and its term.

    Raises:
        OpError: it is none.
    """
    match expression:
        case Call("fma", (a, b, c)):  # a sum rounds as its kernel does
            expression = Call("add", (Call("mul", (a, b)), c))
    if isinstance(expression, Call) and expression.function in _REDUCTIONS:
        name = _REDUCTIONS[expression.function]
        a, b = expression.arguments
        for inner, other in ((a, b), (b, a)):
            if out in set(references(other)):
                continue
            if inner == Reference(out):
                return name, _numbers_of(other, expression.function)
            if out in set(references(inner)):
                again, term = split(inner, out)
                if again == name:
                    return name, Call(expression.function, (term, other))
    raise OpError(
        "it reduces by what is no sum, maximum or minimum",
        "compute it outside of the program",
    )


def _numbers_of(term: Expression, function: str) -> Expression:
    """Term of a reduction, with NaN replaced by the neutral element where its function
    ignores NaN."""
    if function not in _LEAST_NUMBERS:
        return term
    return Call(function, (term, constant(_LEAST_NUMBERS[function])))
