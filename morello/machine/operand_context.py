"""How the operands of a goal lie: what costs depend on and a tile does not know."""

import dataclasses
import math
from functools import lru_cache
from itertools import islice

from morello.spec import L1, L2, Spec, SpecKey
from morello.spec.structure import has_several_products
from morello.spec.tensors.layout import LINE_BYTES

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
    """Operands whose rows would lie so in a wider dtype, and that dtype's bytes."""
    other: tuple[str, ...] = ()
    """The operands whose rows are not so far apart, where others are aliased or
    widened."""
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
        cls,
        goal: Spec,
        near_lines: int,
        l3_lines: int,
        l1_sets: int,
        whole: Spec | None = None,
    ) -> "OperandContext":
        """Context of a goal: in which caches its operands are at first.

        Args:
            near_lines: lines of operands that stay in L2.
            l3_lines: lines of the last-level cache.
            l1_sets: sets of L1; rows half as many lines apart meet in two of them.
            whole: the Spec whose range has the sizes of the goal: rows lie as they do
                at most sizes, but for a size that is unlike most and alone.
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
        period = l1_sets // 2 * LINE_BYTES
        usual = _usual(goal, whole, period)
        for index, operand in enumerate(goal.kind.operands):
            least = _least_bytes(usual, index, period)
            itemsize = goal.tensors[index].dtype.itemsize
            lines = row_bytes(usual, index) // itemsize * least // LINE_BYTES
            distance = max(distance, lines & -lines)
            if least == itemsize:
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
        chained = has_several_products(goal.kind)
        crossing = tuple(
            operand.name
            for index, operand in enumerate(goal.kind.operands)
            if row_bytes(usual, index) % LINE_BYTES
        )
        return cls(far, near, *names, distance, chained, tuple(packed), crossing)

    def below(self, key: SpecKey) -> "OperandContext":
        """The part of it that costs of Specs of a key, and of those below, depend on.

        Where an operand lies matters as long as it is beyond L1, and how far its rows
        are apart as long as it is not packed, too: it is never unpacked there again.
        Rows that begin within lines matter wherever the operand is. Parts of a graph
        number their operands anew, so that no name of one can be left out.
        """
        if self == PLAIN:
            return self
        tensors, is_graph = key.tensors, key.kind.as_graph is not None
        names = [operand.name for operand in key.kind.operands]
        beyond = [t.level.is_beyond(L1) for t in tensors]
        loose = [
            name
            for name, tensor, far in zip(names, tensors, beyond, strict=True)
            if far and not tensor.layout.is_packed
        ]
        crossing = self.crossing
        if not is_graph:
            crossing = tuple(name for name in names if name in crossing)
        plain = OperandContext(chained=self.chained, crossing=crossing)
        if not any(beyond):
            return plain
        rows = self._rows_of(None if is_graph else loose) if loose else plain
        in_memory = any(tensor.level.is_main for tensor in tensors)
        # Once an operand is in L1 nothing is copied within L2, which is all that has to
        # wait for lines there; passes over rows that push each other out do, too, which
        # kernels make that take nothing from registers and no panels.
        again = rows.row_distance > 0 and not any(
            tensor.level.is_registers or tensor.layout.is_packed for tensor in tensors
        )
        settled = not (is_graph or in_memory or all(beyond) or again)
        return dataclasses.replace(
            rows,
            far=self.far and not settled,
            near=self.near and not settled,
            chained=self.chained,
            packed=self.packed if in_memory else (),
            crossing=crossing,
        )

    def _rows_of(self, names: list[str] | None) -> "OperandContext":
        """How the rows of some operands lie, and those of what has no such name; of
        all, if no names are given. One without a name stands for all others."""
        if names is None or not (self.aliased or self.widened):
            return self
        aliased = tuple(n for n in names if self.aliased and n not in self.other)
        widened = tuple(w for w in self.widened if w[0] in names)
        others = [least for name, least in self.widened if name not in names]
        return dataclasses.replace(
            self,
            aliased=aliased or ("",) * bool(self.aliased),
            widened=(*widened, *((("", min(others)),) if others else ())),
            other=tuple(name for name in names if name in self.other),
        )

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


_FEW = 4
"""Sizes of a range that are searched alone, each between two parts of the others."""


def _usual(goal: Spec, whole: Spec | None, period: int) -> Spec:
    """The Spec whose rows lie as those of a goal are taken to."""
    whole = whole or goal
    if not whole.ranges or (
        not goal.ranges and goal in _unlike_most(whole, period, _usual_sizes(whole))
    ):
        return goal
    return whole.point(*_usual_sizes(whole))


def _usual_sizes(whole: Spec) -> tuple[int, ...]:
    """A size of each range at which rows lie as they do at most of its sizes: one with
    as few factors of two as any. Of two neighbours one has."""
    pairs = zip(whole.ranges, whole.greatest, strict=True)
    return tuple(_usual_size(one.sizes(greatest)) for one, greatest in pairs)


def _usual_size(sizes: range) -> int:
    before, last = sizes[-2:]
    return before if before > 1 and before & -before < last & -last else last


@lru_cache(maxsize=256)
def _unlike_most(whole: Spec, period: int, usual: tuple[int, ...]) -> tuple[Spec, ...]:
    """The Specs of a range of which other rows are aliased than at the usual size; none
    where there are more than a few, or two ranges."""
    if len(whole.ranges) > 1:
        return ()

    def aliased(goal: Spec) -> list[int]:
        return [_least_bytes(goal, o, period) for o in range(len(goal.tensors))]

    sizes, most = whole.ranges[0].sizes(whole.greatest[0]), aliased(whole.point(*usual))
    roundest = max(sizes, key=lambda size: size & -size)
    if aliased(whole.point(roundest)) == most:
        return ()
    goals = (whole.point(size) for size in sizes if size > 1)
    few = [*islice((g for g in goals if aliased(g) != most), _FEW + 1)]
    return tuple(few) if len(few) <= _FEW else ()


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
"""The context of a goal that fits L3, but not L2, with no aliased rows."""


def _least_bytes(goal: Spec, operand: int, period: int) -> int:
    """The least bytes of an element with which rows are multiples of a period apart.

    Those of its dtype or of a wider one; 0 if there are none.
    """
    distance, itemsize = row_bytes(goal, operand), goal.tensors[operand].dtype.itemsize
    sizes = [itemsize * by for by in (1, 2, 4) if itemsize * by <= _WIDEST]
    elements = distance // itemsize
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
