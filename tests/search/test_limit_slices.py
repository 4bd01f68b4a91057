"""De-duplicated limit slices: each distinct one once."""

import numpy as np

from morello.search.dp.limit_slices import Slices


def test_equal_slices_are_one() -> None:
    """Over limits that leave the same costs; infinite ones, too."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        sizes = tuple(rng.integers(1, 6, 2).tolist())
        near, far = rng.integers(1, 7, 2).tolist()
        few = rng.integers(0, 3, (*sizes, 4)).astype(float)
        few[rng.random(few.shape) < 0.2] = np.inf
        costs = few[..., rng.integers(0, 4, near * far)].reshape(*sizes, 1, near, far)
        slices = Slices.of(costs, 2)
        again = slices.costs.take(slices.place, axis=-1)
        assert np.array_equal(again.reshape(costs.shape), costs)
        columns = costs.reshape(-1, near * far).T
        assert slices.costs.shape[-1] == len({row.tobytes() for row in columns})
