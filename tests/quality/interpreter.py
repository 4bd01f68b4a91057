"""A reference for what payload IR means, op by op, on NumPy arrays.

`run_function` is the entry point. Memrefs are views of arrays, vectors are arrays of
one axis, registers in memory have a last axis for their lanes. Spec ops and kernels
that are still there mean what their Specs say. Each op becomes a closure once, since
loops run it many times.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.dialect.build import kernel_of, spec_of
from morello.mlir import ir
from morello.spec import Spec
from morello.spec.elements.arrays import fused
from morello.spec.kind import Array
from tests.dialect.interpret import run_spec
from tests.quality.lanes import (
    bitcast,
    cast_float,
    dtype_of,
    integer_to_float,
    intrinsic,
    run_of,
    shift_left,
    shift_right_unsigned,
    sign_extend,
    truncate,
    unsigned_to_float,
    zero_extend,
)

State = list[Any]
Step = Callable[[State], None]

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addf": operator.add,
    "arith.addi": operator.add,
    "arith.subf": operator.sub,
    "arith.mulf": operator.mul,
    "arith.divf": operator.truediv,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": operator.floordiv,
    "arith.remui": operator.mod,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.shli": shift_left,
    "arith.shrui": shift_right_unsigned,
    "arith.shrsi": operator.rshift,
}

_POISON = 0xC3
"""The bytes of new buffers."""


def run_function(function: ir.Operation, arrays: Sequence[Array]) -> None:
    """Run a function on physical arrays; the last may be its workspace."""
    builder = _Builder()
    block = function.regions[0].blocks[0]
    places = [builder.slot(argument) for argument in block.arguments]
    steps = builder.block(block)
    state: State = [None] * len(builder.slots)
    for place, argument, array in zip(places, block.arguments, arrays, strict=True):
        state[place] = array.view(_memory(ir.MemRefType(argument.type))[0])
    with np.errstate(all="ignore"):
        _run(steps, state)


def _run(steps: list[Step], state: State) -> None:
    for step in steps:
        step(state)


def _memory(kind: ir.MemRefType) -> tuple[Any, tuple[int, ...]]:
    """The dtype of a memref's elements, and the lanes of each."""
    element = kind.element_type
    if isinstance(element, ir.VectorType):
        return dtype_of(element.element_type), tuple(element.shape)
    return dtype_of(element), ()


class _Builder:
    """Makes closures; each value has a place in the state."""

    def __init__(self) -> None:
        self.slots: dict[ir.Value, int] = {}

    def slot(self, value: ir.Value) -> int:
        return self.slots.setdefault(value, len(self.slots))

    def block(self, block: ir.Block) -> list[Step]:
        steps = (self.step(op.operation) for op in block.operations)
        return [step for step in steps if step is not None]

    def step(self, op: ir.Operation) -> Step | None:
        if op.name in ("func.return", "scf.yield"):
            return None
        if op.name == "scf.for":
            return self._loop(op)
        if op.name == "scf.if":
            return self._branch(op)
        make = MAKERS.get(op.name)
        compute = make(op) if make else _spec_op(op)
        inputs = [self.slot(value) for value in op.operands]
        if not len(op.results):
            return lambda state: compute(*[state[i] for i in inputs])
        result = self.slot(op.results[0])

        def run(state: State) -> None:
            state[result] = compute(*[state[i] for i in inputs])

        return run

    def _loop(self, op: ir.Operation) -> Step:
        low, high, step, *initial = (self.slot(value) for value in op.operands)
        body = op.regions[0].blocks[0]
        index, *carried = (self.slot(argument) for argument in body.arguments)
        steps = self.block(body)
        last = list(body.operations)[-1].operation
        yielded = [self.slot(value) for value in last.operands]
        results = [self.slot(value) for value in op.results]

        def run(state: State) -> None:
            values = [state[i] for i in initial]
            for i in range(state[low], state[high], state[step]):
                state[index] = i
                _assign(state, carried, values)
                _run(steps, state)
                values = [state[y] for y in yielded]
            _assign(state, results, values)

        return run

    def _branch(self, op: ir.Operation) -> Step:
        """What runs where a condition holds, and has no results."""
        condition = self.slot(op.operands[0])
        steps = self.block(op.regions[0].blocks[0])

        def run(state: State) -> None:
            if state[condition]:
                _run(steps, state)

        return run


def _assign(state: State, places: list[int], values: list[Any]) -> None:
    for place, value in zip(places, values, strict=True):
        state[place] = value


def _spec_op(op: ir.Operation) -> Callable[..., Any]:
    spec = kernel_of(op)[1] if op.name == "morello.kernel" else spec_of(op)

    def run(*arrays: Array) -> None:
        run_spec(spec, [_typed(spec, i, array) for i, array in enumerate(arrays)])

    return run


def _typed(spec: Spec, operand: int, array: Array) -> Array:
    """Integers have no sign in MLIR; those of a Spec have."""
    return array.view(spec.tensors[operand].dtype.numpy)


def _constant(op: ir.Operation) -> Callable[..., Any]:
    value, kind = op.attributes["value"], op.results[0].type
    if isinstance(kind, ir.VectorType):
        dense = ir.DenseElementsAttr(value)
        number = _number(dense.get_splat_value(), kind.element_type)
        vector = np.full(kind.shape, number)
        return lambda: vector
    number = _number(value, kind)
    return lambda: number


def _number(value: ir.Attribute, kind: ir.Type) -> Any:
    if isinstance(kind, ir.IndexType):
        return int(ir.IntegerAttr(value).value)
    if isinstance(kind, ir.IntegerType):
        return dtype_of(kind)(ir.IntegerAttr(value).value)
    return dtype_of(kind)(ir.FloatAttr(value).value)


def _compare(op: ir.Operation) -> Callable[..., Any]:
    match int(ir.IntegerAttr(op.attributes["predicate"]).value):
        case 1:
            return lambda a, b: np.equal(a, b)
        case 2:
            return lambda a, b: np.greater(a, b)
        case 4:
            return lambda a, b: np.less(a, b)
        case 14:
            return lambda a, b: np.isnan(a) | np.isnan(b)
    raise NotImplementedError(str(op))


def _differs(op: ir.Operation) -> Callable[..., Any]:
    assert int(ir.IntegerAttr(op.attributes["predicate"]).value) == 1
    return lambda a, b: a != b


def _fields(op: ir.Operation) -> Callable[..., Any]:
    """A memref as a structure, whose second field is where its elements are."""
    return lambda array: (None, array)


def _allocate(op: ir.Operation) -> Callable[..., Any]:
    kind = ir.MemRefType(op.results[0].type)
    dtype, lanes = _memory(kind)
    shape = (*kind.shape, *lanes)
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return lambda: np.full(count, _POISON, np.uint8).view(dtype).reshape(shape)


def _transpose(op: ir.Operation) -> Callable[..., Any]:
    order = ir.AffineMapAttr(op.attributes["permutation"]).value
    places = [ir.AffineDimExpr(e).position for e in order.results]
    return lambda array: array.transpose(places)


def _view(op: ir.Operation) -> Callable[..., Any]:
    kind = ir.MemRefType(op.results[0].type)
    dtype, lanes = _memory(kind)
    shape = (*kind.shape, *lanes)
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return lambda array, at: array[at : at + count].view(dtype).reshape(shape)


def _subview(op: ir.Operation) -> Callable[..., Any]:
    fixed = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
    steps = list(ir.DenseI64ArrayAttr(op.attributes["static_strides"]))
    mark = ir.ShapedType.get_dynamic_stride_or_offset()
    shape = tuple(ir.MemRefType(op.results[0].type).shape)
    lanes = len(_memory(ir.MemRefType(op.results[0].type))[1])

    def run(array: Array, *dynamic: int) -> Array:
        left = list(dynamic)
        offsets = [left.pop(0) if o == mark else o for o in fixed]
        ends = [
            o + (s - 1) * step + 1
            for o, s, step in zip(offsets, sizes, steps, strict=True)
        ]
        inside = zip(ends, array.shape, strict=False)
        assert all(end <= extent for end, extent in inside)
        found = array[tuple(map(slice, offsets, ends, steps))]
        if lanes:
            return _reduced(found, (*shape, *found.shape[-lanes:]))
        assert found.size == int(np.prod(shape))
        return found if found.shape == shape else _reduced(found, shape)

    return run


def _expand_shape(op: ir.Operation) -> Callable[..., Any]:
    """Axes of one element around what there is."""
    ranks = [ir.MemRefType(v.type).rank for v in (op.operands[0], op.results[0])]
    ones = (1,) * (ranks[1] - ranks[0])
    return lambda array: _reduced(array, (*ones, *array.shape))


def _collapse_shape(op: ir.Operation) -> Callable[..., Any]:
    """Neighbouring axes as one."""
    shape = tuple(ir.MemRefType(op.results[0].type).shape)
    return lambda array: _reduced(array, shape)


def _reduced(array: Array, shape: tuple[int, ...]) -> Array:
    """A view without some of the axes of one element."""
    found: Array = array.reshape(shape)
    assert np.shares_memory(found, array)
    return found


def _vector_load(op: ir.Operation) -> Callable[..., Any]:
    (width,) = op.results[0].type.shape

    def run(array: Array, *at: Any) -> Array:
        return run_of(array, at, width).copy()

    return run


def _vector_store(op: ir.Operation) -> Callable[..., Any]:
    def run(vector: Array, array: Array, *at: Any) -> None:
        run_of(array, at, vector.size)[:] = vector

    return run


def _masked_load(op: ir.Operation) -> Callable[..., Any]:
    def run(array: Array, *rest: Any) -> Array:
        *outer, start, mask, otherwise = rest
        count = int(np.count_nonzero(mask))
        assert np.all(mask[:count])
        found: Array = otherwise.copy()
        found[:count] = array[(*outer, slice(start, start + count))]
        assert start + count <= array.shape[-1]
        return found

    return run


def _mask(op: ir.Operation) -> Callable[..., Any]:
    (width,) = op.results[0].type.shape
    (count,) = ir.DenseI64ArrayAttr(op.attributes["mask_dim_sizes"])
    mask = np.arange(width) < count
    return lambda: mask


def _load(op: ir.Operation) -> Callable[..., Any]:
    # A copy: what is loaded does not change with the memory.
    return lambda array, *at: array[at].copy()


def _store(op: ir.Operation) -> Callable[..., Any]:
    def run(value: Any, array: Array, *at: Any) -> None:
        array[at] = value

    return run


def _shuffle(op: ir.Operation) -> Callable[..., Any]:
    # Lane -1 is any value: the one that is put last.
    lanes = list(ir.DenseI64ArrayAttr(op.attributes["mask"]))
    return lambda a, b: np.concatenate([a, b, _poison(1, a.dtype)])[lanes]


def _poison(count: int, dtype: Any) -> Array:
    return np.full(count * np.dtype(dtype).itemsize, _POISON, np.uint8).view(dtype)


def _poison_op(op: ir.Operation) -> Callable[..., Any]:
    kind = op.results[0].type
    if isinstance(kind, ir.VectorType):
        vector = _poison(kind.shape[0], dtype_of(kind.element_type))
        return lambda: vector
    scalar = _poison(1, dtype_of(kind))[0]
    return lambda: scalar


def _insert_slice(op: ir.Operation) -> Callable[..., Any]:
    (start,) = (int(ir.IntegerAttr(i).value) for i in op.attributes["offsets"])

    def run(piece: Array, whole: Array) -> Array:
        found = whole.copy()
        found[start : start + piece.size] = piece
        return found

    return run


def _extract_slice(op: ir.Operation) -> Callable[..., Any]:
    (start,) = (int(ir.IntegerAttr(i).value) for i in op.attributes["offsets"])
    (width,) = op.results[0].type.shape
    return lambda vector: vector[start : start + width]


def _extract(op: ir.Operation) -> Callable[..., Any]:
    (lane,) = ir.DenseI64ArrayAttr(op.attributes["static_position"])
    return lambda vector: vector[lane]


def _no_assembly(op: ir.Operation) -> Callable[..., Any]:
    """What orders values and does nothing to them: assembly without a line."""
    assert not ir.StringAttr(op.attributes["asm_string"]).value
    return lambda *values: values


def _extract_value(op: ir.Operation) -> Callable[..., Any]:
    (place,) = ir.DenseI64ArrayAttr(op.attributes["position"])
    return lambda values: values[place]


def _broadcast(op: ir.Operation) -> Callable[..., Any]:
    (width,) = op.results[0].type.shape
    return lambda scalar: np.full(width, scalar)


def _fma(op: ir.Operation) -> Callable[..., Any]:
    return fused


def _binary(op: ir.Operation) -> Callable[..., Any]:
    return BINARY[op.name]


MAKERS: dict[str, Callable[[ir.Operation], Callable[..., Any]]] = {
    **dict.fromkeys(BINARY, _binary),
    "arith.constant": _constant,
    "arith.cmpf": _compare,
    "arith.cmpi": _differs,
    "builtin.unrealized_conversion_cast": _fields,
    "arith.select": lambda op: np.where,
    "arith.bitcast": bitcast,
    "arith.extf": cast_float,
    "arith.truncf": cast_float,
    "arith.extsi": sign_extend,
    "arith.extui": zero_extend,
    "arith.sitofp": integer_to_float,
    "arith.uitofp": unsigned_to_float,
    "arith.trunci": truncate,
    "llvm.call_intrinsic": intrinsic,
    "llvm.extractvalue": _extract_value,
    "llvm.inline_asm": _no_assembly,
    "math.fma": _fma,
    "math.sqrt": lambda op: np.sqrt,
    "memref.alloc": _allocate,
    "memref.alloca": _allocate,
    "memref.collapse_shape": _collapse_shape,
    "memref.expand_shape": _expand_shape,
    "memref.load": _load,
    "memref.prefetch": lambda op: lambda *operands: None,
    "memref.store": _store,
    "memref.subview": _subview,
    "memref.transpose": _transpose,
    "memref.view": _view,
    "ub.poison": _poison_op,
    "vector.bitcast": bitcast,
    "vector.broadcast": _broadcast,
    "vector.constant_mask": _mask,
    "vector.extract": _extract,
    "vector.extract_strided_slice": _extract_slice,
    "vector.insert_strided_slice": _insert_slice,
    "vector.interleave": lambda op: lambda a, b: np.stack([a, b], -1).reshape(-1),
    "vector.load": _vector_load,
    "vector.maskedload": _masked_load,
    "vector.shuffle": _shuffle,
    "vector.store": _vector_store,
}
