"""A size that each call of a function says: a dimension of some arguments.

The function is traced at every size that a call has, once. A size at which it does what
it does at others, on longer arrays, shares their kernel; one at which it does something
else (a branch by the size) has a kernel for itself.
"""

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from morello.errors import ArgumentError, shortened
from morello.frontends.following import following, in_f32
from morello.frontends.nodes.tensors import Node, Source, Tensor, Tensors, View
from morello.spec.graphs.expression import settled
from morello.spec.index_map import IndexMap
from morello.spec.size_range import WrittenSizes
from morello.tracing.arguments import Leaf, Pattern, Several, function_name, leaves

_REMEDY = (
    "give the first parameter a range, and others its name, after the sizes that are "
    "outside of it: {'x': '8xrows=1..512', 'y': 'rows'}"
)


@dataclasses.dataclass(frozen=True)
class CallSize:
    """A size that each call says.

    Args:
        name: for messages.
        sizes: those that one kernel takes.
        outside: of each argument that has it, by its place: the sizes of the
            dimensions before it. An argument is an array or several.
        function: its name.
    """

    name: str
    sizes: range
    outside: Mapping[int, tuple[int, ...]]
    function: str

    @staticmethod
    def of(function: Callable[..., Any], texts: Mapping[str, str]) -> "CallSize":
        """The size that ``sizes`` of `jit` says.

        Raises:
            ArgumentError: they are no texts by the names of parameters, the function
                has no such parameter, or there are two sizes.
            SpecError: it has no sizes.
        """
        label = function_name(function)
        texts = _texts(texts)
        names = list(inspect.signature(function).parameters)
        unknown = [name for name in texts if name not in names]
        if unknown:
            raise ArgumentError(
                f"'sizes' names '{unknown[0]}', which is no parameter of {label}",
                f"its parameters are: {', '.join(names) or 'none'}",
            )
        written = WrittenSizes.parse("x".join(texts.values()))
        outside = [] if written is None else _outside(written, texts.values())
        if written is None or len(outside) != len(texts):
            raise ArgumentError(
                f"'sizes' of {label} says {', '.join(map(repr, texts.values()))}, "
                "which is not one range of sizes",
                _REMEDY,
            )
        first, text = next(iter(texts.items()))
        name = text.rpartition("x")[2].partition("=")[0] if "=" in text else first
        one = written.ranges[0]
        sizes = one.sizes(written.greatest[one.dims[0]])
        places = map(names.index, texts)
        return CallSize(name, sizes, dict(zip(places, outside, strict=True)), label)

    def said(self, pattern: Pattern) -> int:
        """The size that arguments have.

        Raises:
            ArgumentError: they have two, none, or one that is out of the range.
        """
        leaves = self._leaves(pattern)
        sizes = {leaf.shape[len(outside) :][:1] for leaf, outside in leaves}
        if len(sizes) != 1 or () in sizes:
            have = " and ".join(str(*one) if one else "none" for one in sorted(sizes))
            raise ArgumentError(
                f"{self.name} is a size that arguments of {self.function} have in "
                f"common, and they have {have or 'no array'}",
                "give arrays of one such size",
            )
        for leaf, outside in leaves:
            if leaf.shape[: len(outside)] != outside:
                before = "x".join(map(str, outside))
                raise ArgumentError(
                    f"an argument of {self.function} is {leaf.shape}, and 'sizes' says "
                    f"{before} before {self.name}",
                    "give arrays of these sizes",
                )
        ((size,),) = sizes
        if size in self.sizes:
            return size
        least, greatest, step = self.sizes[0], self.sizes[-1], self.sizes.step
        steps = f" in steps of {step}" if step > 1 else ""
        raise ArgumentError(
            f"{self.name} is {size}, and {self.function} takes {least} to {greatest}"
            f"{steps}",
            "give arrays of such a size, or a greater range",
        )

    def at(self, pattern: Pattern, size: int) -> Pattern:
        """The pattern of arguments of a size."""

        def moved(part: Pattern, dim: int) -> Pattern:
            if isinstance(part, Leaf):
                shape = *part.shape[:dim], size, *part.shape[dim + 1 :]
                return dataclasses.replace(part, shape=shape)
            if isinstance(part, Several):
                parts = tuple(moved(inner, dim) for inner in part.parts)
                return dataclasses.replace(part, parts=parts)
            return part

        assert isinstance(pattern, Several)
        args, *rest = pattern.parts
        assert isinstance(args, Several)
        parts = tuple(
            moved(part, len(self.outside[place])) if place in self.outside else part
            for place, part in enumerate(args.parts)
        )
        return dataclasses.replace(
            pattern, parts=(dataclasses.replace(args, parts=parts), *rest)
        )

    def _leaves(self, pattern: Pattern) -> list[tuple[Leaf, tuple[int, ...]]]:
        """The arrays that have the size, with the sizes outside of it."""
        assert isinstance(pattern, Several)
        args = pattern.parts[0]
        assert isinstance(args, Several)
        return [
            (leaf, self.outside[place])
            for place, part in enumerate(args.parts)
            if place in self.outside
            for leaf in leaves(part)
        ]


def _outside(written: WrittenSizes, texts: Iterable[str]) -> list[tuple[int, ...]]:
    """For each text whose last size is the range, the fixed sizes before it."""
    ends = [0, *itertools.accumulate(text.count("x") + 1 for text in texts)]
    dims = {dim for one in written.ranges for dim in one.dims}
    return [
        tuple(written.greatest[start : end - 1])
        for start, end in itertools.pairwise(ends)
        if len(written.ranges) == 1 and dims & {*range(start, end)} == {end - 1}
    ]


def of_every_size(probes: Mapping[int, Tensors], least: int) -> Tensors:
    """A program at the first of some sizes, with numbers that follow from it."""
    every = list(probes.values())
    if len({len(tensors.all) for tensors in every}) > 1:
        return every[0]
    merged: list[Tensor] = []
    for tensors_at in zip(*(tensors.all for tensors in every), strict=True):
        nodes = [tensor for tensor in tensors_at if isinstance(tensor, Node)]
        expression = None
        if len(nodes) == len(tensors_at):
            expressions = [node.expression for node in nodes]
            expression = following(expressions, [*probes], least)
        if expression is None:
            merged.append(tensors_at[0])
        else:
            merged.append(nodes[0].changed(expression=expression))
    return dataclasses.replace(every[0], all=merged)


def is_longer(one: Tensors, size: int, other: Tensors, longer: int) -> bool:
    """Whether one program is another but for how long dimensions are, which grow in
    proportion to a size.

    Args:
        one: the program at ``size``.
        other: that at ``longer``.
    """
    sizes = size, longer
    return (
        one.results == other.results
        and len(one.all) == len(other.all)
        and all(
            _is_longer(a, b, sizes) for a, b in zip(one.all, other.all, strict=True)
        )
    )


def _is_longer(one: Tensor, other: Tensor, sizes: tuple[int, int]) -> bool:
    if not _grow(one.shape, other.shape, sizes):
        return False
    match one, other:
        case Node(), Node():
            return _is_longer_node(one, other, sizes)
        case Source(), Source():
            return (one.name, one.dtype) == (other.name, other.dtype)
        case View(), View():
            return one.tensor == other.tensor
    return one == other


def _is_longer_node(one: Node, other: Node, sizes: tuple[int, int]) -> bool:
    if not _grow(one.extents, other.extents, sizes):
        return False
    pairs = zip(one.extents, other.extents, strict=True)
    alone = [dim for dim, (a, b) in enumerate(pairs) if a == 1 < b]

    def parts(node: Node) -> list[Any]:
        reads = [(read.tensor, _without(read.axes, alone)) for read in node.reads]
        expression = in_f32(settled(node.expression, lambda _: sizes[0]))
        same = expression, node.reduction, node.dtype, node.into, node.after
        return [same, reads, _without(node.axes, alone), node.reduced - {*alone}]

    return parts(one) == parts(other)


def _without(axes: tuple[IndexMap, ...], dims: list[int]) -> tuple[IndexMap, ...]:
    """Axes where some dimensions have one element."""
    for dim in dims:
        axes = tuple(axis.without(dim) for axis in axes)
    return axes


def _grow(one: tuple[int, ...], other: tuple[int, ...], sizes: tuple[int, int]) -> bool:
    """Whether sizes are the same, or multiples of those that calls say."""
    size, longer = sizes
    return len(one) == len(other) and all(
        a == b or (a % size == 0 and a * longer == b * size)
        for a, b in zip(one, other, strict=True)
    )


def _texts(sizes: Any) -> Mapping[str, str]:
    """The sizes as a user gave them, by the name of the parameter.

    Raises:
        ArgumentError: they are something else.
    """
    if isinstance(sizes, Mapping):
        wrong = [v for pair in sizes.items() for v in pair if not isinstance(v, str)]
        if not wrong:
            return sizes
        sizes = wrong[0]
    raise ArgumentError(
        f"'sizes' takes texts by the names of parameters, not {shortened(repr(sizes))}",
        _REMEDY,
    )
