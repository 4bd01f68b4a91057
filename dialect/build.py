"""From Specs to ops and modules, and back: what other packages call."""

from collections.abc import Sequence
from typing import Any

from morello.dialect.kernel import KernelOp, read_kernel_op
from morello.dialect.memrefs import argument_type, settled_view
from morello.dialect.operand_groups import SEGMENTS, segments
from morello.dialect.ops import SPEC_OPS
from morello.dialect.options import option_attributes
from morello.dialect.sizes import sizes_attribute
from morello.dialect.spec_op import read_spec_op, spec_attributes
from morello.dialect.target import TARGET_ATTRIBUTE
from morello.errors import SpecError
from morello.machine import Target, print_target
from morello.mlir import dialect, ir
from morello.spec import Layout, Spec, argument_tensor
from morello.spec.varying import why_settled


def spec_of(op: Any) -> Spec:
    """The Spec of a Spec op.

    Raises:
        SpecError: the op is not a Spec op.
    """
    view = op.operation.opview
    if view.operation.name not in SPEC_OPS:
        raise SpecError(
            f"'{view.operation.name}' is not a Spec op",
            f"those are {', '.join(SPEC_OPS)}",
        )
    return read_spec_op(view)


def kernel_of(op: Any) -> tuple[str, Spec]:
    """The kernel that a ``morello.kernel`` names, and the Spec that it implements.

    Raises:
        SpecError: the op is not a ``morello.kernel``.
    """
    view = op.operation.opview
    if view.operation.name != KernelOp.OPERATION_NAME:
        raise SpecError(f"'{view.operation.name}' is not a {KernelOp.OPERATION_NAME}")
    return read_kernel_op(view)


def build_spec_op(spec: Spec, operands: Sequence[ir.Value]) -> ir.Operation:
    """A Spec op at the current insertion point, at the current location.

    ``operands`` are the memrefs of the kind's operands, in its order.
    """
    attributes = spec_attributes(spec) | option_attributes(spec.kind)
    operands = [settled_view(spec, i, value) for i, value in enumerate(operands)]
    if spec.kind.is_variadic:
        attributes[SEGMENTS] = segments(len(operands))
    return ir.Operation.create(
        f"morello.{spec.kind.name}", operands=operands, attributes=attributes
    )


def build_kernel_op(
    name: str, spec: Spec, operands: Sequence[ir.Value]
) -> ir.Operation:
    """A ``morello.kernel`` at the current insertion point, at the current location."""
    attributes = {
        **spec_attributes(spec),
        "kernel": ir.StringAttr.get(name),
        "kind": ir.StringAttr.get(spec.kind.name),
        "options": ir.DictAttr.get(option_attributes(spec.kind)),
        SEGMENTS: segments(len(operands)),
    }
    return ir.Operation.create(
        KernelOp.OPERATION_NAME, operands=list(operands), attributes=attributes
    )


def spec_function(spec: Spec, name: str, target: Target | None = None) -> ir.Module:
    """A module with one function that holds one Spec op, in the current context.

    The function's arguments are memrefs of the Spec's operands, gapless but for the
    rows of one that has a leading dimension. The dialects
    must be loaded.

    Args:
        spec: what the function computes.
        name: of the function.
        target: recorded in the module for the passes; None leaves their default.

    Raises:
        SpecError: it has a range of sizes that operands cannot have.
    """
    check_ranges(spec)
    func = dialect("func")
    with ir.Location.current or ir.Location.unknown():
        module = ir.Module.create()
        if target is not None:
            text = ir.StringAttr.get(print_target(target))
            module.operation.attributes[TARGET_ATTRIBUTE] = text
        types = [argument_type(spec, i) for i in range(len(spec.tensors))]
        memrefs = len(types)
        types += [ir.IndexType.get()] * len(spec.ranges)
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(name, (types, []))
        for key, value in sizes_attribute(spec).items():
            function.operation.attributes[key] = value
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            build_spec_op(spec, list(block.arguments)[:memrefs])
            func.ReturnOp([])
    return module


def make_internal(function: ir.Operation) -> None:
    """Keep a function out of the object's symbols, and tell LLVM that its arguments do
    not overlap."""
    with function.context:
        apart = {"llvm.noalias": ir.UnitAttr.get()}
        attributes = [
            ir.DictAttr.get(apart if isinstance(argument.type, ir.MemRefType) else {})
            for argument in function.regions[0].blocks[0].arguments
        ]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
        internal = ir.Attribute.parse("#llvm.linkage<internal>")
        function.attributes["llvm.linkage"] = internal


def check_ranges(spec: Spec) -> None:
    """Refuse ranges that the arguments of a function cannot have.

    Raises:
        SpecError: an operand is not row-major.
    """
    reason = why_settled(spec)
    graph = spec.kind.as_graph
    for number in () if graph is None else graph.call_sizes:
        if number >= len(spec.ranges):
            reason = f"a number of it follows from size({number}), which no call says"
    for one in spec.ranges:
        for i, operand in enumerate(spec.kind.operands):
            if {*one.dims} & {*operand.dims} and not reason:
                plain = argument_tensor(spec.dtypes[i], Layout.row_major(operand.rank))
                if spec.tensors[i] != plain:
                    reason = f"'{operand.name}' is not row-major without gaps"
    if reason:
        raise SpecError(
            f"{spec}: {reason}, and a call says sizes of row-major arrays",
            "settle this size",
        )
