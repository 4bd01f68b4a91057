"""Expressions of graph nodes: trees of scalar functions that compute one element."""

import dataclasses
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from morello.errors import SpecError
from morello.spec.elements.dtypes import BYTES, Dtype
from morello.spec.elements.operations import Elements
from morello.spec.functions import BYTE_WORDS, FUNCTIONS, INTEGER


@dataclasses.dataclass(frozen=True, order=True)
class Reference:
    """The element of a value, by the number of the value."""

    value: int


@dataclasses.dataclass(frozen=True, order=True)
class Constant:
    """A number, in f32; 0.0 and -0.0 are two of them."""

    number: float
    is_negative: bool = dataclasses.field(init=False, repr=False)
    """Whether its sign bit is set."""

    def __post_init__(self) -> None:
        is_negative = math.copysign(1.0, self.number) < 0
        object.__setattr__(self, "is_negative", is_negative)


@dataclasses.dataclass(frozen=True, order=True)
class SizeNumber:
    """A number, in f32, that follows from sizes: computed in f64, and rounded once.

    Args:
        function: ``size``, or one of `FORMULAS`.
        arguments: of a size the name of its dimension, or the number of the range of
            sizes that a call says; else numbers.
    """

    function: str
    arguments: tuple["SizeNumber | float | str", ...]

    def computed(
        self,
        size: Callable[[Any], Any],
        number: Callable[[float], Any] = float,
        operation: Callable[..., Any] = lambda name, *operands: FORMULAS[name](
            *operands
        ),
    ) -> Any:
        """The number from sizes.

        Args:
            size: of a dimension, or of a range.
            number: makes an operand of a number that is known.
            operation: carries out one of `FORMULAS`.
        """
        if self.function == "size":
            return size(self.arguments[0])
        operands = (
            a.computed(size, number, operation)
            if isinstance(a, SizeNumber)
            else number(float(a))
            for a in self.arguments
        )
        return operation(self.function, *operands)

    def settled(self, size: Callable[[Any], Any]) -> "Constant | SizeNumber":
        """It with sizes that are known, or have other names.

        Raises:
            SpecError: it is no number of these sizes.
        """
        try:
            result = self.computed(size, float, number_of_sizes)
        except (ZeroDivisionError, ValueError) as error:
            raise SpecError(
                f"a number that follows from sizes is none of these: {error}",
                "give a range of greater sizes",
            ) from error
        is_open = isinstance(result, SizeNumber)
        return result if is_open else Constant(float(result))


FORMULAS: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "sqrt": math.sqrt,
}
"""Operations that compute a number from sizes, each in f64."""


def number_of_sizes(function: str, *operands: float | SizeNumber) -> float | SizeNumber:
    """One of `FORMULAS` of numbers, some of which may follow from sizes."""
    if any(isinstance(one, SizeNumber) for one in operands):
        return SizeNumber(function, operands)
    return FORMULAS[function](*operands)


@dataclasses.dataclass(frozen=True, order=True)
class Call:
    """A function of `morello/spec/functions/`, by name."""

    function: str
    arguments: tuple["Expression", ...]


Expression = Reference | Constant | SizeNumber | Call

NUMBERS = Constant, SizeNumber
"""Expressions that read no value."""

COPY = Call("copy", (Reference(0),))
"""The first value that is read, as it is."""

COMMUTATIVE = frozenset(
    {"add", "equal", "fmax", "fmin", "hypot", "maximum", "minimum", "mul"}
)
"""Functions of two arguments whose order means nothing: the result has the same bits,
but for those of a NaN."""

NAN = Call("sub", (Constant(math.inf), Constant(math.inf)))
"""NaN as an expression: as a constant it would not equal itself."""

MOST_DEPTH = 64
"""Calls within each other in one expression: more would exceed Python's stack."""


def depth(expression: Expression) -> int:
    """How many calls are within each other."""
    if not isinstance(expression, Call):
        return 0
    return 1 + max(map(depth, expression.arguments))


def call_count(expression: Expression) -> int:
    """How many calls it has."""
    if not isinstance(expression, Call):
        return 0
    return 1 + sum(map(call_count, expression.arguments))


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and all within it, from left to right."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from parts(argument)


def calls(expression: Expression) -> Iterator[Call]:
    """The calls of an expression, the outermost first."""
    return (part for part in parts(expression) if isinstance(part, Call))


def references(expression: Expression) -> Iterator[int]:
    """The values that it reads, from left to right, each as often as it does."""
    if isinstance(expression, Reference):
        yield expression.value
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from references(argument)


def substituted(
    expression: Expression, leaf: Callable[[int], Expression]
) -> Expression:
    """Replaces each value in an expression by the expression that ``leaf`` returns."""
    if isinstance(expression, Reference):
        return leaf(expression.value)
    if isinstance(expression, Call):
        arguments = (substituted(a, leaf) for a in expression.arguments)
        return Call(expression.function, tuple(arguments))
    return expression


def rewritten(expression: Expression, rule: Callable[[Call], Expression]) -> Expression:
    """Replaces each call in an expression by what a rule makes of it, the innermost
    first."""
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(rewritten(a, rule) for a in expression.arguments)
    return rule(Call(expression.function, arguments))


def replaced(expression: Expression, old: Expression, new: Expression) -> Expression:
    """An expression with one part in the place of another, wherever that is."""
    if expression == old:
        return new
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(replaced(a, old, new) for a in expression.arguments)
    return Call(expression.function, arguments)


def commuted(call: Call, order: Callable[[Expression], Any]) -> Call:
    """A call whose arguments are in an order by ``order``, where that means nothing."""
    if call.function not in COMMUTATIVE:
        return call
    return Call(call.function, tuple(sorted(call.arguments, key=order)))


def numbers_last(call: Call) -> Call:
    """A call with its number last, where the order of its arguments means nothing."""
    return commuted(call, lambda argument: isinstance(argument, NUMBERS))


def settled(expression: Expression, size: Callable[[Any], Any]) -> Expression:
    """An expression whose numbers have sizes that are known, or other names of them."""
    if isinstance(expression, SizeNumber):
        return expression.settled(size)
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(settled(a, size) for a in expression.arguments)
    return Call(expression.function, arguments)


def renumbered(expression: Expression, numbers: dict[int, int]) -> Expression:
    """Renumbers the values in an expression."""
    return substituted(expression, lambda value: Reference(numbers[value]))


def computed(
    expression: Expression,
    elements: Elements,
    read: Callable[[int], Any],
    number: Dtype = Dtype.F32,
) -> Any:
    """Evaluates an expression in f32 or s32, as arrays, code or counts (`Elements`)."""
    if isinstance(expression, Reference):
        return read(expression.value)
    if isinstance(expression, Constant):
        value = expression.number if number.is_float else int(expression.number)
        return elements.constant(number, value)
    if isinstance(expression, SizeNumber):
        return elements.of_sizes(number, expression)
    arguments = [computed(a, elements, read, number) for a in expression.arguments]
    if not number.is_float:
        return INTEGER[expression.function](elements, *arguments)
    _count, function = FUNCTIONS[expression.function]
    return function(elements, *arguments)


def stored(
    expression: Expression,
    elements: Any,
    read: Callable[[int], Any],
    number: Dtype,
    dtype: Dtype,
) -> Any:
    """An expression as an element of a dtype. One that is rounded to a byte is the
    lowest bits of the sum that rounds it; one that is rounded to a narrow float is
    rounded once."""
    match expression:
        case Call(name, (inner,)) if dtype.computes_in and dtype.is_rounded_by(name):
            return elements.convert(
                computed(inner, elements, read, number), number, dtype
            )
        case Call(name, (inner,)) if dtype in BYTES and name == dtype.rounding:
            word = BYTE_WORDS[dtype](elements, computed(inner, elements, read, number))
            return elements.convert(word, Dtype.S32, dtype)
    return elements.convert(computed(expression, elements, read, number), number, dtype)


def paired(elements: Any, reduction: str, number: Dtype, a: Any, b: Any) -> Any:
    """Combine two elements of f32 or s32 as a reduction does."""
    if reduction == "sum":
        return elements.add(a, b)
    if reduction == "max":
        return elements.maximum(number, a, b)
    return elements.minimum(number, a, b)
