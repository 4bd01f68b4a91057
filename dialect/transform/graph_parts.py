"""The memrefs that parts of a graph work on."""

from collections.abc import Mapping

from morello.actions.graph_parts import PartKey
from morello.dialect.memrefs import whole_type
from morello.mlir import dialect, ir
from morello.spec import Level, TensorSpec

DYNAMIC = ir.ShapedType.get_dynamic_stride_or_offset()


def buffer_of(tensor: TensorSpec, sizes: tuple[int, ...]) -> ir.Value:
    """A new memref for a temporary: of vectors, for registers."""
    memref = dialect("memref")
    alloc = memref.AllocaOp if tensor.level is Level.VRF else memref.AllocOp
    value: ir.Value = alloc(whole_type(tensor, sizes), [], []).result
    return value


def part_operands(part: PartKey, memrefs: Mapping[int, ir.Value]) -> list[ir.Value]:
    """The operands of a part's op, from the memrefs of the values of the graph."""
    return [
        with_ones(memrefs[value], ones)
        for value, ones in zip(part.values, part.ones, strict=True)
    ]


def with_ones(value: ir.Value, count: int) -> ir.Value:
    """The same memory with so many dimensions of one element around it."""
    if not count:
        return value
    source = ir.MemRefType(value.type)
    strides, offset = source.get_strides_and_offset()
    shape = list(source.shape)
    outer = strides[0] * shape[0]
    kind = ir.MemRefType.get(
        [*[1] * count, *shape],
        source.element_type,
        ir.StridedLayoutAttr.get(offset, [*[outer] * count, *strides]),
    )
    if not isinstance(source.layout.maybe_downcast(), ir.StridedLayoutAttr):
        kind = ir.MemRefType.get([*[1] * count, *shape], source.element_type)
    groups = [[*range(count + 1)], *([i] for i in range(count + 1, count + len(shape)))]
    i64 = ir.IntegerType.get_signless(64)
    reassociation = ir.ArrayAttr.get(
        [
            ir.ArrayAttr.get([ir.IntegerAttr.get(i64, i) for i in group])
            for group in groups
        ]
    )
    expanded: ir.Value = (
        dialect("memref")
        .ExpandShapeOp(kind, value, reassociation, [], list(kind.shape))
        .result
    )
    return expanded
