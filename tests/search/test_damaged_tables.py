"""Tables whose row turns out to be damaged when it is read are solved anew."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.table import TableId
from morello.search.queries.k_best import k_best
from morello.search.storage.database import Database
from morello.search.storage.deflated import CodecError
from morello.search.storage.overlay import Overlay
from morello.search.storage.packed_table import Packed
from morello.search.storage.table_store import TableStore
from morello.spec import parse_spec
from tests.database.small import forget_programs

pytestmark = pytest.mark.quick

SPEC = parse_spec("max:2x9:f32", AVX2.limits)


@pytest.mark.parametrize("method", ["table", "costs"])
def test_each_table_is_damaged_until_it_is_solved_again(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Callable[..., Any] = getattr(TableStore, method)
    drop = TableStore.drop
    dropped: set[TableId] = set()

    def damaged(self: TableStore, identity: TableId) -> Any:
        if identity not in dropped and isinstance(self._packed[identity], Packed):
            raise CodecError("damaged")
        return read(self, identity)

    def told(self: TableStore, identity: TableId) -> None:
        dropped.add(identity)
        drop(self, identity)

    overlay = Overlay(Database(tmp_path / "tables.db"))
    wanted = [one.impl for one in k_best(Solver(AVX2, overlay), SPEC, 3)]
    forget_programs(overlay.readable[0])
    monkeypatch.setattr(TableStore, method, damaged)
    monkeypatch.setattr(TableStore, "drop", told)
    solver = Solver(AVX2, overlay)
    assert [one.impl for one in k_best(solver, SPEC, 3)] == wanted
    root, run = solver.goal_table(SPEC), solver.run_of(SPEC)
    assert np.array_equal(run.table(root).costs, run.costs(root).dense)
    assert dropped
