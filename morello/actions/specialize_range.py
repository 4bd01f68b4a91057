"""Specialize on a range: a check at run time chooses between two programs.

Before::

    matmul(u8 lhs, s8 rhs)

After ``SpecializeRange("rhs", L2)``::

    if every element of rhs is from -64 to 63:
        matmul(u8 lhs, s7 rhs)      # in_range
    else:
        matmul(u8 lhs, s8 rhs)      # general

Weights are often quantized to 7 bits, so that the sum of two products fits 16 bits. The
check reads the operand, which brings it to the level for both programs. The cost is the
check and the program for values in range; the general program runs instead of it, and
is the best program for any values.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.actions.base import Action, Axes, Child, Expansion
from morello.actions.copies.move import Move
from morello.cost.of_target import cost_model
from morello.kernels import KERNELS
from morello.kernels.code.range_check import range_check_counts
from morello.machine import Target
from morello.spec import Memory, SpecKey
from morello.spec.frame import Frame
from morello.spec.mixes import has_dtypes


@dataclasses.dataclass(frozen=True, order=True)
class SpecializeRange(Action):
    """Two programs: one for an ``operand`` whose values are in a smaller range, and one
    for any values. The range is checked on the way to ``level``."""

    name: ClassVar[str] = "specialize_range"
    operand: str
    level: Memory
    """A nearer level."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``in_range`` and ``general``; the cost is a move and the check."""
        key = frame.key
        names = [o.name for o in key.kind.operands]
        if self.operand not in names:
            reason = (
                f"it has no operand '{self.operand}'; those are: {', '.join(names)}"
            )
            return Expansion.refused(reason)
        index = names.index(self.operand)
        reason = self._refusal(key, index)
        if reason:
            return Expansion.refused(reason)
        source = key.tensors[index]
        moved = Move(self.operand, self.level, source.layout).expand(frame, target)
        if not moved.children:
            return moved
        (body,) = moved.children
        in_range = dataclasses.replace(body.frame, key=_in_range(body.frame.key, index))
        sizes = frame.operand_sizes(index)
        counts = range_check_counts(source, sizes, target.isa)
        check = cost_model(target).kernel(frame, counts)
        return Expansion(
            moved.conditions,
            moved.cost + check,
            (
                Child("in_range", in_range, 1, body.dims),
                Child("general", body.frame, 0, body.dims, there=1),
            ),
        )

    def _refusal(self, key: SpecKey, index: int) -> str:
        """Why the action does not apply, whatever the sizes; empty if it applies."""
        source = key.tensors[index]
        if key.kind.moves_data or key.kind.operands[index].is_written:
            return f"'{self.operand}' is no factor that {key.kind.label} multiplies"
        part = _in_range(key, index).dtypes
        if source.dtype.part is None or not has_dtypes(key.kind, part):
            return f"'{self.operand}' is {source.dtype}, of which no part has a dtype"
        if self.level >= source.level or self.level.is_registers:
            return f"'{self.operand}' is in {source.level}: name a nearer cache"
        if source.layout.is_packed:
            return f"'{self.operand}' is packed already, in {source.layout}"
        return ""

    def feature(self, key: SpecKey) -> str:
        """The operand whose range is looked at."""
        return f"{self.operand} in range"

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """Inputs on the way to L2 whose smaller range some kernel multiplies."""
        if not target.relayouts:
            return
        for index, operand in enumerate(key.kind.operands):
            if not operand.is_written and _has_kernel(key, index, target):
                yield cls(operand.name, target.caches[-1])


def _in_range(key: SpecKey, index: int) -> SpecKey:
    """The key with the dtype of an operand replaced by its part, where it has one."""
    tensor = key.tensors[index]
    part = tensor.dtype.part or tensor.dtype
    return key.with_tensor(index, dataclasses.replace(tensor, dtype=part))


def _has_kernel(key: SpecKey, index: int, target: Target) -> bool:
    """Whether some kernel multiplies the part of an operand that is beyond L2."""
    source = key.tensors[index]
    if not source.level.is_main or source.layout.is_packed:
        return False
    part = source.dtype.part
    if part is None:
        return False
    below = _in_range(key, index)
    return any(
        form.dtype is part
        for name in target.kernels
        for form in KERNELS[name].forms(below, index)
    )
