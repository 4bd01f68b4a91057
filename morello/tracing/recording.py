"""The program that a trace notes down: `Recording`, of the nodes of all front ends."""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from morello.frontends.nodes.rewriting import live
from morello.frontends.nodes.tensors import (
    Access,
    Given,
    Joined,
    Node,
    Plain,
    Tensor,
    Tensors,
    own_axes,
)
from morello.frontends.plain.reversal import reversal
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import COPY, Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import IndexMap, dims_of, plain
from morello.tracing.refusals import refusal

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]

_MOST_NOTES = 20_000
"""Values that are noted down."""


@lru_cache(maxsize=256)
def _nothing(count: int) -> Array:
    """Numbers that change none to which they are added, not even -0."""
    return np.full(count, -0.0, np.float32)


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

    def argument(self, number: int, shape: Shape) -> int:
        """An argument of the function."""
        return self._add(Given("", shape, Dtype.F32, number))

    def array(self, array: Array) -> int:
        """An array of f32 that the function holds: the same tensor each time."""
        if id(array) not in self._arrays:
            tensor = self._add(Given("", array.shape, Dtype.F32, array=array))
            self._arrays[id(array)] = array, tensor
        return self._arrays[id(array)][1]

    def node(
        self,
        extents: Shape,
        axes: tuple[IndexMap, ...],
        reduction: str,
        expression: Expression,
        reads: tuple[Access, ...],
    ) -> int:
        """A tensor that is computed."""
        return self._add(self._node(extents, axes, reduction, expression, reads))

    def _node(
        self,
        extents: Shape,
        axes: tuple[IndexMap, ...],
        reduction: str,
        expression: Expression,
        reads: tuple[Access, ...],
    ) -> Node:
        """A node, of which what it reads may lack dimensions, along which all elements
        are the same."""
        alike = {*range(len(extents))} - dims_of(i for a in reads for i in a.axes)
        for dim in sorted(alike):
            if extents[dim] == 1:
                continue
            if dim in dims_of(axes):  # which something has to have that it reads
                access = Access(self.array(_nothing(extents[dim])), plain(dim))
                expression = Call("add", (expression, Reference(len(reads))))
                reads = (*reads, access)
            else:
                if reduction == "sum":
                    times = Constant(float(extents[dim]))
                    expression = Call("mul", (expression, times))
                extents = (*extents[:dim], 1, *extents[dim + 1 :])
        place = self.tensors.name
        return Node.of(extents, axes, reduction, expression, reads, Dtype.F32, place)

    def copy(self, access: Access, shape: Shape) -> int:
        """A tensor of the elements that are read, row-major."""
        return self._add(self._copying(access, shape))

    def _copying(self, access: Access, shape: Shape) -> Node:
        self._check()
        return self._node(shape, own_axes(shape), MAP, COPY, (access,))

    def view(self, tensor: int, shape: Shape) -> int:
        """A tensor in another shape."""
        self._check()
        return self.tensors.view(tensor, shape)

    def joined(self, parts: list[tuple[Access, Shape]], axis: int) -> int:
        """Arrays one after the other along an axis."""
        ends = np.cumsum([shape[axis] for _, shape in parts]).tolist()
        first = parts[0][1]
        whole = (*first[:axis], ends[-1], *first[axis + 1 :])
        ones = (1,) * len(whole)

        def pieces() -> Iterator[tuple[Node, Shape, Shape]]:
            for (access, shape), end in zip(parts, ends, strict=True):
                starts = [0] * len(whole)
                starts[axis] = end - shape[axis]
                yield self._copying(access, shape), tuple(starts), ones

        return self.tensors.join(Joined(whole, Dtype.F32), pieces())

    def reversed(self, tensor: int, axes: frozenset[int]) -> int:
        """A tensor backwards along some axes."""
        shape = self.shape(tensor)
        code = reversal(shape, axes, self.tensors.name)
        return self._add(Plain(code, 0, (tensor,), shape, Dtype.F32))

    def program(self, results: list[int], holds: bool) -> tuple[Tensors, list[Given]]:
        """The tensors that some results need, and what is given to them, in order.

        Args:
            results: tensors that are computed, of different roots.
            holds: whether arrays that the function holds are constants; otherwise they
                are arguments, after the function's.
        """
        whole = live(dataclasses.replace(self.tensors, results=results))
        given: list[Given] = []
        for place, tensor in enumerate(whole.all):
            if not isinstance(tensor, Given):
                continue
            number = len(given)
            given.append(tensor)
            if holds and tensor.array is not None:
                made = dataclasses.replace(tensor, name=f"constant{number}")
            else:
                made = Given(f"arg{number}", tensor.shape, Dtype.F32, number)
                whole.names.append(made.name)
            whole.all[place] = made
        return whole, given
