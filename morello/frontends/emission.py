"""The parts of a model as one function: `model_module`.

Its arguments are those of the model, its constants, and its results, each a row-major
memref. Values between parts are allocations; tensors in other shapes are views.
"""

from collections.abc import Sequence

from morello.dialect.build import build_spec_op
from morello.dialect.target import TARGET_ATTRIBUTE
from morello.frontends.group_dims import row_major
from morello.frontends.parts import Operand, Part
from morello.frontends.tensors import Given, Tensors
from morello.machine import Target, print_target
from morello.mlir import dialect, ir
from morello.spec import Spec
from morello.spec.dtypes import Dtype


def model_module(
    tensors: Tensors,
    parts: Sequence[tuple[Part, Spec]],
    name: str,
    target: Target | None,
) -> ir.Module:
    """A module with one function of Spec ops, in the current context.

    The dialects must be loaded.

    Args:
        parts: in order, each with its Spec.
        name: of the function.
        target: recorded in the module; None leaves the passes their default.
    """
    with ir.Location.current or ir.Location.unknown():
        module = ir.Module.create()
        if target is not None:
            text = ir.StringAttr.get(print_target(target))
            module.operation.attributes[TARGET_ATTRIBUTE] = text
        with ir.InsertionPoint(module.body):
            add_model_function(tensors, parts, name)
    return module


def add_model_function(
    tensors: Tensors, parts: Sequence[tuple[Part, Spec]], name: str
) -> ir.Operation:
    """The function, at the current insertion point and location."""
    func = dialect("func")
    given = given_tensors(tensors)
    roots = [tensors.root(result) for result in tensors.results]
    types = [_memref(tensors.all[i].shape, tensors.dtype(i)) for i in given]
    types += [
        _memref(tensors.all[result].shape, tensors.dtype(result))
        for result in tensors.results
    ]
    function = func.FuncOp(name, (types, []))
    block = function.add_entry_block()
    known = dict(zip([*given, *roots], block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for part, spec in parts:
            _add_part(tensors, part, spec, known)
        func.ReturnOp([])
    return function.operation


def given_tensors(tensors: Tensors) -> list[int]:
    """The arguments in order, then the constants."""
    found = [i for i, t in enumerate(tensors.all) if isinstance(t, Given)]

    def place(tensor: int) -> tuple[bool, int]:
        given = tensors.all[tensor]
        assert isinstance(given, Given)
        return given.argument < 0, given.argument

    return sorted(found, key=place)


def _add_part(
    tensors: Tensors, part: Part, spec: Spec, known: dict[int, ir.Value]
) -> None:
    operands = []
    for operand in part.operands:
        if operand.tensor not in known:
            shape = tensors.all[operand.tensor].shape
            kind = _memref(shape, tensors.dtype(operand.tensor))
            known[operand.tensor] = dialect("memref").AllocOp(kind, [], []).result
        operands.append(_seen_as(known[operand.tensor], operand))
    build_spec_op(spec, operands)


def _memref(shape: Sequence[int], dtype: Dtype) -> ir.MemRefType:
    return ir.MemRefType.get(list(shape), ir.Type.parse(dtype.mlir))


def _seen_as(value: ir.Value, operand: Operand) -> ir.Value:
    """The part of a row-major memref that an operand is, in its shape."""
    held = ir.MemRefType(value.type)
    shape, strides = list(operand.shape), list(operand.strides)
    if operand.is_gapless:
        strides = row_major(shape)
    if operand.is_gapless and not operand.offset:
        wanted = ir.MemRefType.get(shape, held.element_type)
        if held == wanted:
            return value
    else:
        layout = ir.StridedLayoutAttr.get(operand.offset, strides)
        wanted = ir.MemRefType.get(shape, held.element_type, layout)
    memref = dialect("memref")
    found: ir.Value = memref.ReinterpretCastOp(
        wanted, value, [], [], [], [operand.offset], shape, strides
    ).result
    return found
