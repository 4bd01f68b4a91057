"""ToAccum: a reduction that overwrites becomes a fill and one that accumulates.

Before::

    matmul(out)

After::

    fill(out, zero)        # init
    matmul_accum(out)      # body
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.actions.base import Action, Child, Expansion
from morello.machine import Target
from morello.spec import Fill, Kind, Matmul, Max, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True, order=True)
class ToAccum(Action):
    """The output gets the neutral element first; then the Spec adds to it."""

    name: ClassVar[str] = "to_accum"

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``init`` and ``body``; no cost of its own."""
        key = frame.key
        rewritten = accumulating(key.kind)
        if rewritten is None:
            reason = f"{key.kind.label} is not a reduction that overwrites its output"
            return Expansion((Condition(False, reason),), 0)
        kind, value = rewritten
        out = len(key.tensors) - 1
        out_dims = key.kind.operands[out].dims
        fill = SpecKey(Fill(len(out_dims), value), (key.tensors[out],), key.serial)
        init = Frame(fill, frame.operand_sizes(out), frame.limits)
        body = Frame(dataclasses.replace(key, kind=kind), frame.sizes, frame.limits)
        every = tuple(range(len(frame.sizes)))
        children = (Child("init", init, 1, out_dims), Child("body", body, 1, every))
        return Expansion((), 0, children)

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["ToAccum"]:
        """One, for the kinds that have an accumulating form."""
        if accumulating(key.kind) is not None:
            yield cls()


def accumulating(kind: Kind) -> tuple[Kind, str] | None:
    """The accumulating form of a kind and the name of its neutral element.

    None for what is no reduction that overwrites its output.
    """
    match kind:
        case Matmul(accum=False):
            return dataclasses.replace(kind, accum=True), "zero"
        case Max(accum=False):
            return Max(accum=True), "lowest"
    return None
