"""Sizes that a call says: the attributes of ops, and their values in code.

A Spec op has ``ranges = "m=1..64"``: the dimensions that vary together, and their
sizes. The greatest are among ``sizes``, and memrefs have room for them; code touches
what a call gives. The size of the call is the last argument of the function, an
``index``. ``morello.size`` says how that of the op follows from it.
"""

import re
from collections.abc import Sequence
from typing import Any

from morello.dialect.attributes import attribute_of, string_of
from morello.dialect.memrefs import DYNAMIC
from morello.errors import SpecError
from morello.mlir import dialect, ir
from morello.spec import Kind, SizeRange, Spec

RANGES = "ranges"

SIZES_ATTRIBUTE = "morello.sizes"
"""On a function whose last argument is the size of the call."""

SIZE_ATTRIBUTE = "morello.size"
"""On an op with a range: its size in a call of the greatest size, then how its size
follows from the call's, step by step: ``-n`` for n times as much, ``n`` for what
remains of a division by n."""

_RANGE = re.compile(r"([\w,]{1,64})=(\d{1,10})\.\.(\d{1,10})(?:/(\d{1,10}))?", re.ASCII)


def ranges_attribute(spec: Spec) -> dict[str, ir.Attribute]:
    """The attribute of a Spec with ranges; none of another."""
    if not spec.ranges:
        return {}
    names = spec.kind.dims
    parts = (
        f"{','.join(names[dim] for dim in one.dims)}={one.text(greatest)}"
        for one, greatest in zip(spec.ranges, spec.greatest, strict=True)
    )
    return {RANGES: ir.StringAttr.get("; ".join(parts))}


def ranges_of(op: Any, kind: Kind, sizes: tuple[int, ...]) -> tuple[SizeRange, ...]:
    """The ranges of an op.

    Raises:
        SpecError: they cannot be read, or do not end with the op's sizes.
    """
    given = attribute_of(op, RANGES)
    if given is None:
        return ()
    text = string_of(given, f"'{RANGES}'")
    found = []
    for part in text.split("; "):
        match = _RANGE.fullmatch(part)
        names = match[1].split(",") if match else []
        if match is None or not {*names} <= {*kind.dims}:
            raise SpecError(
                f"'{RANGES}' is '{text}'", f"write {kind.dims[0]}=1..64, for example"
            )
        dims = tuple(sorted(kind.dims.index(name) for name in names))
        if any(dim >= len(sizes) or sizes[dim] != int(match[3]) for dim in dims):
            raise SpecError(f"'{RANGES}' is '{part}', which does not end with a size")
        found.append(SizeRange(dims, int(match[2]), int(match[4] or 1)))
    return tuple(found)


def size_chain(op: Any, spec: Spec) -> list[int]:
    """The numbers of `SIZE_ATTRIBUTE`; of the first op of a function those that say
    that its size is the call's.

    Raises:
        SpecError: the attribute is no list of numbers.
    """
    given = attribute_of(op, SIZE_ATTRIBUTE)
    if given is None:
        return list(spec.greatest[:1])
    given = given.maybe_downcast()
    chain = list(given) if isinstance(given, ir.DenseI64ArrayAttr) else []
    if not chain or 0 in chain[1:]:
        raise SpecError(f"'{SIZE_ATTRIBUTE}' is {given}")
    return chain


def chain_attribute(chain: list[int]) -> ir.Attribute:
    """The attribute of a list of numbers."""
    return ir.DenseI64ArrayAttr.get(chain)


def pass_size(parent: Any, spec: Spec, child: ir.Operation, own: Spec) -> None:
    """Say how the size of an op that is left follows from the call's, unless it says so
    already: it is that of the op that was rewritten, or a multiple."""
    if not own.ranges or SIZE_ATTRIBUTE in child.attributes:
        return
    at, *steps = size_chain(parent, spec)
    times = own.greatest[0] // spec.greatest[0]
    if times > 1:
        at, steps = at * times, [*steps, -times]
    child.attributes[SIZE_ATTRIBUTE] = chain_attribute([at, *steps])


def size_value(op: Any, spec: Spec) -> ir.Value:
    """The size of an op with a range, at the current insertion point.

    Raises:
        SpecError: the function does not take it.
    """
    arith = dialect("arith")
    value = _argument(op)
    for step in size_chain(op, spec)[1:]:
        number = arith.ConstantOp(ir.IndexType.get(), abs(step)).result
        made = arith.RemUIOp if step > 0 else arith.MulIOp
        value = made(value, number).result
    return value


def sized_view(
    value: ir.Value, kind: ir.MemRefType, size: ir.Value, places: Sequence[int]
) -> ir.Value:
    """A memref of the greatest size as one without gaps, whose dynamic strides follow
    from the size of a call.

    Args:
        kind: of the view.
        places: the dimensions that have this size.
    """
    arith, memref = dialect("arith"), dialect("memref")
    strides, offset = kind.get_strides_and_offset()
    values: list[ir.Value] = []
    row: ir.Value = arith.ConstantOp(ir.IndexType.get(), 1).result
    for place in reversed(range(1, len(strides))):
        extent = size
        if place not in places:
            extent = arith.ConstantOp(ir.IndexType.get(), kind.shape[place]).result
        row = arith.MulIOp(row, extent).result
        if strides[place - 1] == DYNAMIC:
            values.append(row)
    view: ir.Value = memref.ReinterpretCastOp(
        kind, value, [], [], values[::-1], [offset], list(kind.shape), strides
    ).result
    return view


def _argument(op: Any) -> ir.Value:
    """The size that the function around an op is called with."""
    parent = op.operation
    while parent is not None and parent.name != "func.func":
        parent = parent.parent.operation if parent.parent else None
    if parent is not None:
        for argument in parent.regions[0].blocks[0].arguments:
            if isinstance(argument.type, ir.IndexType):
                return argument
    raise SpecError(
        "it has a range of sizes, but its function takes no index",
        "give the function an index after its memrefs",
    )
