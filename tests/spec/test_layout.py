"""Layouts: where elements lie, the text form, lines and runs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.errors import SpecError
from morello.spec import Layout
from morello.spec.tensors.layout import LINE_BYTES, ceil_div
from tests.spec.strategies import layouts, shapes

pytestmark = pytest.mark.quick


@st.composite
def placed(draw: st.DrawFn) -> tuple[Layout, tuple[int, ...]]:
    layout = draw(layouts())
    return layout, draw(shapes(layout.rank))


def offsets(layout: Layout, sizes: tuple[int, ...], array: tuple[int, ...]) -> set[int]:
    """Where the elements of the tile at the origin lie in an array of sizes ``array``.

    Counted by strides, element by element, from what the text form says.
    """
    places = set()
    for index in itertools.product(*map(range, sizes)):
        offset, stride = 0, 1
        for d in reversed(layout.dims):
            pack = next((p.pack for p in layout.dims if p.pack and p.dim == d.dim), 1)
            if d.pack:
                inner = index[d.dim] % d.pack
                if d.odd_even:
                    order = [*range(0, d.pack, 2), *range(1, d.pack, 2)]
                    inner = order.index(inner)
                offset, stride = offset + inner * stride, stride * d.pack
            else:
                offset += index[d.dim] // pack * stride
                stride *= math.ceil(array[d.dim] / pack)
        places.add(offset)
    return places


@given(layouts())
def test_text_round_trip(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout
    assert Layout.parse(f" {layout} ".replace(",", " , ")) == layout


@given(placed())
def test_the_index_map_is_one_to_one(case: tuple[Layout, tuple[int, ...]]) -> None:
    layout, sizes = case
    shape = layout.physical_shape(sizes)
    index = layout.index_map(tuple(np.indices(sizes, sparse=True)))
    flat = np.ravel_multi_index(np.broadcast_arrays(*index), shape)
    positions = set(flat.ravel().tolist())
    assert len(positions) == math.prod(sizes)
    assert positions == offsets(layout, sizes, sizes)
    padded = any(s % layout.pack(d) for d, s in enumerate(sizes))
    assert (math.prod(shape) > len(positions)) == padded


@given(placed())
def test_there_and_back(case: tuple[Layout, tuple[int, ...]]) -> None:
    layout, sizes = case
    logical = np.arange(1, math.prod(sizes) + 1, dtype=np.int32).reshape(sizes)
    physical = layout.to_physical(logical)
    assert physical.shape == layout.physical_shape(sizes)
    assert np.count_nonzero(physical) == logical.size
    assert np.array_equal(layout.to_logical(physical, sizes), logical)
    turned = layout.to_physical(np.asfortranarray(logical))
    assert np.array_equal(turned, physical)
    assert turned.flags.c_contiguous
    assert layout.bytes(sizes, 4) == physical.nbytes


def test_physical_forms() -> None:
    rows = np.arange(12).reshape(1, 3, 4)
    assert Layout.parse("[0,2,1]").to_physical(rows).tolist() == [
        [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    ]
    panels = Layout.parse("[0,1,2,1p2]").to_physical(rows)
    assert panels.tolist() == [
        [[[0, 4], [1, 5], [2, 6], [3, 7]], [[8, 0], [9, 0], [10, 0], [11, 0]]]
    ]
    evens = Layout.parse("[0,0oe4]").to_physical(np.arange(6))
    assert evens.tolist() == [[0, 2, 1, 3], [4, 0, 5, 0]]


@given(placed(), st.sampled_from([1, 2, 4]))
def test_lines_of_a_tile_whose_runs_start_lines(
    case: tuple[Layout, tuple[int, ...]], itemsize: int
) -> None:
    layout, sizes = case
    # In an array of such sizes every stride of a whole dimension is whole lines.
    array = tuple(64 * layout.pack(d) for d in range(layout.rank))

    def touched(sizes: tuple[int, ...]) -> int:
        places = offsets(layout, sizes, array)
        return len({place * itemsize // LINE_BYTES for place in places})

    packs = map(layout.pack, range(layout.rank))
    whole = tuple(-(-s // p) * p for s, p in zip(sizes, packs, strict=True))
    assert touched(sizes) <= layout.lines(sizes, itemsize) <= touched(whole)
    if not layout.is_packed:
        outer = math.prod(sizes) // sizes[layout.innermost]
        run = sizes[layout.innermost] * itemsize
        assert layout.runs(sizes, itemsize) == (outer, run)
        assert touched(sizes) == layout.lines(sizes, itemsize)


@given(placed())
def test_whole_arrays_of_sizes_at_once(case: tuple[Layout, tuple[int, ...]]) -> None:
    layout, sizes = case
    wide = tuple(np.array([1, s, 2 * s]) for s in sizes)
    ones = (1,) * len(sizes)
    double = tuple(2 * s for s in sizes)
    for method in (layout.lines, layout.bytes):
        want = [method(ones, 4), method(sizes, 4), method(double, 4)]
        assert np.broadcast_to(method(wide, 4), 3).tolist() == want


def test_properties() -> None:
    panels = Layout.parse("[0,2,1,2p16]")
    assert panels.rank == 3
    assert panels.is_packed
    assert not panels.is_row_major
    assert panels.innermost == 2
    assert [panels.pack(d) for d in range(3)] == [1, 1, 16]
    assert panels.physical_shape((2, 5, 33)) == (2, 3, 5, 16)
    assert panels.tile_shape((2, 5, 9)) == (2, 1, 5, 9)
    assert panels.tile_shape((2, 5, 33)) == (2, 3, 5, 16)
    assert panels.runs((1, 5, 32), 4) == (2, 5 * 64)
    assert Layout.row_major(3).is_row_major
    assert not Layout.parse("[1,0]").is_row_major
    assert ceil_div(7, 4) == 2
    assert ceil_div(8, 4) == 2
    assert ceil_div(0, 4) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1", r"'0,1' is not a layout; write it as \[0,2,1,2p16\]"),
        ("[]", r"'' in the layout '\[\]' is not a dimension; write 1 for a whole"),
        ("[0,x]", r"'x' in the layout '\[0,x\]' is not a dimension"),
        ("[0,1p]", "'1p' in the layout"),
        ("[0,-1]", "'-1' in the layout"),
        ("[0,0]", "does not name each of the dimensions 0 to 1 whole exactly once"),
        ("[1]", "does not name each of the dimensions 0 to 0 whole exactly once"),
        ("[0,1,1p4,1p2]", "packs a dimension twice or one it lacks"),
        ("[0,1p4]", "packs a dimension twice or one it lacks"),
        ("[0p4,0]", "has the pack 0p4 outside its own dimension"),
        ("[0,0p1]", "the pack 0p1 must be at least 2 and, odd-even, even"),
        ("[0,0oe3]", "the pack 0oe3 must be at least 2 and, odd-even, even"),
        ("[0,0p" + "9" * 5000 + "]", "is not a dimension"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Layout.parse(text)
