"""The Specs that parts of a graph are: keys, and where their operands come from."""

import dataclasses
from collections.abc import Mapping
from functools import lru_cache

from morello.actions.base import Child
from morello.spec import MEM, Compose, Kind, Layout, Limits, SpecKey, TensorSpec
from morello.spec.embedding import ONE
from morello.spec.frame import Frame
from morello.spec.graphs.graph import Part
from morello.spec.graphs.products import normal
from morello.spec.mixes import has_dtypes
from morello.spec.structure import leader


@dataclasses.dataclass(frozen=True)
class PartKey:
    """The key of a part of a graph.

    Args:
        key: of its Specs.
        dims: for each of their dimensions that of the graph; `ONE` for none.
        values: for each of their operands the value of the graph.
        ones: for each operand how many outermost axes of one element it has, which the
            value lacks.
    """

    key: SpecKey
    dims: tuple[int, ...]
    values: tuple[int, ...]
    ones: tuple[int, ...]

    def child(self, role: str, frame: Frame, limits: Limits) -> Child:
        """The Specs of the part, in a frame of the graph."""
        sizes = tuple(1 if dim == ONE else frame.sizes[dim] for dim in self.dims)
        return Child(role, Frame(self.key, sizes, limits), 1, self.dims)


def part_key(
    kind: Kind, part: Part, tensors: Mapping[int, TensorSpec], serial: bool
) -> PartKey | None:
    """The key of a part; None where an operand has no form that its kind takes.

    Args:
        kind: whose products flush where those of the part may.
        part: of a graph.
        tensors: the forms of the values of that graph.
        serial: whether parallel loops are forbidden.
    """
    forms = tuple(map(tensors.get, part.values))
    return _part_key(part, forms, serial, kind.flushing)


@lru_cache(maxsize=65536)
def _part_key(
    part: Part,
    value_forms: tuple[TensorSpec | None, ...],
    serial: bool,
    flushes: bool,
) -> PartKey | None:
    inner = normal(part.graph)
    pairs = zip(part.values, value_forms, strict=True)
    tensors = {value: tensor for value, tensor in pairs if tensor is not None}
    if inner is None:
        kind: Kind = Compose.of(part.graph)
        values = tuple(part.values[v] for v in kind.values)
        forms = followed(kind, tuple(tensors[v] for v in values))
        if flushes:
            kind = kind.as_flushing(tuple(form.dtype for form in forms))
        return PartKey(
            SpecKey(kind, forms, serial), part.dims, values, (0,) * len(values)
        )
    values = tuple(part.values[v] for v in inner.values)
    inner_forms = []
    for operand, value in enumerate(values):
        form = inner.inward(operand, tensors[value])
        if form is None:
            return None
        inner_forms.append(form)
    dtypes = tuple(form.dtype for form in inner_forms)
    if not has_dtypes(inner.kind, dtypes):
        return None
    product = inner.kind.as_flushing(dtypes) if flushes else inner.kind
    dims = tuple(ONE if d == ONE else part.dims[d] for d in inner.dims)
    ones = tuple(map(inner.ones, range(len(values))))
    return PartKey(SpecKey(product, tuple(inner_forms), serial), dims, values, ones)


def followed(kind: Kind, tensors: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
    """Forms of operands, where those that follow others lie where these do."""
    return tuple(
        tensor
        if leader(kind, i) == i
        else tensor.brought_to(tensors[leader(kind, i)].level.backing)
        for i, tensor in enumerate(tensors)
    )


@lru_cache(maxsize=65536)
def with_plain_operands(key: SpecKey, but: int = -1) -> SpecKey:
    """A key whose operands lie row-major in memory, contiguous if one of them is; those
    in registers stay as they are.

    Args:
        key: of a graph.
        but: an operand that stays as it is, too; none where it is negative.
    """
    whole = any(tensor.contiguous for tensor in key.tensors)
    tensors = tuple(
        tensor
        if tensor.level.is_registers or index == but
        else TensorSpec(tensor.dtype, MEM, Layout.row_major(tensor.rank), whole)
        for index, tensor in enumerate(key.tensors)
    )
    return dataclasses.replace(key, tensors=tensors)


def operand_forms(key: SpecKey) -> dict[int, TensorSpec]:
    """The forms of the operands of a graph, by their values."""
    return dict(zip(key.kind.values, key.tensors, strict=True))
