"""A size that each call of a function says: the outermost dimension of some arguments.

The function is traced at every size that a call has, once. A size at which it does what
it does at others, on longer arrays, shares their kernel; one at which it does something
else (a branch by the size) has a kernel for itself.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from morello.errors import ArgumentError, shortened
from morello.frontends.nodes.tensors import Given, Node, Tensor, Tensors, View
from morello.spec.index_map import IndexMap
from morello.spec.size_range import WrittenSizes
from morello.tracing.arguments import Leaf, Pattern, Several, function_name, leaves

_REMEDY = (
    "give the first parameter a range, and others its name: "
    "{'x': 'rows=1..512', 'y': 'rows'}"
)


@dataclasses.dataclass(frozen=True)
class CallSize:
    """A size that each call says.

    Args:
        name: for messages.
        sizes: those that one kernel takes.
        places: of the arguments that have it, each an array or several.
        function: its name.
    """

    name: str
    sizes: range
    places: frozenset[int]
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
        ranges = () if written is None else written.ranges
        if written is None or [len(one.dims) for one in ranges] != [len(texts)]:
            raise ArgumentError(
                f"'sizes' of {label} says {', '.join(map(repr, texts.values()))}, "
                "which is not one range of sizes",
                _REMEDY,
            )
        first, text = next(iter(texts.items()))
        name = text.partition("=")[0] if "=" in text else first
        sizes = ranges[0].sizes(written.greatest[0])
        return CallSize(name, sizes, frozenset(map(names.index, texts)), label)

    def said(self, pattern: Pattern) -> int:
        """The size that arguments have.

        Raises:
            ArgumentError: they have two, none, or one that is out of the range.
        """
        outer = {leaf.shape[:1] for leaf in self._leaves(pattern)}
        if len(outer) != 1 or () in outer:
            found = " and ".join(str(*own) if own else "none" for own in sorted(outer))
            raise ArgumentError(
                f"{self.name} is the outermost size of arguments of {self.function}, "
                f"and they have {found or 'no array'}",
                "give arrays of one such size",
            )
        ((size,),) = outer
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

        def moved(part: Pattern) -> Pattern:
            if isinstance(part, Leaf):
                return Leaf((size, *part.shape[1:]))
            if isinstance(part, Several):
                return dataclasses.replace(part, parts=tuple(map(moved, part.parts)))
            return part

        assert isinstance(pattern, Several)
        args, *rest = pattern.parts
        assert isinstance(args, Several)
        parts = tuple(
            moved(part) if place in self.places else part
            for place, part in enumerate(args.parts)
        )
        return dataclasses.replace(
            pattern, parts=(dataclasses.replace(args, parts=parts), *rest)
        )

    def _leaves(self, pattern: Pattern) -> list[Leaf]:
        assert isinstance(pattern, Several)
        args = pattern.parts[0]
        assert isinstance(args, Several)
        own = (p for i, p in enumerate(args.parts) if i in self.places)
        return [leaf for part in own for leaf in leaves(part)]


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
        case Given(), Given():
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
        reads = [(own.tensor, _without(own.axes, alone)) for own in node.reads]
        same = node.expression, node.reduction, node.dtype, node.into, node.after
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


def _texts(given: Any) -> Mapping[str, str]:
    """The sizes as a user gave them, by the name of the parameter.

    Raises:
        ArgumentError: they are something else.
    """
    if isinstance(given, Mapping):
        wrong = [v for pair in given.items() for v in pair if not isinstance(v, str)]
        if not wrong:
            return given
        given = wrong[0]
    raise ArgumentError(
        f"'sizes' takes texts by the names of parameters, not {shortened(repr(given))}",
        _REMEDY,
    )
