"""A2: 300 programs of the search, exact, and within the bounds of rounding."""

import numpy as np
import pytest

from morello.machine import AVX2
from morello.spec import parse_spec
from tests.quality.bounds import check_product, normal_inputs
from tests.quality.searched_programs import check_searched_programs

PROGRAMS = 300
BATCH = 60


@pytest.mark.sampled(12)
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_searched_programs_are_exact_and_bounded(first: int) -> None:
    assert check_searched_programs(range(first, first + BATCH)) == BATCH


def test_the_bounds_see_a_term_too_few() -> None:
    spec = parse_spec("matmul:9x1000x9:f32", AVX2.limits)
    inputs = normal_inputs(spec, np.random.default_rng(0))
    whole = np.matmul(*(array.astype(np.float64) for array in inputs))
    check_product(spec, inputs, whole.astype(np.float32))
    short = [inputs[0][:, :, :999], inputs[1][:, :999]]
    with pytest.raises(AssertionError, match="times gamma_K"):
        check_product(spec, inputs, np.matmul(*short))
    rounded = (np.round(whole * 256) / 256).astype(np.float32)
    with pytest.raises(AssertionError, match="the tester's ratio is"):
        check_product(spec, inputs, rounded)
