"""A reference for what payload IR means, op by op, on NumPy arrays.

`run_function` is the entry point. Memrefs are views of arrays, so that an op with a
wrong subview writes to a wrong place; vectors are arrays of one axis, registers in
memory have a last axis for their lanes. Spec ops and kernels that are still there mean
what their Specs say. Each op becomes a closure once, since loops run it many times.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from morello.dialect.build import kernel_of, spec_of
from morello.dialect.range_check import read_range_check
from morello.mlir import ir
from morello.spec.elements.arrays import fused
from morello.spec.kind import Array
from tests.dialect.spec_arrays import run_spec, unpack
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
    "arith.maxui": max,
    "arith.minui": min,
    "arith.minsi": np.minimum,
    "arith.shli": shift_left,
    "arith.shrui": shift_right_unsigned,
    "arith.shrsi": operator.rshift,
}

COMPARED: dict[int, Callable[[Any, Any], Any]] = {
    0: operator.eq,
    1: operator.ne,
    **dict.fromkeys((2, 6), operator.lt),
    **dict.fromkeys((3, 7), operator.le),
    **dict.fromkeys((4, 8), operator.gt),
    **dict.fromkeys((5, 9), operator.ge),
}
"""By the number of the predicate of ``arith.cmpi``; indices are not negative."""

_POISON = 0xC3
"""The bytes of lanes that have no value."""


def run_function(
    function: ir.Operation, arrays: Sequence[Array], seed: int = 0
) -> None:
    """Run a function on physical arrays; the last may be its workspace.

    Args:
        seed: of the bits in new buffers, and of the order in which threads come.
    """
    builder = _Builder(np.random.default_rng(seed))
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

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.slots: dict[ir.Value, int] = {}

    def slot(self, value: ir.Value) -> int:
        return self.slots.setdefault(value, len(self.slots))

    def block(self, block: ir.Block) -> list[Step]:
        steps = (self.step(op.operation) for op in block.operations)
        return [step for step in steps if step is not None]

    def step(self, op: ir.Operation) -> Step | None:
        if op.name in ("func.return", "scf.reduce", "scf.yield"):
            return None
        if op.name in ("scf.for", "scf.parallel"):
            return self._loop(op)
        if op.name == "scf.if":
            return self._branch(op)
        if op.name in ("memref.alloc", "memref.alloca"):
            compute = self._allocation(op)
        else:
            compute = MAKERS.get(op.name, _spec_op)(op)
        inputs = [self.slot(value) for value in op.operands]
        if not len(op.results):
            return lambda state: compute(*[state[i] for i in inputs])
        result, *others = (self.slot(value) for value in op.results)
        if others:
            return lambda state: _assign(
                state, [result, *others], compute(*[state[i] for i in inputs])
            )

        def run(state: State) -> None:
            state[result] = compute(*[state[i] for i in inputs])

        return run

    def _loop(self, op: ir.Operation) -> Step:
        low, high, step, *initial = (self.slot(value) for value in op.operands)
        body = op.regions[0].blocks[0]
        index, *carried = (self.slot(argument) for argument in body.arguments)
        steps, in_turn = self.block(body), op.name == "scf.for"
        last = list(body.operations)[-1].operation
        yielded = [self.slot(value) for value in last.operands]
        results = [self.slot(value) for value in op.results]

        def run(state: State) -> None:
            values = [state[i] for i in initial]
            turns = range(state[low], state[high], state[step])
            for i in turns if in_turn else self.rng.permutation(turns).tolist():
                state[index] = i
                _assign(state, carried, values)
                _run(steps, state)
                values = [state[y] for y in yielded]
            _assign(state, results, values)

        return run

    def _branch(self, op: ir.Operation) -> Step:
        """One of two ways, or one or none, without results."""
        condition = self.slot(op.operands[0])
        ways = [
            [step for b in way.blocks for step in self.block(b)] for way in op.regions
        ]
        return lambda state: _run(ways[0 if state[condition] else 1], state)

    def _allocation(self, op: ir.Operation) -> Callable[..., Any]:
        """A buffer of arbitrary bits."""
        dtype, shape, count = _shape_of(op)

        def run() -> Array:
            raw = self.rng.integers(0, 256, count, np.uint8)
            return raw.view(dtype).reshape(shape)

        return run


def _assign(state: State, places: Sequence[int], values: Sequence[Any]) -> None:
    for place, value in zip(places, values, strict=True):
        state[place] = value


def _spec_op(op: ir.Operation) -> Callable[..., Any]:
    spec = kernel_of(op)[1] if op.name == "morello.kernel" else spec_of(op)

    return lambda *arrays: run_spec(spec, list(arrays))


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


def _compare_integers(op: ir.Operation) -> Callable[..., Any]:
    return COMPARED[int(ir.IntegerAttr(op.attributes["predicate"]).value)]


def _is_within(op: ir.Operation) -> Callable[..., Any]:
    """Whether all elements of an operand are in a smaller range."""
    tensor, sizes, part = read_range_check(op)
    low = int(part.lowest)

    def run(array: Array) -> bool:
        values = unpack(array, tensor, sizes)
        return bool(np.all((values >= low) & (values < -low)))

    return run


def _metadata(op: ir.Operation) -> Callable[..., Any]:
    """A view, which stands for the whole: it begins at 0 of itself."""
    others = (None,) * (len(op.results) - 2)
    return lambda array: (array, 0, *others)


def _fields(op: ir.Operation) -> Callable[..., Any]:
    """A memref as a structure, whose second field is where its elements are."""
    return lambda array: (None, array)


def _shape_of(op: ir.Operation) -> tuple[Any, tuple[int, ...], int]:
    """The dtype and the shape of the memref that is a result, and its bytes."""
    kind = ir.MemRefType(op.results[0].type)
    dtype, lanes = _memory(kind)
    shape = (*kind.shape, *lanes)
    return dtype, shape, int(np.prod(shape)) * np.dtype(dtype).itemsize


def _transpose(op: ir.Operation) -> Callable[..., Any]:
    order = ir.AffineMapAttr(op.attributes["permutation"]).value
    places = [ir.AffineDimExpr(e).position for e in order.results]
    return lambda array: array.transpose(places)


def _view(op: ir.Operation) -> Callable[..., Any]:
    dtype, shape, count = _shape_of(op)
    return lambda array, at: array[at : at + count].view(dtype).reshape(shape)


def _reinterpret(op: ir.Operation) -> Callable[..., Any]:
    """A view of memory without gaps, which may overlap itself."""
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
    steps = list(ir.DenseI64ArrayAttr(op.attributes["static_strides"]))
    last = sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))

    def run(array: Array, *start: int) -> Array:
        assert array.flags.c_contiguous
        assert not any(start)
        assert last < array.size
        return as_strided(array, sizes, [step * array.itemsize for step in steps])

    return run


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
        inside = zip(offsets, ends, array.shape, strict=False)
        assert all(0 <= start <= end <= extent for start, end, extent in inside)
        view = array[tuple(map(slice, offsets, ends, steps))]
        if lanes:
            return _reduced(view, (*shape, *view.shape[-lanes:]))
        assert view.size == int(np.prod(shape))
        return view if view.shape == shape else _reduced(view, shape)

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
    result: Array = array.reshape(shape)
    assert np.shares_memory(result, array)
    return result


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
        result: Array = otherwise.copy()
        result[:count] = array[(*outer, slice(start, start + count))]
        assert start + count <= array.shape[-1]
        return result

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
        result = whole.copy()
        result[start : start + piece.size] = piece
        return result

    return run


def _extract_slice(op: ir.Operation) -> Callable[..., Any]:
    (start,) = (int(ir.IntegerAttr(i).value) for i in op.attributes["offsets"])
    (width,) = op.results[0].type.shape
    return lambda vector: vector[start : start + width]


def _extract(op: ir.Operation) -> Callable[..., Any]:
    (lane,) = ir.DenseI64ArrayAttr(op.attributes["static_position"])
    return lambda vector: vector[lane]


def _no_assembly(op: ir.Operation) -> Callable[..., Any]:
    """Assembly without a line, which orders values and does nothing to them."""
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
    "arith.cmpi": _compare_integers,
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
    "memref.collapse_shape": _collapse_shape,
    "memref.expand_shape": _expand_shape,
    "memref.extract_strided_metadata": _metadata,
    "memref.load": _load,
    "memref.prefetch": lambda op: lambda *operands: None,
    "memref.reinterpret_cast": _reinterpret,
    "memref.store": _store,
    "memref.subview": _subview,
    "memref.transpose": _transpose,
    "memref.view": _view,
    "morello.range_check": _is_within,
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
