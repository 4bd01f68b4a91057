"""What `tests.tools.upstream` reads in test files, and what it says of them."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.tools.upstream import commands_of, main, substituted

pytestmark = pytest.mark.quick

FILECHECK = shlex.quote(
    shutil.which("filecheck", path=str(Path(sys.executable).parent)) or "filecheck"
)


def test_commands_are_read_over_several_lines() -> None:
    text = "// RUN: mlir-opt %s \\\n// RUN:   -cse\n\n# RUN: true \n// CHECK: RUN\n"
    assert list(commands_of(text)) == ["mlir-opt %s -cse", "true"]


def test_names_of_tools_and_abbreviations_are_written_out() -> None:
    command = substituted(
        "@mlir-opt %s -o %/t && cat %t | FileCheck %S/mlir-opt.mlir",
        Path("/a/b.mlir"),
        {"mlir-opt": "OPT", "FileCheck": "FC"},
        "/x",
    )
    assert command == "OPT /a/b.mlir -o /x && cat /x | FC /a/mlir-opt.mlir"


def test_each_command_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.mlir").write_text(
        "// RUN: mlir-opt %s -canonicalize | FileCheck %s\n"
        "// RUN: mlir-translate %s\n"
        "// RUN: mlir-opt %s -test-something\n"
        "// RUN: not mlir-opt --no-such-pass 2>&1 | FileCheck %s --check-prefix=NO\n"
        "// CHECK: func.func @f\n"
        "// NO: no-such-pass\n"
        "func.func @f() { return }\n"
    )
    (tmp_path / "b.mlir").write_text("// XFAIL: *\n// RUN: true\n")
    assert main([str(tmp_path), "--filecheck", FILECHECK]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == [
        *("pass", "other", "other", "pass", "fail", "2")
    ]
    assert "      passes, marked as XFAIL" in lines
    assert lines[-1].startswith("2 files, 3 commands: 2 pass as written (67 %)")
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty")]) == 1
