"""The part of the emitter that computes in registers: arithmetic, casts, shuffles."""

from collections.abc import Callable, Sequence
from typing import Any

from morello.kernels.emitter import Emitter, Value
from morello.machine.isa import Op
from morello.mlir import dialect, ir
from morello.passes.parts.vector_ops import (
    call,
    element_of,
    element_type,
    ieee_maximum,
    ieee_minimum,
    opaque,
    plus,
    rounded,
    shaped,
    splat,
    widen,
)
from morello.spec import Dtype

arith = dialect("arith")
math = dialect("math")
vector = dialect("vector")

_DOTS = {Op.DOT2: Dtype.S32, Op.DOT2_SATURATING: Dtype.S16}
"""The dtype of the sums of each instruction that adds products of neighbours."""

_LEAST_COUNT = -151.0
"""The least power of 2 times which a number below 2 does not round to zero."""

_ROUND_AS_SET = 4
"""Operand of an AVX-512 instruction that rounds as MXCSR says."""

_LESSER, _GREATER = 4, 5
"""Operands of VRANGEPS: which one it chooses, with the sign that it has."""


def _either(of_integers: Any, of_floats: Any) -> Callable[..., Value]:
    """Make the float or the integer form of an operation, by its element type."""

    def operation(self: "Registers", a: Value, b: Value) -> Value:
        is_integer = isinstance(element_of(a), ir.IntegerType)
        return (of_integers if is_integer else of_floats)(a, b).result

    return operation


def _where(predicate: str) -> Callable[..., Value]:
    """An operation that chooses by a comparison: its operands, if no others."""

    def operation(self: "Registers", a: Value, b: Value, *choice: Value) -> Value:
        holds = arith.CmpFOp(arith.CmpFPredicate[predicate], a, b).result
        return arith.SelectOp(holds, *(choice or (a, b))).result

    return operation


class Registers(Emitter):
    """Ops on scalars and vectors, at the insertion point."""

    def broadcast(self, scalar: Value, width: int) -> Value:
        """`Emitter.broadcast`."""
        kind = ir.VectorType.get([width], scalar.type)
        return vector.BroadcastOp(kind, scalar).result

    def convert(self, value: Value, source: Dtype, dest: Dtype) -> Value:
        """`Emitter.convert`."""
        if source is dest:
            return value
        if source.is_float:
            wide = widen(value, source) if source.computes_in else value
            if not dest.is_float:  # one of its numbers
                word = shaped(wide, element_type(Dtype.S32))
                word = arith.FPToSIOp(word, wide).result
                return self.convert(word, Dtype.S32, dest)
            return rounded(wide, dest) if dest.computes_in else wide
        if dest.byte and dest.zero_point:  # in 8 bits: the sign changes, and is none
            value = plus(value, dest.zero_point)
        if dest.is_float:
            word = self.convert(value, source, Dtype.S32)
            return arith.SIToFPOp(shaped(word, element_type(dest)), word).result
        kind = shaped(value, element_type(dest))
        if dest.itemsize < source.itemsize:
            value = arith.TruncIOp(kind, value).result
        elif dest.itemsize > source.itemsize:
            is_plain = source.is_signed and not source.byte and not dest.byte
            extend = arith.ExtSIOp if is_plain else arith.ExtUIOp
            value = extend(kind, value).result
        return plus(value, -source.zero_point) if source.zero_point else value

    def multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        """`Emitter.multiply_add`."""
        if isinstance(element_of(a), ir.IntegerType):
            return arith.AddIOp(arith.MulIOp(a, b).result, c).result
        return math.FmaOp(a, b, c).result

    def split_bf16(self, value: Value) -> tuple[Value, Value]:
        """`Emitter.split_bf16`."""
        words = self.reinterpret(value, Dtype.U32)
        even = arith.ShLIOp(words, splat(words.type, 16)).result
        odd = arith.AndIOp(words, splat(words.type, 0xFFFF0000)).result
        return self.reinterpret(even, Dtype.F32), self.reinterpret(odd, Dtype.F32)

    add = _either(arith.AddIOp, arith.AddFOp)
    subtract = _either(arith.SubIOp, arith.SubFOp)
    multiply = _either(arith.MulIOp, arith.MulFOp)
    greater = _where("OGT")
    lesser = where_less = _where("OLT")
    where_equal = _where("OEQ")

    def divide(self, a: Value, b: Value) -> Value:
        """`Emitter.divide`."""
        return arith.DivFOp(a, b).result

    def square_root(self, a: Value) -> Value:
        """`Emitter.square_root`."""
        return math.SqrtOp(a).result

    def nearest(self, a: Value) -> Value:
        """`Emitter.nearest`: one instruction."""
        return math.RoundEvenOp(a).result

    def shift_left(self, value: Value, count: int) -> Value:
        """`Emitter.shift_left`."""
        return arith.ShLIOp(value, splat(value.type, count)).result

    def shift_right(self, value: Value, count: int) -> Value:
        """`Emitter.shift_right`."""
        return arith.ShRSIOp(value, splat(value.type, count)).result

    def scale(self, values: Value, counts: Value) -> Value:
        """`Emitter.scale`: one instruction, and a comparison for its mask."""
        lanes = values.type.shape[0]
        least = self.constant(Dtype.F32, _LEAST_COUNT, lanes)
        is_normal = arith.CmpFOp(arith.CmpFPredicate.UGE, counts, least).result
        word = ir.IntegerType.get_signless(lanes)
        packed = vector.BitCastOp(ir.VectorType.get([1], word), is_normal).result
        mask = vector.ExtractOp(packed, [], [0]).result
        zero = self.constant(Dtype.F32, 0.0, lanes)
        as_set = splat(ir.IntegerType.get_signless(32), _ROUND_AS_SET)
        name = self.isa.instructions[Op.SCALE]
        return call(name, values.type, values, counts, zero, mask, as_set)

    def greater_number(self, a: Value, b: Value) -> Value:
        """`Emitter.greater_number`: one instruction."""
        return self._range(a, b, _GREATER)

    def lesser_number(self, a: Value, b: Value) -> Value:
        """`Emitter.lesser_number`: one instruction."""
        return self._range(a, b, _LESSER)

    def _has_range(self, value: Value) -> bool:
        """Whether one instruction compares all of a vector: shorter ones are rare."""
        lanes = self.isa.lanes(Dtype.F32)
        kind = value.type
        is_whole = isinstance(kind, ir.VectorType) and kind.shape[0] == lanes
        return is_whole and self.isa.has(Op.RANGE)

    def _range(self, a: Value, b: Value, choice: int) -> Value:
        lanes = a.type.shape[0]
        chosen, as_set = (
            splat(ir.IntegerType.get_signless(32), n) for n in (choice, _ROUND_AS_SET)
        )
        zero = self.constant(Dtype.F32, 0.0, lanes)
        every = splat(ir.IntegerType.get_signless(lanes), -1)
        name = self.isa.instructions[Op.RANGE]
        return call(name, a.type, a, b, chosen, zero, every, as_set)

    def nan_where_one_is(self, a: Value, b: Value, rest: Value) -> Value:
        """`Emitter.nan_where_one_is`: a comparison and a choice."""
        unordered = arith.CmpFOp(arith.CmpFPredicate.UNO, a, b).result
        nan = self.constant(Dtype.F32, float("nan"), a.type.shape[0])
        return arith.SelectOp(unordered, nan, rest).result

    def has_nan(self, value: Value) -> Value:
        """`Emitter.has_nan`: a comparison, whose bits are one integer."""
        lanes = value.type.shape[0]
        unordered = arith.CmpFOp(arith.CmpFPredicate.UNO, value, value).result
        word = ir.IntegerType.get_signless(lanes)
        packed = vector.BitCastOp(ir.VectorType.get([1], word), unordered).result
        bits = vector.ExtractOp(packed, [], [0]).result
        some = arith.CmpIOp(arith.CmpIPredicate.ne, bits, splat(word, 0)).result
        return arith.IndexCastUIOp(ir.IndexType.get(), some).result

    def dot(self, op: Op, a: Value, b: Value) -> Value:
        """`Emitter.dot`: one instruction."""
        dtype = _DOTS[op]
        lanes = self.isa.lanes(dtype)
        kind = ir.VectorType.get([lanes], element_type(dtype))
        return call(self.isa.instructions[op], kind, a, b)

    def dot_add(self, op: Op, total: Value, a: Value, b: Value) -> Value:
        """`Emitter.dot_add`: one instruction, for vectors of this width."""
        kind = total.type
        bits = kind.shape[0] * kind.element_type.width
        stem, _, _ = self.isa.instructions[op].rpartition(".")
        return call(f"{stem}.{bits}", kind, total, a, b)

    def together(self, vectors: Sequence[Value]) -> Sequence[Value]:
        """`Emitter.together`: assembly without a line, through which all pass."""
        if len(vectors) < 2:
            return vectors
        return opaque(vectors, self.isa.asm_register)

    def minimum(self, dtype: Dtype, a: Value, b: Value) -> Value:
        """`Emitter.minimum`."""
        if dtype.is_float and self._has_range(a):
            return self.nan_where_one_is(a, b, self.lesser_number(a, b))
        if dtype.is_float:
            return ieee_minimum(a, b)
        return (arith.MinSIOp if dtype.is_signed else arith.MinUIOp)(a, b).result

    def reinterpret(self, value: Value, dtype: Dtype) -> Value:
        """`Emitter.reinterpret`."""
        kind = value.type
        if not isinstance(kind, ir.VectorType):
            return arith.BitcastOp(element_type(dtype), value).result
        count = kind.shape[0] * kind.element_type.width // (8 * dtype.itemsize)
        as_kind = ir.VectorType.get([count], element_type(dtype))
        return vector.BitCastOp(as_kind, value).result

    def extract(self, value: Value, lane: int) -> Value:
        """`Emitter.extract`."""
        return vector.ExtractOp(value, [], [lane]).result

    def maximum(self, dtype: Dtype, a: Value, b: Value) -> Value:
        """`Emitter.maximum`."""
        if dtype.is_float and self._has_range(a):
            return self.nan_where_one_is(a, b, self.greater_number(a, b))
        if dtype.is_float:
            return ieee_maximum(a, b)
        return (arith.MaxSIOp if dtype.is_signed else arith.MaxUIOp)(a, b).result

    def shuffle(self, a: Value, b: Value, lanes: Sequence[int]) -> Value:
        """`Emitter.shuffle`."""
        return vector.ShuffleOp(a, b, list(lanes)).result
