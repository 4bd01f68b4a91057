"""`python -m benchmarks.programs`: a folder of programs with recipes."""

from pathlib import Path

import pytest

from benchmarks.programs.__main__ import main

TWICE = """
func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = arith.addf %x, %x : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""
RECIPES = """
import numpy as np
def case(dialect, name):
    assert dialect == "linalg"
    return {"twice": 2, "thrice": 3, "theirs": 1}[name]
def inputs(case, size):
    return {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
def check(case, size, got):
    assert (got == case * inputs(case, size)["x"]).all(), f"{case} times"
    return 0.25
"""


def test_right_wrong_and_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "linalg"
    folder.mkdir()
    (tmp_path / "recipes.py").write_text(RECIPES)
    (folder / "twice.small.mlir").write_text(TWICE)
    (folder / "thrice.small.mlir").write_text(TWICE)
    called = "stablehlo.custom_call @theirs(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>"
    theirs = TWICE.replace("arith.addf %x, %x : tensor<2x3xf32>", called)
    (folder / "theirs.small.mlir").write_text(theirs)
    words = [str(tmp_path), "--target", "avx2"]
    written = tmp_path / "all.md"
    assert main([*words, "-o", str(written)]) == 1
    text = capsys.readouterr().out
    assert written.read_text() == text
    cells = {row.split(" | ")[0][2:]: row for row in text.splitlines()[2:5]}
    assert cells["linalg/twice.small"].endswith("| 0.250 |")
    assert cells["linalg/thrice.small"].endswith("| 3 times |")
    assert "custom_call" in cells["linalg/theirs.small"]
    assert text.endswith("3 programs, 1 right\n")
    assert main([*words, "twice.small"]) == 0
    assert main([*words, "none"]) == 2
