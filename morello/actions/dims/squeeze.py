"""Squeeze: a contraction whose other dimensions are 1 becomes a product of matrices.

Before, where a loop has come to one row and one tap of a convolution::

    y[f,u,v] += sum(w[f,c,i,j] * x[c,u+i,v+j])      # u = i = j = 1

After::

    y[f,v] += sum(w[f,c] * x[c,v])                  # matmul_accum
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from morello.actions.base import Action, Child, Expansion
from morello.actions.copies.move import Move
from morello.machine import Target
from morello.spec import Memory, SpecKey
from morello.spec.embedding import ONE, Embedding
from morello.spec.frame import Condition, Frame
from morello.spec.graphs.convolution import squeezed
from morello.spec.graphs.products import normal
from morello.spec.mixes import has_dtypes


@dataclasses.dataclass(frozen=True)
class Squeezed:
    """The product of matrices that a key is."""

    embedding: Embedding
    key: SpecKey


@dataclasses.dataclass(frozen=True, order=True)
class Squeeze(Action):
    """Every dimension but those of a product of matrices is 1: it is that."""

    name: ClassVar[str] = "squeeze"
    takes_ranges: ClassVar[bool] = True

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Hole ``body``; no cost of its own."""
        product = squeezed_key(frame.key)
        if isinstance(product, str):
            return Expansion.refused(product)
        dims = product.embedding.dims
        names = frame.key.kind.dims
        conditions = tuple(
            Condition(size == 1, f"needs {name} = 1: tile or split it to 1")
            for dim, (name, size) in enumerate(zip(names, frame.sizes, strict=True))
            if dim not in dims
        )
        sizes = tuple(1 if dim == ONE else frame.sizes[dim] for dim in dims)
        body = Frame(product.key, sizes, frame.limits)
        return Expansion(conditions, 0, (Child("body", body, 1, dims),))

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches that operands of the product of matrices may move to."""
        product = squeezed_key(key)
        if isinstance(product, str):
            return frozenset()
        return Move.levels_taken(product.key, target)

    @classmethod
    def candidates(
        cls, key: SpecKey, axes: tuple[tuple[int, ...], ...], target: Target
    ) -> Iterator["Squeeze"]:
        """One, for contractions that can become a product of matrices."""
        if not isinstance(squeezed_key(key), str):
            yield cls()


def _stepping(key: SpecKey, operand: int, dims: tuple[int, ...]) -> str:
    """Why neighbours of an operand are none of the product's; empty if they are."""
    own, tensor = key.kind.operands[operand], key.tensors[operand]
    if own.is_plain or tensor.level.is_registers:
        return ""
    inner = own.axes[tensor.layout.innermost]
    if all(s == 1 for d, s in inner.terms if d in dims):
        return ""
    return (
        f"'{own.name}' is read in steps along neighbours: bring it to another layout "
        "first (pad)"
    )


@lru_cache(maxsize=65536)
def squeezed_key(key: SpecKey) -> Squeezed | str:
    """The product of matrices; or why there is none."""
    graph = key.kind.as_graph
    embedding = None if graph is None else squeezed(graph)
    if graph is None or embedding is None:
        return f"{key.kind.label} is no contraction of more dimensions than a product"
    tensors = []
    for operand, value in enumerate(embedding.values):
        place = key.kind.values.index(value)
        reason = _stepping(key, place, embedding.dims)
        if reason:
            return reason
        form = embedding.inward(operand, key.tensors[place])
        if form is None:
            return (
                f"neighbours of '{key.kind.operands[place].name}' lie along a "
                "dimension that would vanish: move it to another layout first"
            )
        if normal(graph) is not None:  # the whole of it, without gaps
            whole = key.tensors[place].contiguous
            form = dataclasses.replace(form, contiguous=whole)
        tensors.append(form)
    if not has_dtypes(embedding.kind, tuple(tensor.dtype for tensor in tensors)):
        return f"{embedding.kind.label} has no such dtypes"
    return Squeezed(embedding, SpecKey(embedding.kind, tuple(tensors), key.serial))
