"""Ops that are no Spec as functions of their own, for upstream's plain lowering.

`outlined` takes an op with what it reads: tensors of f32 and bf16 are read from memory,
as graphs compute them; numbers, integers and truth values are computed again.
"""

import math
from collections.abc import Callable

import numpy as np

from morello.frontends.linalg.types import extents_of, float_dtype, refuse_dynamic
from morello.frontends.nodes.tensors import PlainCode, PlainDtype
from morello.frontends.plain.lowering import PLAIN, lowered
from morello.frontends.refusals import OpError
from morello.mlir import dialect, ir, walk
from morello.spec.elements.dtypes import Dtype

_DIALECTS = frozenset(
    {"arith", "bufferization", "index", "linalg", "math", "scf", "tensor"}
)
"""The dialects of the ops that are lowered."""


_WIDTHS = (1, 8, 16, 32, 64)

Stored = Callable[[ir.Value], int | None]


def element_of(kind: ir.Type) -> Dtype | PlainDtype | None:
    """The element type of a tensor in memory; None where NumPy has none."""
    element = kind.maybe_downcast().element_type.maybe_downcast()
    dtype = float_dtype(element)
    if dtype is not None:
        return dtype
    if isinstance(element, ir.F64Type):
        return PlainDtype("f64", np.dtype(np.float64))
    if isinstance(element, ir.IndexType):
        return PlainDtype("index", np.dtype(np.int64))
    if not isinstance(element, ir.IntegerType) or element.width not in _WIDTHS:
        return None
    if element.width == 1:
        return PlainDtype("i1", np.dtype(np.bool_))
    sign = "u" if element.is_unsigned else "i"
    return PlainDtype(f"i{element.width}", np.dtype(f"{sign}{element.width // 8}"))


def outlined(
    op: ir.Operation,
    stored: Stored,
    is_plain: Callable[[int], bool],
    error: OpError,
    name: str,
    place: str,
) -> tuple[PlainCode, tuple[int, ...]]:
    """An op as code, and the tensors that it reads.

    Args:
        op: of a function on tensors.
        stored: the tensor in memory that a value is; None for one that is not.
        is_plain: whether plain code computes a tensor in memory.
        error: why it is no Spec.
        name: of the op, for messages.
        place: where it is, for messages.

    Raises:
        OpError: upstream's lowering does not take it, either.
    """
    outline = _Outline(stored, is_plain, error)
    outline.visit(op)
    with op.location:
        module = outline.module(op)
        text = lowered(module, error)
    return PlainCode(text, name, place, error.reason), tuple(outline.inputs.values())


def copying(kind: ir.Type, error: OpError, place: str) -> PlainCode:
    """Code that copies a tensor of a type.

    Raises:
        OpError: it has no such code.
    """
    module = ir.Module.create()
    func = dialect("func")
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(PLAIN, ([kind], [kind]))
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        func.ReturnOp([block.arguments[0]])
    return PlainCode(lowered(module, error), "func.return", place, error.reason)


class _Outline:
    def __init__(
        self, stored: Stored, is_plain: Callable[[int], bool], error: OpError
    ) -> None:
        self.stored = stored
        self.is_plain = is_plain
        self.error = error
        self.inputs: dict[ir.Value, int] = {}
        self.ops: list[ir.Operation] = []
        """Each after those that it reads."""

    def visit(self, op: ir.Operation) -> None:
        """Include an op, and the ops that compute its operands."""
        self._check(op)
        for value in captured(op):
            if value in self.inputs:
                continue
            tensor = self.stored(value)
            if tensor is not None and is_step_of(value, op) and self.is_plain(tensor):
                tensor = None
            if tensor is not None:
                self.inputs[value] = tensor
            elif isinstance(value.owner, ir.Block):
                raise self.error
            elif not any(value.owner == other for other in self.ops):
                self.visit(value.owner)
        self.ops.append(op)

    def _check(self, op: ir.Operation) -> None:
        refuse_dynamic(op)
        outside: list[str] = []

        def see(inner: ir.Operation) -> ir.WalkResult:
            family = inner.name.partition(".")[0]
            if family not in _DIALECTS and not _is_scan(inner):
                outside.append(inner.name)
            return ir.WalkResult.ADVANCE

        walk(op, see)
        if outside:
            raise self.error

    def module(self, last: ir.Operation) -> ir.Module:
        """A function of what is read that returns the results of the last op."""
        module = ir.Module.create()
        func = dialect("func")
        takes = [value.type for value in self.inputs]
        results = tensors_or_read(last)
        gives = [result.type for result in results]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(PLAIN, (takes, gives))
        block = function.add_entry_block()
        new = dict(zip(self.inputs, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for op in self.ops:
                clone = op.clone().operation
                renamed(clone, new)
                new |= dict(zip(op.results, clone.results, strict=True))
            func.ReturnOp([new[result] for result in results])
        return module


def is_step_of(value: ir.Value, reader: ir.Operation) -> bool:
    """Whether a value is computed element by element, for one op alone that does no
    more steps than it has elements: in its loops it need not be written and read."""
    op = value.owner
    if isinstance(op, ir.Block) or {op.name, reader.name} != {"linalg.generic"}:
        return False
    if len(op.results) != 1 or any(use.owner.operation != reader for use in value.uses):
        return False
    loops = [str(each) for each in ir.ArrayAttr(op.attributes["iterator_types"])]
    is_map = all("parallel" in loop for loop in loops)
    return is_map and extents_of(op) is not None and _steps(op) == _steps(reader)


def _steps(op: ir.Operation) -> int:
    return math.prod(extents_of(op) or (0,))


def _is_scan(op: ir.Operation) -> bool:
    """Whether an op is of a cumulative sum of torch-mlir that begins with the first
    element: others of its ops write at places that are data, or read what nobody has
    written once they are lowered."""
    if op.name == "tm_tensor.scan":
        is_whole: bool = ir.BoolAttr(op.attributes["inclusive"]).value
        return is_whole
    return str(op.name) == "tm_tensor.yield"


def tensors_or_read(op: ir.Operation) -> list[ir.Value]:
    """The results of an op, without the numbers that nobody reads, such as counters of
    a loop."""
    return [
        result
        for result in op.results
        if isinstance(result.type.maybe_downcast(), ir.RankedTensorType)
        or any(True for _ in result.uses)
    ]


def captured(op: ir.Operation) -> list[ir.Value]:
    """The values that an op reads, and those that its regions read from outside."""
    values: dict[ir.Value, None] = dict.fromkeys(op.operands)
    inside: set[ir.Value] = set()

    def see(inner: ir.Operation) -> ir.WalkResult:
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.arguments)
        if inner != op:
            inside.update(inner.results)
            values.update(dict.fromkeys(inner.operands))
        return ir.WalkResult.ADVANCE

    walk(op, see, ir.WalkOrder.PRE_ORDER)
    return [value for value in values if value not in inside]


def renamed(op: ir.Operation, new: dict[ir.Value, ir.Value]) -> None:
    """Make an op, and those within it, read other values."""

    def see(inner: ir.Operation) -> ir.WalkResult:
        for place, value in enumerate(inner.operands):
            if value in new:
                inner.operands[place] = new[value]
        return ir.WalkResult.ADVANCE

    walk(op, see, ir.WalkOrder.PRE_ORDER)
