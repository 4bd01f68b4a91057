"""Names and signs of arguments and results: `Signature`, and `make_signless`.

Ops on integers have no signed types: StableHLO's become signless where it becomes
linalg. What callers pass and get keeps the types that the source program declares.
"""

import dataclasses
import re
from typing import Any

import numpy as np

from morello.frontends.nodes.tensors import PlainDtype
from morello.mlir import ir, walk
from morello.spec.elements.dtypes import Dtype

_INTERNAL = re.compile(r"(constant|number|prepared|table|zeros|out)[\d.]*")
"""Names of constants and results that the front end makes up."""

_NAMED = re.compile(r'loc\("([^"]+)"[()]')
_PLACED = re.compile(r'loc\("([^"]*)":(\d+):(\d+)')
_IDENTIFIER = re.compile(r"%([A-Za-z_$.][\w$.-]*)")


@dataclasses.dataclass(frozen=True)
class Declared:
    """An argument or a result as the source program declares it."""

    name: str = ""
    """Empty where it has none."""
    is_unsigned: bool = False
    narrow: np.dtype[Any] | None = None
    """The dtype of elements narrower than a byte, each of which lies in a byte."""

    def element(self, element: Dtype | PlainDtype) -> Dtype | PlainDtype:
        """Elements of memory with the declared sign and width."""
        if isinstance(element, Dtype):
            return element
        if self.narrow is not None:
            return dataclasses.replace(element, numpy=self.narrow)
        if not self.is_unsigned:
            return element
        if element.numpy.kind != "i":
            return element
        unsigned = np.dtype(f"u{element.numpy.itemsize}")
        return dataclasses.replace(element, numpy=unsigned)


@dataclasses.dataclass(frozen=True)
class Signature:
    """The arguments and results of a function, in order."""

    arguments: tuple[Declared, ...] = ()
    results: tuple[Declared, ...] = ()

    def argument(self, number: int) -> Declared:
        """An argument; one without a name if nothing is declared."""
        return self.arguments[number] if number < len(self.arguments) else Declared()

    def result(self, number: int) -> Declared:
        """A result; one without a name if nothing is declared."""
        return self.results[number] if number < len(self.results) else Declared()


UNDECLARED = Signature()
"""The signature of a program that declares no more than types."""


def unique_name(name: str, otherwise: str, taken: list[str]) -> str:
    """A declared name that nothing else has.

    Args:
        name: the declared one, or empty.
        otherwise: what is taken for an empty one.
        taken: the names of other arguments and results.
    """
    name = name or otherwise
    if name != otherwise and _INTERNAL.fullmatch(name):
        name += "_"
    while name in taken:
        name += "_"
    return name


def signatures(
    module: ir.Operation, text: str = "", source: str = ""
) -> dict[str, Signature]:
    """The signature of each function of a module, by the function's name.

    Args:
        module: before `make_signless`.
        text: that it was parsed from, which has the names of arguments.
        source: the file name that locations in the text have.
    """
    lines = text.splitlines()
    signature_of = {}
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name != "func.func" or not len(op.regions[0].blocks):
            continue
        kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        arguments = zip(op.regions[0].blocks[0].arguments, kind.inputs, strict=True)
        signature_of[ir.StringAttr(op.attributes["sym_name"]).value] = Signature(
            tuple(
                Declared(
                    _name(argument.location, lines, source), _is_unsigned(attributes)
                )
                for argument, attributes in arguments
            ),
            tuple(
                Declared("", _is_unsigned(attributes)) for attributes in kind.results
            ),
        )
    return signature_of


def _name(location: ir.Location, lines: list[str], source: str) -> str:
    """The name of an argument: of its location, or in the text at its location."""
    named = _NAMED.match(str(location))
    if named is not None:
        return named[1]
    place = _PLACED.match(str(location))
    if place is None or place[1] != source or int(place[2]) > len(lines):
        return ""
    identifier = _IDENTIFIER.match(lines[int(place[2]) - 1], int(place[3]) - 1)
    return "" if identifier is None else identifier[1]


def _is_unsigned(kind: ir.Type) -> bool:
    kind = kind.maybe_downcast()
    element = kind.element_type if isinstance(kind, ir.ShapedType) else kind
    element = element.maybe_downcast()
    return isinstance(element, ir.IntegerType) and element.is_unsigned


def _signless(kind: ir.Type) -> ir.Type | None:
    """A tensor type of integers with a sign, or without one, as signless ones; None for
    every other type."""
    kind = kind.maybe_downcast()
    if not isinstance(kind, ir.RankedTensorType):
        return None
    element = kind.element_type.maybe_downcast()
    if not isinstance(element, ir.IntegerType) or element.is_signless:
        return None
    signless = ir.IntegerType.get_signless(element.width)
    return ir.RankedTensorType.get(kind.shape, signless, kind.encoding)


def make_signless(module: ir.Operation) -> None:
    """Give tensors of signed and unsigned integers signless types, in place, and drop
    the casts between these that legalization left."""
    casts: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        blocks = [block for region in op.regions for block in region.blocks]
        for value in (*op.results, *(a for block in blocks for a in block.arguments)):
            signless = _signless(value.type)
            if signless is not None:
                value.set_type(signless)
        if op.name == "func.func":
            kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
            sides = [
                [_signless(attribute) or attribute for attribute in side]
                for side in (kind.inputs, kind.results)
            ]
            op.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(*sides)
            )
        if op.name == "builtin.unrealized_conversion_cast":
            casts.append(op)
        return ir.WalkResult.ADVANCE

    walk(module, visit)
    for cast in casts:
        pairs = list(zip(cast.operands, cast.results, strict=False))
        if len(pairs) == len(cast.results) and all(a.type == b.type for a, b in pairs):
            for operand, result in pairs:
                result.replace_all_uses_with(operand)
            cast.erase()
