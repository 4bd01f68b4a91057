"""Transposed convolutions as convolutions.

Along an axis of step s, element q*s + r of the result is the sum over j of element
q - j times tap j*s + r. So elements of one r are a convolution with every s-th tap,
turned round. All r with equally many taps are channels of one convolution, whose
results then lie side by side. Nothing is multiplied by a zero between elements.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch


@dataclasses.dataclass(frozen=True)
class _Class:
    """Neighbouring places within a step that have equally many taps."""

    first: int
    count: int
    taps: int


@dataclasses.dataclass(frozen=True)
class _Axis:
    """An axis of places of the image."""

    size: int
    taps: int
    step: int
    padding: int
    dilation: int
    extra: int
    """Elements that the result has beyond what is reached."""

    @property
    def result(self) -> int:
        """Number of elements of the result."""
        reached = (self.size - 1) * self.step + self.dilation * (self.taps - 1) + 1
        return reached - 2 * self.padding + self.extra

    @property
    def steps(self) -> range:
        """The q of all elements of the result."""
        end = self.padding + self.result
        return range(self.padding // self.step, -(-end // self.step))

    @property
    def classes(self) -> list[_Class]:
        """Classes of places that have taps, or none."""
        most, rest = -(-self.taps // self.step), self.taps % self.step
        if not rest:
            return [_Class(0, self.step, most)]
        return [_Class(0, rest, most), _Class(rest, self.step - rest, most - 1)]

    def borders(self, taps: int) -> tuple[int, int]:
        """Zeros before and after the image for so many taps; below 0, what is left
        out of it."""
        before = self.dilation * (taps - 1) - self.steps.start
        return before, self.steps.stop - self.size


def is_taken(arguments: Sequence[Any]) -> bool:
    """Whether arguments of a convolution are those that `transposed` takes: along an
    axis it has steps, or gaps between its taps."""
    return all(1 in pair for pair in zip(arguments[3], arguments[5], strict=True))


def transposed(
    x: Any,
    filters: Any,
    bias: Any,
    steps: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    extra: Sequence[int],
    groups: int,
) -> Any:
    """A transposed convolution."""
    sizes = x.shape[2:], filters.shape[2:], steps, padding, dilation, extra
    axes = [_Axis(*own) for own in zip(*sizes, strict=True)]
    y = _joined(x, filters, bias, axes, groups, ())
    channels = groups * filters.shape[1]
    shape = [len(axis.steps) * axis.step for axis in axes]
    y = y.reshape(len(x), channels, *shape)
    for dim, axis in enumerate(axes, 2):
        begin = axis.padding - axis.steps.start * axis.step
        y = y.narrow(dim, begin, axis.result)
    return y


def _joined(
    x: Any,
    filters: Any,
    bias: Any,
    axes: list[_Axis],
    groups: int,
    chosen: tuple[_Class, ...],
) -> Any:
    """The results of all classes, where some axes have one already: along an axis the
    steps, then the places in a step."""
    rank = len(chosen)
    if rank == len(axes):
        return _of_classes(x, filters, bias, axes, groups, chosen)
    parts = [
        _joined(x, filters, bias, axes, groups, (*chosen, own))
        for own in axes[rank].classes
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 4 + 2 * rank)


def _of_classes(
    x: Any,
    filters: Any,
    bias: Any,
    axes: list[_Axis],
    groups: int,
    classes: tuple[_Class, ...],
) -> Any:
    """The result at the places of a class along each axis."""
    n, rank, out = len(x), len(axes), filters.shape[1]
    places = [own.count for own in classes]
    counts = [len(axis.steps) for axis in axes]
    pairs = itertools.chain.from_iterable(zip(counts, places, strict=True))
    shape = n, groups, out, *pairs
    if not all(own.taps for own in classes):
        value = x.new_zeros(1) if bias is None else bias
        ones = [1] * (2 * rank)
        rows = value.reshape(
            (1, groups, out, *ones) if bias is not None else [1] * 3 + ones
        )
        return rows.expand(shape).clone()
    taps = _turned(filters, axes, groups, classes)
    if bias is not None:
        repeated = bias.reshape(groups, 1, out).expand(groups, math.prod(places), out)
        bias = repeated.reshape(-1)
    borders = [axis.borders(own.taps) for axis, own in zip(axes, classes, strict=True)]
    around = [n for pair in reversed(borders) for n in pair]
    if all(before == after >= 0 for before, after in borders):
        padding = [before for before, _ in borders]
    else:
        x, padding = torch.constant_pad_nd(x, around), [0] * rank
    dilation = [axis.dilation for axis in axes]
    ones = [1] * rank
    y = torch.convolution(
        x, taps, bias, ones, padding, dilation, False, [0] * rank, groups
    )
    y = y.reshape(n, groups, *places, out, *counts)
    order = [0, 1, 2 + rank]
    for axis in range(rank):
        order += [3 + rank + axis, 2 + axis]
    return y.permute(order)


def _turned(
    filters: Any, axes: list[_Axis], groups: int, classes: tuple[_Class, ...]
) -> Any:
    """The filters of a class along each axis: places within a step are channels, and
    taps come from the last to the first."""
    rank, own = len(axes), filters
    for number, (axis, one) in enumerate(zip(axes, classes, strict=True)):
        dim = 2 + 2 * number
        if one.count == axis.step:
            split = own.unflatten(dim, (one.taps, axis.step)).flip(dim)
        else:
            places = [
                own.narrow(dim, place + tap * axis.step, 1)
                for tap in reversed(range(one.taps))
                for place in range(one.first, one.first + one.count)
            ]
            split = torch.cat(places, dim).unflatten(dim, (one.taps, one.count))
        own = split
    own = own.unflatten(0, (groups, -1))
    taps, places = ([first + 2 * i for i in range(rank)] for first in (3, 4))
    own = own.permute(0, *places, 2, 1, *taps)
    counts = [one.taps for one in classes]
    return own.reshape(-1, len(filters) // groups, *counts)
