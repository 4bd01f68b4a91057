"""`tensor.pad` by negative amounts: what is cut off is never padded back."""

import numpy as np
import pytest

import morello

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]

CUTS = [
    ((1, 0), (-1, 0)),
    ((0, -1), (0, 1)),
    ((-2, 1), (0, -2)),
    ((-1, -1), (-1, -1)),
    ((0, 3), (-3, 0)),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [0.0, 2.5])
@pytest.mark.parametrize(("low", "high"), CUTS)
def test_what_is_cut_off_is_gone(
    low: tuple[int, int], high: tuple[int, int], number: float
) -> None:
    shape = [4 + low[0] + high[0], 5 + low[1] + high[1]]
    kind = f"tensor<{shape[0]}x{shape[1]}xf32>"
    text = f"""func.func @f(%x: tensor<4x5xf32>) -> {kind} {{
      %c = arith.constant {number} : f32
      %p = tensor.pad %x low[{low[0]}, {low[1]}] high[{high[0]}, {high[1]}] {{
      ^bb0(%i: index, %j: index):
        tensor.yield %c : f32
      }} : tensor<4x5xf32> to {kind}
      return %p : {kind}
    }}"""
    x = np.arange(1, 21, dtype=np.float32).reshape(4, 5)
    inside = x[
        max(-low[0], 0) : 4 + min(high[0], 0), max(-low[1], 0) : 5 + min(high[1], 0)
    ]
    added = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    wanted = np.pad(inside, added, constant_values=number)
    kernel = morello.from_mlir(text).compile(threads=1)
    np.testing.assert_array_equal(kernel(x), wanted)
