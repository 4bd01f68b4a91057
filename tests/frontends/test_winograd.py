"""Convolutions by Winograd's algorithm: exact, within the bound, and only if allowed.

Filters are multiples of 225, elements of images small integers. Transforms multiply
with powers of two and few-bit sums of them, and divide filters by 1, 3, 15 and powers
of two along each axis: so every value is a multiple of a power of two, of less than 24
bits, and nothing rounds.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import morello
from morello.frontends.model import Model
from morello.frontends.nodes import winograd
from morello.frontends.nodes.tensors import Array, Node
from morello.frontends.nodes.winograd import POINTS, Tiling, Transform

THIRDS = 225
"""Divided by 3 or 15, along two axes, it is an integer."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A convolution, its image and filters in any order of axes."""

    image: str
    filters: str
    sizes: dict[str, int]
    """Batch ``b``, channels ``f``, filters ``o``; places ``0`` and ``1``."""
    taps: tuple[int, ...]
    pad: Sequence[tuple[int, int]]
    options: str = ""
    groups: int = 1

    @property
    def places(self) -> str:
        """The axes with a window."""
        return "01"[: len(self.taps)]

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of the image and the filters."""
        taps = dict(zip(self.places, self.taps, strict=True))
        extents = {"o": self.sizes["o"], "i": self.sizes["f"] // self.groups}
        return (
            tuple(self.sizes[a] for a in self.image),
            tuple((extents | taps)[a] for a in self.filters),
        )

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of the result, whose axes have the order of the image."""
        steps = 2 if "stride" in self.options else 1
        gaps = 2 if "rhs_dilate" in self.options else 1
        extents = {"b": self.sizes["b"], "f": self.sizes["o"]}
        for axis, taps, pad in zip(self.places, self.taps, self.pad, strict=True):
            rest = self.sizes[axis] + sum(pad) - (taps - 1) * gaps - 1
            extents[axis] = rest // steps + 1
        return tuple(extents[a] for a in self.image)

    def text(self, filters: Array, dtype: str = "f32") -> str:
        """The program: the convolution by a constant, then relu."""
        x, w = ("x".join(map(str, shape)) for shape in self.shapes)
        y = "x".join(map(str, self.result))
        orders = [",".join(a) for a in (self.image, self.filters, self.image)]
        pad = [list(one) for one in self.pad]
        numbers = filters.tobytes().hex().upper()
        return f"""
        func.func @f(%x: tensor<{x}x{dtype}>) -> tensor<{y}x{dtype}> {{
          %w = stablehlo.constant dense<"0x{numbers}"> : tensor<{w}x{dtype}>
          %y = stablehlo.convolution(%x, %w)
              dim_numbers = [{orders[0]}]x[{orders[1]}]->[{orders[2]}],
              window = {{pad = {pad}{self.options}}}
              {{batch_group_count = 1 : i64, feature_group_count = {self.groups} : i64}}
              : (tensor<{x}x{dtype}>, tensor<{w}x{dtype}>) -> tensor<{y}x{dtype}>
          %zero = stablehlo.constant dense<0.0> : tensor<{y}x{dtype}>
          %r = stablehlo.maximum %y, %zero : tensor<{y}x{dtype}>
          return %r : tensor<{y}x{dtype}>
        }}
        """


SQUARE = Case(
    *("b01f", "oi01", {"b": 1, "0": 12, "1": 12, "f": 8, "o": 8}),
    *((3, 3), [(1, 1), (1, 1)]),
)
"""Three tiles of F(4,3) along each axis."""

CASES = (
    SQUARE,
    Case(
        "bf01", "oi01", {"b": 2, "0": 7, "1": 9, "f": 3, "o": 5}, (3, 3), [(1, 1)] * 2
    ),
    Case(
        "b01f",
        "01io",
        {"b": 1, "0": 5, "1": 6, "f": 2, "o": 4},
        (3, 2),
        [(0, 2), (1, 0)],
    ),
    Case(
        "b01f",
        "oi01",
        {"b": 1, "0": 9, "1": 8, "f": 2, "o": 3},
        (5, 3),
        [(2, 2), (-1, 1)],
    ),
    Case("b0f", "oi0", {"b": 2, "0": 11, "f": 3, "o": 4}, (3,), [(1, 1)]),
    Case("bf0", "oi0", {"b": 1, "0": 12, "f": 4, "o": 3}, (5,), [(0, 0)]),
)

OTHERS = (
    dataclasses.replace(SQUARE, options=", stride = [2, 2]"),
    dataclasses.replace(SQUARE, options=", rhs_dilate = [2, 2]"),
    dataclasses.replace(SQUARE, groups=8),
    dataclasses.replace(SQUARE, groups=2),
    dataclasses.replace(SQUARE, taps=(7, 7)),
)
"""Convolutions that have no tiles."""


def drawn(case: Case, seed: int = 0) -> tuple[Array, Array]:
    """An image, and filters that transforms divide exactly."""
    rng = np.random.default_rng(seed)
    image, filters = case.shapes
    x = rng.integers(-2, 3, image).astype(np.float32)
    return x, (THIRDS * rng.integers(-2, 3, filters)).astype(np.float32)


def all_tiled(model: Model, points: int) -> Model | None:
    """The model with each convolution by Winograd's algorithm; None if none can be."""
    nodes = enumerate(model.tensors.all)
    every = [i for i, node in nodes if isinstance(node, Node)]
    able = [i for i in every if Tiling.of(model.tensors, model.tensors.node(i), points)]
    return model.tiled(dict.fromkeys(able, points)) if able else None


@pytest.mark.parametrize("points", POINTS)
def test_transforms_multiply_polynomials_exactly(points: int) -> None:
    """Elements are few bits long, so that f64 adds them exactly."""
    rng = np.random.default_rng(points)
    for taps in range(2, points):
        one = Transform(points - taps + 1, taps)
        x = rng.integers(-9, 10, points).astype(float)
        w = THIRDS * rng.integers(-9, 10, taps).astype(float)
        products = np.array(one.filter) @ w / np.array(one.divisors)
        tile = np.array(one.result) @ (products * (np.array(one.image) @ x))
        np.testing.assert_array_equal(tile, np.correlate(x, w))
        for matrix in (one.filter, one.image, one.result, one.divisors):
            exact = np.array(matrix, np.float32)
            np.testing.assert_array_equal(exact, np.array(matrix, np.float64))


def test_no_points_that_are_small_powers_of_two_round_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grown = [Transform(n - 2, 3).growth(2) for n in POINTS]
    numbers = [sign * size for size in (0.25, 0.5, 1.0, 2.0, 4.0) for sign in (1, -1)]
    for n, factor in zip(POINTS, grown, strict=True):
        for rest in itertools.combinations(numbers, n - 2):
            monkeypatch.setattr(winograd, "_FINITE", (0.0, *rest))
            assert Transform(n - 2, 3).growth(2) >= factor * (1 - 1e-12), rest


@pytest.mark.sampled(4)
@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_tiles_are_the_convolution_bit_for_bit(case: Case, points: int) -> None:
    x, w = drawn(case)
    model = morello.from_mlir(case.text(w))
    tiled = all_tiled(model, points)
    if tiled is None:
        assert max(case.taps) >= points
        return
    assert str(tiled) != str(model)
    np.testing.assert_array_equal(tiled.evaluate(x), model.evaluate(x))


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_other_convolutions_have_no_tiles(case: Case) -> None:
    _, w = drawn(case)
    model = morello.from_mlir(case.text(w))
    assert all(all_tiled(model, points) is None for points in POINTS)


@pytest.mark.sampled(4)
def test_a_convolution_is_tiled_where_that_is_allowed_and_cheaper() -> None:
    """The kernel is exact where the definition is, and within the bound elsewhere."""
    image, w = drawn(SQUARE)
    model = morello.from_mlir(SQUARE.text(w))
    direct, _ = model.partitioned("rule")
    chosen, _ = model.partitioned("rule", winograd=True)
    assert not direct.tilings
    assert len(chosen.parts) == len(("copy", "to points", "product", "back, relu"))
    (one,) = chosen.tilings
    assert one.price < one.direct
    assert f"{one.tiling} " in one.text(str)
    kernel = model.compile(winograd=True)
    np.testing.assert_array_equal(kernel(image), model.evaluate(image))
    x = image + np.float32(1 / 3) * np.roll(image, 1)
    wanted = model.evaluate(x)
    terms = SQUARE.sizes["f"] + 5 * one.tiling.points
    room = terms * 2.0**-24 * one.tiling.growth(1) * 9 * SQUARE.sizes["f"]
    assert np.abs(kernel(x) - wanted).max() <= room * np.abs(x).max() * np.abs(w).max()
