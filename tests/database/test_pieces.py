"""Pieces of the storage of tables by themselves: the shelf, boxes of drawn arrays,
stores with little room."""

import dataclasses
import itertools
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from morello.actions import Select
from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp import likeness
from morello.search.dp.box import Box
from morello.search.dp.table import NO_ACTION, Costs, TableId
from morello.search.storage import strangers, table_store
from morello.search.storage.boxes import CostBoxes, LabelBoxes
from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.search.storage.serialize import action_data, read_action
from morello.search.storage.shelf import Once, Shelf, Shelved
from tests.database import small
from tests.threads import in_threads

pytestmark = pytest.mark.quick


def shelved(points: int, name: str = "") -> Any:
    return SimpleNamespace(points=points, name=name)


def table_id(size: int) -> TableId:
    """The identity of a table with one size."""
    return TableId(small.spec("fill:5:f32").key, ((size,),), ())


def test_a_shelf_lets_go_of_what_was_not_read_for_longest() -> None:
    shelf, sizes = Shelf(most_points=10), table_id(2)
    tables = {name: shelved(4, name) for name in "abcd"}
    for name in "ab":
        shelf.put(name, sizes, tables[name])
    assert shelf.get("a", sizes) is tables["a"]
    assert shelf.get("a", table_id(1)) is None
    shelf.put("c", sizes, tables["c"])
    assert [shelf.get(name, sizes) for name in "abc"] == [
        tables["a"],
        None,
        tables["c"],
    ]
    assert len(shelf) == 2
    shelf.put("d", sizes, shelved(2))  # it is just full
    assert len(shelf) == 3
    shelf.put("d", sizes, tables["d"])  # in the place of the other
    assert (len(shelf), shelf.get("a", sizes)) == (2, None)
    shelf.put("e", sizes, shelved(11))
    assert len(shelf) == 0
    shelf.put("f", sizes, shelved(10))
    assert len(shelf) == 1
    shelf.clear()
    shelf.put("g", sizes, shelved(10))
    assert len(shelf) == 1


def test_a_shelf_lets_go_of_large_tables_first_and_of_small_ones_in_time() -> None:
    shelf = Shelf(most_points=100)
    shelf.put("small", table_id(1), shelved(4))
    for n in range(60):
        shelf.put("large", table_id(n), shelved(64))
        assert n >= 30 or shelf.get("small", table_id(1)) is not None
    assert shelf.get("small", table_id(1)) is None
    assert shelf.get("large", table_id(59)) is not None


def test_tables_of_a_key_on_a_shelf_come_latest_first() -> None:
    shelf = Shelf(most_points=6)
    for n in range(1, 8):
        shelf.put("key", table_id(n), shelved(1, str(n)))
    others = [(one, table.name) for one, table in shelf.others("key")]  # type: ignore[attr-defined]
    assert others == [(table_id(n), str(n)) for n in range(7, 1, -1)]
    assert list(shelf.others("other")) == []


def test_a_table_is_made_once_in_any_thread() -> None:
    calls = []

    def make() -> Any:
        calls.append(1)
        return "table"

    once = Once(make)
    assert in_threads(lambda _: once(), range(4)) == ["table"] * 4
    assert calls == [1]


def a_box(rng: random.Random, rank: int, dims: int) -> Box:
    axes = [
        tuple(sorted(rng.sample(range(1, 40), rng.randint(1, 5)))) for _ in range(rank)
    ]
    return Box(tuple(axes[:dims]), tuple(axes[dims:]), rank - dims)


def parts_of(
    shape: tuple[int, ...], rng: random.Random
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """First positions and shapes: beginnings, and parts that begin anywhere."""
    every = [*itertools.product(*(range(1, extent + 1) for extent in shape))]
    some = every if len(every) < 6 else [*every[:: len(every) // 5], every[-1]]
    parts = [((0,) * len(shape), part) for part in some]
    for part in some:
        ends = zip(shape, part, strict=True)
        parts.append((tuple(rng.randint(0, n - count) for n, count in ends), part))
    return parts


def slices(first: tuple[int, ...], part: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(a, a + n) for a, n in zip(first, part, strict=True))


def points_of(shape: tuple[int, ...], rng: random.Random) -> list[tuple[int, ...]]:
    every = [*np.ndindex(shape)]
    return rng.sample(every, min(12, len(every)))


@pytest.mark.parametrize("seed", range(12))
def test_boxes_of_decisions_are_the_array(seed: int) -> None:
    rng = random.Random(f"labels {seed}")
    shape = tuple(rng.choice((1, 2, 3, 5)) for _ in range(rng.randint(1, 4)))
    few = [NO_ACTION, *range(rng.randint(1, 4))]
    labels = np.array(rng.choices(few, k=int(np.prod(shape))), np.int32).reshape(shape)
    if seed % 3:  # mostly of large pieces
        labels[tuple(slice(0, 1 + n // 2) for n in shape)] = 0
    boxes = LabelBoxes.of(labels)
    assert np.array_equal(boxes.expand(), labels)
    for point in points_of(shape, rng):
        assert boxes.at(point) == labels[point]
    for first, part in parts_of(shape, rng):
        some = boxes.part(first, part)
        assert some.shape == part
        assert np.array_equal(some.expand(), labels[slices(first, part)])


@pytest.mark.parametrize("seed", range(12))
def test_boxes_of_costs_are_the_array(seed: int) -> None:
    """Affine along sizes in pieces, equal along limits in pieces, without some."""
    rng = random.Random(f"costs {seed}")
    rank = rng.randint(1, 4)
    box = a_box(rng, rank, rng.randint(1, rank))
    dims, shape = len(box.sizes), box.shape
    grids = np.meshgrid(*map(np.asarray, box.axes), indexing="ij")
    costs = np.full(shape, float(rng.randint(0, 9)))
    for grid in grids[:dims]:
        costs += rng.randint(0, 3) * grid + rng.choice((0, 50)) * (grid > 20)
    for grid in grids[dims:]:
        costs += rng.choice((0, 1000)) * (grid > 15)
    costs[np.asarray(grids[0]) == rng.choice(box.axes[0])] += rng.choice((0, 7, np.inf))
    boxes = CostBoxes.of(Costs.of(box, costs))
    assert np.array_equal(boxes.expand(), costs)
    for point in points_of(shape, rng):
        assert boxes.at(point) == costs[point]
    for first, part in parts_of(shape, rng):
        places = slices(first, part)
        axes = tuple(axis[some] for axis, some in zip(box.axes, places, strict=True))
        some = boxes.part(first, axes)
        assert np.array_equal(some.expand(), costs[places])
    masks = []
    for lo, hi in boxes.ends.tolist():
        corner = costs[tuple(slice(a, b) for a, b in zip(lo, hi, strict=True))]
        differs = [np.ptp(corner, axis=d).any() for d in range(dims)]
        masks.append(sum(bool(v) << (dims - 1 - d) for d, v in enumerate(differs)))
    assert boxes.varying.tolist() == masks
    assert len(boxes.told) == sum(2 ** mask.bit_count() for mask in masks)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("no such action", []),
        ("tile", [1, 2, 3, 4, 5, 6]),
        ("select", [3]),
        ("select", ["fill_rows", "more"]),
        ("split", [True, 4]),
        ("split", ["m", 4.0]),
        ("split", ["m", True]),
        ("move", ["src", "L9", "[0]"]),
        ("move", ["src", "L1", "[0"]),
        ("move", ["src", 1, "[0]"]),
    ],
)
def test_what_is_no_action_is_refused(name: str, values: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        read_action((name, values))


@pytest.fixture(scope="module")
def solved() -> Solver:
    solver = Solver(AVX2)
    solver.solve(small.spec("fill:12x5:f32"))
    return solver


def test_actions_are_read_as_they_were(solved: Solver) -> None:
    actions = {
        action
        for table in solved.tables(small.spec("fill:12x5:f32"))
        for action in table.actions.values()
    }
    assert len({action.name for action in actions}) > 2
    for action in actions:
        assert read_action(action_data(action)) == action
    assert action_data(Select("fill_rows")) == ("select", ["fill_rows"])


def test_a_part_of_a_table_on_the_shelf_is_a_part_of_its_arrays() -> None:
    goal, solved = small.spec("max:6x10:f32"), Solver(AVX2)
    solved.solve(goal)
    table = max(solved.tables(goal), key=lambda table: table.costs.size)
    costs = solved.run_of(goal).store.costs(table.id)
    whole = Shelved(table.id, costs, lambda: table, "goal")
    assert whole.points == table.costs.size
    sizes = tuple(axis[: max(1, len(axis) - 1)] for axis in table.box.sizes)
    limits = tuple(axis[-1:] for axis in table.box.limits)
    assert limits != table.box.limits
    box = dataclasses.replace(table.box, sizes=sizes, limits=limits)
    identity = dataclasses.replace(table.id, sizes=sizes, free=())
    part = whole.part(identity, box)
    assert part is not None
    assert whole.part(table.id, table.box) is whole
    assert part.part(table.id, table.box) is None
    cut = (*(slice(len(axis)) for axis in sizes), *(slice(-1, None) for _ in limits))
    assert (part.goal, part.costs.box) == ("goal", box)
    assert np.array_equal(part.costs.dense, table.costs[cut])
    assert part.table().id == identity
    assert np.array_equal(part.table().costs, table.costs[cut])
    assert np.array_equal(part.table().decisions, table.decisions[cut])


LITTLE = {
    "DENSE_BYTES": 200,
    "UNPACKED_POINTS": 40,
    "WAITING_POINTS": 30,
    "FEW_POINTS": 3,
    "TOGETHER": 3,
}


@pytest.mark.parametrize("is_stored", [False, True])
def test_with_little_room_tables_are_the_same(
    is_stored: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, solved: Solver
) -> None:
    """And what the store counts is what it has."""
    for name, value in LITTLE.items():
        monkeypatch.setattr(table_store, name, value)
    goal = small.spec("fill:12x5:f32")
    overlay = Overlay(Database(tmp_path / "a.sqlite")) if is_stored else None
    solver = Solver(AVX2, overlay)
    assert str(solver.solve(goal).impl) == str(solved.solve(goal).impl)
    store, plain = solver.run_of(goal).store, solved.run_of(goal).store
    unpacked = store._unpacked.values()
    assert store._unpacked_points == sum(one.points for one in unpacked) <= 40
    dense = store._dense.values()
    assert store._bytes == sum(costs.slices.nbytes for costs in dense)
    assert store._bytes <= 200 or len(dense) == 1
    assert not store._unwritten
    for identity in plain:
        one, other = store.table(identity), plain.table(identity)
        assert np.array_equal(one.costs, other.costs)
        assert np.array_equal(one.decisions, other.decisions)
        assert np.array_equal(store.costs(identity).dense, other.costs)
        assert store._bytes == sum(c.slices.nbytes for c in store._dense.values())
    assert store.tally[0] == sum(packed.points for packed in store.packed())
    assert store.tally[1] == sum(len(p.decisions.labels) for p in store.packed())
    assert store.tally[2] == sum(len(p.costs.ends) for p in store.packed())
    if overlay is not None:
        assert len(list(overlay.readable[0].rows())) == len(store)


@pytest.mark.parametrize(
    ("short", "long", "begins"),
    [
        (((1, 2), (3,)), ((1, 2, 4), (3,)), True),
        (((1, 2), (3,)), ((1, 2), (3,)), True),
        (((1, 2), (3,)), ((1, 4), (3,)), False),
        (((1, 2), (3,)), ((1,), (3,)), False),
        (((1, 2),), ((1, 2), (3,)), False),
    ],
)
def test_axes_begin_with_others(short: Any, long: Any, begins: bool) -> None:
    assert likeness._begins(short, long) == begins


@pytest.mark.parametrize("sizes", [[0, 1], [2, 1], [1, 1], [1, True], [1, 2.0], ["1"]])
def test_what_is_no_axis_is_refused(sizes: Any) -> None:
    assert strangers.read_axis([1, 2, 4]) == (1, 2, 4)
    with pytest.raises((ValueError, TypeError)):
        strangers.read_axis(sizes)
