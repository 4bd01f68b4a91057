"""How the operands of a goal lie: what costs depend on and a tile does not know."""

import dataclasses
import math

from morello.spec import Level, Spec
from morello.spec.layout import LINE_BYTES


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What holds for all Specs below a goal."""

    far: bool = False
    """Whether the goal's operands beyond L2 are together larger than the last-level
    cache, so that their lines come from DRAM."""
    aliased: tuple[str, ...] = ()
    """The operands of the goal whose rows are a multiple of a power of two apart that
    falls into the same set of L1 each time, and into few of L2."""
    other: tuple[str, ...] = ()
    """Its other operands, if it has both."""

    @classmethod
    def of(cls, goal: Spec, l3_lines: int, l1_sets: int) -> "Surroundings":
        """Those of the operands of ``goal``.

        Args:
            l3_lines: lines of the last-level cache.
            l1_sets: sets of L1; rows this many lines apart are in the same one.
        """
        size = sum(
            math.prod(goal.physical_shape(index)) * tensor.dtype.itemsize
            for index, tensor in enumerate(goal.tensors)
            if tensor.level is Level.GL
        )
        period = l1_sets * LINE_BYTES
        aliased: list[str] = []
        other: list[str] = []
        for index, operand in enumerate(goal.kind.operands):
            distance = _row_bytes(goal, index)
            same_set = distance > 0 and distance % period == 0
            (aliased if same_set else other).append(operand.name)
        far = size > l3_lines * LINE_BYTES
        return cls(far, tuple(aliased), tuple(other) if aliased else ())

    def has_aliased(self, operand: str) -> bool:
        """Whether an operand of a Spec below the goal may be a tile of an aliased one.

        Operands are known by name. A move that packs an operand of another kind has its
        own names, and may have any.
        """
        return bool(self.aliased) and operand not in self.other


PLAIN = Surroundings()
"""Those of a goal that fits L3, with rows anywhere: most of them."""


def _row_bytes(goal: Spec, operand: int) -> int:
    """The bytes from row to row of an operand; 0 if it has one row, or is packed."""
    tensor = goal.tensors[operand]
    *outer, inner = goal.physical_shape(operand)
    if tensor.level is Level.VRF or tensor.layout.is_packed or math.prod(outer) == 1:
        return 0
    return inner * tensor.dtype.itemsize
