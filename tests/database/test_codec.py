"""Bytes of a table: each is read, or refused with the reason, at every border."""

import dataclasses
import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.table import COST_BOUND, Costs, Table, TableId
from morello.search.storage import table_store
from morello.search.storage.codec import decode, encode_costs, encode_decisions
from morello.search.storage.database import Database
from morello.search.storage.deflated import CodecError
from morello.search.storage.overlay import Overlay
from morello.search.storage.packed_table import Packed
from morello.search.storage.shelf import Shelved
from morello.search.storage.table_rows import Row
from morello.search.storage.table_store import TableStore
from tests.database.small import cold, program, spec
from tests.database.test_strangers import CRAFTED, costs, in_header

pytestmark = pytest.mark.quick

GOAL = "fill:12x5:f32"


@pytest.fixture(scope="module")
def tables() -> tuple[Table, ...]:
    solver = Solver(AVX2)
    solver.solve(spec(GOAL))
    return tuple(t for t in solver.tables(spec(GOAL)) if t.costs.size)


@pytest.fixture(scope="module")
def table(tables: tuple[Table, ...]) -> Table:
    """The one with the most actions."""
    return max(tables, key=lambda table: len(np.unique(table.decisions)))


def row_of(table: Table) -> Row:
    packed = Packed.of(table)
    data = encode_decisions(packed), encode_costs(packed)
    return Row(b"key", "name", "family", packed.points, 1, 1, *data)


def read(row: Row, table: Table) -> Table:
    """The table that a row is read as."""
    decoded = decode(
        row.decisions, table.id, table.box, table.actions.values, lambda: row.costs
    )
    return decoded.expand()


def one_number(number: Any) -> Callable[[Row], Row]:
    """Another number of the last action alone."""
    return in_header(lambda h: h["actions"][-1].__setitem__(0, number))


REASONS: dict[str, tuple[Callable[[Row], Row], str]] = {
    "negative counts": (CRAFTED["negative counts"], "-1 is no count"),
    "counts that are text": (CRAFTED["counts that are text"], "'1' is no count"),
    "counts that are true": (CRAFTED["counts that are true"], "True is no count"),
    "one count less": (
        in_header(lambda h: h["counts"].__setitem__(1, h["counts"][1] - 1)),
        "the length is wrong",
    ),
    "one count more": (in_header(lambda h: h["counts"].append(0)), r"zip\(\)"),
    "no counts": (in_header(lambda h: h["counts"].clear()), r"zip\(\)"),
    "one number below 0": (one_number(-1), "a decision is no number of an action"),
    "one number that is text": (one_number("1"), "a decision is no number"),
    "one number above all": (one_number((1 << 24) + 1), "a decision is no number"),
    "another axis": (
        in_header(lambda h: h["axes"][0].append(99)),
        "the axes are others",
    ),
    "other candidates": (
        CRAFTED["actions that are no candidates"],
        r"tile\(d1, 5\) is no action of its Specs",
    ),
    "a goal that is a number": (
        in_header(lambda h: h.__setitem__("goal", 7)),
        "the goal is no text",
    ),
    "outside": (CRAFTED["boxes of decisions outside"], "a box is not in the table"),
    "costs outside": (CRAFTED["boxes of costs outside"], "a box is not in the table"),
    "costs below 0": (costs(-1), "a cost is out of range"),
    "the least cost that is too large": (costs(COST_BOUND), "a cost is out of range"),
}


@pytest.mark.parametrize("name", REASONS)
def test_what_is_refused_has_its_reason(name: str, table: Table) -> None:
    change, reason = REASONS[name]
    row = row_of(table)
    assert np.array_equal(read(row, table).costs, table.costs)
    with pytest.raises(CodecError, match=reason):
        read(change(row), table)


@pytest.mark.parametrize("cost", [0, COST_BOUND - 1])
def test_the_least_and_the_greatest_cost_are_read(cost: int, table: Table) -> None:
    decoded = read(costs(cost)(row_of(table)), table).costs
    assert set(np.unique(decoded)) <= {cost, np.inf}
    assert np.any(decoded == cost)


def test_a_point_is_looked_up_in_boxes_as_in_arrays(tables: tuple[Table, ...]) -> None:
    for table in tables:
        packed = Packed.of(table)
        assert packed.points == table.costs.size
        arrays = packed.decisions, packed.costs
        assert packed.bytes == sum(
            array.nbytes
            for boxes in arrays
            for name in ("ends", "labels", "varying", "told")
            if (array := getattr(boxes, name, None)) is not None
        )


def test_a_part_has_the_costs_of_the_whole(table: Table) -> None:
    axes = [axis[len(axis) // 3 : 1 + len(axis) // 2] for axis in table.box.sizes]
    box = dataclasses.replace(table.box, sizes=tuple(axes))
    packed = Packed.of(table)
    part = packed.part(table.id, box)
    assert part is not None
    assert part.part(table.id, table.box) is None
    data, costs = encode_decisions(part), encode_costs(part)
    tried = table.actions.values
    again = decode(data, table.id, table.box, tried, lambda: costs)
    assert np.array_equal(again.expand().costs, part.expand().costs)
    of_whole = encode_costs(packed)
    mixed = decode(data, table.id, table.box, tried, lambda: of_whole)
    with pytest.raises(CodecError, match="those of other points"):
        mixed.expand()
    where = tuple(slice(len(axis) // 3, 1 + len(axis) // 2) for axis in table.box.sizes)
    assert np.array_equal(part.expand().costs, table.costs[where])
    assert [*part.actions.values()] == [*table.actions.values()]


ROOM = ("FEW_POINTS", "TOGETHER", "UNPACKED_POINTS", "WAITING_POINTS", "DENSE_BYTES")


@pytest.mark.parametrize("stored", [False, True])
def test_with_little_room_the_same_is_found(
    stored: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are packed in the second thread, at once, and their arrays let go of."""
    for name in ROOM:
        monkeypatch.setattr(table_store, name, 1)
    overlay = Overlay(Database(tmp_path / "t.sqlite")) if stored else None
    assert program(GOAL, overlay) == cold(GOAL)
    if overlay is not None:
        assert len(list(overlay.readable[0].rows())) > 1
        overlay.close()


def test_a_store_holds_no_more_than_its_room(
    tables: tuple[Table, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The latest arrays stay up to the room for them, and the latest tables unpacked;
    what went is made again of its boxes."""
    monkeypatch.setattr(table_store, "UNPACKED_POINTS", tables[-1].costs.size)
    monkeypatch.setattr(table_store, "DENSE_BYTES", 1)
    limits = AVX2.limits
    store = TableStore(AVX2, limits, limits, None)
    packed: list[TableId] = []
    whole = store._pack

    def pack(table: Shelved) -> Packed:
        packed.append(table.table().id)
        return whole(table)

    monkeypatch.setattr(store, "_pack", pack)
    for table in tables:
        changed = functools.partial(dataclasses.replace, table)
        store.put(table.id, Costs.of(table.box, table.costs), changed)
    assert [*store] == [table.id for table in tables]
    assert len(store) == len(tables)
    assert packed == [table.id for table in tables[:-1]]
    for table in tables:
        assert np.array_equal(store.costs(table.id).dense, table.costs)
        assert np.array_equal(store.table(table.id).decisions, table.decisions)
    assert sorted(map(str, packed)) == sorted(str(table.id) for table in tables)
    assert store.tally[0] == sum(table.costs.size for table in tables)
    assert store.stored == store.parts == 0
    store.drop(tables[0].id)
    assert tables[0].id not in store


@pytest.mark.parametrize("most", [1 << 23, 0])
def test_a_search_waits_for_the_second_thread_where_too_much_waits_for_it(
    most: int,
    tables: tuple[Table, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_store, "FEW_POINTS", 0)
    monkeypatch.setattr(table_store, "WAITING_POINTS", most)
    overlay = Overlay(Database(tmp_path / "t.sqlite"))
    store = TableStore(AVX2, AVX2.limits, AVX2.limits, overlay)
    may_pack, threads = threading.Event(), set()

    def slow(table: Table) -> Table:
        threads.add(threading.current_thread().name)
        may_pack.wait(0.2)
        return table

    with store.working():
        for table in tables[:2]:
            changed = functools.partial(slow, table)
            store.put(table.id, Costs.of(table.box, table.costs), changed)
        is_waited_for = store.tally[0] > 0
        may_pack.set()
    assert is_waited_for == (most == 0)
    assert {name.rstrip("_0") for name in threads} == {"morello-pack"}
    assert len(list(overlay.readable[0].rows())) == 2
    overlay.close()
