"""Squeeze: a contraction whose other dimensions are 1 becomes a product of matrices.

Before, where a loop has come to one row and one tap of a convolution::

    y[f,u,v] += sum(w[f,c,i,j] * x[c,u+i,v+j])      # u = i = j = 1

After::

    y[f,v] += sum(w[f,c] * x[c,v])                  # matmul_accum
"""

import dataclasses
from functools import lru_cache
from typing import ClassVar

from morello.actions.copies.move import Move
from morello.actions.dims.view import View, ViewAction
from morello.machine import Target
from morello.spec import Dtype, Memory, SpecKey
from morello.spec.embedding import Embedding
from morello.spec.graphs.convolution import squeezed
from morello.spec.graphs.products import normal, row_product
from morello.spec.mixes import flushing_as, has_dtypes


@dataclasses.dataclass(frozen=True, order=True)
class Squeeze(ViewAction):
    """Every dimension but those of a product of matrices is 1: it is that."""

    name: ClassVar[str] = "squeeze"
    takes_ranges: ClassVar[bool] = True

    def view(self, key: SpecKey) -> View | str:
        """The product of matrices, or the reason why the action does not apply."""
        return _squeezed(key)

    @classmethod
    def levels_taken(cls, key: SpecKey, target: Target) -> frozenset[Memory]:
        """The caches that operands of the product of matrices may move to."""
        product = _squeezed(key)
        if isinstance(product, str):
            return frozenset()
        return Move.levels_taken(product.key, target)


def _stepping(key: SpecKey, operand: int, dims: tuple[int, ...]) -> str:
    """Why neighbours of an operand are none of the product's; empty if they are."""
    form, tensor = key.kind.operands[operand], key.tensors[operand]
    if form.is_plain or tensor.level.is_registers:
        return ""
    inner = form.axes[tensor.layout.innermost]
    if all(s == 1 for d, s in inner.terms if d in dims):
        return ""
    return (
        f"'{form.name}' is read in steps along neighbours: bring it to another layout "
        "first (pad)"
    )


def product_of(key: SpecKey) -> Embedding | None:
    """The product of matrices that a Spec is; None for what is none.

    A matrix times a vector is one where elements are cast as they are read. In f32 rows
    that are read one after another, as `GraphRows` does, come as quickly from memory.
    """
    graph = key.kind.as_graph
    if graph is None:
        return None
    is_f32 = all(tensor.dtype is Dtype.F32 for tensor in key.tensors)
    return squeezed(graph) or (None if is_f32 else row_product(graph))


@lru_cache(maxsize=65536)
def _squeezed(key: SpecKey) -> View | str:
    graph, embedding = key.kind.as_graph, product_of(key)
    if graph is None or embedding is None:
        return f"{key.kind.label} is no contraction of more dimensions than a product"
    tensors = []
    places = tuple(map(key.kind.values.index, embedding.values))
    for operand, place in enumerate(places):
        reason = _stepping(key, place, embedding.dims)
        if reason:
            return reason
        form = embedding.inward(operand, key.tensors[place])
        if form is None:
            return (
                f"neighbours of '{key.kind.operands[place].name}' lie along a "
                "dimension that would vanish: move it to another layout first"
            )
        if normal(graph) or row_product(graph):  # the whole of it, without gaps
            whole = key.tensors[place].contiguous
            form = dataclasses.replace(form, contiguous=whole)
        tensors.append(form)
    dtypes = tuple(tensor.dtype for tensor in tensors)
    if not has_dtypes(embedding.kind, dtypes):
        return f"{embedding.kind.label} has no such dtypes"
    kind = flushing_as(key.kind, embedding.kind, dtypes)
    product = SpecKey(kind, tuple(tensors), key.serial)
    return View(product, embedding.dims, places)
