"""Runs functions of Spec ops on NumPy arrays, by the definitions of the Specs.

Memrefs are NumPy views, so an op that is given a wrong subview writes to a wrong place.
Buffers begin with arbitrary bits.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from morello.dialect.build import kernel_of, spec_of
from morello.dialect.range_check import read_range_check
from morello.mlir import ir
from morello.spec import VRF, Layout, Spec, TensorSpec
from morello.spec.checking import bit_patterns
from morello.spec.kind import Array

Values = dict[ir.Value, Any]

ARITHMETIC = {
    "arith.divui": operator.floordiv,
    "arith.remui": operator.mod,
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.minui": min,
    "arith.maxui": max,
}
"""On indices, which are not negative."""

COMPARED = {
    number: compared
    for numbers, compared in (
        ((0,), operator.eq),
        ((1,), operator.ne),
        ((2, 6), operator.lt),
        ((3, 7), operator.le),
        ((4, 8), operator.gt),
        ((5, 9), operator.ge),
    )
    for number in numbers
}
"""By the number of the predicate of ``arith.cmpi``."""


def coordinates(
    layout: Layout, sizes: tuple[int, ...]
) -> tuple[np.ndarray[Any, Any], ...]:
    """For each physical dimension, the index of every element in logical order."""
    return layout.index_map(tuple(np.indices(sizes)))


def unpack(array: Array, tensor: TensorSpec, sizes: tuple[int, ...]) -> Array:
    """The logical array that a physical one holds."""
    if tensor.level is VRF:
        rows = array.reshape(*array.shape[:-2], -1)
        return rows[..., : sizes[-1]].copy()
    return array[coordinates(tensor.layout, sizes)]


def pack(array: Array, tensor: TensorSpec, value: Array) -> None:
    """Write a logical array into a physical one; padding stays as it is."""
    if tensor.level is VRF:
        for index in np.ndindex(*value.shape):
            lane = index[-1] % tensor.vector_width
            array[(*index[:-1], index[-1] // tensor.vector_width, lane)] = value[index]
    else:
        array[coordinates(tensor.layout, value.shape)] = value


def new_buffer(
    rng: np.random.Generator, tensor: TensorSpec, shape: tuple[int, ...]
) -> Array:
    """An array of physical shape ``shape`` with arbitrary bits."""
    if tensor.level is VRF:
        shape = (*shape, tensor.vector_width)
    return bit_patterns(rng, tensor.dtype, shape)


def run_spec(spec: Spec, arrays: list[Array]) -> None:
    """Do what a Spec says to physical arrays."""
    operands = spec.kind.operands
    # A buffer does not know whether its integers have a sign, nor of bf16.
    arrays = [
        array.view(tensor.dtype.numpy)
        for array, tensor in zip(arrays, spec.tensors, strict=True)
    ]
    inputs = [
        unpack(array, tensor, spec.shape(i))
        for i, (array, tensor) in enumerate(zip(arrays, spec.tensors, strict=True))
        if operands[i].is_read
    ]
    with np.errstate(all="ignore"):
        outputs = spec.outputs(*inputs)
    for place, out in zip(spec.kind.written, outputs, strict=True):
        pack(arrays[place], spec.tensors[place], out)


def run_function(
    function: ir.Operation, arrays: list[Array], rng: np.random.Generator
) -> None:
    """Run a function on physical arrays."""
    block = function.regions[0].blocks[0]
    run_block(block, dict(zip(block.arguments, arrays, strict=True)), rng)


def run_block(block: ir.Block, values: Values, rng: np.random.Generator) -> None:
    """Run the ops of a block."""
    for op in block.operations:
        run_op(op.operation, values, rng)


def run_op(op: ir.Operation, values: Values, rng: np.random.Generator) -> None:
    """Run one op."""
    operands = [values[value] for value in op.operands]
    match op.name:
        case name if name.startswith("arith."):
            values[op.result] = arithmetic(op)(*operands)
        case "scf.for" | "scf.parallel" | "scf.if":
            run_region(op, operands, values, rng)
        case "morello.range_check":
            values[op.result] = is_within(op, operands[0])
        case name if name in VIEWS:
            values[op.result] = VIEWS[name](op, operands)
            assert np.shares_memory(values[op.result], operands[0])
        case "memref.extract_strided_metadata":
            # The view stands for the whole: it begins at 0 of itself.
            values[op.results[0]], values[op.results[1]] = operands[0], 0
        case "memref.alloc" | "memref.alloca":
            values[op.result] = allocated(op.result.type, rng)
        case "morello.kernel":
            run_spec(kernel_of(op)[1], operands)
        case "scf.yield" | "scf.reduce" | "func.return":
            pass
        case _:
            run_spec(spec_of(op), operands)


def arithmetic(op: ir.Operation) -> Callable[..., Any]:
    """What an op of the dialect ``arith`` computes."""
    if op.name == "arith.constant":
        return lambda: ir.IntegerAttr(op.attributes["value"]).value
    if op.name == "arith.cmpi":
        return COMPARED[ir.IntegerAttr(op.attributes["predicate"]).value]
    return ARITHMETIC[op.name]


def run_region(
    op: ir.Operation, operands: list[Any], values: Values, rng: np.random.Generator
) -> None:
    """Run the body of a loop as often as it says, or one of two ways."""
    if op.name == "scf.if":
        (taken,) = operands
        for block in op.regions[0 if taken else 1].blocks:
            run_block(block, dict(values), rng)
        return
    body = op.regions[0].blocks[0]
    turns = np.arange(*operands)
    if op.name == "scf.parallel":
        rng.shuffle(turns)  # threads may come in any order
    for i in map(int, turns):
        run_block(body, {**values, body.arguments[0]: i}, rng)


def is_within(op: ir.Operation, array: Array) -> bool:
    """What ``morello.range_check`` finds."""
    tensor, sizes, part = read_range_check(op)
    given, low = unpack(array, tensor, sizes), int(part.lowest)
    return bool(np.all((given >= low) & (given < -low)))


def subview(op: ir.Operation, operands: list[Any]) -> Array:
    """The view that ``memref.subview`` takes; checks that its type says the truth."""
    array, *dynamic = operands
    fixed = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
    mark = ir.ShapedType.get_dynamic_stride_or_offset()
    offsets = [dynamic.pop(0) if o == mark else o for o in fixed]
    steps = list(ir.DenseI64ArrayAttr(op.attributes["static_strides"]))
    ends = [
        offset + (size - 1) * step + 1
        for offset, size, step in zip(offsets, sizes, steps, strict=True)
    ]
    for offset, end, extent in zip(offsets, ends, array.shape, strict=False):
        assert 0 <= offset <= end <= extent
    view: Array = array[tuple(map(slice, offsets, ends, steps))]
    # Elements of registers have dimensions of their own.
    shape = (*ir.MemRefType(op.result.type).shape, *view.shape[len(sizes) :])
    reduced = view.reshape(shape)
    assert np.shares_memory(reduced, array)
    return reduced


def reinterpreted(op: ir.Operation, operands: list[Any]) -> Array:
    """The view that ``memref.reinterpret_cast`` takes of memory without gaps."""
    array, *start = operands
    assert array.flags.c_contiguous
    assert not any(start)
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
    steps = list(ir.DenseI64ArrayAttr(op.attributes["static_strides"]))
    last = sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    assert last < array.size
    return as_strided(array, sizes, [step * array.itemsize for step in steps])


def expanded(op: ir.Operation, operands: list[Any]) -> Array:
    """Axes of one element around what there is."""
    before, after = (ir.MemRefType(v.type).rank for v in (op.operands[0], op.result))
    array: Array = operands[0]
    return array.reshape((*(1,) * (after - before), *array.shape))


def collapsed(op: ir.Operation, operands: list[Any]) -> Array:
    """Neighbouring axes as one."""
    array: Array = operands[0]
    return array.reshape(ir.MemRefType(op.result.type).shape)


VIEWS = {
    "memref.subview": subview,
    "memref.expand_shape": expanded,
    "memref.collapse_shape": collapsed,
    "memref.reinterpret_cast": reinterpreted,
}
"""Ops whose result is memory of the first operand."""


def allocated(kind: ir.MemRefType, rng: np.random.Generator) -> Array:
    """A buffer of arbitrary bits for a memref type."""
    names = {
        "f32": "f4",
        "i32": "i4",
        "bf16": "u2",
        "f16": "u2",
        "i8": "i1",
        "i16": "i2",
    }
    element, shape = kind.element_type, tuple(kind.shape)
    if isinstance(element, ir.VectorType):
        shape, element = (*shape, *element.shape), element.element_type
    dtype = np.dtype(names[str(element)])
    raw = rng.integers(0, 256, dtype.itemsize * math.prod(shape), np.uint8)
    return raw.view(dtype).reshape(shape)
