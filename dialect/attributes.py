"""The attributes of the ``morello`` dialect, to and from the values of `morello.spec`.

| attribute | value |
|---|---|
| ``#morello.layout<"[0,2,1,2p16]">`` | `Layout` |
| ``#morello.tensor<"f32", "L1", #morello.layout<"[0,1]">, false, 0>`` | `TensorSpec` |
| ``#morello.limits<"vrf=16,l1=512,l2=8192">`` | `Limits` |

The bindings do not check the content of an attribute, so each ``…_of`` does, by a
`SpecError` of what it is not, and the verifiers of ops call them. A ``…_attr`` takes a
value that has been checked already.
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
    """The layout that an attribute holds."""
    layout = _of_dialect(
        attr, LayoutAttr, "a layout", '#morello.layout<"[0,2,1,2p16]">'
    )
    parsed: Layout = _parsed(Layout, string_of(layout.text, "the text of a layout"))
    return parsed


def tensor_of(attr: ir.Attribute) -> TensorSpec:
    """The form of an operand that an attribute holds."""
    form = _of_dialect(attr, TensorAttr, "the form of an operand", TENSOR_FORM)
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
    """The limits that an attribute holds."""
    example = '#morello.limits<"vrf=16,l1=512,l2=8192">'
    limits = _of_dialect(attr, LimitsAttr, "a set of limits", example)
    parsed: Limits = _parsed(Limits, string_of(limits.text, "the text of limits"))
    return parsed


def string_of(attr: Any, what: str) -> str:
    """The text of a string attribute; ``what`` names it in the error."""
    return str(_builtin(attr, ir.StringAttr, f"{what} must be a string").value)


def bool_of(attr: Any, what: str) -> bool:
    """The value of a bool attribute; ``what`` names it in the error."""
    return bool(_builtin(attr, ir.BoolAttr, f"{what} must be true or false").value)


def int_of(attr: Any, what: str) -> int:
    """The value of an ``i64`` attribute; ``what`` names it in the error."""
    text = f"{what} must be an integer (i64)"
    number = _builtin(attr, ir.IntegerAttr, text)
    if str(number.type) != "i64":
        raise SpecError(f"{text}, not '{attr}'")
    return int(number.value)


def ints_of(attr: Any, what: str) -> tuple[int, ...]:
    """The values of an array of ``i64``; ``what`` names it in the error."""
    return tuple(
        _builtin(attr, ir.DenseI64ArrayAttr, f"{what} must be an array<i64: …>")
    )


def _of_dialect(attr: ir.Attribute, kind: Any, what: str, example: str) -> Any:
    """An attribute of the dialect."""
    typed = attr.maybe_downcast()
    if not isinstance(typed, kind):
        raise SpecError(f"'{attr}' is not {what}", f"write {example}")
    return typed


def _builtin(attr: Any, kind: Any, need: str) -> Any:
    """An attribute of MLIR's own."""
    typed = attr.maybe_downcast()
    if not isinstance(typed, kind):
        raise SpecError(f"{need}, not '{attr}'")
    return typed


@functools.lru_cache(maxsize=8192)
def _parsed(kind: Any, text: str) -> Any:
    if len(text) > _MAX_TEXT:
        name = kind.__name__.lower()
        raise SpecError(f"a text of {len(text)} characters is too long for '{name}'")
    return kind.parse(text)
