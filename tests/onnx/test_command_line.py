"""Files of ONNX in the place of a Spec: ``morello run``, ``bench``, ``explain``."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from morello.tools.morello import main
from tests.onnx.models import model, node
from tests.tool import Tool

Capture = pytest.CaptureFixture[str]

FLAGS = "--target", "avx2", "--threads", "1", "--db", "none"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A layer of any batch."""
    path = tmp_path_factory.mktemp("onnx") / "layer.onnx"
    weights = np.arange(24, dtype="f4").reshape(8, 3) - 12
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("Relu", ["y"], ["z"])]
    proto = model(nodes, {"x": ("batch", 8)}, {"z": ("batch", 3)}, {"w": weights})
    path.write_bytes(proto.SerializeToString())
    return str(path)


def test_run_reads_and_writes_arrays(file: str, tmp_path: Path) -> None:
    x = np.arange(16, dtype="f4").reshape(2, 8) - 8
    np.save(tmp_path / "x.npy", x)
    names = str(tmp_path / "x.npy"), str(tmp_path / "z.npy")
    arguments = ["--shape", "x=2,8", "--input", f"x={names[0]}", "-o", names[1]]
    assert main(["run", file, *arguments, *FLAGS]) == 0
    wanted = np.maximum(x @ (np.arange(24, dtype="f4").reshape(8, 3) - 12), 0)
    np.testing.assert_array_equal(np.load(names[1]), wanted)


def test_bench_and_explain_take_it(file: str, tool: Tool) -> None:
    bench = ["bench", file, "--shape", "x=2,8", "--seconds", "0.01", "--json"]
    assert json.loads(tool.out(*bench, *FLAGS))
    assert "part 0: " in tool.out("explain", file, "--shape", "x=2,8", *FLAGS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), r"'x' has the shape \(batch, 8\), .* or --shape x=8,8$"),
        (("--shape", "x=2,9"), r"shape \(batch, 8\), and \(2, 9\) was given"),
        (("--shape", "x=2"), r"shape \(batch, 8\), and \(2\) was given"),
        (("--shape", "y=2,8"), "has no input 'y'; its inputs are x"),
        (("--shape", "x=2,8", "--shape", "x=3,8"), "is named twice"),
        (("--shape", "x=2,0"), "'x=2,0' is not written INPUT=SIZES"),
        (("--shape", "2,8"), "'2,8' is not written INPUT=SIZES"),
    ],
)
def test_other_shapes_are_refused(
    file: str, words: tuple[str, ...], message: str, capsys: Capture
) -> None:
    assert main(["run", file, *words, *FLAGS]) != 0
    err = capsys.readouterr().err

    assert re.search(message, err, re.MULTILINE), err


def test_shapes_are_of_onnx_alone(tmp_path: Path, tool: Tool) -> None:
    assert "'fill:4' is no program in a file" in tool.err(
        "run", "fill:4", "--shape", "x=4", *FLAGS, code=2
    )
    path = tmp_path / "f.mlir"
    four = "tensor<4xf32>"
    path.write_text(f"func.func @f(%x: {four}) -> {four} {{return %x : {four}}}")
    assert "it is for models of ONNX" in tool.err(
        "run", str(path), "--shape", "x=4", *FLAGS, code=2
    )


def test_a_file_that_is_not_there_is_named(tool: Tool) -> None:
    assert "nowhere.onnx: cannot read" in tool.err(
        "run", "nowhere.onnx", *FLAGS, code=2
    )
