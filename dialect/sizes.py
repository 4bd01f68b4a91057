"""Sizes that a call says: the attributes of ops, and their values in code.

A Spec op has ``ranges = "m=1..64"``: the dimensions that vary together, and their
sizes. The greatest are among ``sizes``, and memrefs have room for them; code touches
what a call gives. The sizes of the call are the last arguments of the function, each an
``index``. ``morello.size`` says how those of the op follow from them.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from morello.actions import Hole
from morello.dialect.attributes import attribute_of, string_of
from morello.dialect.memrefs import DYNAMIC, index, recast
from morello.errors import SpecError
from morello.mlir import dialect, ir
from morello.spec import Kind, SizeRange, Spec
from morello.spec.size_range import WrittenSizes
from morello.spec.varying import varying_places

RANGES = "ranges"

SIZES_ATTRIBUTE = "morello.sizes"
"""On a function whose last arguments are the sizes of the call: a list for each, of
pairs of an argument and a dimension of it that has the size."""

SIZE_ATTRIBUTE = "morello.size"
"""On an op with ranges, for each: the number of the call's size from which its own
follows, its own in a call of the greatest sizes, then how it follows, step by step:
``-n`` for n times as much, ``n`` for what remains of a division by n."""

_RANGE = re.compile(r"([\w,]{1,64})=(\d{1,10}\.\.[\d+/]{0,22})", re.ASCII)


def ranges_attribute(spec: Spec) -> dict[str, ir.Attribute]:
    """The attribute that holds the ranges of a Spec; None without ranges."""
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
    attribute = attribute_of(op, RANGES)
    if attribute is None:
        return ()
    text = string_of(attribute, f"'{RANGES}'")
    ranges: list[SizeRange] = []
    for part in text.split("; "):
        match = _RANGE.fullmatch(part)
        names = match[1].split(",") if match else []
        if match is None or not {*names} <= {*kind.dims}:
            raise SpecError(
                f"'{RANGES}' is '{text}'", f"write {kind.dims[0]}=1..64, for example"
            )
        dims = tuple(sorted(kind.dims.index(name) for name in names))
        written = WrittenSizes.parse(match[2]) or WrittenSizes(())
        last = written.greatest if written.ranges else ()
        if any(sizes[dim : dim + 1] != last for dim in dims):
            raise SpecError(f"'{RANGES}' is '{part}', which does not end with a size")
        ranges += (dataclasses.replace(r, dims=dims) for r in written.ranges)
    return tuple(ranges)


@dataclasses.dataclass(frozen=True)
class SizeOfCall:
    """How the size of an op follows from one that a call says.

    Args:
        number: of the size of the call.
        greatest: the op's size in a call of the greatest sizes.
        steps: in order, ``-n`` for n times as much, ``n`` for what remains of a
            division by n.
    """

    number: int
    greatest: int
    steps: tuple[int, ...] = ()

    def times(self, factor: int) -> "SizeOfCall":
        """The size times a factor."""
        if factor == 1:
            return self
        steps = (*self.steps, -factor)
        return SizeOfCall(self.number, self.greatest * factor, steps)

    def remainder(self, size: int) -> "SizeOfCall":
        """The size that remains after tiles of ``size``."""
        steps = (*self.steps, size)
        return SizeOfCall(self.number, self.greatest % size, steps)


def sizes_of(op: Any, spec: Spec) -> tuple[SizeOfCall, ...]:
    """How the size of each range of an op follows from a call's, by `SIZE_ATTRIBUTE`;
    those of the first op of a function are the call's.

    Raises:
        SpecError: the attribute is no list of lists of numbers, one for each range.
    """
    attribute = attribute_of(op, SIZE_ATTRIBUTE)
    if attribute is None:
        return tuple(itertools.starmap(SizeOfCall, enumerate(spec.greatest)))
    lists = _lists(attribute)
    sizes = [
        SizeOfCall(one[0], one[1], one[2:])
        for one in lists
        if len(one) > 1 and one[0] >= 0 and 0 not in one[2:]
    ]
    if len(sizes) != len(spec.ranges) or len(sizes) != len(lists):
        raise SpecError(f"'{SIZE_ATTRIBUTE}' is {attribute}")
    return tuple(sizes)


def _lists(attribute: ir.Attribute) -> list[tuple[int, ...]]:
    """The numbers of an attribute that is a list of lists; no lists of another."""
    attribute = attribute.maybe_downcast()
    items = list(attribute) if isinstance(attribute, ir.ArrayAttr) else []
    items = [item.maybe_downcast() for item in items]
    return [tuple(one) for one in items if isinstance(one, ir.DenseI64ArrayAttr)]


def _lists_attribute(lists: Iterable[Iterable[int]]) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.DenseI64ArrayAttr.get(list(one)) for one in lists])


def set_sizes(op: ir.Operation, sizes: Iterable[SizeOfCall]) -> None:
    """Say how the size of each range of an op follows from a call's."""
    lists = [(one.number, one.greatest, *one.steps) for one in sizes]
    if lists:
        op.attributes[SIZE_ATTRIBUTE] = _lists_attribute(lists)


def pass_sizes(parent: Any, spec: Spec, child: ir.Operation, hole: Hole) -> None:
    """Say how the sizes of an op that is left follow from the call's, unless it says so
    already: each is that of the op that was rewritten, or a multiple."""
    if SIZE_ATTRIBUTE in child.attributes:
        return
    sizes = sizes_of(parent, spec)
    pairs = zip(hole.follows, hole.spec.greatest, strict=True)
    set_sizes(child, [sizes[n].times(size // spec.greatest[n]) for n, size in pairs])


def size_value(op: Any, spec: Spec, number: int = 0) -> ir.Value:
    """The size of a range of an op, at the current insertion point.

    Raises:
        SpecError: the function does not take it.
    """
    arith = dialect("arith")
    size = sizes_of(op, spec)[number]
    value = call_size(op, size.number)
    for step in size.steps:
        op_class = arith.RemUIOp if step > 0 else arith.MulIOp
        value = op_class(value, index(abs(step))).result
    return value


def sizes_attribute(
    spec: Spec | None = None, count: int = 1
) -> dict[str, ir.Attribute]:
    """The attribute of a function with the ranges of a Spec; without a Spec, of so many
    sizes from which no stride of an argument follows."""
    if spec is None:
        return {SIZES_ATTRIBUTE: _lists_attribute([()] * count)} if count else {}
    places: list[list[int]] = [[] for _ in spec.ranges]
    for argument in range(len(spec.tensors)):
        for place, number in varying_places(spec, argument).items():
            places[number] += [argument, place]
    return {SIZES_ATTRIBUTE: _lists_attribute(places)} if places else {}


def sizes_taken(function: ir.Operation) -> int:
    """The number of sizes that a function takes: its last arguments."""
    attribute = attribute_of(function, SIZES_ATTRIBUTE)
    return 0 if attribute is None else len(_lists(attribute))


def places_of_sizes(function: ir.Operation, argument: int) -> dict[int, int]:
    """The dimensions of an argument of a function whose size a call says, and the
    number of each size."""
    attribute = attribute_of(function, SIZES_ATTRIBUTE)
    lists = [] if attribute is None else _lists(attribute)
    return {
        place: number
        for number, one in enumerate(lists)
        for parameter, place in zip(one[::2], one[1::2], strict=True)
        if parameter == argument
    }


def sized_view(
    value: ir.Value, kind: ir.MemRefType, sizes: Mapping[int, ir.Value]
) -> ir.Value:
    """A memref of the greatest sizes as one without gaps, whose dynamic strides follow
    from the sizes of a call.

    Args:
        kind: of the view.
        sizes: of the dimensions whose size a call says.
    """
    arith = dialect("arith")
    strides, _ = kind.get_strides_and_offset()
    values: list[ir.Value] = []
    row = index(1)
    for place in reversed(range(1, len(strides))):
        extent = sizes.get(place)
        if extent is None:
            extent = index(kind.shape[place])
        row = arith.MulIOp(row, extent).result
        if strides[place - 1] == DYNAMIC:
            values.append(row)
    return recast(value, kind, strides=values[::-1])


def call_size(op: Any, number: int) -> ir.Value:
    """A size that the function around an op is called with.

    Raises:
        SpecError: the function does not take it.
    """
    parent = op.operation
    while parent is not None and parent.name != "func.func":
        parent = parent.parent.operation if parent.parent else None
    if parent is not None:
        arguments = parent.regions[0].blocks[0].arguments
        sizes = [one for one in arguments if isinstance(one.type, ir.IndexType)]
        if number < len(sizes):
            return sizes[number]
    raise SpecError(
        "it depends on the size of a call, but its function takes no index for it",
        "give the function an index for each after its memrefs",
    )
