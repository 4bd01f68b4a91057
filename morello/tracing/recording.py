"""The program that a trace notes down: `Recording`, of the nodes of all front ends."""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from morello.frontends.nodes.rewriting import live
from morello.frontends.nodes.tensors import (
    Access,
    Joined,
    Node,
    Plain,
    Source,
    Tensor,
    Tensors,
    identity_axes,
)
from morello.frontends.plain.reversal import reversal
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import COPY, Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain
from morello.tracing.refusals import refusal

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]

_MOST_NOTES = 20_000
"""Values that are noted down."""


@lru_cache(maxsize=256)
def _nothing(count: int, dtype: Dtype) -> Array:
    """Numbers that change none to which they are added, not even -0."""
    return np.full(count, -0.0).astype(np.float32 if dtype.is_float else dtype.numpy)


class Recording:
    """Program that a traced function builds: tensors and nodes, in order.

    Args:
        name: of the function.
    """

    def __init__(self, name: str) -> None:
        self.tensors = Tensors(name)
        self._arrays: dict[int, tuple[Array, int]] = {}
        """By identity: an array that the function holds, and its tensor."""

    def _add(self, tensor: Tensor) -> int:
        self._check()
        return self.tensors.add(tensor)

    def _check(self) -> None:
        if len(self.tensors.all) >= _MOST_NOTES:
            raise refusal(
                f"the function computes more than {_MOST_NOTES} values",
                "compile parts of it by themselves",
            )

    def shape(self, tensor: int) -> Shape:
        """The extent of each axis of a tensor."""
        return self.tensors.all[tensor].shape

    def argument(self, number: int, shape: Shape, dtype: Dtype) -> int:
        """An argument of the function."""
        return self._add(Source("", shape, dtype, number))

    def array(self, array: Array) -> int:
        """An array of floats that the function holds: the same tensor each time."""
        if id(array) not in self._arrays:
            dtype = next(t for t in Dtype if t.numpy == array.dtype)
            tensor = self._add(Source("", array.shape, dtype, array=array))
            self._arrays[id(array)] = array, tensor
        return self._arrays[id(array)][1]

    def node(
        self,
        extents: Shape,
        axes: tuple[IndexMap, ...],
        reduction: str,
        expression: Expression,
        reads: tuple[Access, ...],
        dtype: Dtype,
    ) -> int:
        """A tensor that is computed, and written as a dtype."""
        return self._add(self._node(extents, axes, reduction, expression, reads, dtype))

    def _node(
        self,
        extents: Shape,
        axes: tuple[IndexMap, ...],
        reduction: str,
        expression: Expression,
        reads: tuple[Access, ...],
        dtype: Dtype,
    ) -> Node:
        """A node, of which what it reads may lack dimensions, along which all elements
        are the same."""
        alike = {*range(len(extents))} - dims_of(i for a in reads for i in a.axes)
        for dim in sorted(alike):
            if extents[dim] == 1:
                continue
            if dim in dims_of(axes):  # which something has to have that it reads
                if not dtype.is_float and dtype is not Dtype.S32:
                    dtype = Dtype.F32
                access = Access(self.array(_nothing(extents[dim], dtype)), plain(dim))
                expression = Call("add", (expression, Reference(len(reads))))
                reads = (*reads, access)
            else:
                if reduction == "sum":
                    times = Constant(float(extents[dim]))
                    expression = Call("mul", (expression, times))
                extents = (*extents[:dim], 1, *extents[dim + 1 :])
        place = self.tensors.name
        return Node.of(extents, axes, reduction, expression, reads, dtype, place)

    def copy(self, access: Access, shape: Shape, dtype: Dtype | None = None) -> int:
        """A tensor of the elements that are read, row-major, as another dtype if one is
        said that has them all."""
        return self.computed(access, shape, COPY, dtype)

    def computed(
        self,
        access: Access,
        shape: Shape,
        expression: Expression,
        dtype: Dtype | None = None,
    ) -> int:
        """A tensor of a function of the elements that are read, row-major."""
        return self._add(self._computing(access, shape, expression, dtype))

    def _computing(
        self,
        access: Access,
        shape: Shape,
        expression: Expression,
        dtype: Dtype | None = None,
    ) -> Node:
        self._check()
        dtype = dtype or self._copied_as(access)
        return self._node(
            shape, identity_axes(shape), MAP, expression, (access,), dtype
        )

    def view(self, tensor: int, shape: Shape) -> int:
        """A tensor in another shape."""
        self._check()
        return self.tensors.view(tensor, shape)

    def _copied_as(self, access: Access) -> Dtype:
        """The dtype of a copy of elements: that of the tensor, or f32, which has them,
        for integers of at most 16 bits that graphs do not copy so."""
        dtype = self.tensors.dtype(access.tensor)
        is_narrow = not dtype.is_float and dtype is not Dtype.S32
        is_run = all(
            axis == ONE or (not axis.is_padded and {*axis.steps.values()} == {1})
            for axis in access.axes
        )
        return Dtype.F32 if is_narrow and not is_run else dtype

    def joined(self, parts: list[tuple[Access, Shape]], axis: int) -> int:
        """Arrays one after the other along an axis."""
        ends = np.cumsum([shape[axis] for _, shape in parts]).tolist()
        first = parts[0][1]
        dtype = self._common([access for access, _ in parts])
        whole = (*first[:axis], ends[-1], *first[axis + 1 :])
        ones = (1,) * len(whole)

        def pieces() -> Iterator[tuple[Node, Shape, Shape]]:
            for (access, shape), end in zip(parts, ends, strict=True):
                starts = [0] * len(whole)
                starts[axis] = end - shape[axis]
                part = self._computing(access, shape, COPY, dtype)
                yield part, tuple(starts), ones

        return self.tensors.join(Joined(whole, dtype), pieces())

    def _common(self, reads: list[Access]) -> Dtype:
        """A dtype that has the elements of all tensors."""
        dtypes = {self.tensors.dtype(access.tensor) for access in reads}
        if len(dtypes) == 1:
            return dtypes.pop()
        is_float = any(dtype.is_float for dtype in dtypes)
        return Dtype.F32 if is_float else Dtype.S32

    def reversed(self, tensor: int, axes: frozenset[int]) -> int:
        """A tensor backwards along some axes."""
        shape, dtype = self.shape(tensor), self.tensors.dtype(tensor)
        code = reversal(shape, axes, dtype, self.tensors.name)
        return self._add(Plain(code, 0, (tensor,), shape, dtype))

    def program(self, results: list[int], holds: bool) -> tuple[Tensors, list[Source]]:
        """The tensors that some results need, and what is given to them, in order.

        Args:
            results: tensors that are computed, of different roots.
            holds: whether arrays that the function holds are constants; otherwise they
                are arguments, after the function's.
        """
        whole = live(dataclasses.replace(self.tensors, results=results))
        sources: list[Source] = []
        for place, tensor in enumerate(whole.all):
            if not isinstance(tensor, Source):
                continue
            number = len(sources)
            sources.append(tensor)
            if holds and tensor.array is not None:
                renamed = dataclasses.replace(tensor, name=f"constant{number}")
            else:
                renamed = Source(f"arg{number}", tensor.shape, tensor.dtype, number)
                whole.names.append(renamed.name)
            whole.all[place] = renamed
        return whole, sources
