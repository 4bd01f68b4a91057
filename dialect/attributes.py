"""The attributes of the ``morello`` dialect, to and from the values of `morello.spec`.

| attribute | value |
|---|---|
| ``#morello.layout<"[0,2,1,2p16]">`` | `Layout` |
| ``#morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>`` | `TensorSpec` |
| ``#morello.limits<"vrf=16,l1=512,l2=8192">`` | `Limits` |

The bindings do not check the content of an attribute, so each ``…_of`` does, and the
verifiers of ops call them. A ``…_attr`` takes a value that has been checked already.
"""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from morello.dialect.definition import Morello
from morello.errors import SpecError, shortened
from morello.mlir import ir
from morello.spec import Dtype, Layout, Limits, Memory, TensorSpec

_MAX_TEXT = 256
"""Longer texts are no layouts or limits that anyone meant; Python refuses to read
integers of thousands of digits."""

TENSOR_FORM = (
    '#morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0 : i64> '
    "(dtype, level, layout, contiguous, vector width)"
)


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Refuse attributes that the bindings have no class for, as arrays of ``i128``.

    Raises:
        SpecError: one was met.
    """
    try:
        yield
    except TypeError as error:
        if _NO_CLASS not in str(error):
            raise
        raise SpecError(
            f"the bindings have no class for {_quoted(str(error))}",
            "write an attribute of another type",
        ) from error


_NO_CLASS = "Can't cast unknown element type"


def _quoted(error: str) -> str:
    """The attribute that an error of the bindings is about."""
    return shortened(error.partition("Attribute(")[2].removesuffix("))"))


def attribute_of(op: Any, name: str) -> ir.Attribute | None:
    """An attribute of an op; None if it has none of that name.

    Raises:
        SpecError: the bindings have no class for it.
    """
    if name not in op.attributes:
        return None
    with reading():
        value: ir.Attribute = op.attributes[name]
        return value


class LayoutAttr(Morello.Attribute, name="layout"):
    """How the elements of an operand lie in memory."""

    text: ir.StringAttr


class TensorAttr(Morello.Attribute, name="tensor"):
    """The form of an operand: dtype, level, layout, contiguous, vector width."""

    dtype: ir.StringAttr
    level: ir.StringAttr
    layout: LayoutAttr
    contiguous: ir.IntegerAttr
    vector_width: ir.IntegerAttr


class LimitsAttr(Morello.Attribute, name="limits"):
    """How much of each memory may be used."""

    text: ir.StringAttr


def layout_attr(layout: Layout) -> ir.Attribute:
    """The layout as an attribute of the current context."""
    return LayoutAttr.get(ir.StringAttr.get(str(layout)))


def tensor_attr(tensor: TensorSpec) -> ir.Attribute:
    """The form of an operand as an attribute of the current context."""
    return TensorAttr.get(
        ir.StringAttr.get(str(tensor.dtype)),
        ir.StringAttr.get(str(tensor.level)),
        layout_attr(tensor.layout),
        ir.BoolAttr.get(tensor.contiguous),
        i64_attr(tensor.vector_width),
    )


def limits_attr(limits: Limits) -> ir.Attribute:
    """The limits as an attribute of the current context."""
    return LimitsAttr.get(ir.StringAttr.get(str(limits)))


def i64_attr(value: int) -> ir.Attribute:
    """An integer as an ``i64`` attribute of the current context."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def layout_of(attr: ir.Attribute) -> Layout:
    """The layout that an attribute holds.

    Raises:
        SpecError: it is not a layout attribute, or its text is no layout.
    """
    layout = attr.maybe_downcast()
    if not isinstance(layout, LayoutAttr):
        raise SpecError(
            f"'{attr}' is not a layout", 'write #morello.layout<"[0,2,1,2p16]">'
        )
    return _layout(string_of(layout.text, "the text of a layout"))


def tensor_of(attr: ir.Attribute) -> TensorSpec:
    """The form of an operand that an attribute holds.

    Raises:
        SpecError: it is not a tensor attribute, or its parts do not fit.
    """
    form = attr.maybe_downcast()
    if not isinstance(form, TensorAttr):
        raise SpecError(
            f"'{attr}' is not the form of an operand", f"write {TENSOR_FORM}"
        )
    width = int_of(form.vector_width, "the vector width of a form")
    if width < 0:
        raise SpecError(f"the vector width {width} of '{attr}' is negative")
    return TensorSpec(
        Dtype.parse(string_of(form.dtype, "the dtype of a form")),
        Memory.parse(string_of(form.level, "the level of a form")),
        layout_of(form.layout),
        bool_of(form.contiguous, "'contiguous' of a form"),
        width,
    )


def limits_of(attr: ir.Attribute) -> Limits:
    """The limits that an attribute holds.

    Raises:
        SpecError: it is not a limits attribute, or its text is no set of limits.
    """
    limits = attr.maybe_downcast()
    if not isinstance(limits, LimitsAttr):
        raise SpecError(
            f"'{attr}' is not a set of limits",
            'write #morello.limits<"vrf=16,l1=512,l2=8192">',
        )
    return _limits(string_of(limits.text, "the text of limits"))


def string_of(attr: Any, what: str) -> str:
    """The text of a string attribute; ``what`` names it in the error.

    Raises:
        SpecError: it is another attribute.
    """
    text = attr.maybe_downcast()
    if not isinstance(text, ir.StringAttr):
        raise SpecError(f"{what} must be a string, not '{attr}'")
    return str(text.value)


def bool_of(attr: Any, what: str) -> bool:
    """The value of a bool attribute; ``what`` names it in the error.

    Raises:
        SpecError: it is another attribute.
    """
    truth = attr.maybe_downcast()
    if not isinstance(truth, ir.BoolAttr):
        raise SpecError(f"{what} must be true or false, not '{attr}'")
    return bool(truth.value)


def int_of(attr: Any, what: str) -> int:
    """The value of an ``i64`` attribute; ``what`` names it in the error.

    Raises:
        SpecError: it is another attribute.
    """
    number = attr.maybe_downcast()
    if not isinstance(number, ir.IntegerAttr) or str(number.type) != "i64":
        raise SpecError(f"{what} must be an integer (i64), not '{attr}'")
    return int(number.value)


def ints_of(attr: Any, what: str) -> tuple[int, ...]:
    """The values of an array of ``i64``; ``what`` names it in the error.

    Raises:
        SpecError: it is another attribute.
    """
    numbers = attr.maybe_downcast()
    if not isinstance(numbers, ir.DenseI64ArrayAttr):
        raise SpecError(f"{what} must be an array<i64: …>, not '{attr}'")
    return tuple(numbers)


@functools.lru_cache(maxsize=4096)
def _layout(text: str) -> Layout:
    if len(text) > _MAX_TEXT:
        raise SpecError(f"a layout of {len(text)} characters is too long")
    return Layout.parse(text)


@functools.lru_cache(maxsize=4096)
def _limits(text: str) -> Limits:
    if len(text) > _MAX_TEXT:
        raise SpecError(f"limits of {len(text)} characters are too long")
    return Limits.parse(text)
