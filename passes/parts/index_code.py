"""The part of the emitter that computes indices; of numbers that are known, numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from morello.kernels.emitter import Case, Pack, Value
from morello.mlir import dialect, ir
from morello.passes.parts.tiles import Tiles
from morello.passes.parts.vector_ops import opaque

arith = dialect("arith")
scf = dialect("scf")


class Indices(Tiles):
    """Writes where the insertion point is; constants go first, so that loops can share
    them."""

    _constants: ir.InsertionPoint
    _indices: dict[int, Value]

    def _index(self, at: Any) -> Value:
        """An index value from an integer or an index value."""
        if not isinstance(at, int):
            return at
        if at not in self._indices:
            with self._constants:
                index = arith.ConstantOp(ir.IndexType.get(), at)
            self._indices[at] = index.result
        return self._indices[at]

    def offset(self, index: Value, by: int) -> Value:
        """`Emitter.offset`."""
        if isinstance(index, Pack):
            packs, offset = divmod(index.offset + by, index.size)
            return Pack(self.offset(index.number, packs), index.size, offset)
        if isinstance(index, int):
            return index + by
        return arith.AddIOp(index, self._index(by)).result if by else index

    def linear(self, terms: Sequence[tuple[Value, int]]) -> Value:
        """`Emitter.linear`: what is known is added up here."""
        known = sum(at * step for at, step in terms if isinstance(at, int))
        total: Value = None
        for at, step in terms:
            if isinstance(at, int):
                continue
            scaled = arith.MulIOp(at, self._index(step)).result if step > 1 else at
            total = scaled if total is None else arith.AddIOp(total, scaled).result
        return known if total is None else self.offset(total, known)

    def sum(self, a: Value, b: Value) -> Value:
        """`Emitter.sum`."""
        if isinstance(a, int):
            return a + b if isinstance(b, int) else self.offset(b, a)
        if isinstance(b, int):
            return self.offset(a, b)
        return arith.AddIOp(a, b).result

    def difference(self, a: Value, b: Value) -> Value:
        """`Emitter.difference`."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return arith.SubIOp(self._index(a), self._index(b)).result

    def ratio(self, a: Value, b: Value) -> Value:
        """`Emitter.ratio`."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        return arith.DivUIOp(self._index(a), self._index(b)).result

    def switch(
        self, index: Value, cases: Mapping[int, Case], like: Sequence[Value] = ()
    ) -> tuple[Value, ...]:
        """`Emitter.switch`: comparisons, halving the cases."""
        numbers = sorted(cases)
        if len(numbers) == 1:
            return tuple(cases[numbers[0]]() or ())
        half = len(numbers) // 2
        is_low = arith.CmpIOp(
            arith.CmpIPredicate.ult, index, self._index(numbers[half])
        )
        types = [value.type for value in like]
        ways = scf.IfOp(is_low.result, types, has_else=True)
        for block, some in (
            (ways.then_block, numbers[:half]),
            (ways.else_block, numbers[half:]),
        ):
            with ir.InsertionPoint(block):
                mine = {number: cases[number] for number in some}
                scf.YieldOp(list(self.switch(index, mine, like)))
        return tuple(ways.results_)

    def quotient(self, index: Value, by: int) -> Value:
        """`Emitter.quotient`."""
        if isinstance(index, int):
            return index // by
        return arith.DivUIOp(index, self._index(by)).result if by > 1 else index

    def at_most(self, index: Value, limit: int) -> Value:
        """`Emitter.at_most`."""
        if isinstance(index, int):
            return min(index, limit)
        return arith.MinSIOp(index, self._index(limit)).result

    def again(self, index: Value) -> Value:
        """`Emitter.again`: assembly without a line, through which it passes."""
        number = ir.IntegerType.get_signless(64)
        integer = arith.IndexCastOp(number, self._index(index)).result
        (passed,) = opaque([integer], "r")
        return arith.IndexCastOp(ir.IndexType.get(), passed).result
