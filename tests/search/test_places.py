"""Places of sizes on an axis: a size that is not there has none."""

from types import SimpleNamespace

import numpy as np
import pytest

from morello.search.dp.axes import ANY
from morello.search.dp.evaluate import NONE, _place, positions

pytestmark = pytest.mark.quick


def test_a_size_between_two_of_an_axis_has_no_place() -> None:
    parent = SimpleNamespace(axes={})
    axis, sizes = (1, 2, 4, 8), np.array([1, 3, 8, 9, 2])
    places = [0, NONE, 3, NONE, 1]
    assert _place(parent, axis, sizes).tolist() == places
    assert positions(axis, tuple(sizes.tolist()))[0].tolist() == places
    assert _place(parent, (ANY,), sizes) == 0
    assert (_place(parent, (), sizes) == NONE).all()
