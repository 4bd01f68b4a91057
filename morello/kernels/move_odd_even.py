"""Move of rows into odd-even packs: even elements first, then odd ones."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts, Ops, add, times
from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.predicates import in_l1, is_interleaved, others
from morello.kernels.template import Kernel
from morello.spec import Dtype, Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.layout import PhysicalDim, ceil_div

PACK = 16
"""Elements of a pack: two vectors of f32."""

_HALF = PACK // 2


@dataclasses.dataclass(frozen=True)
class MoveOddEven(Kernel):
    """dst = src in L1, from rows of f32 or bf16 into odd-even packs of 16 of f32.

    16 neighbours of bf16 are 8 words: shifted they are the even elements as f32, masked
    the odd ones. Of a row that ends within a pack, the rest is for other kernels.
    """

    def accepts(self, key: SpecKey) -> bool:
        """dst of f32 that ends in odd-even packs of 16; src in rows of the same."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = key.tensors
        last = dst.layout.dims[-1]
        return (
            dst.dtype is Dtype.F32
            and src.dtype.is_float
            and last == PhysicalDim(last.dim, PACK, odd_even=True)
            and sum(d.pack > 0 for d in dst.layout.dims) == 1
            and src.layout.innermost == last.dim
            and src.layout.pack(last.dim) == 1
            and not is_interleaved(src.layout)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Whole packs, so that no padding is written; the code stays short."""
        inner = frame.key.tensors[1].layout.innermost
        rows, length = others(frame.sizes, inner), frame.sizes[inner]
        return (
            Condition(
                length % PACK == 0, f"takes whole packs: tile to a multiple of {PACK}"
            ),
            Condition(
                rows * (length // PACK) <= self.isa.block // 2,
                f"takes at most {self.isa.block // 2} packs of {PACK}: tile it smaller",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each pack the slowest of loads, operations and two stores."""
        inner = frame.key.tensors[1].layout.innermost
        rows, length = others(frame.sizes, inner), frame.sizes[inner]
        narrow = frame.key.tensors[0].dtype is Dtype.BF16
        each: Ops = {"load": 1, "vector_op": 2} if narrow else {"load": 2, "shuffle": 4}
        packs = rows * ceil_div(length, PACK)
        return OpCounts.of(times(add(each, {"store": 2}), packs))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Row by row, pack by pack."""
        src, dst = operands
        inner = dst.tensor.layout.innermost
        length = spec.sizes[inner]
        for row in _rows(spec.sizes, inner):
            for start in range(0, length, PACK):
                at = (*row[:inner], start, *row[inner + 1 :])
                even, odd = _apart(emitter, src, at)
                emitter.store(even, dst, at)
                emitter.store(odd, dst, (*row[:inner], start + 1, *row[inner + 1 :]))


def _rows(sizes: tuple[int, ...], inner: int) -> list[Index]:
    """The index of the first element of each row."""
    found: list[Index] = [()]
    for dim, size in enumerate(sizes):
        steps = range(1 if dim == inner else size)
        found = [(*index, i) for index in found for i in steps]
    return found


def _apart(emitter: Emitter, src: Buffer, at: Index) -> tuple[Value, Value]:
    """The even and the odd ones of 16 elements."""
    if src.tensor.dtype is Dtype.BF16:
        return emitter.split_bf16(emitter.load(src, at, PACK))
    inner = src.tensor.layout.innermost
    after = (*at[:inner], at[inner] + _HALF, *at[inner + 1 :])
    low = emitter.load(src, at, _HALF)
    high = emitter.load(src, after, _HALF)
    lanes = range(0, PACK, 2)
    even = emitter.shuffle(low, high, lanes)
    return even, emitter.shuffle(low, high, [lane + 1 for lane in lanes])
