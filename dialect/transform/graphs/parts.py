"""The memrefs that parts of a graph work on."""

from collections.abc import Mapping, Sequence

from morello.actions import Hole
from morello.actions.graphs.cut import Cutting, operand_of
from morello.actions.graphs.parts import PartKey
from morello.dialect.attributes import i64_attr
from morello.dialect.build import build_spec_op
from morello.dialect.memrefs import (
    DYNAMIC,
    index,
    moved,
    recast,
    scaled,
    sized_type,
    strided,
    subview,
    whole_type,
)
from morello.dialect.sizes import size_value, sized_view
from morello.dialect.transform.action_op import Left, Site
from morello.mlir import dialect, ir, result_of
from morello.spec import Layout, Operand, TensorSpec
from morello.spec.embedding import Embedding
from morello.spec.graphs.graph import Graph
from morello.spec.varying import places_that_vary, varying_places


def buffer_of(
    site: Site,
    tensor: TensorSpec,
    sizes: tuple[int, ...],
    places: Mapping[int, int] | None = None,
) -> ir.Value:
    """A new memref for a temporary: of vectors, for registers.

    Args:
        site: the op that is rewritten.
        places: the physical dimensions whose size a call says, and which range of the
            op each has.
    """
    memref = dialect("memref")
    alloc = memref.AllocaOp if tensor.level.is_registers else memref.AllocOp
    value: ir.Value = alloc(whole_type(tensor, sizes), [], []).result
    if not places:
        return value
    kind = sized_type(tensor, sizes, places)
    if kind == value.type:
        return value
    values = {p: size_value(site.op, site.spec, n) for p, n in places.items()}
    return sized_view(value, kind, values)


def places_in(hole: Hole, index: int) -> dict[int, int]:
    """The physical dimensions of an operand of a hole whose size a call says, and which
    range of the rewritten op each has."""
    varying = varying_places(hole.spec, index)
    return {place: hole.follows[number] for place, number in varying.items()}


def apply_cutting(
    site: Site, graph: Graph, cutting: Cutting, memrefs: Mapping[int, ir.Value]
) -> Left:
    """The ops of both halves of a cut.

    Args:
        site: the op that is cut.
        graph: what it computes.
        cutting: the halves.
        memrefs: those of values that have one. Other temporaries get a buffer.
    """
    known = dict(memrefs)
    for value, form in zip(cutting.temporaries, cutting.forms, strict=True):
        if value not in known:
            operand = operand_of(graph, value)
            sizes = operand.sizes(site.spec.sizes)
            places = places_that_vary(site.spec, operand, form.layout)
            known[value] = buffer_of(site, form, sizes, places)
    parts = {"producers": cutting.producers, "consumers": cutting.consumers}
    return {
        role: build_spec_op(hole.spec, part_operands(parts[role], known))
        for role, hole in site.holes.items()
    }


def part_operands(part: PartKey, memrefs: Mapping[int, ir.Value]) -> list[ir.Value]:
    """The operands of a part's op, from the memrefs of the values of the graph."""
    return [
        with_ones(memrefs[value], ones)
        for value, ones in zip(part.values, part.ones, strict=True)
    ]


def with_ones(value: ir.Value, count: int) -> ir.Value:
    """View a memref with ``count`` leading dimensions of size 1 added."""
    if not count:
        return value
    source = ir.MemRefType(value.type)
    strides, offset = source.get_strides_and_offset()
    shape = list(source.shape)
    outer = scaled(strides[0], shape[0])
    apart = [*[outer] * count, *strides]
    kind = strided([*[1] * count, *shape], source.element_type, offset, apart)
    # A single dimension with a stride of 1 is row-major, by whichever layout it has.
    if source.affine_map == ir.AffineMap.get_identity(len(shape)):
        kind = ir.MemRefType.get([*[1] * count, *shape], source.element_type)
    groups = [[*range(count + 1)], *([i] for i in range(count + 1, count + len(shape)))]
    return result_of(
        dialect("memref").ExpandShapeOp(
            kind, value, _reassociation(groups), [], list(kind.shape)
        )
    )


def _reassociation(groups: Sequence[Sequence[int]]) -> ir.ArrayAttr:
    """The dimensions that are one on the other side of a change of shape."""
    return ir.ArrayAttr.get([ir.ArrayAttr.get(list(map(i64_attr, g))) for g in groups])


def narrowed(
    value: ir.Value, layout: Layout, whole: Operand, inner: Embedding, operand: int
) -> ir.Value:
    """A view without the dimensions of one element that an embedded kind lacks.

    Args:
        value: the memref of the operand ``whole``.
        layout: of that operand.
        inner: the kind.
        operand: which of its operands it becomes; a window of that is read in steps.
    """
    source = ir.MemRefType(value.type)
    strides, offset = source.get_strides_and_offset()
    stays = [d.dim in inner.axes[operand] for d in layout.dims]
    steps = []
    for d in layout.dims:
        terms = whole.axes[d.dim].terms
        inner_steps = [step for dim, step in terms if dim in inner.dims]
        steps.append(inner_steps[0] if inner_steps else 1)
    if all(stays) and set(steps) == {1}:
        return value
    shape = [
        (extent - 1) // step + 1
        for extent, step in zip(source.shape, steps, strict=True)
    ]
    pairs = list(zip(stays, shape, strides, steps, strict=True))
    kind = strided(
        [extent for keep, extent, _, _ in pairs if keep],
        source.element_type,
        offset,
        [scaled(stride, step) for keep, _, stride, step in pairs if keep],
    )
    return _fewer_axes(value, kind, shape, steps, stays)


def _fewer_axes(
    value: ir.Value,
    kind: ir.MemRefType,
    shape: list[int],
    steps: list[int],
    stays: list[bool],
) -> ir.Value:
    """A view of a whole operand without some axes of one element.

    A subview finds the axes that are left out by the strides, which it cannot where
    they are known only when the program runs: then the view is put together from its
    parts.

    Args:
        kind: of the view.
        shape, steps: of the view before axes are left out.
        stays: whether each axis stays.
    """
    memref, source = dialect("memref"), ir.MemRefType(value.type)
    rank = source.rank
    if DYNAMIC not in source.get_strides_and_offset()[0]:
        return subview(value, kind, [0] * rank, shape, steps)
    parts = memref.ExtractStridedMetadataOp(value).results
    strides, offset = kind.get_strides_and_offset()
    left = [axis for axis in range(rank) if stays[axis]]
    apart = [
        _times(parts[2 + rank + axis], steps[axis])
        for axis, stride in zip(left, strides, strict=True)
        if stride == DYNAMIC
    ]
    begin = [parts[1]] if offset == DYNAMIC else []
    return recast(parts[0], kind, begin, apart)


def _times(value: ir.Value, by: int) -> ir.Value:
    if by == 1:
        return value
    return result_of(dialect("arith").MulIOp(value, index(by)))


def joined(value: ir.Value, layout: Layout, axis: int) -> ir.Value:
    """A view with one dimension for an axis and its inner neighbour in memory."""
    source = ir.MemRefType(value.type)
    at = [d.dim for d in layout.dims].index(axis)
    shape = list(source.shape)
    shape[at : at + 2] = [shape[at] * shape[at + 1]]
    groups = [[i + (i > at)] for i in range(len(shape))]
    groups[at] = [at, at + 1]
    kind = ir.MemRefType.get(shape, source.element_type)
    if isinstance(source.layout, ir.StridedLayoutAttr):  # of a view
        strides, offset = source.get_strides_and_offset()
        del strides[at]
        kind = strided(shape, source.element_type, offset, strides)
    return result_of(
        dialect("memref").CollapseShapeOp(kind, value, _reassociation(groups))
    )


def without_axes(value: ir.Value, layout: Layout, gone: frozenset[int]) -> ir.Value:
    """A view without some axes of one element of an operand."""
    if not gone:
        return value
    source = ir.MemRefType(value.type)
    strides, offset = source.get_strides_and_offset()
    axes = [i for i, d in enumerate(layout.dims) if d.dim not in gone]
    shape, apart = [source.shape[i] for i in axes], [strides[i] for i in axes]
    kind = strided(shape, source.element_type, offset, apart)
    keeps = [d.dim not in gone for d in layout.dims]
    return _fewer_axes(value, kind, list(source.shape), [1] * source.rank, keeps)


def part_at(
    value: ir.Value, layout: Layout, start: tuple[int, ...], sizes: tuple[int, ...]
) -> ir.Value:
    """A view of a part of an unpacked operand, from a logical index on."""
    source = ir.MemRefType(value.type)
    strides, offset = source.get_strides_and_offset()
    offsets = [start[d.dim] for d in layout.dims]
    shape = [sizes[d.dim] for d in layout.dims]
    if shape == list(source.shape):
        return value
    begin = moved(offset, offsets, strides)
    kind = strided(shape, source.element_type, begin, strides)
    return subview(value, kind, offsets, shape)


def overlapping(
    value: ir.Value, shape: Sequence[int], steps: Sequence[int]
) -> ir.Value:
    """A view from the first element of a memref on, whose elements may overlap."""
    source = ir.MemRefType(value.type)
    _, offset = source.get_strides_and_offset()
    kind = strided(shape, source.element_type, offset, steps)
    if offset != DYNAMIC:
        return recast(value, kind)
    # Of a tile: a cast counts from the beginning of the whole.
    whole = dialect("memref").ExtractStridedMetadataOp(value).results
    return recast(whole[0], kind, [whole[1]])
