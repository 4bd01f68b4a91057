"""Taps: each tap of a filter, on the rows whose windows have it inside the image.

Before, with a filter of three taps and one place of zeros on both sides::

    y[u] += sum(w[i] * x[pad(u+i,1,1)])           # u=56, i=3

After ``Taps("d0")``, where that is u::

    y[1:]  += w[0] * x[:55]                       # before:  u=55, i=1
    y[u]   += w[1] * x[u]                         # main:    u=56, i=1
    y[:55] += w[2] * x[1:]                        # after:   u=55, i=1

Nothing is copied, zeros are not multiplied, and there is no padding: loops may go along
the rows. The output is gone over once a tap, where `Border` goes over a filter once a
strip: a product of matrices sums many channels meanwhile.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from morello.actions.loops.border import SIDES, Bordered, Strips, by_role
from morello.machine import Target
from morello.spec import SpecKey
from morello.spec.frame import Ints
from morello.spec.graphs.borders import Border as Borders
from morello.spec.graphs.borders import Strip, taps_inside
from morello.spec.structure import contractions


@dataclasses.dataclass(frozen=True, order=True)
class Taps(Strips):
    """Along the dimension ``dim`` of the output, each tap by itself, on the rows that
    have it inside the image."""

    name: ClassVar[str] = "taps"
    refusal: ClassVar[str] = (
        "no row has a tap inside the image, or there are more than "
        f"{SIDES} taps on one side of that which most rows have"
    )

    def parts(self, borders: Borders, sizes: tuple[Ints, ...]) -> dict[str, Strip]:
        """Rows with a tap inside the image; ``main`` is the first of those with the
        most rows."""
        rows, taps = (int(np.max(sizes[d])) for d in (borders.rows, borders.taps))
        parts = taps_inside(borders, rows, taps)
        if not parts:
            return {}
        most = max(strip.rows for strip in parts)
        return by_role(parts, [strip.rows for strip in parts].index(most))

    def bordered(self, key: SpecKey) -> Bordered | str:
        """The key of the taps, or the reason why the action does not apply."""
        if any(not form.is_read for form in key.kind.operands if form.is_written):
            return f"{key.kind.label} overwrites an output: let it add first"
        return super().bordered(key)

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator[Strips]:
        """The first dimension with a border of a product of matrices that adds to an
        output; image and output in the last cache, as each tap goes over both, and
        filters where they were: each tap has a part of them."""
        if contractions(key.kind) != 1:
            return
        for action in cls.first(key):
            parts = action.bordered(key)
            if isinstance(parts, str):
                continue
            passed = {parts.border.image, *key.kind.written}
            levels = enumerate(tensor.level for tensor in key.tensors)
            last = target.caches[-1]
            if all(v is (last if i in passed else target.home) for i, v in levels):
                yield action

    @classmethod
    def following(cls, key: SpecKey, target: Target) -> tuple[Strips, ...]:
        """The taps along the next dimension, of an image that is a part of another, as
        each tap leaves it: copies of these parts would be one of the image for each."""
        return tuple(
            action
            for action in cls.candidates(key, (), target)
            if not isinstance(parts := action.bordered(key), str)
            and not key.tensors[parts.border.image].contiguous
        )
