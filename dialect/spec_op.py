"""What all Spec ops have in common: their attributes, the verifier, and reading them.

A Spec op is in destination style: its operands are the memrefs of the kind's operands,
in the kind's order, and it has no results. To add one, write a module with a subclass
of `SpecOp` (its memrefs and the options of the kind as fields, `kind_class`), and list
it in `ops.py`.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from morello.dialect.attributes import (
    LimitsAttr,
    bool_of,
    limits_attr,
    limits_of,
    string_of,
    tensor_attr,
    tensor_of,
)
from morello.dialect.definition import Morello
from morello.dialect.memrefs import check_memref
from morello.errors import SpecError
from morello.mlir import ir
from morello.spec import Kind, Spec

_WRITE = {
    "sizes": "sizes = array<i64: …>, one for each dimension of the kind",
    "tensors": "tensors = [#morello.tensor<…>, …], one for each operand",
    "limits": 'limits = #morello.limits<"vrf=16,l1=512,l2=8192">',
    "serial": "serial = true",
}


class SpecOp(Morello.Operation):
    """A computation that no program has been chosen for.

    ``sizes`` has the size of each dimension of the kind, ``tensors`` the form of each
    operand, ``limits`` what may be used of each memory; ``serial`` forbids parallel
    loops. A subclass adds the memrefs and the options of the kind.
    """

    sizes: Any
    tensors: ir.ArrayAttr
    limits: LimitsAttr
    serial: ir.IntegerAttr

    # An annotation that the bindings see would declare an attribute of the op.
    if TYPE_CHECKING:
        kind_class: ClassVar[type[Kind]]

    @staticmethod
    def verify_invariants(op: Any) -> bool:
        """Report what does not fit together, at the op."""
        return verified(op, lambda: check_spec_op(op))


def verified(op: Any, check: Callable[[], None]) -> bool:
    """Run a check of a verifier; what it refuses is reported at the op."""
    try:
        with op.location:
            check()
    except SpecError as error:
        op.location.emit_error(f"'{op.operation.name}' op {error}")
        return False
    return True


def check_spec_op(op: ir.OpView) -> None:
    """Check that attributes and memrefs of a Spec op fit together.

    Raises:
        SpecError: they do not.
    """
    check_memrefs(op, read_spec_op(op))


def read_spec_op(op: ir.OpView) -> Spec:
    """The Spec of a Spec op.

    Raises:
        SpecError: an attribute is missing, or the attributes make no Spec.
    """
    kind_class = type(op).kind_class
    optional = optional_options(kind_class)
    options = {
        name: option(op, name)
        for name in option_names(kind_class)
        if name in op.attributes or name not in optional
    }
    return read_spec(op, kind_class, options)


def read_spec(
    op: ir.OpView, kind_class: type[Kind], options: dict[str, ir.Attribute]
) -> Spec:
    """The Spec from the common attributes of an op and the options of its kind.

    Raises:
        SpecError: an attribute is missing, or the attributes make no Spec.
    """
    sizes = required(op, "sizes", _WRITE["sizes"]).maybe_downcast()
    if not isinstance(sizes, ir.DenseI64ArrayAttr):
        raise SpecError(f"'sizes' is {sizes}", f"write {_WRITE['sizes']}")
    tensors = required(op, "tensors", _WRITE["tensors"]).maybe_downcast()
    if not isinstance(tensors, ir.ArrayAttr):
        raise SpecError(f"'tensors' is {tensors}", f"write {_WRITE['tensors']}")
    return Spec(
        make_kind(kind_class, len(sizes), options),
        tuple(sizes),
        tuple(tensor_of(tensor) for tensor in tensors),
        limits_of(required(op, "limits", _WRITE["limits"])),
        bool_of(required(op, "serial", _WRITE["serial"]), "'serial'"),
    )


def required(op: ir.OpView, name: str, remedy: str) -> ir.Attribute:
    """An attribute of an op.

    Raises:
        SpecError: the op does not have it.
    """
    if name not in op.attributes:
        raise SpecError(f"has no attribute '{name}'", f"write {remedy}")
    return op.attributes[name]


def check_memrefs(op: ir.OpView, spec: Spec) -> None:
    """Check the memrefs of an op against its Spec.

    Raises:
        SpecError: their number or a type does not fit.
    """
    operands = spec.kind.operands
    if len(op.operands) != len(operands):
        names = ", ".join(o.name for o in operands)
        raise SpecError(
            f"has {len(op.operands)} operands, but {spec.kind.label} has "
            f"{len(operands)}: {names}"
        )
    for i, value in enumerate(op.operands):
        check_memref(spec, i, value.type)


def option_names(kind_class: type[Kind]) -> tuple[str, ...]:
    """The options of a kind that are attributes; the rank follows from the sizes."""
    names = tuple(field.name for field in dataclasses.fields(kind_class))
    return tuple(name for name in names if name != "rank")


def optional_options(kind_class: type[Kind]) -> frozenset[str]:
    """The options of a kind whose attributes may be left out, if the default."""
    fields = dataclasses.fields(kind_class)
    return frozenset(field.name for field in fields if field.metadata.get("optional"))


def option(op: ir.OpView, name: str) -> ir.Attribute:
    """The attribute of an option of the kind.

    Raises:
        SpecError: the op does not have it.
    """
    return required(op, name, f"{name} = …, an option of the kind")


def make_kind(
    kind_class: type[Kind], rank: int, options: dict[str, ir.Attribute]
) -> Kind:
    """The kind with the options that attributes give it.

    Raises:
        SpecError: an option has another type, or a value that the kind does not have.
    """
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind_class):
        if field.name == "rank":
            values["rank"] = rank
        elif field.metadata.get("optional") and field.name not in options:
            values[field.name] = field.default
        elif field.type is bool:
            values[field.name] = bool_of(options[field.name], f"'{field.name}'")
        elif field.type is str:
            values[field.name] = string_of(options[field.name], f"'{field.name}'")
        else:
            raise TypeError(f"an option of type {field.type} has no attribute yet")
    return kind_class(**values)


def option_attributes(kind: Kind) -> dict[str, ir.Attribute]:
    """The options of a kind as attributes of the current context."""
    optional = optional_options(type(kind))
    values = {
        name: getattr(kind, name)
        for name in option_names(type(kind))
        if name not in optional or name in kind.options
    }
    return {
        name: ir.BoolAttr.get(v) if isinstance(v, bool) else ir.StringAttr.get(v)
        for name, v in values.items()
    }


def spec_attributes(spec: Spec) -> dict[str, ir.Attribute]:
    """The attributes that every op of a Spec has, in the current context."""
    return {
        "sizes": ir.DenseI64ArrayAttr.get(list(spec.sizes)),
        "tensors": ir.ArrayAttr.get([tensor_attr(t) for t in spec.tensors]),
        "limits": limits_attr(spec.limits),
        "serial": ir.BoolAttr.get(spec.serial),
    }


__all__ = [
    "SpecOp",
    "check_memrefs",
    "make_kind",
    "option_attributes",
    "option_names",
    "read_spec",
    "read_spec_op",
    "required",
    "spec_attributes",
    "verified",
]
