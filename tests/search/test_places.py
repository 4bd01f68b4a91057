"""Places of sizes on an axis: a size that is not there has none."""

import numpy as np
import pytest

from morello.search.dp.box import ANY
from morello.search.dp.evaluate import NONE, _Along, _Others, _place, positions

pytestmark = pytest.mark.quick


def test_a_size_between_two_of_an_axis_has_no_place() -> None:
    axis, sizes = (1, 2, 4, 8), np.array([1, 3, 8, 9, 2])
    places = [0, NONE, 3, NONE, 1]
    along = tuple(sizes.tolist())
    assert _place(axis, _Others(sizes)).tolist() == places
    assert _place(axis, _Along(1, along, 3)).tolist() == [[[p] for p in places]]
    assert positions(axis, along)[0].tolist() == places
    assert _place((ANY,), _Others(sizes)) == 0
    assert (_place((), _Others(sizes)) == NONE).all()
