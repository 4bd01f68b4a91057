"""A6: exp in kernels, on 2^24 numbers; the soak `exponentials` takes all 2^32."""

import numpy as np
import pytest

from tests.quality.exponentials import BLOCK, check_exponentials, near


@pytest.mark.sampled(5)
def test_a_block_of_all_patterns() -> None:
    assert check_exponentials([77]) >= BLOCK


def test_what_is_not_near_is_found() -> None:
    numbers = np.asarray([1, 1, -200, 100, np.nan, -np.inf, np.inf], np.float32)
    with np.errstate(over="ignore"):
        right = np.exp(numbers)
    assert near(numbers, right).all()
    e = np.spacing(right[0])
    wrong = np.asarray([right[0] + 3 * e, np.nan, 1e-45, 3e38, 1, 1e-45, 3e38])
    assert not near(numbers, wrong.astype(np.float32)).any()
