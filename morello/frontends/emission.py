"""The parts of a model as one function: `model_module`.

Its arguments are those of the model, its constants, and its results, each a row-major
memref. Values between parts are allocations; tensors in other shapes are views.
"""

from collections.abc import Sequence

from morello.dialect.build import build_spec_op
from morello.dialect.memrefs import argument_type
from morello.dialect.target import TARGET_ATTRIBUTE
from morello.frontends.parts import Part
from morello.frontends.tensors import Given, Node, Tensors
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
    for output in part.outputs:
        if output not in known:
            node = tensors.all[output]
            assert isinstance(node, Node)
            memref = dialect("memref")
            kind = _memref(node.shape, node.dtype)
            known[output] = memref.AllocOp(kind, [], []).result
    operands = [
        _seen_as(known[tensor], argument_type(spec, place))
        for place, tensor in enumerate((*part.inputs, *part.outputs))
    ]
    build_spec_op(spec, operands)


def _memref(shape: Sequence[int], dtype: Dtype) -> ir.MemRefType:
    return ir.MemRefType.get(list(shape), ir.Type.parse(dtype.mlir))


def _seen_as(value: ir.Value, wanted: ir.MemRefType) -> ir.Value:
    """A row-major memref in another shape."""
    if value.type == wanted:
        return value
    memref = dialect("memref")
    shape = list(wanted.shape)
    strides = [1] * len(shape)
    for place in reversed(range(len(shape) - 1)):
        strides[place] = strides[place + 1] * shape[place + 1]
    found: ir.Value = memref.ReinterpretCastOp(
        wanted, value, [], [], [], [0], shape, strides
    ).result
    return found
