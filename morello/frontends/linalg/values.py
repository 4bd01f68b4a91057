"""Values of a linalg function during its import: tensors, numbers, foreign ones.

A tensor is another one through axes: `is_plain`, `regrouped` and others say by which.
"""

import dataclasses
from collections.abc import Sequence

from morello.frontends.linalg.bodies import Number
from morello.frontends.nodes.reshapes import axis_groups
from morello.spec.index_map import ONE, IndexMap, dims_of, plain


@dataclasses.dataclass(frozen=True)
class Read:
    """A tensor of the program: another one through axes."""

    tensor: int
    axes: tuple[IndexMap, ...]
    """For each axis of ``tensor`` the axis of the value that indexes it."""
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Same:
    """A tensor of one number, or one whose elements nobody has written."""

    number: Number
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Foreign:
    """A value whose elements are no numbers of a graph: integers, or other floats.

    Narrow integers become numbers where they are cast (`GenericOp`).
    """

    read: Read | None
    """The tensor in memory, and how; None where whoever reads it computes it again."""
    what: str
    """The type, for messages."""
    is_low: bool = False
    """Whether memory has the low 32 bits alone of integers of 64 bits."""


Known = Read | Same | Foreign | None
"""A value that was read; None where it was refused."""


class MissingError(Exception):
    """An operand was refused before."""


def is_plain(read: Read) -> bool:
    """Whether axes are a tensor's in order; those of one element may be left out."""
    named = [axis.dim for axis in read.axes if axis != ONE]
    return named == [i for i, extent in enumerate(read.shape) if extent > 1]


def unread(read: Read) -> set[int]:
    """The axes that nothing is read along."""
    wide = {i for i, extent in enumerate(read.shape) if extent > 1}
    return wide - dims_of(read.axes)


def along(
    read: Read, tensor_shape: tuple[int, ...], places: Sequence[int]
) -> Read | None:
    """Maps some axes of one element to axes of one element of the tensor.

    Zeros around such an element have to be read along an axis of the tensor. It does
    not matter along which axis of one element of the tensor.

    Args:
        tensor_shape: the shape of the tensor.
        places: the axes of the read.

    Returns:
        The read with these axes; None where the tensor has too few axes of one element.
    """
    axes = zip(read.axes, tensor_shape, strict=True)
    free = [i for i, (axis, n) in enumerate(axes) if axis == ONE and n == 1]
    if len(free) < len(places):
        return None
    free.sort(key=lambda axis: axis not in places)
    named = dict(zip(free, plain(*places), strict=False))
    mapped = tuple(named.get(i, axis) for i, axis in enumerate(read.axes))
    return Read(read.tensor, mapped, read.shape)


def regrouped(source: Read, shape: tuple[int, ...]) -> dict[int, int] | None:
    """The new axis for each axis that is read along, in another shape; None where one
    becomes several, or several one."""
    gone = unread(source)
    new_axis: dict[int, int] = {}
    for olds, news in axis_groups(source.shape, shape):
        wide = [i for i in olds if source.shape[i] > 1]
        wide_new = [i for i in news if shape[i] > 1]
        if all(i in gone for i in wide):
            continue
        if len(wide) != 1 or len(wide_new) != 1:
            return None
        new_axis[wide[0]] = wide_new[0]
    return new_axis


def next_of(rest: list[int], shape: tuple[int, ...], size: int) -> int:
    """The next axis of a result that may have dropped axes of one element."""
    while rest and shape[rest[0]] != size and shape[rest[0]] == 1:
        rest.pop(0)
    if rest and shape[rest[0]] == size:
        return rest.pop(0)
    return 0
