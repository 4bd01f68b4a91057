"""Integers in the body of a `linalg.generic`: casts of them, and arithmetic in s32.

Types have no signs: the casts of a value say whether it has one.
"""

from collections.abc import Callable

from morello.frontends.linalg.types import float_dtype
from morello.frontends.reasons import ELSEWHERE
from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.elements.dtypes import Dtype
from morello.spec.functions import INTEGER
from morello.spec.graphs.expression import Call, Constant, Expression

_SIGNED = {
    "arith.extsi": True,
    "arith.extui": False,
    "arith.sitofp": True,
    "arith.uitofp": False,
}
"""Whether the integers that a cast widens, or makes floats of, have a sign."""


def cast_dtype(argument: ir.Value) -> Dtype:
    """The dtype of narrow integers that are only cast, as numbers of f32.

    Raises:
        OpError: they are used otherwise.
    """
    signs = {_SIGNED.get(use.owner.name) for use in argument.uses}
    sign = signs.pop() if len(signs) == 1 else None
    dtype = None if sign is None else _dtype(argument.type, sign)
    widens = any(use.owner.name != "arith.sitofp" for use in argument.uses)
    if (
        dtype is None
        or not dtype.is_read_as(Dtype.F32)
        or (dtype is Dtype.S32 and (widens or _is_narrow(argument)))
    ):
        raise OpError(
            f"it computes with {argument.type}, which no graph does", ELSEWHERE
        )
    return dtype


def _is_narrow(argument: ir.Value) -> bool:
    """Whether a cast of an argument is to a narrow float, which rounds once."""
    floats = [float_dtype(use.owner.results[0].type) for use in argument.uses]
    return any(dtype is not None and dtype.computes_in for dtype in floats)


def is_in_s32(block: ir.Block) -> bool:
    """Whether a body has one result, an integer of 32 or 64 bits."""
    last = block.operations[len(block.operations) - 1].operation
    return len(last.operands) == 1 and str(last.operands[0].type) in _WIDE


def wrapped(number: int) -> int:
    """The number of s32 with the low bits of an integer."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def integer_expression(
    block: ir.Block,
    leaf: Callable[[ir.BlockArgument, Dtype], Expression],
    outside: Callable[[ir.Value], Expression],
) -> Expression:
    """The expression of a body in s32, which wraps around; of integers of 64 bits the
    low ones, which depend on low ones alone.

    Args:
        leaf: an argument of the body that is read as a dtype.
        outside: a value from outside of the body.

    Raises:
        OpError: it has a function that graphs of s32 lack.
    """

    inside = {r for op in block.operations for r in op.operation.results}

    def expression(value: ir.Value) -> Expression:
        op = value.owner
        is_low = str(value.type) != Dtype.S32.mlir
        if is_low and str(value.type) not in _WIDE:
            raise _refusal(f"of {value.type}")
        if op == block:
            return leaf(ir.BlockArgument(value), Dtype.S32)
        if value not in inside:
            return outside(value)
        if op.name == "arith.constant":
            number = int(ir.IntegerAttr(op.attributes["value"]).value)
            return Constant(float(wrapped(number)))
        if op.name in ("arith.extsi", "arith.extui", "arith.trunci"):
            inner = op.operands[0]
            if str(inner.type) in _WIDE:
                return expression(inner)
            dtype = _dtype(inner.type, _SIGNED[op.name])
            if inner.owner == block and dtype is not None:
                return leaf(ir.BlockArgument(inner), dtype)
        if op.name not in (_OF_LOW_BITS if is_low else _FUNCTIONS):
            raise _refusal(f"'{op.name}'")
        return Call(_FUNCTIONS[op.name], tuple(map(expression, op.operands)))

    last = block.operations[len(block.operations) - 1].operation
    return expression(last.operands[0])


_WIDE = "i32", "i64"

_FUNCTIONS = {
    "arith.addi": "add",
    "arith.maxsi": "maximum",
    "arith.minsi": "minimum",
    "arith.muli": "mul",
    "arith.subi": "sub",
}
"""The function of s32 that an op is."""

_OF_LOW_BITS = frozenset({"arith.addi", "arith.muli", "arith.subi"})
"""Functions whose low bits depend on low bits alone."""


def _refusal(what: str) -> OpError:
    return OpError(
        f"no function of s32 is {what}", f"those are {', '.join(INTEGER)}; {ELSEWHERE}"
    )


def _dtype(kind: ir.Type, is_signed: bool) -> Dtype | None:
    """The dtype of integers with a sign or without."""
    same = (d for d in Dtype if not d.is_float and d.mlir == str(kind))
    return next((dtype for dtype in same if dtype.is_signed is is_signed), None)
