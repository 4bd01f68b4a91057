"""Translation of the body of a `linalg.generic` to expressions, one for each result.

Numbers are computed while the body is read. A graph computes in f32 what the program
computes in f32 or f64, and reads bf16 as it is. Casts to bf16 and f16 round; arithmetic
in these is arithmetic in f32.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from morello.frontends.linalg.powers import known_power
from morello.frontends.linalg.types import float_dtype
from morello.frontends.nodes.simplify import nice
from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.elements.arrays import ArrayElements
from morello.spec.functions import FUNCTIONS, ROWS
from morello.spec.graphs.expression import NAN, Call, Constant, Expression

Number = float | int | bool

_ROWS = {op: name for name, row in ROWS.items() for op in row.mlir}
"""The function that an op is."""

_TABLES = frozenset({"arith.extui", "math.atan", "math.cos", "math.powf", "math.sin"})
"""Ops that are computed before, where they depend on no data, such as angles. Bytes
without a sign are other numbers than a constant of these bytes has."""

_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addi": operator.add,
    "arith.andi": operator.and_,
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.muli": operator.mul,
    "arith.ori": operator.or_,
    "arith.subi": operator.sub,
    "arith.xori": operator.xor,
}
"""Operations on integers that are computed at compile time."""

_CASTS = frozenset(
    f"arith.{name}"
    for name in (
        *("bitcast", "extf", "extsi", "extui", "fptosi", "fptoui", "index_cast"),
        *("sitofp", "truncf", "trunci", "uitofp"),
    )
)

_FLOATS = {
    1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 6: "ne",
    8: "eq", 9: "gt", 10: "ge", 11: "lt", 12: "le", 13: "ne",
}  # fmt: skip
BYTE = "i8"
"""The type of integers to which maps of floats round."""

_UNORDERED = 8
"""From this number on predicates of floats hold where one is NaN."""

_INFINITE = (2 - 2**-24) * 2.0**127
"""The least number of f64 that is infinite in f32."""

_ORDERED, _NOT_ORDERED = 7, 14
"""Whether none is NaN, and whether one is."""

_LESS_OR_GREATER = 6, 8
"""Whether they differ and none is NaN, and whether they do not."""

_OPPOSITE = {"eq": "ne", "ge": "lt", "gt": "le", "le": "gt", "lt": "ge"}

_INTEGER_PREDICATES = {
    0: "eq", 1: "ne", 2: "lt", 3: "le", 4: "gt", 5: "ge", 6: "lt", 7: "le", 8: "gt",
    9: "ge",
}  # fmt: skip
_FIRST_UNSIGNED = 6
"""From this number on predicates of integers take them without a sign."""


Element = Number | Expression


def constant(element: Element) -> Expression:
    """A number as an expression."""
    if isinstance(element, bool | int | float):
        if math.isnan(element):
            return NAN
        return Constant(nice(element))
    return element


def is_number(element: Any) -> bool:
    """Whether an element is a constant."""
    return isinstance(element, bool | int | float)


def body_elements(
    block: ir.Block,
    arguments: Mapping[ir.Value, Element],
    outside: Callable[[ir.Value], Element],
    index: Callable[[int], Element],
    extracted: Callable[[ir.Operation], Element],
    known_before: Callable[[ir.Value], Element | None],
    wanted: Sequence[int],
    rounds: bool = True,
) -> list[Element]:
    """The elements that a block yields, each as an expression or a number.

    Args:
        arguments: the elements that are the block's arguments, and of some ops on
            these.
        outside: the element of a value that is defined outside of the block.
        index: the element of `linalg.index` of a dimension.
        extracted: the element of a `tensor.extract`.
        known_before: the element of a value that no function of a graph computes, but
            that depends on no data; None where it does.
        wanted: the positions of the yielded values to return; ops that only others
            need are not read.
        rounds: whether casts to bf16 and f16 round.

    Raises:
        OpError: an op is no function that a graph has.
    """
    known = {**arguments}
    inside = {r: op.operation for op in block.operations for r in op.results}

    def element(value: ir.Value) -> Element:
        if value in known:
            return known[value]
        op = inside.get(value)
        if op is None:
            result = outside(value)
        elif op.name == "tensor.extract":
            result = extracted(op)
        elif op.name == "linalg.index":
            result = index(int(ir.IntegerAttr(op.attributes["dim"]).value))
        else:
            result = computed(op, value)
        known[value] = result
        return result

    def computed(op: ir.Operation, value: ir.Value) -> Element:
        table = known_before(value) if op.name in _TABLES else None
        if table is not None:
            return table
        try:
            return computed_element(op, [element(v) for v in op.operands], rounds)
        except OpError:
            array = known_before(value)
            if array is None:
                raise
            return array

    last = block.operations[len(block.operations) - 1].operation
    return [element(last.operands[place]) for place in wanted]


def computed_element(
    op: ir.Operation, operands: list[Element], rounds: bool = True
) -> Element:
    """The element that a scalar op computes of its operands.

    Args:
        rounds: whether casts to bf16 and f16 round.

    Raises:
        OpError: no function of a graph does so.
    """
    name = op.name
    if name == "arith.constant":
        return number_of(op.attributes["value"])
    if name in _CASTS:
        cast = _cast(op, operands[0])
        return _narrowed(op, cast) if rounds and op.name == "arith.truncf" else cast
    if name in ("arith.cmpf", "arith.cmpi"):
        return _comparison(op, *operands)
    if name == "arith.select":
        return _select(*operands)
    if name in _ROWS and name not in _BY_RULE:
        return _called(name, operands)
    if name in _INTEGERS:
        return _integer(op, operands)
    result = _composed(op, operands)
    return _number(result) if all(map(is_number, operands)) else result


def _number(element: Element) -> Number:
    """The number that an expression of numbers alone is."""
    if isinstance(element, bool | int | float):
        return element
    if isinstance(element, Constant):
        return element.number
    assert isinstance(element, Call)
    with np.errstate(all="ignore"):
        numbers = [np.float64(_number(argument)) for argument in element.arguments]
        return float(ROWS[element.function].exact(*numbers))


def _called(name: str, operands: list[Element]) -> Element:
    """The function of the table that an op is."""
    row = ROWS[_ROWS[name]]
    if not all(map(is_number, operands)):
        return Call(_ROWS[name], tuple(map(constant, operands)))
    with np.errstate(all="ignore"):
        numbers = [np.float64(operand) for operand in operands]  # type: ignore[arg-type]
        return float(row.exact(*numbers))


def _composed(op: ir.Operation, operands: list[Element]) -> Element:
    """Element of an op that is several functions of the table."""
    arguments = list(map(constant, operands))
    match op.name:
        case "math.copysign":
            return _with_sign(arguments[0], arguments[1])
        case "math.powf" | "math.fpowi":
            return _power(operands)
        case "math.isnan":
            return _not(Call("equal", (arguments[0], arguments[0])))
        case "math.isinf":
            return Call("equal", (Call("abs", (arguments[0],)), Constant(math.inf)))
        case "math.isfinite":
            return Call("less", (Call("abs", (arguments[0],)), Constant(math.inf)))
        case "arith.negi":
            return Call("neg", (arguments[0],))
    raise _refusal(op)


_BY_RULE = frozenset({"math.copysign", "math.powf"})
"""Ops of the table that are simpler with some operands."""


def _power(operands: list[Element]) -> Element:
    base, exponent = operands
    if is_number(exponent) and is_number(base):
        return _called("math.powf", operands)
    if exponent == 0:
        return 1.0
    if is_number(exponent):
        return known_power(constant(base), float(exponent))  # type: ignore[arg-type]
    if base == 2:
        return Call("exp2", (constant(exponent),))
    return Call("pow", (constant(base), constant(exponent)))


def _refusal(op: ir.Operation) -> OpError:
    return OpError(
        f"no function of a graph is '{op.name}'",
        f"those are {', '.join(sorted(FUNCTIONS))}; compute it outside of the program",
        op.location,
    )


def _integer(op: ir.Operation, operands: list[Element]) -> Element:
    """Places and truth values, which a graph has as numbers in f32.

    Raises:
        OpError: other integers.
    """
    width = width_of(op.results[0].type)
    if all(map(is_number, operands)):
        return _wrapped(_INTEGERS[op.name](*operands), width)
    a, b = map(constant, operands)
    is_truth = width == 1
    if 1 < width < _PLACES:  # which may wrap
        raise _refusal(op)
    if any(is_number(one) and abs(one) > _LARGE for one in operands):  # type: ignore[arg-type]
        raise _refusal(op)
    match op.name:
        case "arith.andi" | "arith.muli" if is_truth:
            return Call("minimum", (a, b))
        case "arith.ori" if is_truth:
            return Call("maximum", (a, b))
        case "arith.xori" if is_truth:
            return Call("abs", (Call("sub", (a, b)),))
        case "arith.addi" if not is_truth:
            return Call("add", (a, b))
        case "arith.subi" if not is_truth:
            return Call("sub", (a, b))
    raise _refusal(op)


_PLACES = 32
"""The least width of integers that are taken for places, which do not wrap."""


_LARGE = 1 << 22
"""The greatest integer that is added to places: their sums are exact in f32."""


def width_of(kind: ir.Type) -> int:
    """The bits of an integer, or of the elements of a tensor; 64 of an index."""
    kind = kind.maybe_downcast()
    if isinstance(kind, ir.RankedTensorType):
        kind = kind.element_type.maybe_downcast()
    return kind.width if isinstance(kind, ir.IntegerType) else 64


def _wrapped(number: Number, width: int) -> Number:
    """A whole number as a signed integer of so many bits; a truth value of 1."""
    if width == 1:
        return bool(int(number) & 1)
    half = 1 << (width - 1)
    return (int(number) + half) % (2 * half) - half


def _unsigned(element: Element, width: int) -> Element:
    """The number that the bits of a signed integer are without a sign.

    Returns:
        An expression only for widths of which f32 has all numbers.
    """
    if is_number(element):
        return int(element) % (1 << width)  # type: ignore[arg-type]
    if width == 1:
        return element
    number = constant(element)
    is_negative = Call("less", (number, Constant(0.0)))
    above = Call("add", (number, Constant(float(1 << width))))
    return Call("where", (is_negative, above, number))


def _cast(op: ir.Operation, operand: Element) -> Element:
    width = width_of(op.operands[0].type)
    known = is_number(operand)
    match op.name:
        case "arith.bitcast":
            raise _refusal(op)
        case "arith.extui" | "arith.uitofp":
            if not known and width >= _PLACES:
                raise _refusal(op)
            operand = _unsigned(operand, width)
        case "arith.extsi" | "arith.sitofp" if width == 1:
            operand = -int(operand) if known else Call("neg", (constant(operand),))  # type: ignore[arg-type]
        case "arith.trunci" if known or width_of(op.results[0].type) < _PLACES:
            if not known:
                raise _refusal(op)
            return _wrapped(operand, width_of(op.results[0].type))  # type: ignore[arg-type]
        case "arith.fptosi" | "arith.fptoui":
            return _whole(op, operand)
        case "arith.truncf" if known and abs(operand) >= _INFINITE:  # type: ignore[arg-type]
            return math.copysign(math.inf, operand)  # type: ignore[arg-type]
    is_float = op.name in ("arith.sitofp", "arith.uitofp")
    return float(operand) if known and is_float else operand  # type: ignore[arg-type]


def _whole(op: ir.Operation, operand: Element) -> Element:
    """A cast of floats to integers: of numbers, or to bytes, whose limits whoever reads
    it checks."""
    kind = op.results[0].type
    if not is_number(operand) and str(kind) == BYTE:
        return Call("trunc", (constant(operand),))
    if not is_number(operand) or not math.isfinite(operand):  # type: ignore[arg-type]
        raise _refusal(op)
    return _wrapped(int(operand), width_of(kind))  # type: ignore[arg-type]


def integer_cast(op: ir.Operation, number: Element) -> Element:
    """A cast of a narrow integer that is read as the number that it is."""
    is_float = op.name in ("arith.sitofp", "arith.uitofp")
    return _narrowed(op, number) if is_float else number


def _narrowed(op: ir.Operation, operand: Element) -> Element:
    """Rounds an element as a cast to a narrower float does."""
    dtype = float_dtype(op.results[0].type)
    name = dtype.rounding if dtype else ""
    if not name:
        return operand
    if not is_number(operand):
        return Call(name, (constant(operand),))
    _count, function = FUNCTIONS[name]
    return float(function(ArrayElements(()), np.asarray(operand, np.float32)))


def _comparison(op: ir.Operation, a: Element, b: Element) -> Element:
    number = int(ir.IntegerAttr(op.attributes["predicate"]).value)
    is_float = op.name == "arith.cmpf"
    if is_float and number in (_ORDERED, _NOT_ORDERED):
        ordered = _ordered(a, b)
        if number == _ORDERED:
            return ordered
        return not ordered if isinstance(ordered, bool) else _not(constant(ordered))
    predicate = (_FLOATS if is_float else _INTEGER_PREDICATES).get(number)
    if predicate is None:
        raise _refusal(op)
    if not is_float and number >= _FIRST_UNSIGNED:
        width = width_of(op.operands[0].type)
        if width >= _PLACES and not (is_number(a) and is_number(b)):
            raise _refusal(op)
        a, b = _unsigned(a, width), _unsigned(b, width)
    if is_number(a) and is_number(b):
        if is_float and (math.isnan(a) or math.isnan(b)):  # type: ignore[arg-type]
            return number >= _UNORDERED
        truth: bool = getattr(operator, predicate)(a, b)
        return truth
    left, right = constant(a), constant(b)
    truths = {
        "eq": Call("equal", (left, right)),
        "ge": Call("less_equal", (right, left)),
        "gt": Call("less", (right, left)),
        "le": Call("less_equal", (left, right)),
        "lt": Call("less", (left, right)),
        "ne": _not(Call("equal", (left, right))),
    }
    # An unordered comparison holds where one is NaN: as its opposite does not.
    if is_float and predicate in ("eq", "ne") and number in _LESS_OR_GREATER:
        differ = Call("add", (truths["lt"], truths["gt"]))
        return differ if predicate == "ne" else _not(differ)
    if is_float and number >= _UNORDERED and predicate != "ne":
        return _not(truths[_OPPOSITE[predicate]])
    return truths[predicate]


def _ordered(a: Element, b: Element) -> Element:
    """Whether neither is NaN."""
    if any(is_number(one) and math.isnan(one) for one in (a, b)):  # type: ignore[arg-type]
        return False
    unknown = dict.fromkeys(one for one in (a, b) if not is_number(one))
    truths: list[Expression] = [Call("equal", (one, one)) for one in unknown]  # type: ignore[arg-type]
    if not truths:
        return True
    return truths[0] if len(truths) == 1 else Call("mul", (truths[0], truths[1]))


def _with_sign(magnitude: Expression, x: Expression) -> Expression:
    """The magnitude with the sign of x, also where that is -0."""
    match magnitude:
        case Call("sub", (Constant(1.0), Call("equal", (other, Constant(0.0))))) if (
            other == x  # the magnitude of a sign, 0 where x is
        ):
            sign = _negated_below(x, Constant(1.0))
            return Call("where", (Call("equal", (x, Constant(0.0))), x, sign))
        case _:
            return Call("copysign", (magnitude, x))


def _negated_below(side: Expression, size: Expression) -> Expression:
    below = Call("less", (side, Constant(0.0)))
    return Call("where", (below, Call("neg", (size,)), size))


def _not(truth: Expression) -> Call:
    return Call("sub", (Constant(1.0), truth))


def _select(condition: Element, yes: Element, no: Element) -> Element:
    if is_number(condition):
        return yes if condition else no
    chosen = constant(yes), constant(no)
    extreme = _extreme(constant(condition), chosen)
    if extreme is not None:
        return Call(extreme, chosen)
    match constant(condition):
        case Call(
            "sub", (Constant(1.0), Call("less" | "less_equal" | "equal") as other)
        ):
            return Call("where", (other, *chosen[::-1]))
        case truth:
            return Call("where", (truth, *chosen))


def _extreme(
    condition: Expression, chosen: tuple[Expression, Expression]
) -> str | None:
    """``maximum`` or ``minimum`` where a choice is one; NaN stays NaN there."""
    turned = False
    match condition:
        case Call("sub", (Constant(1.0), Call() as inner)):
            condition, turned = inner, True
    if not isinstance(condition, Call):
        return None
    if condition.function not in ("less", "less_equal"):
        return None
    if chosen not in (condition.arguments, condition.arguments[::-1]):
        return None
    takes_lesser = (chosen == condition.arguments) != turned
    return "minimum" if takes_lesser else "maximum"


def number_of(attribute: ir.Attribute) -> Number:
    """The number of an attribute.

    Raises:
        OpError: it is none.
    """
    attribute = attribute.maybe_downcast()
    if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
        return attribute.value  # type: ignore[no-any-return]
    raise OpError(f"the constant {attribute} is no number", "write a float")
