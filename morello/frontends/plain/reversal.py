"""Copies of tensors backwards along some axes, which no Spec reads: `reversal`."""

from functools import lru_cache

from morello.frontends.nodes.tensors import PlainCode
from morello.frontends.plain.lowering import PLAIN, lowered
from morello.frontends.refusals import OpError
from morello.mlir import dialect, generic, ir
from morello.spec import Dtype

_REASON = "a Spec reads no tensor backwards"


@lru_cache(maxsize=256)
def reversal(
    shape: tuple[int, ...], axes: frozenset[int], dtype: Dtype, place: str
) -> PlainCode:
    """Code that copies a tensor with some axes the other way round."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        kind = ir.RankedTensorType.get(shape, ir.Type.parse(dtype.mlir))
        with ir.InsertionPoint(module.body):
            function = dialect("func").FuncOp(PLAIN, ([kind], [kind]))
        with ir.InsertionPoint(function.add_entry_block()):
            copy = _copy(function.arguments[0], axes)
            dialect("func").ReturnOp([copy])
        code = lowered(module, OpError(_REASON, "turn an argument"))
    return PlainCode(code, "reversal", place, _REASON)


def _copy(source: ir.Value, axes: frozenset[int]) -> ir.Value:
    """A `linalg.generic` that reads its operand backwards along some axes."""
    kind = ir.RankedTensorType(source.type)
    dims = [ir.AffineDimExpr.get(i) for i in range(kind.rank)]
    ends = [dim * -1 + (n - 1) for dim, n in zip(dims, kind.shape, strict=True)]
    read = [ends[i] if i in axes else dim for i, dim in enumerate(dims)]
    maps = [ir.AffineMap.get(kind.rank, 0, indices) for indices in (read, dims)]
    empty = dialect("tensor").EmptyOp(list(kind.shape), kind.element_type).result
    copy = generic(kind, [source, empty], maps, ["parallel"] * kind.rank)
    with ir.InsertionPoint(copy.regions[0].blocks[0]):
        dialect("linalg").YieldOp([copy.regions[0].blocks[0].arguments[0]])
    return copy.result
