"""Images of convolutions by groups lie as is cheaper, by definition."""

import numpy as np
import pytest

import morello
from morello.frontends.grouping.groups import grouped
from morello.frontends.grouping.image_order import laid_out
from morello.frontends.model import Model
from morello.frontends.nodes.channels_last import by_groups
from morello.frontends.nodes.convolution import ImageOrder

PROGRAM = """
func.func @f(%x: tensor<1x{c}x{n}x{n}xf32>) -> tensor<1x{c}x{n}x{n}xf32> {{
  %w = stablehlo.constant dense<{w}> : tensor<{c}x1x3x3xf32>
  %y = stablehlo.convolution(%x, %w)
    dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {{stride = [1, 1], pad = [[1, 1], [1, 1]]}}
    {{batch_group_count = 1 : i64, feature_group_count = {c} : i64}}
    : (tensor<1x{c}x{n}x{n}xf32>, tensor<{c}x1x3x3xf32>) -> tensor<1x{c}x{n}x{n}xf32>
  return %y : tensor<1x{c}x{n}x{n}xf32>
}}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("channels", "size", "stays"), [(2, 32, True), (64, 3, False)])
def test_a_depthwise_convolution_has_the_order_of_the_lower_price(
    channels: int, size: int, stays: bool
) -> None:
    rng = np.random.default_rng(0)
    w = rng.integers(-3, 4, (channels, 1, 3, 3)).astype(np.float32)
    model = morello.from_mlir(PROGRAM.format(c=channels, n=size, w=w.tolist()))
    kernel = model.compile()
    turned = [spec for spec in kernel.specs if "move" in str(spec)]
    assert bool(turned) is not stays
    x = rng.integers(-3, 4, (1, channels, size, size)).astype(np.float32)
    np.testing.assert_array_equal(kernel(x), model.evaluate(x))
    assert len(model.partitioned("rule")[0].steps) == len(kernel.specs)


BOTTLENECK = """
func.func @f(%x: tensor<1x5x4x4xf32>) -> tensor<1x5x4x4xf32> {{
  %a = stablehlo.constant dense<{a}> : tensor<12x5x1x1xf32>
  %b = stablehlo.constant dense<{b}> : tensor<12xf32>
  %w = stablehlo.constant dense<{w}> : tensor<12x{p}x3x3xf32>
  %v = stablehlo.constant dense<{v}> : tensor<5x12x1x1xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<1x12x4x4xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1]
    : (tensor<12xf32>) -> tensor<1x12x4x4xf32>
  %0 = stablehlo.convolution(%x, %a)
    dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x5x4x4xf32>, tensor<12x5x1x1xf32>) -> tensor<1x12x4x4xf32>
  %1 = stablehlo.add %0, %c : tensor<1x12x4x4xf32>
  %2 = stablehlo.maximum %1, %zero : tensor<1x12x4x4xf32>
  %3 = stablehlo.convolution(%2, %w)
    dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {{pad = [[1, 1], [1, 1]]}}
    {{batch_group_count = 1 : i64, feature_group_count = {g} : i64}}
    : (tensor<1x12x4x4xf32>, tensor<12x{p}x3x3xf32>) -> tensor<1x12x4x4xf32>
  %4 = stablehlo.add %3, %c : tensor<1x12x4x4xf32>
  %5 = stablehlo.maximum %4, %zero : tensor<1x12x4x4xf32>
  %6 = stablehlo.convolution(%5, %v)
    dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x12x4x4xf32>, tensor<5x12x1x1xf32>) -> tensor<1x5x4x4xf32>
  return %6 : tensor<1x5x4x4xf32>
}}
"""


@pytest.mark.parametrize("groups", [3, 6])
def test_products_around_groups_that_are_last_stay_products(groups: int) -> None:
    """Their filters are turned, and zeros around the image are no copy."""
    rng, each = np.random.default_rng(0), 12 // groups
    shapes = {"a": (12, 5, 1, 1), "b": 12, "w": (12, each, 3, 3), "v": (5, 12, 1, 1)}
    constants = {n: (rng.integers(-3, 4, s) / 1).tolist() for n, s in shapes.items()}
    model = morello.from_mlir(BOTTLENECK.format(g=groups, p=each, **constants))
    orders = dict.fromkeys(by_groups(model.tensors), ImageOrder.GROUPS_LAST)
    tensors, preparation = laid_out(model.tensors, orders)
    turned = Model(tensors, grouped(tensors), preparation)
    first, _, last = [str(spec).split(":")[:2] for spec in turned.specs()]
    assert (first, last) == (["compose", "16x12x5"], ["matmul", "5x12x16"])
    x = rng.integers(-3, 4, (1, 5, 4, 4)).astype(np.float32)
    np.testing.assert_array_equal(turned.evaluate(x), model.evaluate(x))
