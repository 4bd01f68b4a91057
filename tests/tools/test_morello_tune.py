"""``morello tune``, and what the other commands say of a choice that was measured."""

import json
import shutil
from pathlib import Path

import pytest

from morello.search.storage.database import Database
from morello.tools.morello import main
from tests.database.measured import TEXT, elsewhere, measured_database
from tests.tool import Tool

FLAGS = ["--seconds", "0.2", "--candidates", "2", "--threads", "1"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tables.sqlite"


def _json(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_specs_are_tuned_once(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "fill:{8,16}:f32", *FLAGS, "--db", str(path), "--json"]
    words.append("--priority")
    assert main(words) == 0
    first = _json(capsys)
    assert [one["spec"] for one in first] == ["fill:8:f32", "fill:16:f32"]
    assert main(words) == 0
    assert _json(capsys) == first
    assert main([*words, "--again"]) == 0
    assert _json(capsys) != first


def test_the_table_marks_the_choice(path: Path, tool: Tool) -> None:
    measured_database(path)
    head, first, *rest = tool.out(
        "tune", TEXT, "--threads", "1", "--db", str(path)
    ).splitlines()
    assert head == f"{TEXT} on avx2, 1 thread"
    assert first.startswith("*    810 ns  ")
    assert rest[-1].startswith(
        "measured: 810 ns a call, 1.23 times as fast as the model's choice (1.00 µs); "
        "3 programs timed on "
    )
    assert sum("(the model's choice)" in line for line in rest) == 1


def test_one_spec_that_fails_does_not_stop_the_others(path: Path, tool: Tool) -> None:
    wrong = "matmul:2x2x2:f32:vrf=0:l1=0:l2=0"
    output = tool(*["tune", wrong, "fill:8:f32", *FLAGS, "--db", str(path)], code=1)
    assert f"{wrong}: no program exists" in output.err
    assert "fill:8:f32 on avx2" in output.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no SPEC is given"),
        (["fill:8:f32", "--db", "none"], "there is no database that can be written"),
        (["fill:8:f32", "--candidates", "0"], "is not an integer from 1 up"),
    ],
)
def test_refusals(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", *words]) != 0
    assert message in capsys.readouterr().err


def test_explain_says_that_it_was_measured(
    path: Path, capsys: pytest.CaptureFixture[str], tool: Tool
) -> None:
    rows = measured_database(path)
    words = ["explain", TEXT, "--db", str(path), "--candidates", "3"]
    text = tool.out(*words)
    assert "measured: 810 ns a call, 1.23 times as fast" in text
    assert f"{rows[2].features}  (measured: 810 ns)" in text
    assert main([*words, "--json"]) == 0
    (report,) = _json(capsys)
    candidates = report["candidates"]
    assert isinstance(candidates, list)
    assert [one["class"] for one in candidates] == [
        sorted(row.features.split(" ")) for row in rows
    ]
    assert candidates[0]["cost"] < candidates[2]["cost"] == report["cost"]
    assert main([*words, "--json", "--untuned"]) == 0
    (plain,) = _json(capsys)
    assert "measured" not in plain
    assert plain["cost"] == candidates[0]["cost"]


@pytest.mark.sampled(2)
def test_other_commands_use_it_or_not(path: Path, tmp_path: Path, tool: Tool) -> None:
    measured_database(path)
    db = ["--db", str(path)]
    for words, is_measured in (
        (["run", TEXT], True),
        (["run", TEXT, "--untuned"], False),
    ):
        assert ("chosen by measurement" in tool.out(*words, *db)) == is_measured
    for words, end in ((["emit", "--stage", "schedule"], ".mlir"), (["save"], ".s")):
        files = [tmp_path / f"{name}{end}" for name in ("tuned", "plain")]
        for file, flags in zip(files, (["--tuned"], []), strict=True):
            assert main([*words, TEXT, "-o", str(file), *flags, *db]) == 0
        assert files[0].read_text() != files[1].read_text()


def test_db_lists_checks_exports_and_cleans(
    path: Path, tmp_path: Path, tool: Tool
) -> None:
    rows = measured_database(path)
    database = Database(path)
    database.put_measured(elsewhere(rows, cpu="another"))
    database.put_measured(elsewhere(rows, context="search-0.0"))
    database.close()
    text = tool.out("db", "info", "--db", str(path))
    assert "1 thread, here: 810 ns, 1.23 times as fast" in text
    assert "1 thread, on another: 810 ns" in text
    assert text.count("measured ") == 2
    copy = tmp_path / "copy"
    assert main(["db", "export", str(copy), "--programs", "--db", str(path)]) == 0
    assert main(["db", "merge", str(copy), "--db", str(tmp_path / "new")]) == 0
    assert Database(tmp_path / "new").measured() == Database(path).measured()
    shutil.copy(path, copy)
    assert main(["db", "gc", "--db", str(copy)]) == 0
    assert len(Database(copy).measured()) == 6
    assert main(["db", "verify", "--db", str(copy)]) == 0
    wrong = elsewhere(rows, cpu="third")[0].__class__(
        rows[0].key, 0, "null", "", 1.0, 3e9, 1
    )
    Database(copy).put_measured((wrong,))
    assert "the program has 1 holes" in tool.out(
        "db", "verify", "--db", str(copy), code=1
    )
