"""Graphs that have a kind of their own, as Specs of that kind: `named_form`.

A graph that is a product of matrices is a `Matmul`, one that is a copy in another order
a `Move`, so that a computation is one Spec, whichever way it is written.
"""

import dataclasses

from morello.spec.elements.dtypes import Dtype
from morello.spec.embedding import ONE, Embedding
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.products import copied, normal
from morello.spec.kind import Kind
from morello.spec.mixes import flushing_as, has_dtypes
from morello.spec.tensors.layout import Layout
from morello.spec.tensors.tensor import TensorSpec


@dataclasses.dataclass(frozen=True)
class NamedForm:
    """A graph in the form of another kind, whose axes lie in memory as those of the
    graph do; others are of one element."""

    embedding: Embedding
    sizes: tuple[int, ...]
    tensors: tuple[TensorSpec, ...]

    @property
    def kind(self) -> Kind:
        """The kind of the named form."""
        return self.embedding.kind

    @property
    def operands(self) -> tuple[int, ...]:
        """For each operand that of the graph."""
        return self.embedding.values

    def dims(self, dims: tuple[int, ...]) -> tuple[int, ...]:
        """The dimensions that some of the graph are, ascending."""
        return tuple(i for i, dim in enumerate(self.embedding.dims) if dim in dims)

    def in_memory(
        self, operand: int, axes: tuple[int, ...], new: int
    ) -> tuple[int, ...]:
        """A number for each axis of an operand in memory, unpacked and outermost first.

        Args:
            operand: its number.
            axes: for each axis of the graph's operand.
            new: for an axis that this lacks.
        """
        left = list(axes)
        operand_axes = self.embedding.axes[operand]
        dims = self.tensors[operand].layout.dims
        return tuple(new if operand_axes[d.dim] == ONE else left.pop(0) for d in dims)

    @property
    def keeps_arguments(self) -> bool:
        """Whether calls pass the same arrays in the same order: no axes are new but
        those that may be left out."""
        dims = self.embedding.dims[self.kind.optional_dims :]
        return self.operands == tuple(range(len(self.operands))) and ONE not in dims


def named_form(
    kind: Kind, sizes: tuple[int, ...], tensors: tuple[TensorSpec, ...]
) -> NamedForm | None:
    """The named form of a Spec; None for one that stays a graph, or is none.

    Args:
        kind: of the Spec.
        sizes: of its dimensions.
        tensors: the form of each operand.
    """
    graph = kind.as_graph
    dtypes = tuple(tensor.dtype for tensor in tensors)
    inner = None if graph is None else _embedded(graph, dtypes)
    if inner is None:
        return None
    forms = []
    for operand, value in enumerate(inner.values):
        form = inner.inward(operand, tensors[value])
        if form is None:
            return None
        # What is new has one element, wherever it is.
        old = [d for d in form.layout.dims if inner.axes[operand][d.dim] != ONE]
        is_sorted = old == sorted(old) and not form.layout.is_packed
        layout = Layout.row_major(form.rank) if is_sorted else form.layout
        gapless = tensors[value].contiguous
        forms.append(dataclasses.replace(form, layout=layout, contiguous=gapless))
    form_dtypes = tuple(form.dtype for form in forms)
    named_kind = flushing_as(kind, inner.kind, form_dtypes)
    inner = dataclasses.replace(inner, kind=named_kind)
    if not has_dtypes(inner.kind, form_dtypes):
        return None
    # Of copies in order the kernels of graphs are as quick, or quicker.
    in_order = inner.kind.moves_data and len({form.layout for form in forms}) == 1
    if in_order and has_dtypes(kind, dtypes):
        return None
    # What has a dimension of one element is a graph of fewer dimensions.
    if any(sizes[dim] == 1 for dim in inner.dims[inner.kind.optional_dims :]):
        return None
    inner_sizes = tuple(1 if dim == ONE else sizes[dim] for dim in inner.dims)
    return NamedForm(inner, inner_sizes, tuple(forms))


def _embedded(graph: Graph, dtypes: tuple[Dtype, ...]) -> Embedding | None:
    """The kind that a graph is: a copy may widen, and does not round, since graphs
    round NaN in another way than `Move` does."""
    move = copied(graph)
    if move is None:
        return normal(graph)
    source, result = dtypes
    return move if source is result or source.widens_to(result) else None
