"""A Spec of one kind that stands for a part of another."""

import dataclasses
from functools import lru_cache

from morello.errors import SpecError
from morello.spec.kind import Kind
from morello.spec.tensors.layout import Layout, PhysicalDim
from morello.spec.tensors.tensor import TensorSpec

ONE = -2
"""Stands for a dimension, or an axis, of one element that the other kind lacks."""


@dataclasses.dataclass(frozen=True)
class Embedding:
    """A kind whose dimensions and operands are those of another, in another order."""

    kind: Kind
    dims: tuple[int, ...]
    """For each of its dimensions that of the other kind; `ONE` for none."""
    values: tuple[int, ...]
    """For each of its operands the value of the graph."""
    axes: tuple[tuple[int, ...], ...]
    """For each of its operands, for each axis of that, the axis of the value."""

    def inward(self, operand: int, tensor: TensorSpec) -> TensorSpec | None:
        """The form of an operand, from that of its value; None where it has none.

        Axes of one element are outermost: nothing moves in memory. Axes of the value
        that the operand lacks are of one element; neighbours must not lie along them.
        """
        return _inward(self.axes[operand], tensor)

    def outward(self, operand: int, layout: Layout, rank: int) -> Layout | None:
        """The layout of a value, from that of its operand; None where it has none.

        Axes of the value that the operand lacks are outermost.
        """
        return _outward(self.axes[operand], layout, rank)

    def ones(self, operand: int) -> int:
        """How many axes of an operand are of one element that its value lacks."""
        return self.axes[operand].count(ONE)


@lru_cache(maxsize=4096)
def _inward(axes: tuple[int, ...], tensor: TensorSpec) -> TensorSpec | None:
    """`Embedding.inward` of an operand with these axes."""
    place = {axis: i for i, axis in enumerate(axes) if axis != ONE}
    ones = [PhysicalDim(i) for i, axis in enumerate(axes) if axis == ONE]
    gone = [d for d in tensor.layout.dims if d.dim not in place]
    if tensor.layout.innermost not in place or any(d.pack for d in gone):
        return None
    dims = [
        dataclasses.replace(d, dim=place[d.dim])
        for d in tensor.layout.dims
        if d.dim in place
    ]
    layout = Layout((*ones, *dims))
    # A tile along the axis within one of one element would not be known as gapless.
    whole = tensor.contiguous and not ones and not gone
    try:
        return dataclasses.replace(tensor, layout=layout, contiguous=whole)
    except SpecError:  # registers hold row-major tiles only
        return None


@lru_cache(maxsize=4096)
def _outward(axes: tuple[int, ...], layout: Layout, rank: int) -> Layout | None:
    """`Embedding.outward` of an operand with these axes."""
    if any(d.pack for d in layout.dims if axes[d.dim] == ONE):
        return None
    dims = [
        dataclasses.replace(d, dim=axes[d.dim])
        for d in layout.dims
        if axes[d.dim] != ONE
    ]
    gone = [PhysicalDim(axis) for axis in range(rank) if axis not in axes]
    return Layout((*gone, *dims))
