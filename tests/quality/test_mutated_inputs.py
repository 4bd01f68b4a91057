"""Mutated inputs of strangers, some of each kind; the soak has thousands."""

import pytest

from tests.quality.mutated_inputs import INPUTS, check_inputs

CASES = 30


@pytest.mark.parametrize("name", INPUTS)
def test_a_mutated_input_is_taken_or_refused(name: str) -> None:
    assert check_inputs(name, range(CASES)) == CASES
