"""``morello save``: files, names, refusals."""

import shlex
from pathlib import Path

import numpy as np
import pytest

import morello
from morello.aot.variants import Variants
from morello.tools.morello import main
from tests.tables import rows
from tests.tool import Tool

SPEC = "fill:5x9"

Capture = pytest.CaptureFixture[str]


def test_files_are_those_of_the_kernel(tmp_path: Path, tool: Tool) -> None:
    files = [tmp_path / f"k.{suffix}" for suffix in ("o", "s", "ll", "h")]
    outputs = [word for file in files for word in ("-o", str(file))]
    assert tool("save", SPEC, *outputs, "--name", "five") == ("", "")
    kernel = morello.compile(SPEC)
    for file in files:
        kernel.save(tmp_path / f"other{file.suffix}", "five")
        assert file.read_bytes() == (tmp_path / f"other{file.suffix}").read_bytes()


def test_the_name_is_made_of_the_spec(tmp_path: Path) -> None:
    assert main(["save", SPEC, "-o", str(tmp_path / "k.h")]) == 0
    assert "int fill_5x9_f32(\n" in (tmp_path / "k.h").read_text()


def test_a_schedule_may_be_given(tmp_path: Path) -> None:
    schedule, path = tmp_path / "fill.mlir", tmp_path / "k.o"
    assert main(["emit", SPEC, "--stage", "schedule", "-o", str(schedule)]) == 0
    assert main(["save", SPEC, "-o", str(path), "--schedule", str(schedule)]) == 0
    assert path.read_bytes() == morello.compile(SPEC).library().object


def test_kernels_for_several_targets(tmp_path: Path) -> None:
    path = tmp_path / "k.o"
    targets = "avx2{threads=1,fork=9},avx512"
    assert main(["save", SPEC, "-o", str(path), "--targets", targets]) == 0
    kernels = [
        morello.compile(SPEC, target=name).library()
        for name in ("avx2{fork=9}", "avx512")
    ]
    assert path.read_bytes() == Variants.of(kernels).object


@pytest.mark.parametrize(
    ("arguments", "code", "message"), rows(__file__, "refused_saves")
)
def test_refusals(
    arguments: str,
    code: str,
    message: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _exit_code(["save", SPEC, *shlex.split(arguments)]) == int(code)
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_spec_that_is_refused_leaves_no_file(tmp_path: Path, tool: Tool) -> None:
    assert "morello: error: " in tool.err("save", "fill:0", "-o", str(tmp_path / "k.o"))
    assert list(tmp_path.iterdir()) == []


def _exit_code(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as stop:
        return int(str(stop.code))


def test_weights_are_packed_beside_the_object(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    weights = rng.integers(-4, 5, (8, 40)).astype(np.float32)
    np.save(tmp_path / "w.npy", weights)
    spec, path = "matmul:3x8x40:f32:rhs=any", tmp_path / "k.o"
    pack = f"rhs={tmp_path / 'w.npy'}"
    assert main(["save", spec, "-o", str(path), "--pack", pack]) == 0
    kernel = morello.compile(spec)
    assert (tmp_path / "k.rhs.bin").read_bytes() == kernel.pack(weights).tobytes()
    assert path.read_bytes() == kernel.library().object


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["out=w.npy"], 1, "--pack out=…: matmul has no input 'out'; it has: lhs, rhs"),
        (["rhs=w.npy", "rhs=w.npy"], 2, "--pack rhs=… is given twice"),
        (["rhs=no.npy"], 2, "input 'rhs': cannot read no.npy"),
        (["rhs=w.npy"], 1, "input 'rhs': w.npy has shape (2, 2), not"),
    ],
)
def test_operands_that_cannot_be_packed_are_refused(
    flags: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: Tool,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.zeros((2, 2), np.float32))
    words = [word for value in flags for word in ("--pack", value)]
    assert message in tool.err(
        "save", "matmul:3x8x40:f32", "-o", "k.o", *words, code=code
    )
    assert [p.name for p in tmp_path.iterdir()] == ["w.npy"]
