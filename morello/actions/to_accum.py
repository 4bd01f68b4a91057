"""ToAccum: a reduction that overwrites becomes a fill and one that accumulates.

Before::

    matmul(out)

After::

    fill(out, zero)        # init
    matmul_accum(out)      # body"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.actions.base import Action, Child, Expansion, canonical
from morello.machine import Target
from morello.spec import Fill, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True, order=True)
class ToAccum(Action):
    """The output gets the neutral element first; then the Spec adds to it."""

    name: ClassVar[str] = "to_accum"

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``init`` and ``body``; no cost of its own."""
        key = frame.key
        kind = key.kind.accumulating
        if kind is None:
            reason = f"{key.kind.label} is not a reduction that overwrites its output"
            return Expansion((Condition(False, reason),), 0)
        body = Frame(dataclasses.replace(key, kind=kind), frame.sizes, frame.limits)
        every = tuple(range(len(frame.sizes)))
        (out,) = kind.written
        out_dims = kind.operands[out].dims
        fill = SpecKey(
            Fill(len(out_dims), kind.neutral), (key.tensors[out],), key.serial
        )
        init = Frame(fill, frame.operand_sizes(out), frame.limits)
        children = (Child("init", init, 1, out_dims), Child("body", body, 1, every))
        return Expansion((), 0, children)

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """No operand counts."""
        tensors = tuple(map(canonical, key.tensors))
        return dataclasses.replace(key, tensors=tensors)

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["ToAccum"]:
        """One, for the kinds that have an accumulating form."""
        if key.kind.accumulating is not None:
            yield cls()
