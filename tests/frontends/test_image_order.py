"""Images that no product reads lie as is cheaper, by definition."""

import numpy as np
import pytest

import morello

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
