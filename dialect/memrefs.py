"""How the memref of an operand must look, and the memrefs that operands get.

An operand in MEM, L2 or L1 of logical sizes ``s`` is a strided memref of static shape
``layout.tile_shape(s)``. In a dimension with packs, a pack wider than the tile may be
there whole (``layout.physical_shape(s)``: a packed array of its own) or cut to the
tile; a cut pack is no longer interleaved, so an odd-even pack is whole or of one
element. The innermost physical dimension has unit stride unless it has one element. The
other strides are dynamic where a call says how far rows are apart, and those before a
dimension whose size it says. An operand in VRF is
``memref<s0 x … x ceil(s_last / width) x vector<width x elem>>``.
"""

from collections.abc import Collection, Sequence

from morello.errors import SpecError
from morello.mlir import dialect, ir, result_of
from morello.spec import Layout, Spec, TensorSpec
from morello.spec.varying import varying_places

DYNAMIC = ir.ShapedType.get_dynamic_stride_or_offset()
"""Stands for a stride or an offset that is known when the program runs."""


def index(value: int) -> ir.Value:
    """A constant of type index at the current insertion point."""
    return result_of(dialect("arith").ConstantOp(ir.IndexType.get(), value))


def scaled(stride: int, by: int) -> int:
    """A stride, or an offset, times a number."""
    return DYNAMIC if stride == DYNAMIC else stride * by


def moved(base: int, offsets: Sequence[int], strides: Sequence[int]) -> int:
    """The offset of a view that begins ``offsets`` further along each dimension."""
    steps = [
        scaled(stride, offset)
        for offset, stride in zip(offsets, strides, strict=True)
        if offset
    ]
    return DYNAMIC if DYNAMIC in (base, *offsets, *steps) else base + sum(steps)


def strided(
    shape: Sequence[int], element: ir.Type, offset: int, strides: Sequence[int]
) -> ir.MemRefType:
    """The type of a memref whose elements are so far apart along each dimension."""
    layout = ir.StridedLayoutAttr.get(offset, list(strides))
    return ir.MemRefType.get(list(shape), element, layout)


def subview(
    value: ir.Value,
    kind: ir.MemRefType,
    offsets: Sequence[int | ir.Value],
    shape: Sequence[int],
    steps: Sequence[int] = (),
) -> ir.Value:
    """A part of a memref, from known or computed offsets on, as a memref of a type.

    Args:
        shape: of the part, before dimensions of one element are left out.
        steps: from element to element along each dimension; 1 if left out.
    """
    computed = [offset for offset in offsets if isinstance(offset, ir.Value)]
    known = [DYNAMIC if isinstance(offset, ir.Value) else offset for offset in offsets]
    steps = list(steps) or [1] * len(shape)
    return result_of(
        dialect("memref").SubViewOp(
            kind, value, computed, [], [], known, list(shape), steps
        )
    )


def recast(
    value: ir.Value,
    kind: ir.MemRefType,
    offset: Sequence[ir.Value] = (),
    strides: Sequence[ir.Value] = (),
) -> ir.Value:
    """The elements of a memref as one of another type, whose shape is static.

    Args:
        offset, strides: the values of those that are dynamic in the type, in order.
    """
    known, start = kind.get_strides_and_offset()
    return result_of(
        dialect("memref").ReinterpretCastOp(
            kind, value, offset, [], strides, [start], list(kind.shape), known
        )
    )


def element_type(tensor: TensorSpec) -> ir.Type:
    """The element type of the operand's memref."""
    scalar = ir.Type.parse(tensor.dtype.mlir)
    if tensor.level.is_registers:
        rows = [tensor.level.rows] if tensor.level.rows > 1 else []
        return ir.VectorType.get([*rows, tensor.vector_width], scalar)
    return scalar


def whole_shape(tensor: TensorSpec, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a memref that holds a whole operand of logical ``sizes``."""
    if tensor.level.is_registers:
        return tensor.register_grid(sizes)
    return tensor.layout.physical_shape(sizes)


def whole_type(tensor: TensorSpec, sizes: tuple[int, ...]) -> ir.MemRefType:
    """The type of a gapless memref that holds a whole operand of logical ``sizes``."""
    return ir.MemRefType.get(list(whole_shape(tensor, sizes)), element_type(tensor))


def argument_type(spec: Spec, operand: int) -> ir.MemRefType:
    """The type of the memref that holds a whole operand as an argument."""
    if not spec.leading or not spec.leading[operand]:
        places = varying_places(spec, operand)
        return sized_type(spec.tensors[operand], spec.shape(operand), places)
    whole = whole_type(spec.tensors[operand], spec.shape(operand))
    strides = _argument_strides(spec, operand)
    return strided(whole.shape, whole.element_type, 0, strides)


def sized_type(
    tensor: TensorSpec, sizes: tuple[int, ...], places: Collection[int]
) -> ir.MemRefType:
    """The type of a gapless memref of which a call says the size of some physical
    dimensions: strides before them are dynamic."""
    whole = whole_type(tensor, sizes)
    strides = _gapless_strides(tuple(whole.shape), places)
    if DYNAMIC not in strides:
        return whole
    return strided(whole.shape, whole.element_type, 0, strides)


def settled_view(spec: Spec, operand: int, value: ir.Value) -> ir.Value:
    """A memref of an operand of a Spec, whose strides are dynamic where it was a part
    of one with more ranges: their numbers are known now."""
    tensor, memref = spec.tensors[operand], ir.MemRefType(value.type)
    if tensor.level.is_registers or not tensor.contiguous:
        return value
    strides, offset = memref.get_strides_and_offset()
    places = varying_places(spec, operand)
    wanted = _gapless_strides(tuple(memref.shape), places)
    axes = zip(memref.shape, strides, wanted, strict=True)
    if all(n == 1 or stride != DYNAMIC or now == DYNAMIC for n, stride, now in axes):
        return value
    kind = strided(memref.shape, memref.element_type, offset, wanted)
    return result_of(dialect("memref").CastOp(kind, value))


def _argument_strides(spec: Spec, operand: int) -> list[int]:
    """The strides of an argument with a leading dimension."""
    if spec.has_any_row(operand):
        return [DYNAMIC] * (len(spec.physical_shape(operand)) - 1) + [1]
    return list(spec.strides(operand))


def tile_extent(layout: Layout, place: int, sizes: tuple[int, ...]) -> int:
    """The extent of one physical dimension of a tile, a wider pack cut to it."""
    d = layout.dims[place]
    if d.odd_even and sizes[d.dim] > 1:
        return d.pack
    return layout.tile_shape(sizes)[place]


def check_memref(spec: Spec, operand: int, memref: ir.Type) -> None:
    """Check the type of the memref of one operand.

    Raises:
        SpecError: it does not fit; the message names the operand and what would.
    """
    name = f"operand '{spec.kind.operands[operand].name}'"
    tensor, sizes = spec.tensors[operand], spec.shape(operand)
    memref = memref.maybe_downcast()
    if not isinstance(memref, ir.MemRefType):
        legal = whole_type(tensor, sizes)
        raise SpecError(f"{name} is {memref}, not a memref", f"use {legal}")
    if memref.memory_space is not None:
        raise SpecError(f"{name} has the memory space {memref.memory_space}, not none")
    _check_element(name, tensor, memref)
    _check_shape(name, tensor, sizes, memref)
    _check_strides(name, tensor, memref, varying_places(spec, operand))
    if spec.leading and spec.leading[operand]:
        _check_leading(spec, operand, memref)


def _check_leading(spec: Spec, operand: int, memref: ir.MemRefType) -> None:
    """The rows of an argument are apart as its Spec says."""
    strides, _ = memref.get_strides_and_offset()
    wanted = _argument_strides(spec, operand)
    axes = zip(memref.shape, strides, wanted, strict=True)
    if any(extent > 1 and have != want for extent, have, want in axes):
        row = "dynamic" if spec.has_any_row(operand) else spec.leading[operand]
        raise SpecError(
            f"operand '{spec.kind.operands[operand].name}' is {memref}, but its "
            f"leading dimension is {row}",
            f"use {argument_type(spec, operand)}",
        )


def _check_element(name: str, tensor: TensorSpec, memref: ir.MemRefType) -> None:
    legal = element_type(tensor)
    if memref.element_type != legal:
        raise SpecError(
            f"{name} of form {tensor} has elements {memref.element_type}, not {legal}"
        )


def _check_shape(
    name: str, tensor: TensorSpec, sizes: tuple[int, ...], memref: ir.MemRefType
) -> None:
    shape = tuple(memref.shape)
    whole = whole_shape(tensor, sizes)
    if tensor.level.is_registers:
        legal = [{extent} for extent in whole]
    else:
        legal = [
            {whole[place], tile_extent(tensor.layout, place, sizes)}
            for place in range(len(whole))
        ]
    fits = len(shape) == len(legal) and all(
        extent in choices for extent, choices in zip(shape, legal, strict=True)
    )
    if not fits:
        wanted = "x".join(" or ".join(map(str, sorted(c))) for c in legal)
        raise SpecError(
            f"{name} of sizes {'x'.join(map(str, sizes))} and form {tensor} "
            f"is {memref}",
            f"its shape must be {wanted}",
        )


def _check_strides(
    name: str, tensor: TensorSpec, memref: ir.MemRefType, places: Collection[int]
) -> None:
    try:
        strides, _ = memref.get_strides_and_offset()
    except RuntimeError:
        raise SpecError(
            f"{name} is {memref}, whose layout is not strided",
            "write it as strided<[…], offset: …>",
        ) from None
    shape = tuple(memref.shape)
    if shape[-1] > 1 and strides[-1] != 1:
        have = "a dynamic stride" if strides[-1] == DYNAMIC else f"stride {strides[-1]}"
        raise SpecError(f"{name} is {memref}: its last dimension has {have}, not 1")
    if (tensor.contiguous or tensor.level.is_registers) and not _gapless(
        shape, strides, places
    ):
        wanted = (
            "?" if stride == DYNAMIC else str(stride)
            for stride in _gapless_strides(shape, places)
        )
        raise SpecError(
            f"{name} of form {tensor} is {memref}, which has gaps",
            f"use the strides [{', '.join(wanted)}], or a form that is not contiguous",
        )


def _gapless_strides(
    shape: tuple[int, ...], places: Collection[int] = ()
) -> tuple[int, ...]:
    """The strides of a contiguous array; those before ``places``, whose size a call
    says, are dynamic, unless there is one element."""
    inner = max(places, default=0)
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    strides.reverse()
    if any(extent > 1 for extent in shape[:inner]):
        strides[:inner] = [DYNAMIC] * inner
    return tuple(strides)


def _gapless(
    shape: tuple[int, ...], strides: list[int], places: Collection[int]
) -> bool:
    """Whether strides are those of a contiguous array; axes of one element have any."""
    wanted = zip(shape, strides, _gapless_strides(shape, places), strict=True)
    return all(extent == 1 or have == want for extent, have, want in wanted)
