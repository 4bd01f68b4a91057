"""A tile of an operand as a ``memref.subview`` of its memref.

A tile begins at a logical offset ``i`` of one dimension. Its physical offsets are ``i``
in a whole dimension; with packs of ``p``, ``i / p`` in the dimension that counts packs
and ``i mod p`` inside the pack. A tile is several whole packs or lies inside of one, so
one of the two is enough.
"""

import dataclasses

from morello.dialect.memrefs import DYNAMIC, index, moved, strided, subview, tile_extent
from morello.mlir import dialect, ir, result_of
from morello.spec import Layout, Operand, TensorSpec
from morello.spec.tensors.layout import PhysicalDim


@dataclasses.dataclass(frozen=True)
class Start:
    """The start of a tile: a number, or the induction variable of a loop."""

    offset: int
    variable: ir.Value | None = None


def tile_of(
    memref: ir.Value,
    tensor: TensorSpec,
    axis: int,
    sizes: tuple[int, ...],
    start: Start,
) -> ir.Value:
    """The subview that holds a tile.

    Args:
        memref: the operand that the tile is a part of.
        tensor: the form of that operand.
        axis: of the operand, along which the tile begins.
        sizes: the logical sizes of the tile.
        start: where it begins, in elements; along the other axes it begins at 0.
    """
    layout = tensor.layout
    offsets: list[int | ir.Value] = [0] * len(layout.dims)
    for i, d in enumerate(layout.dims):
        if d.dim == axis:
            offsets[i] = _offset(memref.type, layout, i, sizes[axis], start)
    shape = [tile_extent(layout, i, sizes) for i in range(len(layout.dims))]
    source = ir.MemRefType(memref.type)
    strides, base = source.get_strides_and_offset()
    fixed = [DYNAMIC if isinstance(o, ir.Value) else o for o in offsets]
    kind = strided(shape, source.element_type, moved(base, fixed, strides), strides)
    return subview(memref, kind, offsets, shape)


def elements(operand: Operand, dim: int, start: Start) -> Start:
    """The start of an operand's tile in elements of its axis, from its start in a
    dimension of the Spec."""
    step, divisor = operand.step(dim), operand.map(dim).divisor
    variable = start.variable
    if variable is not None and step > 1:
        variable = dialect("arith").MulIOp(variable, index(step)).result
    if variable is not None and divisor > 1:
        variable = _divided(variable, divisor)
    return Start(start.offset * step // divisor, variable)


def _offset(
    source: ir.MemRefType, layout: Layout, place: int, size: int, start: Start
) -> int | ir.Value:
    """The physical offset, along one physical dimension, of tiles of ``size``."""
    d = layout.dims[place]
    if start.variable is None:
        return int(layout.index_map((start.offset,) * layout.rank)[place])
    pack = layout.pack(d.dim)
    if pack == 1:
        return start.variable
    if d.pack and size % pack == 0:
        return 0
    one_pack = source.shape[layout.dims.index(PhysicalDim(d.dim))] == 1
    if not d.pack:
        return 0 if one_pack else _divided(start.variable, pack)
    inside = start.variable if one_pack else _remainder(start.variable, pack)
    return _odd_even(inside, pack) if d.odd_even else inside


def _odd_even(inside: ir.Value, pack: int) -> ir.Value:
    """The index of an element in an odd-even pack: even elements come first."""
    arith = dialect("arith")
    odd = arith.MulIOp(_remainder(inside, 2), index(pack // 2)).result
    return result_of(arith.AddIOp(_divided(inside, 2), odd))


def _divided(value: ir.Value, by: int) -> ir.Value:
    return result_of(dialect("arith").DivUIOp(value, index(by)))


def _remainder(value: ir.Value, by: int) -> ir.Value:
    return result_of(dialect("arith").RemUIOp(value, index(by)))
