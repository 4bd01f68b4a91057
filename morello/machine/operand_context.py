"""How the operands of a goal lie: what costs depend on and a tile does not know."""

import dataclasses
import math

from morello.spec import L2, Spec
from morello.spec.layout import LINE_BYTES

_WIDEST = 4
"""Bytes of an element of the widest dtype."""


@dataclasses.dataclass(frozen=True)
class OperandContext:
    """Facts that hold for all Specs below a goal, for the cost of their operands."""

    far: bool = False
    """Whether the goal's operands beyond L2 are together larger than the last-level
    cache, so that their lines come from DRAM."""
    near: bool = False
    """Whether they are together so small that they stay in L2 from call to call: where
    lines are said to come from beyond L2, they are there already."""
    aliased: tuple[str, ...] = ()
    """The operands of the goal whose rows are a multiple of a power of two apart that
    falls into one or two sets of L1, and into few of L2."""
    widened: tuple[tuple[str, int], ...] = ()
    """Those whose rows would lie so in a wider dtype, and the bytes of its elements."""
    other: tuple[str, ...] = ()
    """Its other operands, if it has both."""
    row_distance: int = 0
    """The greatest power of two, in lines, that the rows of an aliased operand are a
    multiple of apart; 0 if none is aliased."""
    chained: bool = False
    """Whether the goal holds several products, one after another: there are so many
    Specs below it that what is left of a cache is told less finely."""
    packed: tuple[str, ...] = ()
    """The operands of a far goal that are packed themselves: unlike a copy of a part,
    they come from DRAM."""
    crossing: tuple[str, ...] = ()
    """The operands whose rows do not all begin on a line: vectors cross lines there."""

    @classmethod
    def of(
        cls, goal: Spec, near_lines: int, l3_lines: int, l1_sets: int
    ) -> "OperandContext":
        """Find the context of the operands of ``goal``.

        Args:
            near_lines: lines of operands that stay in L2.
            l3_lines: lines of the last-level cache.
            l1_sets: sets of L1; rows half as many lines apart meet in two of them.
        """
        size = sum(
            math.prod(goal.physical_shape(index)) * tensor.dtype.itemsize
            for index, tensor in enumerate(goal.tensors)
            if tensor.level.is_main
        )
        aliased: list[str] = []
        other: list[str] = []
        widened: list[tuple[str, int]] = []
        distance = 0
        for index, operand in enumerate(goal.kind.operands):
            least = _least_bytes(goal, index, l1_sets // 2 * LINE_BYTES)
            own = goal.tensors[index].dtype.itemsize
            lines = row_bytes(goal, index) // own * least // LINE_BYTES
            distance = max(distance, lines & -lines)
            if least == own:
                aliased.append(operand.name)
                continue
            other.append(operand.name)
            if least:
                widened.append((operand.name, least))
        far = size > l3_lines * LINE_BYTES
        near = 0 < size <= near_lines * LINE_BYTES and _has_room_for_copies(goal)
        packed = (
            operand.name
            for operand, tensor in zip(goal.kind.operands, goal.tensors, strict=True)
            if far and tensor.layout.is_packed
        )
        unlike = tuple(other) if aliased or widened else ()
        names = tuple(aliased), tuple(widened), unlike
        chained = goal.kind.has_several_products
        crossing = tuple(
            operand.name
            for index, operand in enumerate(goal.kind.operands)
            if row_bytes(goal, index) % LINE_BYTES
        )
        return cls(far, near, *names, distance, chained, tuple(packed), crossing)

    def has_aliased(self, operand: str, itemsize: int) -> bool:
        """Whether an operand of a Spec below the goal may be a tile of an aliased one.

        Operands are known by name. A move that packs an operand of another kind has its
        own names, and may have any. ``itemsize`` is that of the operand's elements: a
        copy in a wider dtype has its rows further apart.
        """
        if self.aliased and operand not in self.other:
            return True
        return any(
            itemsize >= least and (operand == name or operand not in self.other)
            for name, least in self.widened
        )


def _has_room_for_copies(goal: Spec) -> bool:
    """Whether L2 has room for a copy, with zeros around it, of each operand that is
    read through windows. It would have no program but one that reads it as it lies, if
    operands were in L2."""
    for operand, tensor in zip(goal.kind.operands, goal.tensors, strict=True):
        if operand.is_plain:
            continue
        axes = tuple(axis.unpadded for axis in operand.axes)
        whole = dataclasses.replace(operand, axes=axes).sizes(goal.sizes)
        if math.prod(whole) * tensor.dtype.itemsize > goal.limits[L2] * LINE_BYTES:
            return False
    return True


PLAIN = OperandContext()
"""That of a goal that fits L3, but not L2, with no aliased rows."""


def _least_bytes(goal: Spec, operand: int, period: int) -> int:
    """The least bytes of an element with which rows are multiples of a period apart.

    Those of its dtype or of a wider one; 0 if there are none.
    """
    distance, own = row_bytes(goal, operand), goal.tensors[operand].dtype.itemsize
    sizes = [own * by for by in (1, 2, 4) if own * by <= _WIDEST]
    elements = distance // own
    fits = (size for size in sizes if elements and elements * size % period == 0)
    return next(fits, 0)


def row_bytes(goal: Spec, operand: int) -> int:
    """The bytes from row to row of an operand; 0 if it has one row, is packed, or a
    call says it. What several indices of the inner dimensions reach within a line is
    no row yet: those of a filter ``fxcx3x3`` are whole inputs of a feature."""
    tensor = goal.tensors[operand]
    *outer, inner = goal.physical_shape(operand)
    if tensor.level.is_registers or tensor.layout.is_packed:
        return 0
    if goal.has_any_row(operand):
        return 0
    leading = goal.leading[operand] if goal.leading else 0
    distance = (leading or inner) * tensor.dtype.itemsize
    while distance < LINE_BYTES and math.prod(outer) > 1:
        distance *= outer.pop()
    return distance if math.prod(outer) > 1 else 0
