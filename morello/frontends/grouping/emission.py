"""The parts of a model as one function: `model_module`.

Its arguments are those of the model, its constants, and its results, each a row-major
memref. Values between parts are allocations; tensors in other shapes are views.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from morello.dialect.build import build_spec_op, make_internal
from morello.dialect.memrefs import DYNAMIC, index, recast, sized_type, strided
from morello.dialect.sizes import sized_view, sizes_attribute
from morello.dialect.target import TARGET_ATTRIBUTE
from morello.frontends.grouping.group_dims import row_major
from morello.frontends.grouping.parts import Operand, Part, PlainPart
from morello.frontends.nodes.tensors import PlainDtype, Source, Tensors
from morello.frontends.plain.lowering import PLAIN
from morello.machine import Target, print_target
from morello.mlir import dialect, ir, result_of
from morello.spec import Spec
from morello.spec.elements.dtypes import Dtype
from morello.spec.varying import varying_places

_APART = "llvm.no_inline"
"""Attribute of a function of plain code, which LLVM takes by itself: it vectorises
loops where it knows that arguments do not overlap, and is quicker."""


def model_module(
    tensors: Tensors,
    parts: Sequence[tuple[Part, Spec] | PlainPart],
    name: str,
    target: Target | None,
) -> ir.Module:
    """A module with one function of Spec ops, in the current context.

    The dialects must be loaded.

    Args:
        parts: in order, each with its Spec if it has one.
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
    tensors: Tensors, parts: Sequence[tuple[Part, Spec] | PlainPart], name: str
) -> ir.Operation:
    """The functions of the parts, and the one that calls them, which is returned.

    They are added at the current insertion point and location. Equal parts are calls of
    one function.
    """
    func = dialect("func")
    inputs = source_tensors(tensors)
    roots = [tensors.root(result) for result in tensors.results]
    types = [_parameter_type(tensors, i) for i in (*inputs, *tensors.results)]
    if tensors.size is not None:
        types.append(ir.IndexType.get())
    callees = _functions(tensors, parts, name)
    function = func.FuncOp(name, (types, []))
    block = function.add_entry_block()
    if tensors.size is not None:
        _set(function, sizes_attribute())
    known = dict(zip([*inputs, *roots], block.arguments, strict=False))
    with ir.InsertionPoint(block):
        for part, callee in zip(parts, callees, strict=True):
            if isinstance(part, PlainPart):
                operands = _plain_operands(tensors, part, callee.function, known)
            else:
                call = list(block.arguments)[-1]
                size = _size(tensors, part[1], call)
                operands = _operands(tensors, *part, known, callee.moved, size, call)
                operands += size
            func.CallOp(callee.function, operands)
        func.ReturnOp([])
    return function.operation


def _parameter_type(tensors: Tensors, tensor: int) -> ir.Type:
    """The memory of an argument or a result. Of one without elements, which nothing
    reads or writes, it is one element: passes divide by sizes."""
    shape = tensors.all[tensor].shape
    return _memref((1,) if 0 in shape else shape, tensors.element(tensor))


@dataclasses.dataclass(frozen=True)
class _Callee:
    """The function of a part.

    Args:
        function: of MLIR.
        moved: places of the operands whose offsets are arguments, after the memrefs.
    """

    function: Any
    moved: tuple[int, ...] = ()


_Key = tuple[Spec, tuple[str, ...]]
"""A Spec, and the types of its operands but for their offsets."""


def _functions(
    tensors: Tensors, parts: Sequence[tuple[Part, Spec] | PlainPart], name: str
) -> list[_Callee]:
    """The functions of the parts, in order; equal parts share one, wherever in their
    tensors their operands begin."""
    equal: dict[_Key, list[Part]] = {}
    for part in parts:
        if not isinstance(part, PlainPart) and _is_callable(tensors, *part):
            equal.setdefault(_key(tensors, *part), []).append(part[0])
    callees: list[_Callee] = []
    known: dict[_Key, _Callee] = {}
    plain: dict[str, _Callee] = {}
    for number, part in enumerate(parts):
        symbol = f"{name}_part{number}"
        if isinstance(part, PlainPart):
            code = part.code.text
            if code not in plain:
                plain[code] = _Callee(_plain_function(part, symbol))
            callees.append(plain[code])
            continue
        key = _key(tensors, *part)
        alike = equal.get(key, []) if _is_callable(tensors, *part) else []
        if len(alike) < 2:
            callees.append(_Callee(_part_function(tensors, *part, symbol)))
            continue
        if key not in known:
            each = zip(*(same.operands for same in alike), strict=True)
            moved = [any(o.offset for o in operands) for operands in each]
            places = tuple(place for place, is_moved in enumerate(moved) if is_moved)
            function = _part_function(tensors, *part, symbol, places)
            known[key] = _Callee(function, places)
        callees.append(known[key])
    return callees


def _key(tensors: Tensors, part: Part, spec: Spec) -> _Key:
    starts = [dataclasses.replace(operand, offset=0) for operand in part.operands]
    return spec, tuple(map(str, _operand_types(tensors, spec, starts)))


def _is_callable(tensors: Tensors, part: Part, spec: Spec) -> bool:
    """Whether what a part writes is memory of which it has one operand alone, as
    arguments of functions have to be, and pointers to operands say where they lie."""
    kinds = zip(part.kind.operands, part.operands, strict=True)
    written = [op.tensor for row, op in kinds if row.is_written]
    every = [op.tensor for op in part.operands]
    types = _operand_types(tensors, spec, part.operands)
    if any(DYNAMIC in kind.get_strides_and_offset()[0] for kind in types):
        return False
    if part.ranges and any(op.offset for op in part.operands):
        return False  # its function takes the size, and no offsets
    return all(every.count(tensor) == 1 for tensor in written)


def _part_function(
    tensors: Tensors, part: Part, spec: Spec, name: str, moved: Sequence[int] = ()
) -> Any:
    """A function of one Spec op, so that the op is the goal of its schedule.

    Args:
        moved: places of the operands whose offsets are arguments, after the memrefs.
    """
    func = dialect("func")
    operands = [
        dataclasses.replace(operand, offset=0) if place in moved else operand
        for place, operand in enumerate(part.operands)
    ]
    types: list[ir.Type] = [*_operand_types(tensors, spec, operands)]
    types += [ir.IndexType.get()] * (len(moved) + len(spec.ranges))
    function = func.FuncOp(name, (types, []), visibility="private")
    _set(function, sizes_attribute(spec))
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        memrefs = list(block.arguments)[: len(operands)]
        offsets = list(block.arguments)[len(operands) :]
        for place, offset in zip(moved, offsets, strict=False):
            memrefs[place] = _moved(memrefs[place], operands[place], offset)
        build_spec_op(spec, memrefs)
        func.ReturnOp([])
    return function


def _moved(value: ir.Value, operand: Operand, offset: ir.Value) -> ir.Value:
    """An operand that begins at an offset which is known in a call."""
    element = ir.MemRefType(value.type).element_type
    wanted = strided(operand.shape, element, DYNAMIC, _strides(operand))
    return recast(value, wanted, [offset])


def _plain_function(part: PlainPart, name: str) -> Any:
    """The function of a part that is no Spec, with the constants that it reads."""
    module = ir.Module.parse(part.code.text)
    block = ir.InsertionPoint.current.block
    function = None
    for op in list(module.body.operations):
        symbol = ir.StringAttr(op.attributes["sym_name"]).value
        new = name if symbol == PLAIN else f"{name}_{symbol}"
        ir.SymbolTable.replace_all_symbol_uses(symbol, new, module.operation)
        op.attributes["sym_name"] = ir.StringAttr.get(new)
        op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        block.append(op)
        if symbol == PLAIN:
            function = op
            op.attributes[_APART] = ir.UnitAttr.get()
    assert function is not None
    return function


def _plain_operands(
    tensors: Tensors, part: PlainPart, callee: Any, known: dict[int, ir.Value]
) -> list[ir.Value]:
    """The memrefs of plain code: what it reads, then what it writes."""
    types = list(callee.attributes["function_type"].value.inputs)
    memrefs = []
    for tensor in part.inputs:
        memrefs.append(_seen_as(known[tensors.root(tensor)], types.pop(0)))
    for tensor in part.outputs:
        wanted = types.pop(0)
        if tensor < 0:
            memrefs.append(dialect("memref").AllocOp(wanted, [], []).result)
            continue
        if tensor not in known:
            known[tensor] = dialect("memref").AllocOp(wanted, [], []).result
        # A result of the model may have another shape.
        memrefs.append(_seen_as(known[tensor], wanted))
    memrefs += [dialect("memref").AllocOp(kind, [], []).result for kind in types]
    return memrefs


def inline_parts(module: ir.Operation, name: str) -> ir.Operation:
    """Put the bodies of Specs that are called once where they are called.

    The others stay functions, whose arguments do not overlap, and so does plain code.

    Returns:
        The function that they are in.
    """
    functions = {
        str(ir.StringAttr(op.attributes["sym_name"]).value): op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "func.func"
    }
    main = functions[name]
    calls: dict[str, list[ir.Operation]] = {}
    for op in main.regions[0].blocks[0].operations:
        if op.operation.name == "func.call":
            callee = str(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
            calls.setdefault(callee, []).append(op.operation)
    for callee, uses in calls.items():
        if len(uses) > 1 or _APART in functions[callee].attributes:
            make_internal(functions[callee])
        else:
            _inline(functions[callee], uses[0])
    return main


def _inline(function: ir.Operation, call: ir.Operation) -> None:
    block = function.regions[0].blocks[0]
    for argument, operand in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    for inner in list(block.operations)[:-1]:
        inner.operation.move_before(call)
    call.erase()
    function.erase()


def source_tensors(tensors: Tensors) -> list[int]:
    """The arguments in order, then the constants."""
    numbers = [i for i, t in enumerate(tensors.all) if isinstance(t, Source)]

    def place(tensor: int) -> tuple[bool, int]:
        source = tensors.all[tensor]
        assert isinstance(source, Source)
        return source.argument < 0, source.argument

    return sorted(numbers, key=place)


def _operands(
    tensors: Tensors,
    part: Part,
    spec: Spec,
    known: dict[int, ir.Value],
    moved: Sequence[int],
    size: Sequence[ir.Value],
    call: ir.Value,
) -> list[ir.Value]:
    """The memrefs of a part, then the offsets of some of them; memrefs that nothing
    wrote before are allocated.

    Args:
        size: of the part, if each call says it.
        call: the size that a call says; the last argument, if it says none.
    """
    memrefs, offsets = [], []
    for place, operand in enumerate(part.operands):
        if operand.tensor not in known:
            shape = tensors.all[operand.tensor].shape
            kind = _memref(shape, tensors.dtype(operand.tensor))
            known[operand.tensor] = dialect("memref").AllocOp(kind, [], []).result
        if place in moved:
            offsets.append(index(operand.offset))
            operand = dataclasses.replace(operand, offset=0)
        wanted = _operand_type(tensors, operand)
        strides = [_stride(tensors, operand, axis, call) for axis in operand.sized]
        memref = _seen_as(known[operand.tensor], wanted, strides)
        kind = _sized(wanted, spec, place) if operand.is_gapless else wanted
        if kind != wanted:
            varying = varying_places(spec, place)
            extents = {axis: size[number] for axis, number in varying.items()}
            memref = sized_view(memref, kind, extents)
        memrefs.append(memref)
    return memrefs + offsets


def _size(tensors: Tensors, spec: Spec, size: ir.Value) -> list[ir.Value]:
    """The size argument of a part with run-time sizes, a multiple of the call's
    size."""
    if not spec.ranges:
        return []
    assert tensors.size is not None
    factor = index(spec.greatest[0] // tensors.size.sizes[-1])
    return [dialect("arith").MulIOp(size, factor).result]


def _set(function: Any, attributes: dict[str, ir.Attribute]) -> None:
    for name, attribute in attributes.items():
        function.operation.attributes[name] = attribute


def _memref(shape: Sequence[int], dtype: Dtype | PlainDtype) -> ir.MemRefType:
    return ir.MemRefType.get(list(shape), ir.Type.parse(dtype.mlir))


def _operand_type(tensors: Tensors, operand: Operand) -> ir.MemRefType:
    whole = _memref(operand.shape, tensors.dtype(operand.tensor))
    if operand.is_gapless and not operand.offset:
        return whole
    strides = _strides(operand)
    for axis in operand.sized:
        strides[axis] = DYNAMIC
    return strided(operand.shape, whole.element_type, operand.offset, strides)


def _stride(tensors: Tensors, operand: Operand, axis: int, call: ir.Value) -> ir.Value:
    """The stride of an axis that grows with the size of a call."""
    assert tensors.size is not None
    factor = index(operand.strides[axis] // tensors.size.sizes[-1])
    return result_of(dialect("arith").MulIOp(call, factor))


def _operand_types(
    tensors: Tensors, spec: Spec, operands: Sequence[Operand]
) -> list[ir.MemRefType]:
    """The types of the memrefs of a part."""
    return [
        _sized(_operand_type(tensors, operand), spec, place)
        if operand.is_gapless
        else _operand_type(tensors, operand)
        for place, operand in enumerate(operands)
    ]


def _sized(whole: ir.MemRefType, spec: Spec, place: int) -> ir.MemRefType:
    """The type of an operand of the greatest size in calls of every size: strides
    before a dimension that varies are dynamic."""
    places = varying_places(spec, place)
    kind = sized_type(spec.tensors[place], spec.shape(place), places)
    strides, _ = kind.get_strides_and_offset()
    if DYNAMIC not in strides:
        return whole
    _, offset = whole.get_strides_and_offset()
    return strided(whole.shape, whole.element_type, offset, strides)


def _strides(operand: Operand) -> list[int]:
    return row_major(operand.shape) if operand.is_gapless else list(operand.strides)


def _seen_as(
    value: ir.Value, wanted: ir.MemRefType, sized: Sequence[ir.Value] = ()
) -> ir.Value:
    """All of a row-major memref, or a part of it, as another type.

    Args:
        sized: its strides that a call says.
    """
    return value if value.type == wanted else recast(value, wanted, strides=sized)
