"""A model with a size that each call says: `ranged`.

Programs are not read with symbols. Such a program is read at a few sizes, each time
with settled shapes, and what comes of it is compared: where the steps are the same, and
dimensions of some of them grow in proportion to the size, they are steps for any size.
What depends on the size in another way is refused by name.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from morello.errors import ArgumentError, SpecError
from morello.frontends.following import following
from morello.frontends.grouping.parts import Operand, Part, PlainPart, Step
from morello.frontends.model import Model
from morello.frontends.nodes.prepared import Preparation
from morello.frontends.nodes.tensors import CallSize, Source, Tensor, Tensors
from morello.frontends.refusals import ModelError, Refusal
from morello.spec import Compose, Kind, Limits, SizeRange
from morello.spec.graphs.expression import Reference
from morello.spec.graphs.graph import MAP, Graph, Node, canonical
from morello.spec.varying import why_settled

Shapes = Sequence[tuple[int, ...]]
"""The shape of one tensor at each size."""


def ranged(read: Callable[[int], Model], sizes: range, name: str) -> Model:
    """The model of a program, one size of which each call says.

    Args:
        read: the model of the program at one size.
        sizes: those that a call may say.
        name: of the size, as errors have it.

    Raises:
        ModelError: the parts that depend on the size in another way.
    """
    probes = probe_sizes(sizes)
    return _Comparison(name, sizes, probes, [read(size) for size in probes]).model()


def one_range(ranges: Mapping[str, str]) -> tuple[str, range]:
    """The name of the one size that each call says, and its sizes.

    Args:
        ranges: as a front end takes them: sizes as a Spec has them, by names.

    Raises:
        ArgumentError: there are two, or they are no mapping.
        SpecError: they are no sizes.
    """
    if not isinstance(ranges, Mapping):
        raise ArgumentError(
            f"'ranges' is {type(ranges).__name__}, not sizes by names",
            "write for example ranges={'rows': '1..64'}",
        )
    (name, text), *others = ranges.items()
    if others:
        raise ArgumentError(
            f"{' and '.join(ranges)} have ranges, and a call says one size",
            f"settle {others[0][0]}",
        )
    return name, SizeRange.written(text)


def probe_sizes(sizes: range) -> tuple[int, ...]:
    """The greatest size, a prime after it, and a small size, in which a slice or a
    branch that takes few sizes shows. Few dimensions are such a prime by accident, and
    no part of a dimension is. A dimension of 1 is often left out, so that the small
    size is not 1."""
    primes = (n for n in itertools.count(sizes[-1] + 1) if _is_prime(n))
    small = next((n for n in sizes[:-1] if n > 1), None)
    after = next(primes)
    return sizes[-1], after, small or next(primes)


def _is_prime(number: int) -> bool:
    return all(number % d for d in range(2, int(number**0.5) + 1))


@dataclasses.dataclass(frozen=True)
class _Comparison:
    name: str
    sizes: range
    probes: tuple[int, ...]
    models: list[Model]

    def model(self) -> Model:
        """The model of any size."""
        every = [model.tensors for model in self.models]
        tensors, first = every[0], self.models[0]
        self._same(
            [(t.names, t.result_names, t.expected, t.weights) for t in every],
            "its arguments",
        )
        self._same([_prepared(model.preparation) for model in self.models], "weights")
        tensors = dataclasses.replace(tensors, all=self._with_beginnings(every))
        steps = tuple(map(self._step, zip(*self._steps(), strict=True)))
        results = [[t.all[r].shape for r in t.results] for t in every]
        size = CallSize(
            self.name,
            self.sizes,
            dict(self._varying_arguments(every)),
            dict(self._varying(zip(*results, strict=True), "result")),
        )
        is_settled = steps == first.steps and not size.results
        if not size.arguments and not is_settled:
            raise self._refusal("its arguments", "program", "none has it")
        if not size.arguments:
            return first
        return Model(dataclasses.replace(tensors, size=size), steps, first.preparation)

    def _steps(self) -> list[tuple[Step, ...]]:
        steps = [model.steps for model in self.models]
        self._same(list(map(len, steps)), "its parts")
        return steps

    def _varying_arguments(
        self, every: list[Tensors]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The numbers of the arguments that have the size, each with dimensions."""
        sources = [self._sources(tensors) for tensors in every]
        self._same(
            [[_settled(g) for g in per_size] for per_size in sources], "its constants"
        )
        shapes = zip(
            *([g.shape for g in per_size] for per_size in sources), strict=True
        )
        for place, axes in self._varying(shapes, "argument"):
            if sources[0][place].argument < 0:
                raise self._refusal("a constant", sources[0][place].name)
            yield sources[0][place].argument, axes

    def _sources(self, tensors: Tensors) -> list[Source]:
        """The source tensors, without constants of which a call reads the beginning."""
        every = enumerate(tensors.all)
        return [
            tensor
            for number, tensor in every
            if isinstance(tensor, Source) and number not in self._beginnings
        ]

    @functools.cached_property
    def _beginnings(self) -> frozenset[int]:
        """The constants that differ from size to size, and are the beginning, along
        each axis, of those of greater sizes: masks, and what follows from places."""
        every = (model.tensors.all for model in self.models)
        beginnings = set()
        for number, tensors in enumerate(zip(*every, strict=False)):
            constants = [t for t in tensors if isinstance(t, Source) and t.argument < 0]
            is_constant = len(constants) == len(tensors)
            if is_constant and len({t.shape for t in constants}) > 1:
                constants.sort(key=lambda tensor: math.prod(tensor.shape))
                if all(itertools.starmap(_begins, itertools.pairwise(constants))):
                    beginnings.add(number)
        first = self.models[0].tensors
        return frozenset(beginnings.difference(map(first.root, first.results)))

    def _with_beginnings(self, every: list[Tensors]) -> list[Tensor]:
        """The tensors, with the constants of the size after the greatest: then rows of
        those with two axes of the size are as far apart in calls of every size."""
        return [
            every[1].all[number] if number in self._beginnings else tensor
            for number, tensor in enumerate(every[0].all)
        ]

    def _varying(self, shapes: Any, what: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The places of the tensors with dimensions of the size, each with these."""
        for place, per_size in enumerate(shapes):
            if len(set(per_size)) == 1:
                continue
            ranks = {len(shape) for shape in per_size}
            extents = [*zip(*per_size, strict=True)] if len(ranks) == 1 else []
            axes = [axis for axis, each in enumerate(extents) if len({*each}) > 1]
            if not axes:
                reason = "its number of dimensions depends on the size"
                raise self._refusal(f"{what} {place}", "program", reason)
            for axis in axes:
                if extents[axis] != self.probes:
                    reason = f"its dimension {axis} is not the size itself"
                    raise self._refusal(f"{what} {place}", "program", reason)
            yield place, tuple(axes)

    def _step(self, steps: tuple[Step, ...]) -> Step:
        """A step for every size."""
        first = steps[0]
        if isinstance(first, PlainPart):
            self._same(list(steps), first.code.op, first.code.place)
            return first
        parts = [step for step in steps if isinstance(step, Part)]
        what = f"{first.kind.label}", ", ".join(first.places)
        kind = self._kind(parts, *what)
        self._same(
            [dataclasses.replace(p, kind=kind, sizes=(), operands=()) for p in parts],
            *what,
        )
        rest = [
            [(o.tensor, o.offset, o.is_gapless) for o in part.operands]
            for part in parts
        ]
        self._same(rest, *what)
        factors = [
            self._factor(each, *what)
            for each in zip(*(p.sizes for p in parts), strict=True)
        ]
        distinct = {factor for factor in factors if factor}
        self._check_reads(parts, *what)
        if not distinct:
            # Where there are no gaps, strides follow from the shape.
            strides = [
                [None if o.is_gapless else o.strides for o in part.operands]
                for part in parts
            ]
            self._same(strides, *what)
            return first
        if len(distinct) > 1 or len(parts) < len(steps):
            raise self._refusal(*what, "two of its dimensions depend on the size")
        (factor,) = distinct
        dims = tuple(dim for dim, factor in enumerate(factors) if factor)
        least, step = self.sizes[0] * factor, self.sizes.step * factor
        every = zip(*(part.operands for part in parts), strict=True)
        operands = tuple(self._operand(each, *what) for each in every)
        forms = zip(first.forms, operands, strict=True)
        part = dataclasses.replace(
            first,
            kind=kind,
            ranges=(SizeRange(dims, least, step),),
            operands=operands,
            forms=tuple(
                dataclasses.replace(form, contiguous=operand.is_gapless)
                for form, operand in forms
            ),
        )
        try:
            spec = part.spec(Limits())
            reason = why_settled(spec)
        except SpecError as error:
            reason = str(error)
        if reason:
            raise self._refusal(*what, reason)
        return part

    def _kind(self, parts: list[Part], what: str, place: str) -> Kind:
        """The kind of a part of every size, of which numbers may follow from it."""
        kinds = [part.kind for part in parts]
        if all(kind == kinds[0] for kind in kinds[1:]):
            return kinds[0]
        varying = list(zip(*(part.sizes for part in parts), strict=False))
        sizes = next(
            (
                sizes_of_dim
                for sizes_of_dim in varying
                if len({*sizes_of_dim}) == len(parts)
            ),
            None,
        )
        graphs = [graph for kind in kinds if (graph := kind.as_graph) is not None]
        if sizes is None or len(graphs) < len(self.models):
            raise self._refusal(what, place)
        most = max(len(graph.nodes) for graph in graphs)
        graphs = [
            _with_copy(graph) if len(graph.nodes) == most - 1 else graph
            for graph in graphs
        ]
        self._same([len(graph.nodes) for graph in graphs], what, place)
        unit = sizes[0] // self.probes[0]
        least = self.sizes[0] * unit
        nodes = []
        for column in zip(*(graph.nodes for graph in graphs), strict=True):
            expressions = [node.expression for node in column]
            expression = following(expressions, sizes, least, unit)
            if expression is None:
                raise self._refusal(what, place, "a number follows in no known way")
            nodes.append(dataclasses.replace(column[0], expression=expression))
        graphs = [dataclasses.replace(graph, nodes=tuple(nodes)) for graph in graphs]
        self._same(graphs, what, place)
        return Compose.of(canonical(graphs[0]).graph, kinds[0].flushing)

    def _check_reads(self, parts: list[Part], what: str, place: str) -> None:
        """Refuse an operand of fixed size that the least size does not have."""
        greatest, after = (model.tensors.all for model in self.models[:2])
        for first, *others in zip(*(part.operands for part in parts), strict=True):
            count = math.prod(greatest[first.tensor].shape)
            is_settled = all(other.shape == first.shape for other in others)
            if not is_settled or count == math.prod(after[first.tensor].shape):
                continue
            axes = zip(first.shape, first.strides, strict=True)
            last = first.offset + sum((n - 1) * stride for n, stride in axes)
            if last >= count // self.sizes[-1] * self.sizes[0]:
                reason = f"it reads rows that {self.name} = {self.sizes[0]} lacks"
                raise self._refusal(what, place, reason)

    def _operand(self, per_size: Sequence[Operand], what: str, place: str) -> Operand:
        """An operand for every size."""
        tensor = per_size[0].tensor
        if tensor not in self._beginnings:
            return dataclasses.replace(
                per_size[0], sized=self._growing(per_size, what, place)
            )
        for operand, model in zip(per_size, self.models, strict=True):
            shapes = operand.shape, model.tensors.all[tensor].shape
            long = [[extent for extent in shape if extent > 1] for shape in shapes]
            if long[0] != long[1] or not operand.is_gapless:
                reason = "it reads a constant of this size as one of another shape"
                raise self._refusal(what, place, reason)
        return dataclasses.replace(per_size[0], strides=per_size[1].strides)

    def _growing(
        self, per_size: Sequence[Operand], what: str, place: str
    ) -> tuple[int, ...]:
        """The axes whose strides are multiples of the size, of an operand with gaps."""
        if per_size[0].is_gapless:
            return ()
        strides = list(zip(*(operand.strides for operand in per_size), strict=True))
        return tuple(
            axis for axis, each in enumerate(strides) if self._factor(each, what, place)
        )

    def _factor(self, per_size: Sequence[int], what: str, place: str) -> int:
        """The factor by which a number is a multiple of the size; 0 if it is fixed."""
        if len(set(per_size)) == 1:
            return 0
        factor = per_size[0] // self.probes[0]
        if any(a != factor * b for a, b in zip(per_size, self.probes, strict=True)):
            raise self._refusal(
                what, place, "a dimension or a stride is no multiple of the size"
            )
        return factor

    def _same(self, values: list[Any], what: str, place: str = "program") -> None:
        if any(value != values[0] for value in values[1:]):
            raise self._refusal(what, place, "")

    def _refusal(self, what: str, place: str, reason: str = "") -> ModelError:
        text = f"it depends on {self.name}, which each call says"
        reason = f"{text}: {reason}" if reason else text
        remedy = "settle it, or compute that outside of the program"
        return ModelError((Refusal(what, place, reason, remedy),))


def _with_copy(graph: Graph) -> Graph:
    """A graph with a copy of its output as the last node, where another size has a
    product with a number."""
    out, *others = graph.outputs
    if others or not graph.is_node(out.value):
        return graph
    node = Node(graph.node(out.value).axes, MAP, Reference(out.value), ())
    output = dataclasses.replace(out, value=graph.count)
    return dataclasses.replace(graph, nodes=(*graph.nodes, node), outputs=(output,))


def _begins(smaller: Source, greater: Source) -> bool:
    """Whether a constant is the beginning of another one along each axis."""
    if len(smaller.shape) != len(greater.shape) or smaller.dtype != greater.dtype:
        return False
    whole = np.asarray(greater.array).reshape(greater.shape)
    beginning = whole[tuple(map(slice, smaller.shape))]
    return np.asarray(smaller.array).tobytes() == beginning.tobytes()


def _settled(source: Source) -> Any:
    """A given tensor without its shape."""
    array = source.array
    known = None if array is None else np.ascontiguousarray(array).tobytes()
    return source.name, source.dtype, source.argument, known


def _prepared(preparation: Preparation | None) -> Any:
    """The tensors that are computed beforehand."""
    if preparation is None:
        return None
    every = preparation.tensors.all
    return [every[node] for node in preparation.nodes], preparation.outputs
