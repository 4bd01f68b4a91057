"""Costs of actions, gathered from the tables of their holes."""

import numpy as np
import pytest

from morello.search.compiled.load import compiled
from morello.search.compiled.words import ACTION, HOLE, address

pytestmark = pytest.mark.quick


def words(names: tuple[str, ...], **fields: int) -> list[int]:
    """A descriptor: words that are given by name, and 0 for the others."""
    assert set(fields) <= set(names)
    return [fields.get(name, 0) for name in names]


@pytest.mark.parametrize("times", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_hole_that_does_not_count_must_have_a_program(
    times: float, is_there: bool
) -> None:
    """One point, whose hole has a program with much of a cache left, or with little."""
    table = np.array([7.0, 5.0 if is_there else np.inf])
    slices = np.array([0, 1])
    place, factor = np.zeros(1, np.int32), np.array([times])
    left = np.array([0, 1], np.int32)
    hole = words(
        HOLE,
        table=address(table),
        slice=address(slices),
        slices=2,
        at=address(place),
        times=address(factor),
        fixed=address(place),
        near=address(place),
        far=address(left),
        far_class=1,
    )
    costs, rows = np.array([100.0]), np.zeros(1, np.int64)
    action = words(ACTION, points=1, rows=address(rows), cost=address(costs), holes=1)
    totals = np.full(2, -1.0)
    compiled().gather_totals(totals, 1, 2, np.array(action), np.array([hole]))
    first, second = 100 + 7 * times, 100 + 5 * times
    assert totals.tolist() == [first, second if is_there else np.inf]
