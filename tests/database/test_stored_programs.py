"""The program of a goal that was searched needs no table when it is looked up again;
one that is damaged, or does not fit its Spec, is as good as missing."""

import sqlite3
from pathlib import Path

import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.queries.partial_program import HOLE, Partial
from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.search.storage.schema import ProgramRow
from morello.tools.morello import main
from tests.database.small import TEXTS, cold, filled, program, spec
from tests.tool import Tool

MATMUL = "matmul:5x4x9:f32"


@pytest.mark.parametrize("text", [*TEXTS, MATMUL])
def test_a_lookup_reads_no_table(text: str, tmp_path: Path) -> None:
    database = Database(tmp_path / "a.sqlite")
    searched = Solver(AVX2, Overlay(database)).solve(spec(text))
    database.delete(tuple(row.key for row, _ in database.rows()))
    solution = Solver(AVX2, Overlay(database)).solve(spec(text))
    assert solution.impl == searched.impl
    assert solution.complete
    assert (solution.statistics.tables, solution.statistics.specs) == (0, 0)
    assert list(database.rows()) == []


def test_a_solver_finds_what_it_has_found(tmp_path: Path) -> None:
    overlay = filled(tmp_path / "a.sqlite", MATMUL)
    for solver in (Solver(AVX2, overlay), Solver(AVX2, Overlay(None))):
        first = solver.solve(spec(MATMUL)).impl
        assert solver.solve(spec(MATMUL)).impl is first


def test_what_tables_give_is_stored_as_a_program(tmp_path: Path) -> None:
    """A file from before its goal's program was stored, as `merge` of tables makes."""
    overlay = filled(tmp_path / "a.sqlite", MATMUL)
    other = Database(tmp_path / "b.sqlite")
    other.put_all(tuple(row for row, _ in overlay.readable[0].rows()))
    assert other.programs() == ()
    assert program(MATMUL, Overlay(other)) == cold(MATMUL)
    assert other.programs() == overlay.readable[0].programs()


def _rewrite(path: Path, program: str, *, checksum: bool) -> None:
    """Change the one program of a file."""
    ((row, _),) = Database(path).programs()
    changed = ProgramRow(row.spec, row.family, program)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE programs SET program = ?", (program,))
        if checksum:
            connection.execute("UPDATE programs SET checksum = ?", (changed.checksum,))
    connection.close()


OTHERS = {
    "a hole": str(HOLE),
    "an action that does not apply": '["tile",["d0",99],[null,null]]',
    "an action that nobody has": '["fold",[],[]]',
    "too few branches": '["move",["src","L2","[0,1]",""],[]]',
    "no JSON": "{",
    "nothing": "",
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("checksum", [True, False])
def test_a_program_that_does_not_fit_is_a_miss(
    name: str, checksum: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.sqlite"
    filled(path).close()
    _rewrite(path, OTHERS[name], checksum=checksum)
    solution = Solver(AVX2, Overlay(Database(path))).solve(spec(TEXTS[0]))
    assert str(solution.impl) == cold(TEXTS[0])
    assert solution.statistics.tables > 0
    ((row, is_whole),) = Database(path).programs()
    assert is_whole, "what was found is stored in its place"
    assert str(row.program) == str(Partial.of(solution.impl))


def test_another_layer_may_have_the_program(tmp_path: Path) -> None:
    below = filled(tmp_path / "below.sqlite").readable[0]
    top = Database(tmp_path / "top.sqlite")
    solution = Solver(AVX2, Overlay(top, (below,))).solve(spec(TEXTS[0]))
    assert str(solution.impl) == cold(TEXTS[0])
    assert solution.statistics.tables == 0
    assert top.programs() == ()


def test_programs_are_exported_merged_verified_and_dropped(
    tmp_path: Path, tool: Tool
) -> None:
    path, copy, sum_ = (str(tmp_path / f"{name}.sqlite") for name in "abc")
    filled(Path(path)).close()
    assert main(["db", "export", copy, "--db", path]) == 0
    assert Database(Path(copy)).programs() == Database(Path(path)).programs()
    filled(Path(sum_), TEXTS[1]).close()
    assert main(["db", "merge", copy, "--db", sum_]) == 0
    assert main(["db", "gc", "--db", sum_]) == 0
    assert len(Database(Path(sum_)).programs()) == 2
    assert main(["db", "verify", "--db", sum_]) == 0
    _rewrite(Path(path), '["fold",[],[]]', checksum=True)
    assert "there is no action 'fold'" in tool.out("db", "verify", "--db", path, code=1)
    _rewrite(Path(path), "[]", checksum=False)
    assert "the checksum is wrong" in tool.out("db", "verify", "--db", path, code=1)
    assert "1 damaged left out" in tool.out(
        "db", "export", str(tmp_path / "d.sqlite"), "--db", path
    )
    assert Database(tmp_path / "d.sqlite").programs() == ()
    assert main(["db", "gc", "--db", path]) == 0
    assert Database(Path(path)).programs() == ()


def test_gc_drops_programs_of_other_versions(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    ((row, _),) = filled(path).readable[0].programs()
    Database(path).put_programs((ProgramRow(row.spec, "older avx2 0", "[]"),))
    assert main(["db", "verify", "--db", str(path)]) == 0
    assert main(["db", "gc", "--db", str(path)]) == 0
    assert Database(path).programs() == ((row, True),)
