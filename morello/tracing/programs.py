"""A graph that was noted down as the tensors that all front ends have: `tensors_of`."""

from morello.frontends.tensors import (
    Access,
    Given,
    Node,
    Tensors,
    View,
    own_axes,
    window_of,
)
from morello.spec.dtypes import Dtype
from morello.spec.graphs.expression import Call, Reference, references, renumbered
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain, renamed
from morello.tracing import views
from morello.tracing.builder import Builder, Input

_COPY = Call("copy", (Reference(0),))


def tensors_of(
    builder: Builder, outputs: list[int], name: str
) -> tuple[Tensors, list[Input]]:
    """The tensors of a function, and what each of its arguments is.

    Args:
        outputs: values that are computed, each once.
    """
    made = _Tensors(builder, name)
    for value in sorted(builder.needed(outputs)):
        made.add(value)
    made.tensors.results = [made.known[output][0] for output in outputs]
    return made.tensors, made.given


class _Tensors:
    """Makes tensors of values, in order."""

    def __init__(self, builder: Builder, name: str) -> None:
        self.builder = builder
        self.tensors = Tensors(name)
        self.given: list[Input] = []
        self.known: dict[int, tuple[int, tuple[IndexMap, ...]]] = {}
        """By value: the tensor, and its axes by dimensions of the builder."""
        self._memory: dict[object, int] = {}

    def add(self, value: int) -> None:
        """Note what a value is."""
        node = self.builder.nodes.get(value)
        if node is not None:
            axes = plain(*self.builder.node_dims(value))
            self.known[value] = self._node(value, axes), axes
            return
        found = self.builder.inputs[value]
        kept = dict(zip(found.kept, self.builder.settled(found.axes), strict=True))
        axes = tuple(kept.get(place, ONE) for place in range(found.rank))
        self.known[value] = self._input(found, axes), axes

    def _input(self, found: Input, axes: tuple[IndexMap, ...]) -> int:
        """An argument as its views leave it, or a stored value through its views."""
        key = found.argument, id(found.array), found.views, found.source
        if key in self._memory:
            return self._memory[key]
        if found.source < 0:
            number = len(self.given)
            name = f"arg{number}"
            self.tensors.names.append(name)
            self.given.append(found)
            shape = tuple(map(self._extent, axes))
            made = self.tensors.add(Given(name, shape, Dtype.F32, number))
        else:
            made = self.known[found.source][0]
            for view in found.views:
                made = self._viewed(made, view)
        self._memory[key] = made
        return made

    def _extent(self, axis: IndexMap) -> int:
        return int(axis.extent(tuple(self.builder.sizes)))

    def _viewed(self, tensor: int, view: views.View) -> int:
        shape = self.tensors.all[tensor].shape
        match view:
            case views.Part(slices):
                both = zip(shape, slices, strict=True)
                places = [range(n)[slice(*part)] for n, part in both]
                extents = tuple(map(len, places))
                reads = tuple(
                    window_of({i: p.step}, -p.start, extents, n)
                    for i, (p, n) in enumerate(zip(places, shape, strict=True))
                )
                return self._copy(tensor, extents, reads)
            case views.Padding(widths):
                extents = tuple(n + sum(w) for n, w in zip(shape, widths, strict=True))
                reads = tuple(
                    window_of({i: 1}, before, extents, n)
                    for i, ((before, _), n) in enumerate(
                        zip(widths, shape, strict=True)
                    )
                )
                return self._copy(tensor, extents, reads)
        if view.order != tuple(range(len(shape))):
            extents = tuple(shape[axis] for axis in view.order)
            own = own_axes(extents)
            reads = tuple(own[view.order.index(i)] for i in range(len(shape)))
            tensor = self._copy(tensor, extents, reads)
        return self.tensors.add(View(self.tensors.root(tensor), view.shape))

    def _copy(
        self, tensor: int, extents: tuple[int, ...], axes: tuple[IndexMap, ...]
    ) -> int:
        reads = (Access(tensor, axes),)
        own = own_axes(extents)
        made = Node(extents, own, MAP, _COPY, reads, Dtype.F32, self.tensors.name)
        return self.tensors.add(made)

    def _node(self, value: int, axes: tuple[IndexMap, ...]) -> int:
        node = self.builder.nodes[value]
        used = list(dict.fromkeys(references(node.expression)))
        dims = set(dims_of(axes))
        for argument in used:
            dims |= dims_of(self.known[argument][1])
        place = {dim: i for i, dim in enumerate(sorted(dims))}
        reads = tuple(
            Access(tensor, renamed(own, place))
            for tensor, own in map(self.known.__getitem__, used)
        )
        return self.tensors.add(
            Node(
                tuple(self.builder.sizes[dim] for dim in sorted(dims)),
                renamed(axes, place),
                node.reduction if dims > set(dims_of(axes)) else MAP,
                renumbered(node.expression, {v: i for i, v in enumerate(used)}),
                reads,
                Dtype.F32,
                self.tensors.name,
            )
        )
