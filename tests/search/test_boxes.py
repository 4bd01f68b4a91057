"""Boxes stand for exactly the arrays that they were made of (C2), and a Spec is one
point of one table."""

import dataclasses
import functools
import random
from typing import Any, ClassVar

import numpy as np
import pytest

from morello.actions import Select
from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.box import ANY, Box
from morello.search.dp.table import Costs, Table, TableId, position, spec_at
from morello.search.storage.boxes import CostBoxes, LabelBoxes
from morello.search.storage.codec import decode, encode_costs, encode_decisions, summary
from morello.search.storage.deflated import CodecError
from morello.search.storage.packed_table import Packed
from morello.spec import Spec, parse_spec

OPERATIONS = 50_000

GOAL = "matmul:12x9x20:f32"


def stored(packed: Packed) -> Packed:
    """A table after the bytes of its row."""
    data, costs = encode_decisions(packed), encode_costs(packed)
    actions = tuple(packed.actions.values())
    return decode(data, packed.id, packed.box, lambda: actions, lambda: costs)


@pytest.fixture(scope="module")
def solver() -> Solver:
    solver = Solver(AVX2)
    solver.solve(parse_spec(GOAL, AVX2.limits))
    return solver


@pytest.fixture(scope="module")
def tables(solver: Solver) -> tuple[Table, ...]:
    return solver.tables(parse_spec(GOAL, AVX2.limits))


def _grid(rng: np.random.Generator) -> Box:
    rank = int(rng.integers(1, 4))
    sizes = tuple(
        tuple(np.unique(rng.integers(1, 40, rng.integers(1, 7))).tolist())
        for _ in range(rank)
    )
    limits = [tuple(range(int(rng.integers(1, 5)))) for _ in range(2)]
    return Box(sizes, ((ANY,), *limits), 2)


def _costs(box: Box, rng: np.random.Generator) -> Any:
    """Multilinear in pieces, with noise and holes: what tables look like, and worse."""
    mesh = np.ix_(*(np.asarray(axis, np.int64) for axis in box.axes))
    costs: Any = np.zeros(box.shape)
    for size in mesh[: len(box.sizes)]:
        slope = rng.integers(0, 1 << 12)
        costs = costs + slope * (size // rng.integers(1, 4)) + rng.integers(0, 99)
    if rng.random() < 0.5:
        costs = costs * (1 + (mesh[-1] > 1))
    noise = rng.random(box.shape)
    costs = np.where(noise < 0.05, rng.integers(0, 1 << 52, box.shape), costs)
    return np.where(noise > 0.9, np.inf, costs).astype(np.float64)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_arrays_come_back(first: int) -> None:
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        box = _grid(rng)
        costs = _costs(box, rng)
        boxes = CostBoxes.of(Costs.of(box, costs))
        assert np.array_equal(boxes.expand(), costs)
        for point in np.ndindex(box.shape):
            assert boxes.at(point) == costs[point]
        labels = rng.integers(-1, 3, box.shape).astype(np.int32)
        labels = np.where(rng.random(box.shape) < 0.7, np.int32(1), labels)
        label_boxes = LabelBoxes.of(labels)
        assert np.array_equal(label_boxes.expand(), labels)
        for point in np.ndindex(box.shape):
            assert label_boxes.at(point) == labels[point]


def test_few_boxes_hold_an_affine_table() -> None:
    box = Box(((1, 2, 3, 4, 6, 8), (5, 10, 40)), ((ANY,), (0, 32), (ANY,)), 2)
    m, n = (np.asarray(axis) for axis in box.sizes)
    costs = np.zeros(box.shape)
    costs[...] = (7 * m[:, None] * n + 3 * m[:, None] + 11)[:, :, None, None, None]
    boxes = CostBoxes.of(Costs.of(box, costs))
    assert len(boxes.ends) == 1
    assert len(boxes.told) == 4
    costs[3, 1] += 1
    assert np.array_equal(CostBoxes.of(Costs.of(box, costs)).expand(), costs)


@pytest.mark.sampled(5)
def test_solved_tables_come_back(tables: tuple[Table, ...]) -> None:
    points = boxes = 0
    for table in tables:
        packed = Packed.of(table)
        again = packed.expand()
        assert np.array_equal(again.costs, table.costs)
        assert np.array_equal(again.decisions, table.decisions)
        read = stored(packed).expand()
        assert np.array_equal(read.costs, table.costs)
        assert np.array_equal(read.decisions, table.decisions)
        points += packed.points
        boxes += len(packed.decisions.labels)
    assert points > 50 * boxes


def test_the_boxes_as_a_map(tables: tuple[Table, ...]) -> None:
    """C2: against a dict, by points inside and one outside each box, before and after
    the bytes of a row."""
    rng = random.Random(0)
    done = 0
    packed = {t.id: Packed.of(t) for t in tables if t.costs.size}
    full = [t for t in tables if t.costs.size]
    while done < OPERATIONS:
        table = rng.choice(full)
        stored_table = packed[table.id]
        if rng.random() < 0.02:
            packed[table.id] = stored_table = stored(stored_table)
        model = {
            point: (table.costs[point], int(table.decisions[point]))
            for point in _points(stored_table, rng)
        }
        for point, (cost, decision) in model.items():
            assert stored_table.costs.at(point) == cost, (table.id, point)
            assert stored_table.decisions.at(point) == decision, (table.id, point)
            done += 2


def _points(table: Packed, rng: random.Random) -> list[tuple[int, ...]]:
    """A corner of some boxes, a point inside, and one step outside along an axis."""
    points = []
    for ends in (table.decisions.ends, table.costs.ends):
        for lo, hi in ends[rng.sample(range(len(ends)), min(6, len(ends)))].tolist():
            inside = [rng.randrange(a, b) for a, b in zip(lo, hi, strict=True)]
            axis = rng.randrange(len(lo))
            points += [lo, [b - 1 for b in hi], inside]
            for outside in (lo[axis] - 1, hi[axis]):
                if 0 <= outside < table.box.shape[axis]:
                    points.append([*inside[:axis], outside, *inside[axis + 1 :]])
    return [tuple(point) for point in points]


def test_a_spec_is_one_point(solver: Solver, tables: tuple[Table, ...]) -> None:
    limits = solver.run_of(parse_spec(GOAL, AVX2.limits)).limits
    rng = random.Random(1)
    for table in tables:
        seen = {}
        for _ in range(40 if table.costs.size else 0):
            point = tuple(rng.randrange(extent) for extent in table.box.shape)
            sizes, left = spec_at(table.id.key, table.box, point, limits)
            assert position(table.box, sizes, left) == point
            assert table.point(sizes, left) == point
            assert seen.setdefault((sizes, left), point) == point
        outside = tuple(axis[-1] + 1 if axis else 1 for axis in table.box.sizes)
        assert position(table.box, outside, limits) is None


def test_lookups_read_the_boxes(tables: tuple[Table, ...]) -> None:
    for table in tables:
        packed = Packed.of(table)
        for index, point in enumerate(np.ndindex(table.box.shape)):
            if index % 997:
                continue
            sizes, left = spec_at(table.id.key, table.box, point, AVX2.limits)
            assert packed.decision(sizes, left) == table.decision(sizes, left)
            cost = table.costs[point]
            assert packed.cost(sizes, left) == (cost if np.isfinite(cost) else None)


@pytest.mark.sampled(2)
def test_a_program_costs_what_its_table_says(
    solver: Solver, tables: tuple[Table, ...]
) -> None:
    run = solver.run_of(parse_spec(GOAL, AVX2.limits))
    rng = random.Random(2)
    checked = 0
    for table in tables:
        for _ in range(10 if table.costs.size else 0):
            point = tuple(rng.randrange(extent) for extent in table.box.shape)
            sizes, left = spec_at(table.id.key, table.box, point, run.limits)
            if np.isfinite(table.costs[point]):
                key = table.id.key
                spec = Spec(key.kind, sizes, key.tensors, left, key.serial)
                assert run.program(spec, table).cost == table.costs[point]
                checked += 1
    assert checked > 500


def test_bytes_of_another_table_are_refused(tables: tuple[Table, ...]) -> None:
    table = next(t for t in tables if t.costs.size > 100)
    packed = Packed.of(table)
    data, costs = encode_decisions(packed), encode_costs(packed)
    less = Box(table.box.sizes, (*table.box.limits[:-1], (1, 2, 3)), 2)
    with pytest.raises(CodecError, match="the axes are others"):
        decode(data, table.id, less, table.actions.values, lambda: costs)
    for broken in (b"", data[:-4], b"x" + data, costs):
        with pytest.raises(CodecError):
            decode(broken, table.id, table.box, table.actions.values, lambda: costs)
        with pytest.raises(CodecError):
            summary(broken, costs)
    for broken in (b"", costs[:-4], b"x" + costs, data):
        rest = table.actions.values, functools.partial(bytes, broken)
        decoded = decode(data, table.id, table.box, *rest)
        with pytest.raises(CodecError):
            decoded.expand()
        with pytest.raises(CodecError):
            summary(data, broken)


@dataclasses.dataclass(frozen=True, order=True)
class Fold(Select):
    """An action of another version of Morello."""

    name: ClassVar[str] = "fold"


def test_actions_come_back_and_those_that_there_are_not_are_refused(
    tables: tuple[Table, ...],
) -> None:
    for table in tables:
        packed = Packed.of(table)
        used = set(packed.decisions.labels.tolist())
        assert stored(packed).actions == {n: table.actions[n] for n in used}
        if used:
            folds = {n: Fold("dot") for n in used}
            with pytest.raises(CodecError, match="there is no action 'fold'"):
                stored(dataclasses.replace(packed, actions=folds))


def test_exact_beyond_64_bits() -> None:
    """Slopes are compared, and lines filled, where plain products would overflow."""
    sizes = (1, 1 << 29, 1 << 30, 1 << 31)
    box = Box((sizes,), ((ANY,),) * 3, 2)
    top = 1 << 52
    for offset in (0, 1):
        costs = np.asarray([top + 4 * s for s in sizes], np.float64)
        costs[2] += offset
        dense = costs.reshape(box.shape)
        boxes = CostBoxes.of(Costs.of(box, dense))
        assert np.array_equal(boxes.expand(), dense)
        assert (len(boxes.ends) == 1) == (offset == 0)


def test_an_empty_table_has_no_boxes() -> None:
    goal = parse_spec("fill:3", AVX2.limits)
    box = Box(((),), ((ANY,),) * 3, 2)
    identity = TableId(goal.key, ((3,),), ())
    costs = Costs.of(box, np.empty(box.shape))
    table = Table(identity, box, {}, costs, np.empty(box.shape, np.int32))
    packed = Packed.of(table)
    assert packed.points == len(packed.decisions.labels) == len(packed.costs.ends) == 0
    assert stored(packed).expand().costs.size == 0


def test_a_table_after_one_of_more_boxes() -> None:
    """Arrays that are kept for the next table may be longer than that one's."""
    rng = np.random.default_rng(0)
    for shape in ((40_000,), (2,) * 8 + (300,)):
        labels = rng.integers(0, 3000, shape).astype(np.int32)
        boxes = LabelBoxes.of(labels)
        assert len(boxes.labels) > 1 << 15
        np.testing.assert_array_equal(boxes.expand(), labels)
