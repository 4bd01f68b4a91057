"""Cumulative ops of torch-mlir as loops: `store_scans` before bufferization, which does
not know them, and `loops_of_scans` after it.

Along the rows of memory, results so far stay in registers, and several rows go on side
by side, each of which waits for its own alone. Extremes are taken in vectors there:
what comes in a vector is scanned in as many steps as its lanes double, and only the
last of it waits for the vector before. Along another axis, a result is read where it
has been written, and LLVM takes many side by side.
"""

from collections.abc import Callable, Sequence
from functools import partial

from morello.dialect.memrefs import index
from morello.mlir import PassManager, all_ops, dialect, ir, result_of

_SCAN = "tm_tensor.scan"
_SCANS = "builtin.module(func.func(tm-tensor-bufferize))"

_ROWS = 4
"""Rows side by side: a sum of floats takes about as many cycles."""

_LANES = 16
"""Lanes of a vector of extremes, of 32 bits: one of AVX-512, or two of AVX2."""

EXTREME = "morello.extreme"
"""The mark of scans whose results may be combined in any order, and more than once."""

Places = list[ir.Value]
"""Index of an element in each dimension."""


def _named(module: ir.Operation, name: str) -> list[ir.Operation]:
    return [op for op in all_ops(module) if op.name == name]


def store_scans(module: ir.Operation) -> None:
    """Give scans of tensors memory of their own."""
    if not _named(module, _SCAN):
        return
    PassManager.parse(_SCANS).run(module)
    for op in _named(module, "bufferization.to_tensor"):
        op.attributes["restrict"] = ir.UnitAttr.get()
    for op in _named(module, "bufferization.to_buffer"):  # of what a scan reads
        op.attributes["read_only"] = ir.UnitAttr.get()


def loops_of_scans(module: ir.Operation) -> None:
    """Write scans of memrefs out as loops of loads and stores."""
    for op in _named(module, _SCAN):
        with op.location, ir.InsertionPoint(op):
            scan = _Scan(op)
            scan.along_rows() if scan.is_along_rows else scan.across_rows()
        op.erase()


def _loops(ranges: Sequence[range], body: Callable[[Places], None]) -> None:
    """A loop nest around the code that a body emits at the loops' indices."""
    if not ranges:
        body([])
        return
    first, *rest = ranges
    scf = dialect("scf")
    loop = scf.ForOp(*map(index, (first.start, first.stop, first.step)))
    with ir.InsertionPoint(loop.body):
        place = loop.induction_variable
        _loops(rest, lambda places: body([place, *places]))
        scf.YieldOp([])


class _Scan:
    """A scan of a memref, whose first results are its first elements."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.source, self.target, self.last = op.operands
        shape = list(ir.MemRefType(self.source.type).shape)
        axis = ir.IntegerAttr(op.attributes["dimension"]).value
        self.length = shape[axis]
        self.before = [range(n) for n in shape[:axis]]
        self.after = [range(n) for n in shape[axis + 1 :]]

    @property
    def is_along_rows(self) -> bool:
        """Whether the axis is the last one."""
        return not self.after

    def along_rows(self) -> None:
        """Several rows side by side, then those that are left; extremes by vectors."""
        if EXTREME in self.op.attributes and self.length > _LANES:
            _loops(self.before, self._by_vectors)
            return
        if not self.before:
            self._carry([[]])
            return
        *outer, rows = self.before
        paired = len(rows) - len(rows) % _ROWS
        for each in (range(0, paired, _ROWS), range(paired, len(rows))):
            if each:
                _loops([*outer, each], partial(self._side_by_side, each.step))

    def _side_by_side(self, count: int, at: Places) -> None:
        *outer, row = at
        add = dialect("arith").AddIOp
        self._carry([[*outer, add(row, index(n)).result] for n in range(count)])

    def _carry(self, rows: list[Places]) -> None:
        """Scan rows, whose results so far a loop carries."""
        first = index(0)
        results = [self._read(self.source, [*row, first]) for row in rows]
        for row, result in zip(rows, results, strict=True):
            self._write(result, self.target, [*row, first])
        self._carry_on(rows, results, 1)

    def _carry_on(self, rows: list[Places], results: list[ir.Value], at: int) -> None:
        """Scan the rest of rows, whose results before it are known."""
        scf = dialect("scf")
        loop = scf.ForOp(index(at), index(self.length), index(1), results)
        with ir.InsertionPoint(loop.body):
            at = loop.induction_variable
            elements = [self._read(self.source, [*row, at]) for row in rows]
            carried = list(map(self._next, loop.inner_iter_args, elements))
            for row, result in zip(rows, carried, strict=True):
                self._write(result, self.target, [*row, at])
            scf.YieldOp(carried)
        for row, result in zip(rows, loop.results, strict=True):
            self._write(result, self.last, row)

    def _by_vectors(self, row: Places) -> None:
        """Scan a row of extremes by vectors, then elements that are left one by one."""
        scf, vector = dialect("scf"), dialect("vector")
        whole = self.length - self.length % _LANES
        first = self._read(self.source, [*row, index(0)])
        type_ = ir.VectorType.get([_LANES], first.type)
        before = vector.BroadcastOp(type_, first).result
        loop = scf.ForOp(index(0), index(whole), index(_LANES), [before])
        with ir.InsertionPoint(loop.body):
            place, (before,) = [*row, loop.induction_variable], loop.inner_iter_args
            inside = vector.LoadOp(type_, self.source, place).result
            step = 1
            while step < _LANES:
                lanes = [n - step if n >= step else n for n in range(_LANES)]
                inside = self._next(_lanes_of(inside, lanes), inside)
                step *= 2
            vector.StoreOp(self._next(before, inside), self.target, place)
            last = _lanes_of(inside, [_LANES - 1] * _LANES)
            scf.YieldOp([self._next(before, last)])
        result = vector.ExtractOp(loop.results[0], [], [_LANES - 1]).result
        self._carry_on([row], [result], whole)

    def across_rows(self) -> None:
        """Emit a scan row by row: each row reads the one before."""
        start, end = range(1), range(1, self.length)
        _loops([*self.before, start, *self.after], self._copy)
        _loops([*self.before, end, *self.after], self._add)
        _loops([*self.before, *self.after], self._copy_last)

    def _copy(self, at: Places) -> None:
        self._write(self._read(self.source, at), self.target, at)

    def _add(self, at: Places) -> None:
        axis = len(self.before)
        previous = dialect("arith").SubIOp(at[axis], index(1)).result
        before = self._read(self.target, [*at[:axis], previous, *at[axis + 1 :]])
        self._write(self._next(before, self._read(self.source, at)), self.target, at)

    def _copy_last(self, at: Places) -> None:
        axis = len(self.before)
        place = [*at[:axis], index(self.length - 1), *at[axis:]]
        self._write(self._read(self.target, place), self.last, at)

    def _next(self, before: ir.Value, element: ir.Value) -> ir.Value:
        """The result that follows on one, and on the next element."""
        block = self.op.regions[0].blocks[0]
        new = dict(zip(block.arguments, (before, element), strict=True))
        for inner in list(block.operations)[:-1]:
            op = inner.operation
            operands = [new.get(operand, operand) for operand in op.operands]
            types = [_as_many(result.type, before.type) for result in op.results]
            each = {name: op.attributes[name] for name in op.attributes}
            again = ir.Operation.create(op.name, types, operands, each)
            new |= dict(zip(op.results, again.results, strict=True))
        (result,) = list(block.operations)[-1].operands
        return new.get(result, result)

    @staticmethod
    def _read(memory: ir.Value, at: Places) -> ir.Value:
        return result_of(dialect("memref").LoadOp(memory, at))

    @staticmethod
    def _write(value: ir.Value, memory: ir.Value, at: Places) -> None:
        dialect("memref").StoreOp(value, memory, at)


def _as_many(element: ir.Type, like: ir.Type) -> ir.Type:
    """The type of as many elements as a type has."""
    if isinstance(like, ir.VectorType):
        return ir.VectorType.get(like.shape, element)
    return element


def _lanes_of(vector: ir.Value, lanes: Sequence[int]) -> ir.Value:
    return result_of(dialect("vector").ShuffleOp(vector, vector, lanes))
