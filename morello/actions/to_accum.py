"""ToAccum: a reduction that overwrites becomes a fill and one that accumulates.

Before::

    matmul(out)

After::

    fill(out, zero)        # init
    matmul_accum(out)      # body

A graph of several reductions has a fill for each; a maximum inside, to which others are
relative, gets a buffer.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.actions.base import Action, Axes, Child, Expansion, canonical, near_form
from morello.machine import Target
from morello.spec import Fill, Layout, Reform, Spec, SpecKey, TensorSpec
from morello.spec.elements.dtypes import computed_in
from morello.spec.frame import Frame
from morello.spec.structure import leader, neutral_of

INITS = ("init", "init1", "init2", "init3")
"""The holes of the fills: one for each output that is added to."""


@dataclasses.dataclass(frozen=True, order=True)
class ToAccum(Action):
    """The outputs get the neutral element first; then the Spec adds to them."""

    name: ClassVar[str] = "to_accum"
    takes_ranges: ClassVar[bool] = True

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``init``, for more outputs ``init1``, …, and ``body``; no cost of its
        own."""
        key = frame.key
        form = key.kind.reform
        if form is None or len(filled(form)) > len(INITS):
            reason = f"{key.kind.label} is not a reduction that overwrites its output"
            return Expansion.refused(reason)
        tensors = reformed(key, form)
        sizes = tuple(frame.sizes[d] for d in form.dims)
        body = SpecKey(form.kind, tensors, key.serial)
        limits = frame.limits
        children = []
        for role, out in zip(INITS, filled(form), strict=False):
            operand = form.kind.operands[out]
            fill = Fill(operand.rank, neutral_of(form.kind, out))
            init = SpecKey(fill, (tensors[out],), key.serial)
            child = Frame(init, body.operand_sizes(out, sizes), limits)
            dims = tuple(form.dims[d] for d in operand.dims)
            children.append(Child(role, child, 1, dims))
        inner = Frame(body, sizes, limits)
        return Expansion((), 0, (*children, Child("body", inner, 1, form.dims)))

    def is_unbounded(self, spec: Spec) -> bool:
        """Whether operands that it makes have room for any size."""
        form = spec.kind.reform
        return form is not None and not any(
            spec.open_dims.intersection(form.dims[dim] for dim in operand.dims)
            for operand, at in zip(form.kind.operands, form.operands, strict=True)
            if at < 0
        )

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """No operand counts, unless one is made."""
        form = key.kind.reform
        if form is not None and -1 in form.operands:
            return key
        tensors = tuple(map(canonical, key.tensors))
        return dataclasses.replace(key, tensors=tensors)

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """One, for the kinds that have an accumulating form."""
        form = key.kind.reform
        if form is not None and len(filled(form)) <= len(INITS):
            yield cls()


def filled(form: Reform) -> tuple[int, ...]:
    """The outputs of the accumulating form that are added to."""
    operands = form.kind.operands
    return tuple(i for i in form.kind.written if operands[i].is_read)


def reformed(key: SpecKey, form: Reform) -> tuple[TensorSpec, ...]:
    """The forms of the operands of the accumulating form: one that is made lies where
    the operand that it follows does, or in L1. It takes a line or two, which are not
    counted."""
    forms: list[TensorSpec] = []
    for operand, at in zip(form.kind.operands, form.operands, strict=True):
        row = near_form(computed_in(key.dtypes), Layout.row_major(operand.rank))
        forms.append(row if at < 0 else key.tensors[at])
    for i, at in enumerate(form.operands):
        first = leader(form.kind, i)
        if at < 0 and first != i:
            level = forms[first].level.backing
            forms[i] = dataclasses.replace(forms[i], level=level)
    return tuple(forms)
