"""``morello db``: output, refusals, and the files that it leaves."""

import errno
import math
import re
import sqlite3
from pathlib import Path

import pytest

import morello
from morello.machine import AVX2
from morello.search import Solver, Statistics
from morello.search.queries.counting import count_programs
from morello.search.storage import connection as connection_module
from morello.search.storage.connection import DatabaseError
from morello.search.storage.database import Database
from morello.search.storage.measured_rows import MeasuredKey, MeasuredRow
from morello.search.storage.overlay import Overlay
from morello.search.storage.transfer import opened
from morello.spec import parse_spec
from morello.tools.morello import main
from morello.tools.subcommands.db import _beyond, info
from morello.tools.table import size_text
from tests.compiler.test_partial_schedule import SPEC
from tests.compiler.test_pinning import TILED
from tests.database.small import filled, row
from tests.tool import Tool

pytestmark = pytest.mark.quick


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "tables.sqlite"
    filled(file).close()
    return file


def _spoil(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE tables SET points = points + 1 WHERE key = "
            "(SELECT min(key) FROM tables)"
        )
    connection.close()


def _info(path: Path, tool: Tool) -> dict[str, object]:
    info: dict[str, object] = tool.json("db", "info", "--db", str(path))
    return info


def test_info(path: Path, tool: Tool) -> None:
    info = _info(path, tool)
    assert info["tables"] == info["current"] == len(list(Database(path).rows()))
    assert info["damaged"] == 0
    assert info["programs"] == 1
    text = tool.out("db", "info", "--db", str(path))
    assert str(path) in text
    assert "with decisions only" in text


def test_info_tells_tables_by_kind_and_goals_by_label(
    tmp_path: Path, tool: Tool
) -> None:
    path = tmp_path / "new.sqlite"
    for goal in ("fill:3:f32", "fill:2x3:f32", "max:9x8:f32"):
        assert main(["explain", goal, "--db", str(path)]) == 0
    info = _info(path, tool)
    assert info["goals"] == {"fill": 2, "max": 1}
    rows = {row["kind"]: row for row in info["kinds"]}  # type: ignore[attr-defined]
    names = [row.name for row, _ in Database(path).rows()]
    assert rows["fill"]["tables"] == sum(n.startswith("Fill(") for n in names)
    assert rows["compose"]["tables"] == sum(n.startswith("Compose(") for n in names)
    for field in ("tables", "specs", "boxes", "cost_boxes"):
        assert sum(row[field] for row in rows.values()) == info[field]
    text = tool.out("db", "info", "--db", str(path))
    assert "2 fill, 1 max" in text
    assert text.index("compose") < text.index("search")


def test_info_says_what_searches_took(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "new.sqlite"
    words = ["explain", "max:9x8:f32", "--db", str(path)]
    for more in ([], ["--count"], []):
        assert main([*words, *more]) == 0
    info = _info(path, tool)
    (row,) = info["searches"]  # type: ignore[misc]
    assert row["spec"] == "max:9x8:f32:vrf=16:l1=512:l2=8192"
    assert row["seconds"] > 0
    assert row["peak_bytes"] > 1 << 20
    assert (row["tables"], row["specs"]) == (info["tables"], info["specs"])
    assert row["compression"] == info["compression"]
    assert row["compression_decisions"] == info["compression_decisions"]
    assert row["impls"] > row["specs"]
    spec = parse_spec("max:9x8:f32", AVX2.limits)
    log10 = count_programs(spec, AVX2.at(spec)) * math.log10(2)
    assert row["programs_log10"] == pytest.approx(log10)
    assert f"10^{log10:,.1f} programs" in tool.out("db", "info", "--db", str(path))


def test_a_search_that_was_stopped_is_added_up(tmp_path: Path) -> None:
    goal = parse_spec("max:9x8:f32", AVX2.limits)
    whole = Overlay(Database(tmp_path / "whole.sqlite"))
    Solver(AVX2, whole).solve(goal)
    overlay = Overlay(Database(tmp_path / "parts.sqlite"))
    left = iter(range(5))

    def watch(statistics: Statistics) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Solver(AVX2, overlay, watch).solve(goal)
    Solver(AVX2, overlay).solve(goal)
    rows = [[*overlay.readable[0].searches()], [*whole.readable[0].searches()]]
    sums = [[(r.specs, r.impls, r.boxes, r.cost_boxes) for r in row] for row in rows]
    assert sums[0] == sums[1]
    assert len(sums[0]) == 1


def test_machine_code_is_named_and_deleted(
    path: Path, tmp_path: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "code"
    monkeypatch.setenv("MORELLO_CODE", str(folder))
    for _ in range(2):
        morello.compile("matmul:2x3x4:f32", db=path)
    info = _info(path, tool)
    assert (info["code"], info["code_files"]) == (str(folder), 1)
    size = size_text(info["code_bytes"])
    assert f"{size} in {folder}" in tool.out("db", "info", "--db", str(path))
    out = tool.out("db", "clear-code", "--db", str(path))
    assert out == f"{folder}: emptied, {size}\n"
    assert not [*folder.iterdir()]


def test_info_of_no_file(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "none.sqlite"
    assert _info(path, tool)["tables"] == 0
    assert not path.exists()


def test_verify(path: Path, tool: Tool) -> None:
    assert "0 faults" in tool.out("db", "verify", "--db", str(path))
    _spoil(path)
    assert "the checksum is wrong" in tool.out(
        "db", "verify", "--db", str(path), code=1
    )
    Database(path).put(row(5))
    assert "2 faults" in tool.out("db", "verify", "--db", str(path), code=1)


def test_export_and_merge(path: Path, tmp_path: Path, tool: Tool) -> None:
    copy, third = tmp_path / "copy.sqlite", tmp_path / "third.sqlite"
    whole = {r.key: r for r, _ in Database(path).rows()}
    assert main(["db", "export", str(copy), "--db", str(path)]) == 0
    assert {r.key: r for r, _ in Database(copy).rows()} == whole
    Database(third).put(row(5))
    merge = ["db", "merge", str(third), str(path), "--db", str(copy)]
    assert [f"{third}: 1 new tables", f"{path}: 0 new tables"] == (
        tool.out(*merge).splitlines()
    )
    assert len(list(Database(copy).rows())) == len(whole) + 1
    _spoil(path)
    assert "1 damaged left out" in tool.out(
        "db", "import", str(path), "--db", str(tmp_path / "new.sqlite")
    )


def test_gc_keeps_what_this_version_reads(path: Path, tool: Tool) -> None:
    rows = len(list(Database(path).rows()))
    _spoil(
        path
    )  # one of the goal's, whose keys are others with each edit of the source
    Database(path).put(row(5))
    assert "2 tables out" in tool.out("db", "gc", "--db", str(path))
    left = _info(path, tool)
    assert left["tables"] == left["current"] == rows - 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("look", 2, "there is no 'db look'"),
        ("info FILE", 2, "'db info' takes no FILE"),
        ("export", 2, "'db export' needs one FILE"),
        ("export a b --db x", 2, "'db export' needs one FILE"),
        ("pin fill:9", 2, "'db pin' needs a SPEC and a FILE"),
        ("pin fill:9 /nowhere --db x", 2, "/nowhere"),
        ("unpin", 2, "'db unpin' needs a SPEC"),
        ("unpin fill:9 --db none", 2, "there is no database"),
        ("info --db none", 2, "there is no database"),
        ("verify --db /nowhere/x", 1, "there is no file /nowhere/x"),
    ],
)
def test_refusals(words: str, code: int, message: str, tool: Tool) -> None:
    assert message in tool.err("db", *words.split(), code=code)


def test_export_follows_no_link_and_leaves_no_half(
    path: Path, tmp_path: Path, tool: Tool
) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "none")
    assert "exists; give the name of a new file" in tool.err(
        "db", "export", str(link), "--db", str(path)
    )
    assert not (tmp_path / "none").exists()
    folder = tmp_path / "folder"
    folder.mkdir()
    bad = tmp_path / "bad.sqlite"
    bad.write_text("no database, but long enough to be taken for one" * 99)
    assert main(["db", "export", str(folder / "new"), "--db", str(bad)]) == 1
    assert list(folder.iterdir()) == []
    assert main(["db", "export", str(folder / "new"), "--db", str(path)]) == 0
    assert [path.name for path in folder.iterdir()] == ["new"]


def test_export_does_not_overwrite(path: Path, tool: Tool) -> None:
    assert f"{path} exists" in tool.err("db", "export", str(path), "--db", str(path))
    new = path / "new.sqlite"
    assert f"{new} cannot be written: there is no folder" in tool.err(
        "db", "export", str(new), "--db", str(path)
    )


def test_a_database_is_used_by_the_tools(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "new.sqlite"
    emit = ["emit", "fill:9x3:f32", "--stage", "schedule", "--db", str(path)]
    first = tool.out(*emit)
    stored = _info(path, tool)["tables"]
    assert stored != 0
    assert tool.out(*emit) == first
    assert _info(path, tool)["tables"] == stored


@pytest.mark.filterwarnings("default")
def test_a_database_that_fails_is_one_line(tmp_path: Path, tool: Tool) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "x.sqlite"
    emit = ["emit", "fill:9x3:f32", "--stage", "schedule", "--db", str(path)]
    errors = tool.err(*emit, code=0).splitlines()
    assert len(errors) == 1
    assert errors[0].startswith(f"morello: warning: the database {path} cannot be used")


def test_pin_and_unpin(tmp_path: Path, tool: Tool) -> None:
    path, file = tmp_path / "x.sqlite", tmp_path / "mine.mlir"
    database = ["--db", str(path)]
    emit = ["emit", SPEC, "--stage", "schedule", *database]
    free = tool.out(*emit)
    file.write_text(TILED)
    text = "move:4x20:f32:vrf=16:l1=512:l2=8192"
    out = tool.out("db", "pin", SPEC, str(file), *database)
    assert out == f"{path}: pinned {text}, 1 holes left to the search\n"
    assert 'dim = "d1", size = 5' in tool.out(*emit)
    row = {"spec": text, "target": "avx2", "holes": 1, "whole": True}
    assert _info(path, tool)["pins"] == [row]
    explained = tool.out("explain", SPEC, *database)
    assert re.search(r"move 4x20: tile\(d1, 5\)\n.*\n *-\d", explained, re.S)
    assert main(["db", "unpin", SPEC, *database]) == 0
    assert "nothing is pinned for move:4x20" in tool.err("db", "unpin", SPEC, *database)
    assert tool.out(*emit) == free


def test_a_schedule_that_does_not_apply_is_refused_at_its_place(
    tmp_path: Path, tool: Tool
) -> None:
    file = tmp_path / "mine.mlir"
    file.write_text(TILED.replace("size = 5", "size = 50"))
    for words in (
        ["db", "pin", SPEC, str(file)],
        ["explain", SPEC, "--schedule", str(file)],
    ):
        message = tool.err(*words, "--db", str(tmp_path / "x.sqlite"))
        assert re.match(rf"morello: error: {file}:\d+:\d+: .*size 50 is not", message)


@pytest.mark.sampled(2)
def test_gc_drops_the_largest_tables_beyond_a_limit(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "x.sqlite"
    filled(path, "matmul:7x9x17:f32").close()
    before = info(path)
    assert path.stat().st_size > 200_000
    out = tool.out("db", "gc", "--db", str(path), "--limit", "0")
    after = info(path)
    assert (after.tables, after.programs) == (0, before.programs)
    assert after.table_bytes == 0 < before.table_bytes
    assert path.stat().st_size < 100_000
    assert f"{before.tables} tables out" in out
    assert _beyond([(10**6, b"a"), (2 * 10**6, b"b"), (10, b"c")], 1_010_000) == [b"b"]


@pytest.mark.parametrize("data", [b"a letter" * 99, None])
def test_what_nothing_can_be_rescued_of_is_not_sent_to_export(
    data: bytes | None, path: Path, tmp_path: Path, tool: Tool
) -> None:
    path.write_bytes(data or path.read_bytes()[:300])
    for words in (["info"], ["export", str(tmp_path / "new.sqlite")]):
        error = tool.err("db", *words, "--db", str(path))
        assert "nothing of it can be read: move it away" in error
        assert "export" not in error
    assert not [file for file in tmp_path.iterdir() if "new" in file.name]


def test_export_rescues_what_cannot_be_solved_again(
    path: Path, tmp_path: Path, tool: Tool
) -> None:
    key = MeasuredKey("matmul:4x8x16:f32", "avx2", 1, "a processor", "search-0")
    with opened(path, is_writable=True) as database:
        database.put_measured((MeasuredRow(key, 0, "[]", "", 1e-6, 3e3, 1),))
        page = database._connected().execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'tables'"
        )
        place = (page.fetchone()[0] - 1) * 4096
    data = bytearray(path.read_bytes())
    data[place : place + 4096] = bytes([7]) * 4096
    path.write_bytes(data)
    copy = tmp_path / "copy.sqlite"
    assert "not all can be read" in tool.out(
        "db", "export", str(copy), "--db", str(path)
    )
    with opened(copy) as database:
        assert len(database.programs()) == 1
        assert [row.key for row, _ in database.measured()] == [key]


def test_merge_keeps_what_was_measured_unless_it_is_damaged(tmp_path: Path) -> None:
    def row(cpu: str, seconds: float) -> MeasuredRow:
        key = MeasuredKey("matmul:4x8x16:f32", "avx2", 1, cpu, "search-0")
        return MeasuredRow(key, 0, "[]", "", seconds, 3e3, 1)

    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    with opened(here, is_writable=True) as database:
        database.put_measured((row("kept", 1e-6), row("damaged", 1e-6)))
        database._connected().execute(
            "UPDATE measured SET seconds = 9.0 WHERE cpu = 'damaged'"
        )
    with opened(there, is_writable=True) as database:
        cpus = ("kept", "damaged", "other")
        database.put_measured(tuple(row(cpu, 2e-6) for cpu in cpus))
    assert main(["db", "merge", str(there), "--db", str(here)]) == 0
    with opened(here) as database:
        measured = database.measured()
    assert all(is_whole for _, is_whole in measured)
    seconds = {one.key.cpu: one.seconds for one, _ in measured}
    assert seconds == {"kept": 1e-6, "damaged": 2e-6, "other": 2e-6}


def test_a_target_that_fails_is_not_called_a_damaged_source(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Tool
) -> None:
    fails = iter((True, False))  # once, as a file that another process holds

    def put_all(*args: object) -> int:
        if next(fails, False):
            raise DatabaseError("the target is busy", "try again")
        return 1

    monkeypatch.setattr(Database, "put_all", put_all)
    words = ["db", "merge", str(path), "--db", str(tmp_path / "x.sqlite")]
    said = tool(*words, code=1)
    assert "the target is busy" in said.err
    assert "cannot be read" not in said.out


def test_a_folder_that_cannot_be_written_is_one_line(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Tool
) -> None:
    def refused(*args: object, **named: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(connection_module.sqlite3, "connect", refused)
    monkeypatch.setattr(Path, "unlink", refused)
    assert "Read-only file system" in tool.err(
        "db", "export", str(tmp_path / "x"), "--db", str(path)
    )
