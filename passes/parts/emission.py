"""The emitter of kernels in MLIR: vector, arith, memref and scf ops at one place.

Plain ops only: 1-D loads and stores, and what `registers.py` has, that each become one
or a few instructions. Narrow ends are read and written with masks where the instruction
set has them for such elements, else in pieces. No byte too many is touched.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from morello.dialect.memrefs import strided, whole_type
from morello.dialect.sizes import call_size, size_value
from morello.kernels.code.range_check import write_range_check
from morello.kernels.code.vectors import pieces
from morello.kernels.emitter import Body, Buffer, Index, Pack, Value
from morello.kernels.template import Kernel
from morello.machine.isa import Isa, Op
from morello.mlir import dialect, ir
from morello.passes.parts.float_control import outermost
from morello.passes.parts.index_code import Indices
from morello.passes.parts.vector_ops import (
    call,
    constant_of,
    element_of,
    element_type,
    splat,
)
from morello.spec import Dtype, Layout, PhysicalDim, Spec, TensorSpec
from morello.spec.graphs.expression import SizeNumber

arith = dialect("arith")
math = dialect("math")
memref = dialect("memref")
scf = dialect("scf")
vector = dialect("vector")

_WORD, _HALF = 32, 4
"""Bits of a word, and of half a byte."""

_TO_L1, _TO_L2 = 3, 2
"""The locality of a prefetch that x86 makes PREFETCHT0, and PREFETCHT1."""


class MlirEmitter(Indices):
    """Writes before one op; constants go first, so that loops can share them."""

    def __init__(
        self, before: ir.Operation, isa: Isa, spec: Spec | None = None
    ) -> None:
        self._isa = isa
        self._before, self._spec = before, spec
        with ir.InsertionPoint(before):
            zero = arith.ConstantOp(ir.IndexType.get(), 0)
        self._constants = ir.InsertionPoint(zero)
        self._indices: dict[int, Value] = {0: zero.result}
        self._numbers: dict[tuple[Dtype, str, int], Value] = {}

    @property
    def isa(self) -> Isa:
        """`Emitter.isa`."""
        return self._isa

    def _physical(self, buffer: Buffer, index: Index) -> list[Value]:
        """The physical index, by the buffer's layout."""
        return [self._place(buffer, d, index[d.dim]) for d in buffer.tensor.layout.dims]

    def _place(self, buffer: Buffer, d: PhysicalDim, at: Any) -> Value:
        """The place along one physical dimension."""
        layout = buffer.tensor.layout
        if isinstance(at, Pack):
            return self._place_in_pack(layout, d, at)
        if not isinstance(at, int):
            return at  # a value stands for an unpacked dimension and is its own place
        return self._index(layout.place(d, at))

    def _place_in_pack(self, layout: Layout, d: PhysicalDim, at: Pack) -> Value:
        if isinstance(at.number, int):
            element = at.number * at.size + at.offset
            return self._index(layout.place(d, element))
        if layout.pack(d.dim) == 1:
            first = arith.MulIOp(at.number, self._index(at.size)).result
            return self.offset(first, at.offset)
        return self._index(layout.place(d, at.offset)) if d.pack else at.number

    def load(
        self,
        buffer: Buffer,
        index: Index,
        width: int,
        count: Value | None = None,
        rest: Value | None = None,
    ) -> Value:
        """`Emitter.load`: one load, a masked load, or pieces put together."""
        dtype = buffer.tensor.dtype
        if count is None or count == width:
            return self._load(buffer, index, width)
        if rest is None:
            rest = self.constant(dtype, 0, width)
        if self.isa.loads_masked(dtype):
            return self._load_masked(buffer, index, count, rest)
        whole = rest
        for start, length in pieces(count):
            piece = self._load(buffer, self._along(buffer, index, start), length)
            whole = vector.InsertStridedSliceOp(piece, whole, [start], [1]).result
        return whole

    def _load(self, buffer: Buffer, index: Index, width: int) -> Value:
        kind = ir.VectorType.get([width], element_type(buffer.tensor.dtype))
        where = self._physical(buffer, index)
        return vector.LoadOp(kind, buffer.value, where).result

    def _load_masked(
        self, buffer: Buffer, index: Index, count: Value, rest: Value
    ) -> Value:
        """The first lanes from memory, the others of ``rest``."""
        mask, where = _mask(rest, count), self._physical(buffer, index)
        memory, bits = _as_bits(buffer.value), _as_bits(rest)
        loaded = vector.MaskedLoadOp(bits.type, memory, where, mask, bits).result
        return loaded if bits is rest else vector.BitCastOp(rest.type, loaded).result

    def _along(self, buffer: Buffer, index: Index, by: int) -> Index:
        """The index ``by`` elements further along the innermost dimension."""
        inner = buffer.tensor.layout.innermost
        return (*index[:inner], self.offset(index[inner], by), *index[inner + 1 :])

    def store(
        self, value: Value, buffer: Buffer, index: Index, count: Value | None = None
    ) -> None:
        """`Emitter.store`: one store, or one for each power of two in ``count``.

        With masks it is one store always.
        """
        width = value.type.shape[0]
        if count is None or count == width:
            vector.StoreOp(value, buffer.value, self._physical(buffer, index))
            return
        if not isinstance(count, int):
            self._store_any(value, buffer, index, count)
            return
        # A power of two is a store of its own; of a single lane that was cut to fewer
        # bits, LLVM 22 would store all bits under a mask.
        if count.bit_count() > 1 and self.isa.stores_masked(buffer.tensor.dtype):
            self._store_masked(value, buffer, index, count)
            return
        # Parts of vectors of narrow floats are cut off as bits: LLVM 22 would round
        # them again, bf16 by a function that nobody has.
        element_type, whole = element_of(value), value
        halves = isinstance(element_type, ir.FloatType) and element_type.width < 32
        bits = ir.IntegerType.get_signless(16) if halves else element_type
        if halves:
            whole = vector.BitCastOp(ir.VectorType.get([width], bits), value).result
        for start, length in pieces(count):
            where = self._physical(buffer, self._along(buffer, index, start))
            # LLVM 22 aborts at some shuffles that leave a vector of a single lane.
            if length == 1:
                lane = vector.ExtractOp(whole, [], [start]).result
                if halves:
                    lane = arith.BitcastOp(element_type, lane).result
                memref.StoreOp(lane, buffer.value, where)
                continue
            kind = ir.VectorType.get([length], bits)
            op = vector.ExtractStridedSliceOp(kind, whole, [start], [length], [1])
            piece = op.result
            if halves:
                piece = vector.BitCastOp(
                    ir.VectorType.get([length], element_type), piece
                ).result
            vector.StoreOp(piece, buffer.value, where)

    def _store_any(
        self, value: Value, buffer: Buffer, index: Index, count: Value
    ) -> None:
        """Store as many lanes as a call says: a case for each number; where there are
        masks, for each power of two, and one for all between two of them."""
        store = functools.partial(self.store, value, buffer, index)
        cases = {
            n: functools.partial(store, n) for n in range(1, value.type.shape[0] + 1)
        }
        if self.isa.stores_masked(buffer.tensor.dtype):
            masked = functools.partial(self._store_masked, value, buffer, index, count)
            cases = {n: case for n, case in cases.items() if n.bit_count() == 1}
            cases |= {n + 1: masked for n in cases if n > 1 and 2 * n in cases}
        self.switch(count, cases)

    def _store_masked(
        self, value: Value, buffer: Buffer, index: Index, count: Value
    ) -> None:
        where = self._physical(buffer, index)
        memory, bits = _as_bits(buffer.value), _as_bits(value)
        vector.MaskedStoreOp(memory, where, _mask(value, count), bits)

    def first_lanes(self, a: Value, b: Value, count: Value) -> Value:
        """`Emitter.first_lanes`: a shuffle, or a choice by a mask."""
        (width,) = a.type.shape
        if isinstance(count, int):
            return self.shuffle(a, b, [*range(count), *range(width + count, 2 * width)])
        return arith.SelectOp(_mask(a, count), a, b).result

    def load_groups(
        self,
        buffer: Buffer,
        index: Index,
        dim: int,
        group: int,
        width: int,
        count: int | None = None,
    ) -> Value:
        """`Emitter.load_groups`: one load, or pieces put together."""
        if count is None or count * group == width:
            return self._load(buffer, index, width)
        whole = self.constant(buffer.tensor.dtype, 0, width)
        if self.isa.loads_masked(buffer.tensor.dtype):
            return self._load_masked(buffer, index, count * group, whole)
        for start, length in pieces(count):
            at = (*index[:dim], self.offset(index[dim], start), *index[dim + 1 :])
            piece = self._load(buffer, at, length * group)
            place = [start * group]
            whole = vector.InsertStridedSliceOp(piece, whole, place, [1]).result
        return whole

    def load_group(
        self, buffer: Buffer, index: Index, group: int, count: int, width: int
    ) -> Value:
        """`Emitter.load_group`: an integer of the group's bytes, broadcast."""
        bits = 8 * buffer.tensor.dtype.itemsize
        word = ir.IntegerType.get_signless(bits * group)
        part = ir.IntegerType.get_signless(bits * count)
        loaded = self._load(buffer, index, count)
        one = vector.BitCastOp(ir.VectorType.get([1], part), loaded).result
        number = vector.ExtractOp(one, [], [0]).result
        if count < group:
            number = arith.ExtUIOp(word, number).result
        everywhere = self.broadcast(number, width // group)
        return self.reinterpret(everywhere, buffer.tensor.dtype)

    def prefetch(self, buffer: Buffer, index: Index, to_l1: bool = False) -> None:
        """`Emitter.prefetch`."""
        where = self._physical(buffer, index)
        near = _TO_L1 if to_l1 else _TO_L2
        memref.PrefetchOp(buffer.value, where, False, near, True)

    def scratch(self, tensor: TensorSpec, sizes: tuple[int, ...]) -> Buffer:
        """`Emitter.scratch`: a buffer that the workspace will have a place for."""
        kind = whole_type(tensor, sizes)
        return Buffer(memref.AllocOp(kind, [], []).result, tensor, sizes)

    def as_column_major(self, buffer: Buffer) -> Buffer:
        """`Emitter.as_column_major`: the last two dimensions change places."""
        rank = len(buffer.sizes)
        order = [*range(rank - 2), rank - 1, rank - 2]
        sizes = buffer.sizes
        # A tile has an offset and strides of its own.
        strides, offset = ir.MemRefType(buffer.value.type).get_strides_and_offset()
        shape, apart = [sizes[d] for d in order], [strides[d] for d in order]
        kind = strided(shape, element_type(buffer.tensor.dtype), offset, apart)
        permutation = ir.AffineMap.get_permutation(order)
        value = memref.TransposeOp(
            kind, buffer.value, ir.AffineMapAttr.get(permutation)
        ).result
        turned = Layout.parse("[" + ",".join(map(str, order)) + "]")
        tensor = dataclasses.replace(buffer.tensor, layout=turned)
        return Buffer(value, tensor, sizes)

    def load_element(self, buffer: Buffer, index: Index) -> Value:
        """`Emitter.load_element`."""
        return memref.LoadOp(buffer.value, self._physical(buffer, index)).result

    def store_element(self, scalar: Value, buffer: Buffer, index: Index) -> None:
        """`Emitter.store_element`."""
        memref.StoreOp(scalar, buffer.value, self._physical(buffer, index))

    def load_register(self, buffer: Buffer, index: tuple[int, ...]) -> Value:
        """`Emitter.load_register`."""
        return memref.LoadOp(buffer.value, [self._index(i) for i in index]).result

    def store_register(
        self, value: Value, buffer: Buffer, index: tuple[int, ...]
    ) -> None:
        """`Emitter.store_register`."""
        memref.StoreOp(value, buffer.value, [self._index(i) for i in index])

    def constant(self, dtype: Dtype, number: float | int, width: int = 0) -> Value:
        """`Emitter.constant`."""
        key = dtype, str(number), width  # 0.0 == -0.0, but not as text
        if key not in self._numbers:
            kind = element_type(dtype)
            value = constant_of(kind, number)
            if width:
                kind = ir.VectorType.get([width], kind)
                value = ir.DenseElementsAttr.get_splat(kind, value)
            with self._constants:
                self._numbers[key] = arith.ConstantOp(kind, value).result
        return self._numbers[key]

    def of_sizes(self, dtype: Dtype, number: SizeNumber) -> Value:
        """`Emitter.of_sizes`: before all loops of the function, or of a thread."""
        key = dtype, str(number), 0
        if key not in self._numbers:
            first = self._constants.ref_operation
            with ir.InsertionPoint(outermost(first.operation)):
                wide = number.computed(self._size_of_call, _f64, _of_f64)
                kind = element_type(dtype)
                self._numbers[key] = arith.TruncFOp(kind, wide).result
        return self._numbers[key]

    def _size_of_call(self, number: int) -> Value:
        word = ir.IntegerType.get_signless(64)
        size = arith.IndexCastOp(word, call_size(self._before, number)).result
        return arith.SIToFPOp(ir.F64Type.get(), size).result

    def size(self, number: int = 0) -> Value:
        """`Emitter.size`."""
        assert self._spec is not None
        return size_value(self._before, self._spec, number)

    def half(self, bytes_in_words: Value, place: Value) -> Value:
        """`Emitter.half`: up to the sign, and down again."""
        kind, up = bytes_in_words.type, _WORD - _HALF
        if element_of(bytes_in_words) == element_type(Dtype.U8):
            if place % 2:
                return arith.ShRUIOp(bytes_in_words, splat(kind, _HALF)).result
            return arith.AndIOp(bytes_in_words, splat(kind, (1 << _HALF) - 1)).result
        if isinstance(place, int):
            counts = splat(kind, up - place % 2 * _HALF)
        else:
            odd = arith.AndIOp(place, self._index(1)).result
            shift = arith.MulIOp(odd, self._index(_HALF)).result
            shift = arith.SubIOp(self._index(up), shift).result
            word = ir.IntegerType.get_signless(_WORD)
            counts = arith.IndexCastOp(word, shift).result
            if isinstance(kind, ir.VectorType):
                counts = self.broadcast(counts, kind.shape[0])
        high = arith.ShLIOp(bytes_in_words, counts).result
        return arith.ShRUIOp(high, splat(kind, up)).result

    def lookup(self, numbers: Sequence[float], words: Value) -> Value:
        """`Emitter.lookup`: one instruction."""
        kind = ir.VectorType.get([len(numbers)], element_type(Dtype.F32))
        floats = [ir.FloatAttr.get_f32(number) for number in numbers]
        return self._look_up(Op.LOOKUP, kind, floats, words)

    def lookup_bytes(self, table: Sequence[int], places: Value) -> Value:
        """`Emitter.lookup_bytes`: one instruction; each 16 bytes have the table."""
        kind = places.type
        byte = kind.element_type
        numbers = [ir.IntegerAttr.get(byte, number) for number in table]
        numbers *= kind.shape[0] // len(numbers)
        return self._look_up(Op.LOOKUP_BYTES, kind, numbers, places)

    def _look_up(
        self, op: Op, kind: ir.Type, numbers: list[ir.Attribute], places: Value
    ) -> Value:
        with self._constants:
            table = arith.ConstantOp(
                kind, ir.DenseElementsAttr.get(numbers, kind)
            ).result
        return call(self.isa.instructions[op], kind, table, places)

    def knows_strides(self, buffer: Buffer) -> bool:
        """`Emitter.knows_strides`, as the type of the memref says."""
        strides, _ = ir.MemRefType(buffer.value.type).get_strides_and_offset()
        return ir.ShapedType.get_dynamic_stride_or_offset() not in strides

    def loop(
        self,
        start: Value,
        end: Value,
        step: int,
        carried: Sequence[Value],
        body: Body,
        rolled: bool = False,
    ) -> tuple[Value, ...]:
        """`Emitter.loop`: an ``scf.for`` with the carried values as its own."""
        low, high, by = (self._index(i) for i in (start, end, step))
        if rolled:
            high = self.again(high)
        loop = scf.ForOp(low, high, by, list(carried))
        with ir.InsertionPoint(loop.body):
            following = body(loop.induction_variable, tuple(loop.inner_iter_args))
            scf.YieldOp(list(following))
        return tuple(loop.results_)


def _f64(number: float) -> Value:
    return arith.ConstantOp(ir.F64Type.get(), number).result


def _of_f64(function: str, *operands: Value) -> Value:
    """One of `FORMULAS` of numbers of f64."""
    op = {
        "add": arith.AddFOp,
        "sub": arith.SubFOp,
        "mul": arith.MulFOp,
        "div": arith.DivFOp,
        "sqrt": math.SqrtOp,
    }[function]
    return op(*operands).result


def _mask(like: Value, count: Value) -> Value:
    """Ones in the first ``count`` lanes of a vector's width."""
    lanes = ir.VectorType.get(like.type.shape, ir.IntegerType.get_signless(1))
    if isinstance(count, int):
        return vector.ConstantMaskOp(lanes, [count]).result
    return vector.CreateMaskOp(lanes, [count]).result


def _as_bits(value: Value) -> Value:
    """Memory or a vector of 16-bit floats as that of 16-bit integers; others as they
    are. LLVM 22 splits a masked load or store of bf16 into elements, and rounds each by
    a function that no process has.
    """
    kind = value.type
    element = kind.element_type
    if not isinstance(element, ir.FloatType) or element.width != 16:
        return value
    bits = ir.IntegerType.get_signless(16)
    if isinstance(kind, ir.VectorType):
        return vector.BitCastOp(ir.VectorType.get(kind.shape, bits), value).result
    memory = ir.MemRefType.get(kind.shape, bits, kind.layout, kind.memory_space)
    cast = "builtin.unrealized_conversion_cast"
    return ir.Operation.create(cast, results=[memory], operands=[value]).result


def emit_kernel(
    kernel: Kernel, spec: Spec, values: list[ir.Value], before: ir.Operation
) -> None:
    """Write a kernel's code before an op.

    Args:
        kernel: one that accepts ``spec`` and whose conditions hold.
        spec: what it computes.
        values: the memrefs of the Spec's operands, in order.
        before: where.
    """
    buffers = [
        Buffer(value, tensor, spec.shape(i))
        for i, (value, tensor) in enumerate(zip(values, spec.tensors, strict=True))
    ]
    with before.context, before.location, ir.InsertionPoint(before):
        kernel.emit(MlirEmitter(before, kernel.isa, spec), spec, buffers)


def emit_range_check(
    value: ir.Value,
    tensor: TensorSpec,
    sizes: tuple[int, ...],
    part: Dtype,
    isa: Isa,
    before: ir.Operation,
) -> ir.Value:
    """Write, before an op, whether all elements of an operand are of a dtype: an i1.

    Args:
        value: the memref of the operand.
        tensor: its form.
        sizes: its logical sizes.
        part: a dtype with fewer values than its own.
        isa: what it is written in.
        before: where.
    """
    with before.context, before.location, ir.InsertionPoint(before):
        emitter = MlirEmitter(before, isa)
        greatest = write_range_check(emitter, Buffer(value, tensor, sizes), part)
        bound = emitter.constant(Dtype.U8, -2 * int(part.lowest))
        return arith.CmpIOp(arith.CmpIPredicate.ult, greatest, bound).result
