"""The common part of all Spec ops: attributes, verifier, and conversion to a Spec.

A Spec op is in destination style: its operands are the memrefs of the kind's operands,
in the kind's order, and it has no results. `ops.py` makes one for each kind.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from morello.dialect.attributes import (
    LimitsAttr,
    bool_of,
    limits_attr,
    limits_of,
    reading,
    tensor_attr,
    tensor_of,
)
from morello.dialect.definition import Morello
from morello.dialect.memrefs import check_memref
from morello.dialect.operand_groups import check_segments
from morello.dialect.options import make_kind, option_forms, optional_options
from morello.dialect.sizes import ranges_attribute, ranges_of
from morello.errors import SpecError
from morello.mlir import ir
from morello.spec import Kind, Spec

_WRITE = {
    "sizes": "sizes = array<i64: …>, one for each dimension of the kind",
    "tensors": "tensors = [#morello.tensor<…>, …], one for each operand",
    "limits": 'limits = #morello.limits<"vrf=16,l1=512,l2=8192">',
    "serial": "serial = true",
}

_LEADING = "leading"


class SpecOp(Morello.Operation):
    """A computation that no program has been chosen for.

    ``sizes`` has the size of each dimension of the kind, ``tensors`` the form of each
    operand, ``limits`` what may be used of each memory; ``serial`` forbids parallel
    loops; ``leading``, which may be left out, has the elements from row to row of each
    operand whose rows are apart, and 0 for the others; ``ranges = "m=1..64"``, too, the
    sizes of which a call says one (`sizes.py`). A subclass adds the memrefs and
    the options of the kind.
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
        with op.location, reading():
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
    if type(op).kind_class.is_variadic:
        check_segments(op)


def read_spec_op(op: ir.OpView) -> Spec:
    """The Spec of a Spec op.

    Raises:
        SpecError: an attribute is missing, or the attributes make no Spec.
    """
    kind_class = type(op).kind_class
    optional = optional_options(kind_class)
    options = {
        name: required(op, name, f"{name} = …, an option of the kind")
        for name in option_forms(kind_class)
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
    kind = make_kind(kind_class, len(sizes), options)
    return Spec(
        kind,
        tuple(sizes),
        tuple(tensor_of(tensor) for tensor in tensors),
        limits_of(required(op, "limits", _WRITE["limits"])),
        bool_of(required(op, "serial", _WRITE["serial"]), "'serial'"),
        _leading(op),
        ranges_of(op, kind, tuple(sizes)),
    )


def _leading(op: ir.OpView) -> tuple[int, ...]:
    """The leading dimensions of the operands; most ops have none."""
    if _LEADING not in op.attributes:
        return ()
    leading = op.attributes[_LEADING].maybe_downcast()
    if not isinstance(leading, ir.DenseI64ArrayAttr) or not len(leading):
        raise SpecError(
            f"'{_LEADING}' is {leading}",
            f"write {_LEADING} = array<i64: …>, one for each operand, 0 for none",
        )
    return tuple(leading)


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


def spec_attributes(spec: Spec) -> dict[str, ir.Attribute]:
    """The attributes that every op of a Spec has, in the current context."""
    leading = ir.DenseI64ArrayAttr.get(list(spec.leading))
    return {
        **({_LEADING: leading} if spec.leading else {}),
        **ranges_attribute(spec),
        "sizes": ir.DenseI64ArrayAttr.get(list(spec.sizes)),
        "tensors": ir.ArrayAttr.get([tensor_attr(t) for t in spec.tensors]),
        "limits": limits_attr(spec.limits),
        "serial": ir.BoolAttr.get(spec.serial),
    }
