"""Convolutions of StableHLO: windows, groups and orders of axes, by definition."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import morello

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, np.dtype[Any]]

NHWC = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
NCHW = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
ODD = "[0, f, b, 1]x[i, 1, o, 0]->[f, 1, 0, b]"

FIXED = {
    "stride": (1, 1),
    "pad": ((0, 0), (0, 0)),
    "lhs_dilate": (1, 1),
    "rhs_dilate": (1, 1),
    "reverse": (False, False),
}
CASES: list[tuple[str, int, dict[str, Any]]] = [
    (NHWC, 1, {"rhs_dilate": (2, 1)}),
    (NHWC, 2, {"rhs_dilate": (1, 2), "stride": (2, 1)}),
    (NCHW, 1, {"rhs_dilate": (2, 2), "pad": ((1, 2), (0, 3))}),
    (NCHW, 2, {"rhs_dilate": (2, 3), "pad": ((2, 2), (2, 2)), "stride": (1, 2)}),
    (ODD, 1, {"rhs_dilate": (2, 1), "pad": ((0, 1), (1, 0))}),
    (ODD, 2, {"rhs_dilate": (1, 2), "stride": (2, 2)}),
    (NCHW, 1, {"rhs_dilate": (2, 1), "lhs_dilate": (1, 2)}),
    (NCHW, 1, {"lhs_dilate": (2, 3), "pad": ((2, 1), (1, 2))}),
    (NHWC, 2, {"lhs_dilate": (3, 2), "pad": ((0, 0), (1, 0))}),
    (ODD, 1, {"lhs_dilate": (4, 3), "reverse": (True, True)}),
    (NHWC, 1, {"lhs_dilate": (2, 2), "stride": (2, 1)}),
    (NCHW, 2, {"lhs_dilate": (2, 1), "pad": ((1, 1), (-1, 3))}),
    (NHWC, 1, {"lhs_dilate": (3, 2), "pad": ((2, 3), (1, 0))}),
    (ODD, 1, {"lhs_dilate": (1, 2), "pad": ((0, 0), (-1, 2))}),
    (NCHW, 1, {"lhs_dilate": (4, 2), "stride": (2, 3), "pad": ((1, 2), (1, 1))}),
    (NHWC, 1, {"rhs_dilate": (2, 1), "reverse": (True, False)}),
    (NHWC, 1, {"rhs_dilate": (1, 2), "pad": ((-1, 1), (1, -1))}),
    (NCHW, 1, {"stride": (2, 3), "pad": ((1, 0), (0, 2))}),
    (NCHW, 2, {}),
    (ODD, 1, {}),
]


def laid_out(value: Array, order: str, names: str) -> Array:
    """An array whose axes are named ``names`` with those of ``order``, as text."""
    return value.transpose([names.index(n) for n in order.strip("[]").split(", ")])


def definition(x: Array, w: Array, groups: int, windows: dict[str, Any]) -> Array:
    """``x[b, f, 0, 1]``, ``w[o, i, 0, 1]``: the sum for each place and filter."""
    for axis, step in enumerate(windows["lhs_dilate"], 2):
        shape = list(x.shape)
        shape[axis] = (shape[axis] - 1) * step + 1
        spread = np.zeros(shape, x.dtype)
        spread[(slice(None),) * axis + (slice(None, None, step),)] = x
        x = spread
    for axis, (low, high) in enumerate(windows["pad"], 2):
        sides = [(0, 0)] * 4
        sides[axis] = (max(low, 0), max(high, 0))
        x = np.pad(x, sides)
        x = np.take(x, range(max(-low, 0), x.shape[axis] - max(-high, 0)), axis)
    w = np.flip(
        w, [a for a, is_turned in enumerate(windows["reverse"], 2) if is_turned]
    )
    steps, dilations = windows["stride"], windows["rhs_dilate"]
    spans = [(n - 1) * d + 1 for n, d in zip(w.shape[2:], dilations, strict=True)]
    places = [
        (n - span) // step + 1
        for n, span, step in zip(x.shape[2:], spans, steps, strict=True)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *places), x.dtype)
    filters, channels = w.shape[0] // groups, w.shape[1]
    for o, u, v in itertools.product(range(w.shape[0]), *map(range, places)):
        first = o // filters * channels
        for c, i, j in itertools.product(*map(range, w.shape[1:])):
            row, column = (
                u * steps[0] + i * dilations[0],
                v * steps[1] + j * dilations[1],
            )
            y[:, o, u, v] += w[o, c, i, j] * x[:, first + c, row, column]
    return y


def written(windows: dict[str, Any]) -> str:
    """The windows as StableHLO writes them."""
    return ", ".join(
        f"{name} = {str(value).replace('(', '[').replace(')', ']').lower()}"
        for name, value in windows.items()
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("orders", "groups", "windows"), CASES)
def test_each_window_is_that_of_the_definition(
    orders: str, groups: int, windows: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, (2, 4, 7, 8)).astype(np.float32)
    w = rng.integers(-4, 5, (6, 4 // groups, 3, 2)).astype(np.float32)
    wanted = definition(x, w, groups, FIXED | windows)
    image, filters, result = orders.replace("->", "x").split("x")
    image_, filters_ = laid_out(x, image, "bf01"), laid_out(w, filters, "oi01")
    result_ = laid_out(wanted, result, "bf01")
    kinds = ["x".join(map(str, a.shape)) for a in (image_, filters_, result_)]
    text = f"""
    func.func @f(%x: tensor<{kinds[0]}xf32>, %w: tensor<{kinds[1]}xf32>)
        -> tensor<{kinds[2]}xf32> {{
      %y = stablehlo.convolution(%x, %w) dim_numbers = {orders},
          window = {{{written(windows)}}}
          {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}
          : (tensor<{kinds[0]}xf32>, tensor<{kinds[1]}xf32>) -> tensor<{kinds[2]}xf32>
      return %y : tensor<{kinds[2]}xf32>
    }}
    """
    model = morello.from_mlir(text, fallback=True)
    np.testing.assert_array_equal(model.evaluate(image_, filters_), result_)
    assert math.prod(result_.shape) > 0


def test_a_window_that_reaches_only_zeros_of_a_spread_image_is_zero() -> None:
    text = """
    func.func @f(%x: tensor<1x4x4x2xf32>, %w: tensor<1x1x2x3xf32>)
        -> tensor<1x4x4x3xf32> {
      %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]
          ->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 0], [0, 0]],
          lhs_dilate = [2, 1]}
          {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
          : (tensor<1x4x4x2xf32>, tensor<1x1x2x3xf32>) -> tensor<1x4x4x3xf32>
      return %y : tensor<1x4x4x3xf32>
    }
    """
    x, w = np.ones((1, 4, 4, 2), np.float32), np.ones((1, 1, 2, 3), np.float32)
    result = np.full((1, 4, 4, 3), np.nan, np.float32)
    morello.from_mlir(text).compile(threads=1, time_limit=1)(x, w, out=result)
    np.testing.assert_array_equal(result, np.zeros((1, 4, 4, 3)))


def test_a_dilated_filter_is_not_spread_with_zeros() -> None:
    """3 taps stay 3: the Spec of the convolution has no product with a zero."""
    text = """
    func.func @f(%x: tensor<1x2x9x9xf32>, %w: tensor<4x2x3x3xf32>)
        -> tensor<1x4x3x3xf32> {
      %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]
          ->[b, f, 0, 1], window = {rhs_dilate = [3, 3]}
          {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
          : (tensor<1x2x9x9xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32>
      return %y : tensor<1x4x3x3xf32>
    }
    """
    assert "3*" in str(morello.from_mlir(text))


def test_a_spread_image_has_no_zeros_and_a_map_goes_with_its_products() -> None:
    """Four products of 2x3 places, each with the map, and nothing else."""
    text = """
    func.func @f(%x: tensor<1x2x3x4xf32>, %w: tensor<2x2x3x4xf32>)
        -> tensor<1x4x6x3xf32> {
      %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]
          ->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]}
          {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
          : (tensor<1x2x3x4xf32>, tensor<2x2x3x4xf32>) -> tensor<1x4x6x3xf32>
      %z = stablehlo.tanh %y : tensor<1x4x6x3xf32>
      return %z : tensor<1x4x6x3xf32>
    }
    """
    specs = morello.from_mlir(text).specs()
    assert len(specs) == 4 + 4  # copies of a tap each
    assert not any("fill" in spec for spec in specs)
    assert sum("sum(" in spec and "tanh" in spec for spec in specs) == 4
