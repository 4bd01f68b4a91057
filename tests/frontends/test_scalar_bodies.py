"""Bodies of linalg on NaN, infinities and truth values, by themselves."""

import numpy as np
import pytest

import morello
from tests.frontends.maps import elementwise

INF, NAN = np.inf, np.nan
X = np.array([NAN, INF, -INF, 0, 1, -2], np.float32)

TRUTH = "%z = arith.constant 0.0 : f32\n%t = arith.cmpf ogt, %a, %z : f32\n"
AS_NUMBER = "\n%r = arith.uitofp %t : i1 to f32"

BODIES = {
    "%t = math.isfinite %a : f32" + AS_NUMBER: [0, 0, 0, 1, 1, 1],
    "%t = math.isinf %a : f32" + AS_NUMBER: [0, 1, 1, 0, 0, 0],
    "%t = math.isnan %a : f32" + AS_NUMBER: [1, 0, 0, 0, 0, 0],
    TRUTH + "%r = arith.uitofp %t : i1 to f32": [0, 1, 0, 0, 1, 0],
    TRUTH + "%r = arith.sitofp %t : i1 to f32": [0, -1, 0, 0, -1, 0],
    TRUTH + "%i = arith.extsi %t : i1 to i32\n%r = arith.sitofp %i : i32 to f32": [
        *(0, -1, 0, 0, -1, 0)
    ],
    TRUTH + "%i = arith.extui %t : i1 to i32\n%r = arith.sitofp %i : i32 to f32": [
        *(0, 1, 0, 0, 1, 0)
    ],
}


@pytest.mark.parametrize("body", BODIES)
def test_special_values_and_truth_values(body: str) -> None:
    computed = morello.from_mlir(elementwise(body, "6xf32")).evaluate(X)
    np.testing.assert_array_equal(computed, np.array(BODIES[body], np.float32))
