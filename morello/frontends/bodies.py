"""What a `linalg.generic` computes of an element: its body as an expression.

Numbers are computed while the body is read. Casts between floats are left out: a graph
computes in f32 what the program computes in f32 or f64, and reads bf16 as it is.
"""

import dataclasses
import math
import operator
from collections.abc import Callable
from typing import Any

from morello.frontends.refusals import Refused
from morello.mlir import ir
from morello.spec.functions import BINARY, UNARY
from morello.spec.graphs.expression import Call, Constant, Expression

Number = float | int | bool

_UNARY = {
    "arith.negf": ("neg", operator.neg),
    "math.erf": ("erf", math.erf),
    "math.exp": ("exp", lambda x: math.exp(min(x, 709.0))),
    "math.rsqrt": ("rsqrt", lambda x: 1 / math.sqrt(x) if x > 0 else math.nan),
    "math.sqrt": ("sqrt", lambda x: math.sqrt(x) if x >= 0 else math.nan),
    "math.tanh": ("tanh", math.tanh),
}

_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "arith.addf": ("add", operator.add),
    "arith.divf": ("div", lambda a, b: a / b if b else math.nan),
    "arith.maximumf": ("maximum", max),
    "arith.maxnumf": ("maximum", max),
    "arith.minimumf": ("minimum", min),
    "arith.minnumf": ("minimum", min),
    "arith.mulf": ("mul", operator.mul),
    "arith.subf": ("sub", operator.sub),
}

_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addi": operator.add,
    "arith.andi": operator.and_,
    "arith.muli": operator.mul,
    "arith.ori": operator.or_,
    "arith.subi": operator.sub,
    "arith.xori": operator.xor,
}
"""Operations that are known of numbers alone."""

_CASTS = frozenset(
    {
        "arith.bitcast",
        "arith.extf",
        "arith.extsi",
        "arith.extui",
        "arith.fptosi",
        "arith.fptoui",
        "arith.index_cast",
        "arith.sitofp",
        "arith.truncf",
        "arith.trunci",
        "arith.uitofp",
    }
)

_FLOAT_CASTS = frozenset({"arith.extf", "arith.truncf"})

_ORDER = ("oeq", "ogt", "oge", "olt", "ole", "one")
_FLOAT_PREDICATES = {
    1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 6: "ne",
    8: "eq", 9: "gt", 10: "ge", 11: "lt", 12: "le", 13: "ne",
}  # fmt: skip
_INTEGER_PREDICATES = {
    0: "eq", 1: "ne", 2: "lt", 3: "le", 4: "gt", 5: "ge", 6: "lt", 7: "le", 8: "gt",
    9: "ge",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What a `select` chooses by."""

    predicate: str
    """``eq``, ``ne``, ``lt``, ``le``, ``gt``, ``ge``."""
    lhs: Expression
    rhs: Expression


Element = Number | Expression | Comparison


def constant(element: Number | Expression) -> Expression:
    """A number as an expression."""
    if isinstance(element, bool | int | float):
        return Constant(float(element))
    return element


def is_number(element: Any) -> bool:
    """Whether an element is known."""
    return isinstance(element, bool | int | float)


def body_elements(
    block: ir.Block, arguments: list[Element], outside: Callable[[ir.Value], Element]
) -> list[Element]:
    """What a body yields.

    Args:
        arguments: what its arguments are.
        outside: what a value that is defined around it is.

    Raises:
        Refused: an op that no function of a graph is.
    """
    known: dict[ir.Value, Element] = dict(zip(block.arguments, arguments, strict=True))

    def element(value: ir.Value) -> Element:
        return known[value] if value in known else outside(value)

    for op in block.operations:
        op = op.operation
        operands = [element(value) for value in op.operands]
        if op.name == "linalg.yield":
            return operands
        if op.name == "cf.assert":
            continue
        known[op.results[0]] = computed_element(op, operands)
    raise Refused("its body yields nothing", "write linalg.yield")


def computed_element(op: ir.Operation, operands: list[Element]) -> Element:
    """What a scalar op computes.

    Raises:
        Refused: no function of a graph does so.
    """
    name = op.name
    if name == "arith.constant":
        return number_of(op.attributes["value"])
    if name in _CASTS:
        return _cast(op, operands[0])
    if name == "arith.cmpf" or name == "arith.cmpi":
        return _comparison(op, operands)
    if name == "arith.select":
        return _select(op, operands)
    if any(isinstance(o, Comparison) for o in operands):
        raise _refusal(op)
    if name in _UNARY:
        function, known = _UNARY[name]
        return _call(op, function, known, operands)
    if name in _BINARY:
        function, both = _BINARY[name]
        return _call(op, function, both, operands)
    if name in _INTEGERS and all(map(is_number, operands)):
        found: Number = _INTEGERS[name](*operands)
        return found
    return _composed(op, operands)


def _composed(op: ir.Operation, operands: list[Element]) -> Element:
    """Ops that are several functions."""
    given = [constant(o) for o in operands if not isinstance(o, Comparison)]
    match op.name:
        case "math.absf":
            return Call("maximum", (given[0], Call("neg", (given[0],))))
        case "math.fma":
            return Call("add", (Call("mul", (given[0], given[1])), given[2]))
        case "math.powf" | "math.fpowi":
            return _power(op, operands)
    raise _refusal(op)


def _power(op: ir.Operation, operands: list[Element]) -> Element:
    base, exponent = operands
    if is_number(exponent) and not is_number(base):
        assert not isinstance(base, Comparison | bool | int | float)
        match float(exponent):  # type: ignore[arg-type]
            case 2.0:
                return Call("square", (base,))
            case 3.0:
                return Call("mul", (Call("square", (base,)), base))
            case 0.5:
                return Call("sqrt", (base,))
            case -0.5:
                return Call("rsqrt", (base,))
            case -1.0:
                return Call("div", (Constant(1.0), base))
    raise Refused(
        f"'{op.name}' has another exponent than 2, 3, 0.5, -0.5 and -1",
        "write it as exp, or compute it outside of the program",
        op.location,
    )


def _refusal(op: ir.Operation) -> Refused:
    known = ", ".join(sorted({*UNARY, *BINARY}))
    return Refused(
        f"no function of a graph is '{op.name}'",
        f"those are {known}; compute it outside of the program",
        op.location,
    )


def _call(
    op: ir.Operation,
    function: str,
    known: Callable[..., Any],
    operands: list[Element],
) -> Element:
    if all(map(is_number, operands)):
        found: Number = known(*operands)
        return found
    if function not in UNARY and function not in BINARY:
        raise _refusal(op)
    given = [constant(o) for o in operands if not isinstance(o, Comparison)]
    return Call(function, tuple(given))


def _cast(op: ir.Operation, operand: Element) -> Element:
    if op.name in _FLOAT_CASTS:
        return operand
    if is_number(operand):
        to_float = op.name in ("arith.sitofp", "arith.uitofp")
        to_int = op.name in ("arith.fptosi", "arith.fptoui")
        if to_float:
            return float(operand)  # type: ignore[arg-type]
        return int(operand) if to_int else operand  # type: ignore[arg-type]
    raise _refusal(op)


def _comparison(op: ir.Operation, operands: list[Element]) -> Element:
    number = int(ir.IntegerAttr(op.attributes["predicate"]).value)
    table = _FLOAT_PREDICATES if op.name == "arith.cmpf" else _INTEGER_PREDICATES
    if number not in table or any(isinstance(o, Comparison) for o in operands):
        raise _refusal(op)
    predicate = table[number]
    a, b = operands
    if is_number(a) and is_number(b):
        found: bool = getattr(operator, predicate)(a, b)
        return found
    return Comparison(predicate, constant(a), constant(b))  # type: ignore[arg-type]


def _select(op: ir.Operation, operands: list[Element]) -> Element:
    condition, yes, no = operands
    if is_number(condition):
        return yes if condition else no
    if isinstance(yes, Comparison) or isinstance(no, Comparison):
        raise _refusal(op)
    if isinstance(condition, Comparison):
        chosen = constant(yes), constant(no)
        pair = condition.lhs, condition.rhs
        if chosen in (pair, pair[::-1]):
            greater = condition.predicate in ("gt", "ge")
            if condition.predicate in ("gt", "ge", "lt", "le"):
                largest = greater == (chosen == pair)
                return Call("maximum" if largest else "minimum", chosen)
    raise Refused(
        "'arith.select' by a comparison is a maximum or a minimum of the two that are "
        "compared, or nothing that a graph has",
        "compute it outside of the program",
        op.location,
    )


def number_of(attribute: ir.Attribute) -> Number:
    """The number of an attribute."""
    attribute = attribute.maybe_downcast()
    if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
        return attribute.value  # type: ignore[no-any-return]
    raise Refused(f"the constant {attribute} is no number", "write a float")
