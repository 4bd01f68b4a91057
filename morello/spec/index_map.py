"""Index maps: which element along an axis of an array a point of the dimensions reads.

An axis of an operand is a dimension of the Spec, as a rule. It may be a sum of
dimensions with positive coefficients: a convolution reads its input at ``2*oh + kh``.
Places before the first element and after the last count as 0. It may be a dimension
divided, and rounded down: of a matrix whose blocks of 32 rows have one scale each, row
``k`` has scale ``k//32``. Two elements may lie in the halves of a byte: of ``k/2`` the
first of them in the low one. A map of no dimension has one element, which all share.
"""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from morello.errors import SpecError
from morello.lazy import cached_property
from morello.spec.hashing import HashedOnce


@dataclasses.dataclass(frozen=True, order=True)
class IndexMap(HashedOnce):
    """A sum of dimensions, each times a coefficient, divided and rounded down, less the
    places before the first element. Maps that read the same elements are equal.

    Raises:
        SpecError: what is divided is not one dimension, or is padded.
    """

    terms: tuple[tuple[int, int], ...]
    """A dimension and its coefficient, by dimension."""
    before: int = 0
    """Places before the first element that the index reaches: those count as 0."""
    after: int = 0
    """Places after the last element; negative for elements that are not reached."""
    divisor: int = 1
    """The divisor of the sum, at least 1; above 1 the sum is one dimension."""
    halves: bool = False
    """Whether a place holds two elements, of which the halves of a byte are numbers of
    4 bits, the low one first. Then the divisor is 2."""

    __hash__ = HashedOnce.__hash__

    def __post_init__(self) -> None:
        steps = [step for _, step in self.terms]
        common = math.gcd(self.divisor, *steps) if self.divisor > 1 else 1
        terms = sorted((dim, step // common) for dim, step in self.terms)
        object.__setattr__(self, "terms", tuple(terms))
        object.__setattr__(self, "divisor", self.divisor // common)
        if self.divisor < 1 or (
            self.divisor > 1 and (self.is_padded or [s for _, s in terms] != [1])
        ):
            raise SpecError(
                f"the index {self} is no dimension divided by a positive number",
                "divide a dimension by itself, as k//32",
            )
        if self.halves and self.divisor != _HALVES:
            raise SpecError(f"the index {self} has halves of no dimension")

    @staticmethod
    def of(dim: int) -> "IndexMap":
        """Identity map of one dimension."""
        return _plain(dim)

    @cached_property
    def dim(self) -> int | None:
        """The dimension that the map is; None where it is none."""
        match self.terms:
            case ((dim, 1),) if not self.is_padded and self.divisor == 1:
                return dim
        return None

    @property
    def is_plain(self) -> bool:
        """Whether the map is one dimension, unchanged."""
        return self.dim is not None

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """The dimensions that the map reads, ascending."""
        return tuple(dim for dim, _ in self.terms)

    @property
    def steps(self) -> dict[int, int]:
        """The coefficient of each dimension."""
        return dict(self.terms)

    @property
    def is_padded(self) -> bool:
        """Whether not every place is an element, or not every element is reached."""
        return bool(self.before or self.after)

    @property
    def has_zeros(self) -> bool:
        """Whether the index reaches places that are no elements."""
        return self.before > 0 or self.after > 0

    @property
    def is_divided(self) -> bool:
        """Whether several points in a row read one place."""
        return self.divisor > 1

    def reach(self, sizes: tuple[Any, ...]) -> Any:
        """The places that the index reaches (integers or arrays)."""
        reach: Any = 1
        for dim, step in self.terms:
            reach = reach + step * (sizes[dim] - 1)
        return (reach - 1) // self.divisor + 1

    def extent(self, sizes: tuple[Any, ...]) -> Any:
        """The elements of the axis (integers or arrays)."""
        dim = self.dim
        if dim is not None:
            return sizes[dim]
        return self.reach(sizes) - self.before - self.after

    def at(self, points: Mapping[int, Any]) -> Any:
        """The place that a point reads, counted from the first place that the index
        reaches (integers or arrays)."""
        total: Any = sum(step * points[dim] for dim, step in self.terms)
        return total // self.divisor

    def keeps(self, size: int, extent: Any) -> Any:
        """Whether this map reads tiles of ``size`` of a dimension, too: each is blocks
        of ``divisor`` points, or a part of one (``extent``: integers or arrays), but
        both halves of what is halved."""
        if self.halves:
            return size % self.divisor == 0
        fits = size % self.divisor == 0 or self.divisor % max(size, 1) == 0
        return fits | (extent <= self.divisor)

    @cached_property
    def unpadded(self) -> "IndexMap":
        """The map into an array that has an element for each place."""
        return dataclasses.replace(self, before=0, after=0)

    def renamed(self, names: Mapping[int, int]) -> "IndexMap":
        """The map by other names of its dimensions."""
        terms = tuple((names[dim], step) for dim, step in self.terms)
        return dataclasses.replace(self, terms=terms)

    def without(self, dim: int) -> "IndexMap":
        """The map where a dimension has one element."""
        terms = tuple(term for term in self.terms if term[0] != dim)
        return dataclasses.replace(self, terms=terms)


_HALVES = 2
"""Elements of a place that holds several."""


@lru_cache(maxsize=4096)
def _plain(dim: int) -> IndexMap:
    return IndexMap(((dim, 1),))


ONE = IndexMap(())
"""The index of an axis of one element: 0."""


def plain(*dims: int) -> tuple[IndexMap, ...]:
    """The maps that are dimensions."""
    return tuple(map(_plain, dims))


def plain_dims(maps: Iterable[IndexMap]) -> tuple[int, ...]:
    """The dimensions that maps are, in their order; none for a map that is none."""
    return tuple(dim for axis in maps if (dim := axis.dim) is not None)


def dims_of(maps: Iterable[IndexMap]) -> frozenset[int]:
    """The dimensions that some maps read."""
    return frozenset(dim for axis in maps for dim in axis.dims)


def renamed(maps: Iterable[IndexMap], names: Mapping[int, int]) -> tuple[IndexMap, ...]:
    """Maps by other names of their dimensions."""
    return tuple(axis.renamed(names) for axis in maps)


def without_axes(
    maps: tuple[IndexMap, ...], gone: Collection[int]
) -> tuple[IndexMap, ...]:
    """Maps but for those at some places."""
    return tuple(axis for place, axis in enumerate(maps) if place not in gone)
