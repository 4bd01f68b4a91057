"""Weights in the layout that the search picks: `opened`, `packed`.

A product may read its weights in panels. Where they are known before a model is called,
they are brought into these once, and not by every call.
"""

import dataclasses
import math

import numpy as np

from morello.frontends.grouping.group_dims import row_major
from morello.frontends.grouping.groups import is_product
from morello.frontends.grouping.parts import Operand, Part, Step
from morello.frontends.nodes.tensors import Array, Node, Source, Tensors
from morello.spec import Layout, Spec
from morello.spec.structure import is_common

_LEAST = 1024
"""Elements of weights that are packed: less is not worth a search."""


@dataclasses.dataclass(frozen=True)
class Packed:
    """Weights in a layout: what a part reads in their place."""

    name: str
    """The name of the array that the native function takes."""
    source: Source
    shape: tuple[int, ...]
    """In the order of the Spec."""
    layout: Layout
    """The layout of the source."""
    spec: Spec
    operand: int

    @property
    def copied_bytes(self) -> int:
        """Bytes of the copy of an argument; 0 where a constant is replaced."""
        size = math.prod(self.spec.physical_shape(self.operand))
        itemsize = self.spec.tensors[self.operand].dtype.itemsize
        return size * itemsize if self.source.argument >= 0 else 0

    def run(self, array: Array) -> Array:
        """The elements of the source in their layout."""
        physical = array.reshape(self.layout.physical_shape(self.shape))
        logical = self.layout.logical_view(physical, self.shape)
        packed = self.spec.to_physical(self.operand, logical)
        return np.ascontiguousarray(packed)


def opened(
    tensors: Tensors, steps: tuple[Step, ...], part: Part, weights: bool
) -> tuple[int, ...]:
    """The operands of a part whose layout may be chosen: large factors of a product
    that are constants, or weights if so asked, whole. A constant is replaced, so that
    nothing else may read it.

    Filters that have been turned to have channels last are constants, too.
    """
    nodes = [tensors.all[node] for node in part.nodes]
    if not any(isinstance(n, Node) and is_product(n) for n in nodes):
        return ()
    readers = [tensor for step in steps for tensor in step.inputs]
    indices = []
    for index, operand in enumerate(part.operands):
        source = tensors.all[operand.tensor]
        if (
            isinstance(source, Source)
            and (
                source.argument < 0 or (weights and source.argument in tensors.weights)
            )
            and len(operand.shape) > 1
            and operand.is_gapless
            and not _is_along_groups(part, index)
            and math.prod(operand.shape) == math.prod(source.shape) >= _LEAST
            and (source.argument >= 0 or readers.count(operand.tensor) == 1)
        ):
            indices.append(index)
    return tuple(indices)


def _is_along_groups(part: Part, index: int) -> bool:
    """Whether neighbours of an operand are in different groups: no matrix has them."""
    inner = part.kind.operands[index].axes[part.forms[index].layout.innermost].dim
    return inner is not None and is_common(part.kind, inner)


Copies = dict[tuple[int, Layout, tuple[int, ...], Layout], int]
"""The copy of a tensor from a layout, in the order of a Spec, to another layout."""


def packed(
    tensors: Tensors,
    part: Part,
    spec: Spec,
    operands: tuple[int, ...],
    copies: Copies,
) -> tuple[Part, list[Packed]]:
    """A part that reads packed weights.

    Args:
        tensors: gets the packed weights.
        part: as it was before.
        spec: its Spec with the layouts that were chosen.
        operands: those that were open.
        copies: those that other parts read, which this one shares; gets its own.

    Returns:
        The part, and the copies of arguments that no other has.
    """
    changed = list(part.operands)
    weights = []
    for index in operands:
        layout = part.forms[index].layout
        if spec.tensors[index].layout == layout:
            continue
        old = part.operands[index]
        source = tensors.all[old.tensor]
        assert isinstance(source, Source)
        shape = spec.physical_shape(index)
        key = old.tensor, layout, spec.shape(index), spec.tensors[index].layout
        if key not in copies:
            is_argument = source.argument >= 0
            name = f"packed{len(tensors.all)}" if is_argument else source.name
            panel = Packed(name, source, spec.shape(index), layout, spec, index)
            array = None if source.array is None else panel.run(source.array)
            new = Source(name, shape, source.dtype, -1, array)
            if is_argument:
                copies[key] = tensors.add(new)
            else:
                copies[key] = old.tensor
                tensors.all[old.tensor] = new
            if array is None:
                weights.append(panel)
        changed[index] = Operand(copies[key], 0, shape, tuple(row_major(shape)))
    return dataclasses.replace(part, operands=tuple(changed)), weights
