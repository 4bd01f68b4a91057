"""Cases of NumPy's indices, dtypes and results that JAX does not have."""

import numpy as np

from tests.conformance import array_shapes
from tests.conformance.arguments import Case, case, normal

_X = normal(4, 5)


def cases() -> dict[str, Case]:
    """All cases by name."""
    return array_shapes.cases(np) | {
        "boolean index": case(lambda x: x[x > 0], normal(9)),
        "take": case(lambda x: x[[2, 0, 1]], _X),
        "fancy pair": case(lambda x: x[[0, 1, 2], [2, 1, 0]], _X),
        "astype f64": case(lambda x: (x.astype(np.float64) * 2).astype(np.float32), _X),
        "float scalar": case(lambda x: x * np.float32(2) + np.float64(1), _X),
        "unused argument": case(lambda a, b: a * 2, _X, normal(3)),
    }
