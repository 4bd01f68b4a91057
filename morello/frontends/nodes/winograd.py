"""Convolutions by Winograd's algorithm: `by_winograd`.

A tile of m outputs of r taps is a product of polynomials, taken at n = m + r - 1 points
(Winograd, "Arithmetic Complexity of Computations", 1980)::

    y = A ((G w) * (B x))

so that n multiplications are left of m·r, along each axis. Filters that are known
beforehand are transformed once. Four kinds of nodes are left in a call: a copy of the
windows of all tiles, products with B, one product of matrices for each point, and
products with A, which maps follow as they follow any product.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from morello.frontends.grouping.groups import is_convolution
from morello.frontends.nodes.convolution import Convolution
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import (
    Access,
    Node,
    Source,
    Tensors,
    copying,
    window_of,
)
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import Call, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap

_FINITE = (0.0, 1.0, -1.0, 0.5, -2.0)
"""Points in the order in which they are taken, before the one at infinity. All that is
computed of them is exact: they are powers of two, whose products are few bits long.
These have the least `Transform.growth` of all such: a third of that of 2 and -2."""

POINTS = (4, 6)
"""How many points a tile may have. Of 8 the errors are hundreds of times as large."""

Row = tuple[float, ...]
Matrix = tuple[Row, ...]


@dataclasses.dataclass(frozen=True)
class Transform:
    """The matrices of F(m,r), whose elements are exact in f32.

    Args:
        outputs: m, the elements of a tile.
        taps: r.
    """

    outputs: int
    taps: int

    @property
    def points(self) -> int:
        """The number of points: multiplications of a tile, and elements that it
        reads."""
        return self.outputs + self.taps - 1

    @property
    def _finite(self) -> Row:
        return _FINITE[: self.points - 1]

    @functools.cached_property
    def divisors(self) -> Row:
        """The number that the transformed filter is divided by at each point."""
        each = [math.prod(p - q for q in self._finite if q != p) for p in self._finite]
        return (*map(abs, each), 1.0)

    @functools.cached_property
    def filter(self) -> Matrix:
        """G, each row times its divisor: the filter at the points."""
        rows = []
        for p in self._finite:
            sign = math.prod(1 if p > q else -1 for q in self._finite if q != p)
            rows.append(tuple(sign * p**k for k in range(self.taps)))
        return (*rows, (*(0.0,) * (self.taps - 1), 1.0))

    @functools.cached_property
    def image(self) -> Matrix:
        """B: the coefficients of the polynomials that are 0 at all other points."""
        rows = [
            (*_polynomial([q for q in self._finite if q != p]), 0.0)
            for p in self._finite
        ]
        return (*rows, _polynomial(self._finite))

    @functools.cached_property
    def result(self) -> Matrix:
        """A: the tile of the products at the points."""
        return tuple(
            (*(p**a for p in self._finite), float(a == self.outputs - 1))
            for a in range(self.outputs)
        )

    def growth(self, norm: int) -> float:
        """How much larger rounding errors are than those of a sum of products.

        Args:
            norm: 1 for the bound, by sums of absolute values; 2 for elements that are
                independent of each other, by roots of sums of squares.
        """

        def length(row: Row) -> float:
            return sum(abs(x) ** norm for x in row)

        weights = [
            length(g) / divisor**norm * length(b)
            for g, divisor, b in zip(
                self.filter, self.divisors, self.image, strict=True
            )
        ]
        worst = max(
            sum(abs(a) ** norm * w for a, w in zip(row, weights, strict=True))
            for row in self.result
        )
        return float((worst / self.taps) ** (1 / norm))

    def __str__(self) -> str:
        return f"F({self.outputs},{self.taps})"


def _polynomial(roots: Sequence[float]) -> Row:
    """The coefficients of a polynomial with these roots, the lowest power first."""
    polynomial = [1.0]
    for root in roots:
        pairs = zip([0.0, *polynomial], [*polynomial, 0.0], strict=True)
        polynomial = [low - root * same for low, same in pairs]
    return tuple(polynomial)


@dataclasses.dataclass(frozen=True)
class Tiling:
    """A dense convolution in steps of 1 whose outputs are computed tile by tile."""

    convolution: Convolution
    node: Node
    transforms: tuple[Transform, ...]
    """For each axis of the image with a window, in order."""

    @classmethod
    def of(cls, tensors: Tensors, node: Node, points: int) -> "Tiling | None":
        """A convolution of f32 with channels last; None for what has no such tiles.

        Args:
            points: of a tile, along each axis with a window.
        """
        convolution = Convolution.of(node)
        if convolution is None or not is_convolution(node) or tensors.size is not None:
            return None
        dtypes = [node.dtype, *map(tensors.element, node.tensors)]
        if any(dtype is not Dtype.F32 for dtype in dtypes):
            return None
        image, filters = (
            node.reads[i].axes for i in (convolution.image, convolution.filters)
        )
        if not all(axis.is_plain or axis == ONE for axis in (*filters, *node.axes)):
            return None
        windows = [axis for axis in image if _is_window(axis, node)]
        channels = [axis for axis in image if axis.dim in node.reduced]
        shared = {axis.dim for axis in image} & {axis.dim for axis in filters}
        rest = [a for a in image if a not in windows and not a.is_plain and a != ONE]
        if rest or len(channels) != 1 or shared - {None} != {channels[0].dim}:
            return None
        taps = [node.extents[_tap(axis, node)] for axis in windows]
        if not taps or max(taps) >= points:
            return None
        return cls(convolution, node, tuple(Transform(points - r + 1, r) for r in taps))

    @property
    def image(self) -> Access:
        """How it reads the image."""
        return self.node.reads[self.convolution.image]

    @property
    def windows(self) -> tuple[IndexMap, ...]:
        """The axes of the image with a window."""
        return tuple(a for a in self.image.axes if _is_window(a, self.node))

    @property
    def points(self) -> int:
        """The points of a tile along each axis with a window."""
        return self.transforms[0].points

    def growth(self, norm: int) -> float:
        """`Transform.growth`, of all axes."""
        return math.prod(one.growth(norm) for one in self.transforms)

    def __str__(self) -> str:
        outputs, taps = (
            "x".join(str(getattr(one, name)) for one in self.transforms)
            for name in ("outputs", "taps")
        )
        return f"F({outputs},{taps})"


def _is_window(axis: IndexMap, node: Node) -> bool:
    """Whether an axis is read at an output and a tap, in steps of 1."""
    dims = [dim in node.unreduced for dim in axis.dims]
    return sorted(dims) == [False, True] and {*axis.steps.values()} == {1}


def _tap(axis: IndexMap, node: Node) -> int:
    (dim,) = (dim for dim in axis.dims if dim not in node.unreduced)
    return dim


def _output(axis: IndexMap, node: Node) -> int:
    (dim,) = (dim for dim in axis.dims if dim in node.unreduced)
    return dim


def by_winograd(tensors: Tensors, points: Mapping[int, int]) -> Tensors:
    """Rewrites convolutions.

    Args:
        points: of a tile, by the number of each node that is rewritten.
    """
    return _Transforming(tensors, points).run()


_Name = tuple[str, int]
"""An axis of a tensor: ``dim``, one of the convolution's; ``place``, ``point``,
``tile`` and ``element`` of an axis with a window."""


@dataclasses.dataclass(frozen=True)
class _Named:
    """A tensor, and a name for each axis."""

    tensor: int
    names: tuple[_Name, ...]


class _Transforming(Rewriter):
    def __init__(self, old: Tensors, points: Mapping[int, int]) -> None:
        super().__init__(old)
        self.points = points
        taken = {tensor.name for tensor in old.all if isinstance(tensor, Source)}
        names = (f"winograd{i}" for i in itertools.count())
        self.names = (name for name in names if name not in taken)
        self.constants: dict[Matrix | Row, int] = {}

    def node(self, number: int, node: Node) -> int:
        """Transform a convolution that was chosen."""
        if number not in self.points:
            return self.add(node)
        tiling = Tiling.of(self.new, node, self.points[number])
        assert tiling is not None, "it was chosen for its tiles"
        return self._placed(tiling, _Computing(self, tiling).run())

    def _placed(self, tiling: Tiling, tiles: int) -> int:
        """The result of a convolution where it is to be, without the elements of tiles
        that reach beyond it.

        Args:
            tiles: its elements; the axis of a window is one of tiles and one of
                elements.
        """
        node, sizes = tiling.node, iter(self.new.all[tiles].shape)
        outputs = {_output(axis, node) for axis in tiling.windows}
        whole = tuple(
            1
            if axis.dim is None
            else next(sizes) * (next(sizes) if axis.dim in outputs else 1)
            for axis in node.axes
        )
        view = self.new.view(tiles, whole)
        if node.into is None and whole == node.shape:
            return view
        pairs = enumerate(zip(node.shape, whole, strict=True))
        axes = tuple(window_of({i: 1}, 0, node.shape, size) for i, (_, size) in pairs)
        copy = copying(Access(view, axes), node.shape, node.dtype, node.place)
        return self.add(dataclasses.replace(copy, into=node.into, after=node.after))

    def constant(self, numbers: Matrix | Row) -> int:
        """A matrix or a vector of f32, once."""
        if numbers not in self.constants:
            array = np.array(numbers, np.float32)
            constant = Source(next(self.names), array.shape, Dtype.F32, -1, array)
            self.constants[numbers] = self.new.add(constant)
        return self.constants[numbers]


class _Computing:
    """Adds the nodes that compute one convolution by tiles."""

    def __init__(self, transforming: _Transforming, tiling: Tiling) -> None:
        self.transforming = transforming
        self.tiling = tiling
        node = tiling.node
        self.sizes: dict[_Name, int] = {
            ("dim", dim): size for dim, size in enumerate(node.extents)
        }
        for k, one in enumerate(tiling.transforms):
            count = node.extents[_output(tiling.windows[k], node)]
            self.sizes[("place", k)] = self.sizes[("point", k)] = one.points
            self.sizes[("tile", k)] = -(-count // one.outputs)
            self.sizes[("element", k)] = one.outputs

    def run(self) -> int:
        """The tiles of the result."""
        transforms = self.tiling.transforms
        filters, image = self._filters(), self._windows()
        for k, one in enumerate(transforms):
            image = self._along(image, one.image, ("place", k), ("point", k))
        columns = filters.names[-1]
        result = self._product((*image.names[:-1], columns), image, filters)
        last = len(transforms) - 1
        for k, one in enumerate(transforms):
            names = self._result_names() if k == last else None
            result = self._along(
                result, one.result, ("point", k), ("element", k), names
            )
        return result.tensor

    def _windows(self) -> _Named:
        """The elements that each tile reads, grouped by their place in the tile."""
        tiling, node = self.tiling, self.tiling.node
        names: list[_Name] = [("place", k) for k in range(len(tiling.transforms))]
        named: list[_Name | None] = []
        for axis in tiling.image.axes:
            if axis in tiling.windows:
                named.append(("tile", tiling.windows.index(axis)))
            else:
                named.append(None if axis.dim is None else ("dim", axis.dim))
        names += [name for name in named if name is not None]
        extents = tuple(self.sizes[name] for name in names)
        shape = self.transforming.new.all[tiling.image.tensor].shape
        read = []
        for axis, name, size in zip(tiling.image.axes, named, shape, strict=True):
            if name is None:
                read.append(ONE)
            elif name[0] == "dim":
                read.append(_axis(names.index(name), extents))
            else:
                step = tiling.transforms[name[1]].outputs
                terms = {names.index(name): step, name[1]: 1}
                read.append(window_of(terms, axis.before, extents, size))
        access = Access(tiling.image.tensor, tuple(read))
        copy = copying(access, extents, node.dtype, node.place)
        return _Named(self.transforming.add(copy), tuple(names))

    def _filters(self) -> _Named:
        """The filters at each point."""
        tiling, node = self.tiling, self.tiling.node
        read = node.reads[tiling.convolution.filters]
        wide = [axis.dim for axis in read.axes if axis.dim is not None]
        shape = tuple(self.sizes[("dim", dim)] for dim in wide)
        view = self.transforming.new.view(read.tensor, shape)
        filters = _Named(view, tuple(("dim", dim) for dim in wide))
        for k, (axis, one) in enumerate(
            zip(tiling.windows, tiling.transforms, strict=True)
        ):
            tap = ("dim", _tap(axis, node))
            filters = self._along(filters, one.filter, tap, ("point", k))
        for k, one in enumerate(tiling.transforms):
            divisors = self.transforming.constant(one.divisors)
            filters = self._divided(filters, divisors, ("point", k))
        return filters

    def _along(
        self,
        tensor: _Named,
        matrix: Matrix,
        old: _Name,
        new: _Name,
        names: tuple[_Name, ...] | None = None,
    ) -> _Named:
        """The product of a matrix and a tensor along one of its axes.

        Args:
            names: the axes of the result, if their order is another one.
        """
        factor = _Named(self.transforming.constant(matrix), (new, old))
        if names is None:
            names = tuple(new if name == old else name for name in tensor.names)
        return self._product(names, factor, tensor)

    def _product(self, names: tuple[_Name, ...], *factors: _Named) -> _Named:
        """The sum of products along the axes that the result lacks."""
        every = dict.fromkeys((*names, *(n for one in factors for n in one.names)))
        return self._node(names, tuple(every), "sum", "mul", factors)

    def _divided(self, tensor: _Named, divisors: int, along: _Name) -> _Named:
        factors = tensor, _Named(divisors, (along,))
        return self._node(tensor.names, tensor.names, MAP, "div", factors)

    def _node(
        self,
        names: tuple[_Name, ...],
        dims: tuple[_Name, ...],
        reduction: str,
        function: str,
        factors: tuple[_Named, ...],
    ) -> _Named:
        """A node of two tensors.

        Args:
            names: the axes of the result.
            dims: those of its iteration space.
        """
        extents = tuple(self.sizes[name] for name in dims)
        node = Node.of(
            extents,
            tuple(_axis(dims.index(name), extents) for name in names),
            reduction,
            Call(function, (Reference(0), Reference(1))),
            tuple(
                Access(
                    one.tensor,
                    tuple(_axis(dims.index(name), extents) for name in one.names),
                )
                for one in factors
            ),
            Dtype.F32,
            self.tiling.node.place,
        )
        return _Named(self.transforming.add(node), names)

    def _result_names(self) -> tuple[_Name, ...]:
        """The axes of the result, in its order."""
        node, windows = self.tiling.node, self.tiling.windows
        outputs = [_output(axis, node) for axis in windows]
        names: list[_Name] = []
        for axis in node.axes:
            if axis.dim in outputs:
                k = outputs.index(axis.dim)
                names += [("tile", k), ("element", k)]
            elif axis.dim is not None:
                names.append(("dim", axis.dim))
        return tuple(names)


def _axis(dim: int, extents: tuple[int, ...]) -> IndexMap:
    return IndexMap.of(dim) if extents[dim] > 1 else ONE
