"""``morello emit``: every stage, as text and in files; a stage leads to the next."""

from pathlib import Path

import pytest

import morello
from morello.tools.commands import STAGES
from morello.tools.morello import main
from tests.tool import Tool

pytestmark = pytest.mark.quick

MARKS = {
    "spec": '"morello.compose"',
    "schedule": "transform.named_sequence @__transform_main",
    "mlir": "func.func @max_5x7_f32(%arg0: memref<5x7xf32>",
    "llvm": "define void @max_5x7_f32(ptr",
    "asm": "max_5x7_f32:",
}


@pytest.mark.parametrize("stage", STAGES)
def test_stage(stage: str, tool: Tool) -> None:
    out, err = tool("emit", "max:5x7:f32", "--stage", stage)
    assert MARKS[stage] in out
    assert (out[-1], out[-2] == "\n", err) == ("\n", False, "")


@pytest.mark.parametrize("stage", ["schedule", "mlir", "llvm", "asm"])
def test_stage_is_that_of_the_kernel(
    stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emit", "move:7x9:f32:dst=[1,0]", "--stage", stage]) == 0
    kernel = morello.compile("move:7x9:f32:dst=[1,0]")
    assert capsys.readouterr().out.rstrip() == getattr(kernel, stage).rstrip()


@pytest.mark.parametrize("stage", ["schedule", "mlir", "llvm", "asm"])
def test_given_schedule_makes_the_same(stage: str, tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "fill.mlir"
    assert main(["emit", "fill:5x9", "--stage", "schedule", "-o", str(path)]) == 0
    searched = tool.out("emit", "fill:5x9", "--stage", stage)
    flags = ["--stage", stage, "--schedule", str(path)]
    assert tool.out("emit", "fill:5x9", *flags) == searched


def test_output_file_is_untouched_by_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "out.s"
    path.write_text("before")
    flags = ["--stage", "asm", "-o", str(path)]
    assert main(["emit", "matmul:8x8x8:u8,s8,s32:l1=0:l2=0", *flags]) == 1
    assert path.read_text() == "before"
    assert main(["emit", "fill:3", *flags]) == 0
    assert "fill_3_f32:" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]
