"""`GridSample`: an image at places that are data, by a rule of `expanded`."""

import itertools
import math

from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results, Rules

_CUBIC = -0.75
"""The coefficient of cubic interpolation."""

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names that versions before 20 have."""


def sampled(to: Expansion, node: Arguments) -> Results:
    """Sums of elements around each place, by weights of their distance."""
    x, grid = node.input(0), node.input(1)
    shape, places = to.shape(x), to.shape(grid)
    mode = node.get("mode", b"linear").decode()
    padding = node.get("padding_mode", b"zeros").decode()
    is_aligned = bool(node.get("align_corners", 0))
    sizes, count = shape[2:], math.prod(places[1:-1])
    flat = to.reshape(x, shape[0], shape[1], math.prod(sizes))
    rows = to.reshape(grid, places[0], count, len(sizes))
    axes = []
    for number, size in enumerate(sizes):
        last = len(sizes) - 1 - number  # the grid has the last axis first
        place = to.reshape(to.cut(rows, last, last + 1), places[0], 1, count)
        axis = _Axis(to, size, padding, is_aligned)
        axes.append(axis.taps(place, _MODES.get(mode, mode)))
    total = _summed(to, flat, axes, (*shape[:2], count), sizes)
    return [to.reshape(total, *shape[:2], *places[1:-1])]


def interpolated(
    to: Expansion, x: str, shape: tuple[int, ...], places: list[str], count: int
) -> str:
    """Linear samples of an image, which is zero outside.

    Args:
        to: gets the nodes.
        x: the image, by batch, channels and axes.
        shape: of the image.
        places: along each axis, in elements, of shape (batch, 1, count).
        count: of samples.

    Returns:
        The samples, of shape (batch, channels, count).
    """
    sizes = shape[2:]
    flat = to.reshape(x, shape[0], shape[1], math.prod(sizes))
    axes = [
        _Axis(to, size, "zeros", True).around(place, "linear")
        for size, place in zip(sizes, places, strict=True)
    ]
    return _summed(to, flat, axes, (*shape[:2], count), sizes)


def _summed(
    to: Expansion,
    flat: str,
    axes: list[list[tuple[str, str, str]]],
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
) -> str:
    """The sums of the elements around each place."""
    total = ""
    for taps in itertools.product(*axes):
        term = _term(to, flat, sizes, taps, shape)
        total = to.op("Add", total, term) if total else term
    return total


class _Axis:
    """Places along an axis of an image, as values of f32.

    Args:
        to: gets the nodes.
        size: of the axis.
        padding: what is outside of the image, by the attribute `padding_mode`.
        is_aligned: whether -1 and 1 are the centres of the outer elements, not their
            outer edges.
    """

    def __init__(
        self, to: Expansion, size: int, padding: str, is_aligned: bool
    ) -> None:
        self._to = to
        self._size = size
        self._padding = padding
        self._is_aligned = is_aligned
        self._low = 0.0 if is_aligned else -0.5
        self._high = size - 1 - self._low

    def taps(self, place: str, mode: str) -> list[tuple[str, str, str]]:
        """The elements around places of a grid.

        Returns:
            Of each its index, its weight, and whether it is in the image; the latter
            two are empty where they are 1 and true.
        """
        return self.around(self._element(place), mode)

    def around(self, place: str, mode: str) -> list[tuple[str, str, str]]:
        """The elements around places of elements, as `taps` gives them."""
        to = self._to
        if mode == "nearest":
            place = to.op("Round", place)
        place = self._brought(place)
        if mode == "nearest":
            return [self._tap(place, "")]
        first = to.op("Floor", place)
        rest = to.op("Sub", place, first)
        if mode == "linear":
            weights = [(0, to.op("Sub", to.number(1.0), rest)), (1, rest)]
        else:
            weights = list(enumerate(self._cubic(rest), start=-1))
        return [
            self._tap(to.op("Add", first, to.number(step)) if step else first, weight)
            for step, weight in weights
        ]

    def _element(self, place: str) -> str:
        """Places from -1 to 1 as places of elements."""
        to, size = self._to, self._size
        above = to.op("Add", place, to.number(1.0))
        if self._is_aligned:
            return to.op("Mul", above, to.number((size - 1) / 2))
        scaled = to.op("Mul", above, to.number(size))
        return to.op("Mul", to.op("Sub", scaled, to.number(1.0)), to.number(0.5))

    def _brought(self, place: str) -> str:
        """Places within the image, as the padding says."""
        match self._padding:
            case "border":
                is_within = self._is_within(place, self._low, self._high)
                return self._to.op("Where", is_within, place, self._clipped(place))
            case "reflection":
                return self._reflected(place)
        return place

    def _clipped(self, place: str) -> str:
        to = self._to
        above = to.op("Max", place, to.number(0.0))
        return to.op("Min", above, to.number(self._size - 1))

    def _reflected(self, place: str) -> str:
        """Places reflected at the borders until they are within."""
        to, low, high = self._to, self._low, self._high
        if high <= low:
            return self._clipped(place)
        distance = to.op("Abs", to.op("Sub", place, to.number(low)))
        times = to.op("Floor", to.op("Mul", distance, to.number(1 / (high - low))))
        walked = to.op("Mul", times, to.number(high - low))
        rest = to.op("Sub", distance, walked)
        pairs = to.op("Floor", to.op("Mul", times, to.number(0.5)))
        is_even = to.op("Equal", times, to.op("Add", pairs, pairs))
        forth = to.op("Add", rest, to.number(low))
        back = to.op("Sub", to.number(high), rest)
        turned = to.op("Where", is_even, forth, back)
        return to.op("Where", self._is_within(place, low, high), place, turned)

    def _is_within(self, place: str, low: float, high: float) -> str:
        to = self._to
        return to.op(
            "And",
            to.op("LessOrEqual", to.number(low), place),
            to.op("LessOrEqual", place, to.number(high)),
        )

    def _tap(self, index: str, weight: str) -> tuple[str, str, str]:
        seen = ""
        if self._padding == "zeros":
            seen = self._is_within(index, 0, self._size - 1)
        else:  # what is added to a place may be outside
            index = self._brought(index)
        return self._clipped(index), weight, seen

    def _cubic(self, rest: str) -> list[str]:
        """The weights of four elements at distances from -1 to 2."""
        to = self._to
        other = to.op("Sub", to.number(1.0), rest)
        return [
            self._far(to.op("Add", rest, to.number(1.0))),
            self._near(rest),
            self._near(other),
            self._far(to.op("Add", other, to.number(1.0))),
        ]

    def _near(self, x: str) -> str:
        """The cubic weight of an element whose distance is at most 1."""
        return self._polynomial(x, _CUBIC + 2, -(_CUBIC + 3), 0, 1)

    def _far(self, x: str) -> str:
        """The cubic weight of an element whose distance is between 1 and 2."""
        return self._polynomial(x, _CUBIC, -5 * _CUBIC, 8 * _CUBIC, -4 * _CUBIC)

    def _polynomial(self, x: str, first: float, *rest: float) -> str:
        to = self._to
        total = to.number(first)
        for coefficient in rest:
            total = to.op("Mul", total, x)
            if coefficient:
                total = to.op("Add", total, to.number(coefficient))
        return total


def _term(
    to: Expansion,
    flat: str,
    sizes: tuple[int, ...],
    taps: tuple[tuple[str, str, str], ...],
    shape: tuple[int, ...],
) -> str:
    """An element of each image at each place, times its weight."""
    index, weight, seen = "", "", ""
    for size, (place, factor, is_seen) in zip(sizes, taps, strict=True):
        scaled = to.op("Mul", index, to.number(size)) if index else ""
        index = to.op("Add", scaled, place) if scaled else place
        weight = to.op("Mul", weight, factor) if weight and factor else factor
        seen = to.op("And", seen, is_seen) if seen else is_seen
    whole = to.op("Cast", index, to=7)
    wide = to.op("Expand", whole, to.numbers(*shape))
    elements = to.op("GatherElements", flat, wide, axis=2)
    if seen:
        elements = to.op("Where", seen, elements, to.number(0.0))
    return to.op("Mul", elements, weight) if weight else elements


RULES: Rules = {"GridSample": sampled}
