"""Index maps by themselves: canonical, and as large and tileable as what they read."""

import itertools

import numpy as np
import pytest

from morello.errors import SpecError
from morello.spec.index_map import IndexMap, plain

pytestmark = pytest.mark.quick

MAPS = (
    IndexMap.of(1),
    IndexMap(()),
    IndexMap(((0, 2), (1, 1))),
    IndexMap(((0, 1), (1, 3)), before=1, after=2),
    IndexMap(((1, 1),), divisor=2),
    IndexMap(((0, 1),), divisor=5),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (IndexMap(((0, 1),)), IndexMap.of(0)),
        (IndexMap(((1, 2), (0, 1))), IndexMap(((0, 1), (1, 2)))),
        (IndexMap(((0, 1),), divisor=1), IndexMap.of(0)),
        (IndexMap(((0, 2),), divisor=4), IndexMap(((0, 1),), divisor=2)),
        (IndexMap(((0, 6),), divisor=3), IndexMap(((0, 2),))),
        (IndexMap((), divisor=7), IndexMap(())),
    ],
)
def test_maps_that_read_the_same_are_equal(one: IndexMap, other: IndexMap) -> None:
    assert one == other
    assert hash(one) == hash(other)
    assert (one < other) == (other < one)


@pytest.mark.parametrize("axis", MAPS, ids=str)
def test_an_axis_has_the_places_that_points_read(axis: IndexMap) -> None:
    for sizes in itertools.product((1, 2, 4, 9), (1, 3, 10)):
        points = dict(enumerate(np.ix_(*map(range, sizes))))
        places = axis.at(points)
        assert np.max(places) + 1 == axis.reach(sizes)
        assert axis.extent(sizes) == axis.reach(sizes) - axis.before - axis.after


def test_kept_tiles_are_read_by_the_same_map() -> None:
    for divisor, extent in itertools.product(range(1, 8), range(1, 30)):
        axis = IndexMap(((0, 1),), divisor=divisor)
        for size in range(1, extent):
            local = np.arange(size) // divisor
            same = all(
                np.array_equal(
                    np.arange(begin, end) // divisor,
                    begin // divisor + local[: end - begin],
                )
                for begin in range(0, extent, size)
                for end in [min(begin + size, extent)]
            )
            assert same or not axis.keeps(size, extent)
            if size % divisor == 0 or divisor % size == 0:
                assert axis.keeps(size, extent)


def test_what_a_map_is() -> None:
    divided = IndexMap(((3, 1),), divisor=32)
    assert IndexMap.of(3).dim == 3
    assert divided.dim is None
    assert divided.dims == (3,)
    assert divided.renamed({3: 0}) == IndexMap(((0, 1),), divisor=32)
    assert IndexMap(((0, 1), (1, 2))).without(1) == IndexMap.of(0)
    assert IndexMap(((0, 1),), 1, 1).unpadded == IndexMap.of(0)
    assert plain(2, 0) == (IndexMap.of(2), IndexMap.of(0))


@pytest.mark.parametrize(
    "fields",
    [
        ((((0, 3),), 0, 0, 2)),
        ((((0, 1), (1, 1)), 0, 0, 2)),
        ((((0, 1),), 1, 0, 2)),
        ((((0, 1),), 0, 0, 0)),
    ],
)
def test_one_dimension_alone_is_divided(
    fields: tuple[tuple[tuple[int, int], ...], int, int, int],
) -> None:
    with pytest.raises(SpecError, match="is no dimension divided by a positive number"):
        IndexMap(*fields)
