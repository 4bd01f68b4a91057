"""``run``, ``bench``, ``explain`` and ``save`` of a file with a program of MLIR."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from morello.tools.morello import main
from tests.tool import Tool

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database", "in_a_folder")]

LAYER = """
func.func @layer(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = stablehlo.constant dense<[[1.0, 2.0], [3.0, -4.0], [5.0, 6.0], [7.0, 8.0]]>
      : tensor<4x2xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %r = stablehlo.abs %y : tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
"""
WEIGHTS = np.array([[1, 2], [3, -4], [5, 6], [7, 8]], np.float32)
OPTIONS = ["layer.mlir", "--target", "avx2{relayouts=0}", "--threads", "1"]


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("layer.mlir").write_text(LAYER)


def test_run_computes_given_arrays(tool: Tool) -> None:
    x = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
    np.save("x.npy", x)
    out = tool.out("run", *OPTIONS, "--input", "x=x.npy", "-o", "out.npy")
    np.testing.assert_array_equal(np.load("out.npy"), np.abs(x @ WEIGHTS))
    assert out.startswith("layer(x: 3x4 float32) -> out: 3x2 float32\n  0: out = ")
    assert "of the allowed difference from the definition" in out


def test_bench_times_it(tool: Tool) -> None:
    report = tool.json("bench", *OPTIONS, "--seconds", "0.01")
    assert report["spec"] == "layer.mlir"
    assert report["threads"] == report["threads_used"] == len(report["parts"]) == 1
    assert 0 < report["best_s"] <= report["median_s"] < 1


def test_explain_has_the_program_of_each_part(tool: Tool) -> None:
    list_, _, program = tool.out("explain", *OPTIONS).partition("\npart 0: ")
    assert list_.splitlines()[1].startswith("  0: out = compose:3x2x4:f32:graph=")
    assert program.startswith("compose:3x2x4:f32:graph=")
    assert "cost" in program
    assert ", 100.0%" in list_.partition("predicted: ")[2]


APART = """
func.func @apart(%x: tensor<4x8xf32>, %v: tensor<8x8xf32>, %w: tensor<8x8xf32>)
    -> tensor<4x8xf32> {
  %y = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %z = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
"""


def test_explain_says_why_parts_are_apart(tool: Tool) -> None:
    Path("apart.mlir").write_text(APART)
    assert "\n  0 and 1: the rule keeps them apart; " in tool.out(
        "explain", "apart.mlir", "--threads", "1"
    )
    priced = ["--partition", "cost", "--target", "avx2{relayouts=0}"]
    assert "\n  0 and 1: as one they save 0.1 % at most\n" in tool.out(
        "explain", "apart.mlir", "--threads", "1", *priced
    )


def test_explain_times_each_part(tool: Tool) -> None:
    Path("apart.mlir").write_text(APART)
    arguments = ["apart.mlir", "--threads", "1", "--seconds", "0.001"]
    parts = tool.out("explain", *arguments).partition("\npart 0: ")[0]
    rows = re.findall(r"^ *(\w+(?: \d)?): .+\(measured: (.+)\)$", parts, re.M)
    assert [name for name, _ in rows] == ["predicted", "part 0", "part 1"]
    whole, *each = (_nanoseconds(*time.split()) for _, time in rows)
    assert min(each) > 0
    assert whole > max(each)


def _nanoseconds(number: str, unit: str) -> float:
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


def test_save_writes_header_and_constants() -> None:
    assert main(["save", *OPTIONS, "-o", "layer.h", "--name", "layer"]) == 0
    assert "layer(" in Path("layer.h").read_text()
    (constant,) = Path().glob("layer.*.bin")
    result = np.frombuffer(constant.read_bytes(), np.float32)
    np.testing.assert_array_equal(result.reshape(4, 2), WEIGHTS)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (["run", "layer.mlir", "--input", "b=x.npy"], "has no such argument"),
        (["run", "layer.mlir", "--schedule", "s.mlir"], "a model has several Specs"),
        (["explain", "layer.mlir", "--count"], "explain one Spec"),
        (["save", "layer.mlir", "-o", "l.o", "--pack", "x=y"], "are for Specs"),
        (["run", "none.mlir"], "none.mlir"),
    ],
)
def test_what_models_have_not_is_refused(
    command: list[str], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) != 0
    assert wanted in capsys.readouterr().err


REVERSED = """
func.func @reversed(%x: tensor<30x2xf32>, %i: tensor<2x3xi64>, %j: tensor<3x4xi64>)
    -> (tensor<30x2xf32>, tensor<2x4xi64>) {
  %r = stablehlo.reverse %x, dims = [0] : tensor<30x2xf32>
  %y = stablehlo.abs %r : tensor<30x2xf32>
  %n = stablehlo.dot_general %i, %j, contracting_dims = [1] x [0]
      : (tensor<2x3xi64>, tensor<3x4xi64>) -> tensor<2x4xi64>
  return %y, %n : tensor<30x2xf32>, tensor<2x4xi64>
}
"""


def test_fallback_is_a_flag_and_is_said(tool: Tool) -> None:
    Path("reversed.mlir").write_text(REVERSED)
    options = ["reversed.mlir", *OPTIONS[1:]]
    assert "stablehlo.dot_general" in tool.err("run", *options)
    out = tool.out("run", *options, "--fallback")
    assert "\n  fallback: t" in out
    assert "stablehlo.reverse at reversed.mlir:4:8" in out
    bench = ["bench", *options, "--fallback", "--seconds", "0.01", "--json"]
    report = json.loads(tool.out(*bench))
    assert report["fallback"] == ["stablehlo.reverse", "stablehlo.dot_general"]
    assert "= stablehlo.dot_general of i, j" in tool.out(
        "explain", *options, "--fallback"
    )
    err = tool.err("run", "fill:5", "--fallback", code=2)
    assert "is no program in a file" in err


_FILTERS = np.arange(576, dtype=np.float32).tobytes().hex()

CONVOLUTION = f"""
func.func @f(%x: tensor<1x12x12x8xf32>) -> tensor<1x12x12x8xf32> {{
  %w = stablehlo.constant dense<"0x{_FILTERS}"> : tensor<3x3x8x8xf32>
  %y = stablehlo.convolution(%x, %w)
      dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {{pad = [[1, 1], [1, 1]]}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
      : (tensor<1x12x12x8xf32>, tensor<3x3x8x8xf32>) -> tensor<1x12x12x8xf32>
  return %y : tensor<1x12x12x8xf32>
}}
"""


@pytest.mark.sampled(4)
def test_winograd_is_a_flag_and_its_errors_are_said(tool: Tool) -> None:
    Path("convolution.mlir").write_text(CONVOLUTION)
    options = ["convolution.mlir", *OPTIONS[1:]]
    said = tool.out("explain", *options, "--winograd")
    assert "convolution.mlir:4:8: F(4x4,3x3) " in said
    assert "rounding errors 10 times as large, 97.4 times at most" in said
    assert "convolution.mlir:4:8: F(4x4,3x3) " in tool.out(
        "run", *options, "--winograd"
    )
    err = tool.err("run", "fill:5", "--winograd", code=2)
    assert "argument --winograd: 'fill:5' is no" in err
