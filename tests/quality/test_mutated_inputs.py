"""Mutated inputs of strangers, some of each kind; the soak has thousands."""

import pytest

from tests.quality.mutated_inputs import check_inputs
from tests.quality.mutated_programs import ALL_INPUTS

pytestmark = pytest.mark.usefixtures("tried_first")

CASES = 30
BATCH = 10


@pytest.mark.sampled(18)
@pytest.mark.parametrize("first", range(0, CASES, BATCH))
@pytest.mark.parametrize("name", ALL_INPUTS)
def test_a_mutated_input_is_taken_or_refused(name: str, first: int) -> None:
    seeds = range(first, first + BATCH)
    assert check_inputs(name, ALL_INPUTS[name], seeds) == BATCH
