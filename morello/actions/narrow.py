"""Narrow: whether an operand's values have fewer bits is looked at when it runs.

Before::

    matmul(u8 lhs, s8 rhs)

After ``Narrow("rhs", Level.L2)``::

    if every element of rhs is from -64 to 63:
        matmul(u8 lhs, s7 rhs)      # narrow
    else:
        matmul(u8 lhs, s8 rhs)      # wide

Weights are often quantized to 7 bits, so that pairs of products fit 16. The look brings
the operand to the level, where both find it. What it costs counts, and the narrow hole:
the wide one runs in its stead, and has the best program of its own.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.actions.base import Action, Child, Expansion
from morello.actions.move import Move
from morello.kernels import KERNELS
from morello.kernels.within import within_cost
from morello.machine import Target
from morello.spec import Fill, Level, SpecKey
from morello.spec import Move as MoveKind
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True, order=True)
class Narrow(Action):
    """Two programs: one for an ``operand`` of fewer bits, which is looked at on its way
    to ``level``, and one for any."""

    name: ClassVar[str] = "narrow"
    operand: str
    level: Level
    """A nearer level."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``narrow`` and ``wide``; it costs what a move does, and the look."""
        key = frame.key
        names = [o.name for o in key.kind.operands]
        if self.operand not in names:
            reason = (
                f"it has no operand '{self.operand}'; those are: {', '.join(names)}"
            )
            return Expansion((Condition(False, reason),), 0)
        index = names.index(self.operand)
        reason = self._refusal(key, index)
        if reason:
            return Expansion((Condition(False, reason),), 0)
        source = key.tensors[index]
        moved = Move(self.operand, self.level, source.layout).expand(frame, target)
        if not moved.children:
            return moved
        (body,) = moved.children
        narrowed = _narrowed(body.frame.key, index)
        narrow = dataclasses.replace(body.frame, key=narrowed)
        look = within_cost(
            source, frame.operand_sizes(index), target.isa, target.prices
        )
        return Expansion(
            moved.conditions,
            moved.cost + look,
            (
                Child("narrow", narrow, 1, body.dims),
                Child("wide", body.frame, 0, body.dims, there=1),
            ),
        )

    def _refusal(self, key: SpecKey, index: int) -> str:
        """Why the operand cannot be narrowed, whatever its sizes; empty if it can."""
        source = key.tensors[index]
        if not _computes(key) or key.kind.operands[index].is_written:
            return f"'{self.operand}' is no factor that {key.kind.label} multiplies"
        if source.dtype.part is None:
            return f"'{self.operand}' is {source.dtype}, of which no part has a dtype"
        if self.level >= source.level or self.level is Level.VRF:
            return f"'{self.operand}' is in {source.level}: name a nearer cache"
        if source.layout.is_packed:
            return f"'{self.operand}' is packed already, in {source.layout}"
        return ""

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["Narrow"]:
        """On the way to L2, what a kernel then asks for."""
        if not _computes(key) or not target.relayouts:
            return
        for index, operand in enumerate(key.kind.operands):
            if not operand.is_written and _is_asked_for(key, index, target):
                yield cls(operand.name, Level.L2)


def _computes(key: SpecKey) -> bool:
    return not isinstance(key.kind, MoveKind | Fill)


def _narrowed(key: SpecKey, index: int) -> SpecKey:
    """The key with an operand in the part of its dtype, which has one."""
    tensor = key.tensors[index]
    part = tensor.dtype.part or tensor.dtype
    return key.with_tensor(index, dataclasses.replace(tensor, dtype=part))


def _is_asked_for(key: SpecKey, index: int, target: Target) -> bool:
    """Whether an operand beyond L2 has a part that some kernel wants to multiply."""
    source = key.tensors[index]
    part = source.dtype.part
    if part is None or source.level is not Level.MEM or source.layout.is_packed:
        return False
    below = _narrowed(key, index)
    return any(
        form.dtype is part
        for name in target.kernels
        for form in KERNELS[name].forms(below, index)
    )
