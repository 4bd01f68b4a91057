"""Cases at the edges that new users and other projects' bug reports have shown."""

from pathlib import Path

import numpy as np
import pytest

import morello
from morello.errors import ArgumentError, SpecError
from morello.spec.kinds import labels
from morello.tools import morello_opt
from morello.tools.morello import main
from tests.child import python
from tests.tool import Tool

pytestmark = pytest.mark.quick

_NO_FOLDER = """\
import sys, tempfile

def nothing(*args, **kwargs):
    raise FileNotFoundError(2, "No usable temporary directory found")

tempfile.gettempdir = tempfile._get_default_tempdir = nothing
from morello.tools.morello_opt import main
sys.exit(main())
"""


def test_morello_opt_needs_no_folder_for_temporary_files() -> None:
    pipeline = "builtin.module(canonicalize{max-iterations=3},cse)"
    flags = [f"--pass-pipeline={pipeline}", "--mlir-print-ir-after=cse"]
    run = python(
        "-c",
        _NO_FOLDER,
        *flags,
        check=True,
        input="func.func @f(%a: i32) -> i32 { return %a : i32 }\n",
    )
    assert "func.func @f" in run.stdout
    assert "IR Dump After" in run.stderr


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_integers_of_numpy_are_numbers_of_threads(kind: type[np.integer]) -> None:
    kernel = morello.compile("fill:3:f32", threads=kind(1), target="avx2")
    assert repr(kernel) == "<kernel fill:3:f32 for avx2, 1 thread>"


@pytest.mark.parametrize("word", ["a(", "any(", "builtin.module("])
@pytest.mark.parametrize("closed", [True, False])
def test_pipelines_are_not_nested_without_end(
    word: str, closed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.mlir"
    path.write_text("func.func @f() { return }\n")
    pipeline = word * 5000 + "cse" + ")" * 5000 * closed
    assert morello_opt.main([str(path), "-p", pipeline]) == 2
    said = capsys.readouterr().err
    assert "pipelines are nested more than 100 deep; nest fewer" in said
    assert max(map(len, said.splitlines())) < 500


def test_run_says_how_many_threads(tool: Tool) -> None:
    words = ["run", "fill:3:f32", "--target", "avx2", "--db", "none"]
    assert "\nthreads  1 allowed, 1 used\n" in tool.out(*words, "--threads", "1")
    assert "\nthreads  2 allowed, 1 used\n" in tool.out(*words, "--threads", "2")


def test_encodings_are_not_listed() -> None:
    for text in ("matmul:4x4x4:f8", "move:4:float64", "matmul:4x4x4:s64"):
        with pytest.raises(SpecError, match="use one of f32, bf16, f16, u8") as error:
            morello.Spec.parse(text)
        for name in ("u8w", "s8z", "s7"):
            assert name not in str(error.value)


@pytest.mark.parametrize("database", ["none", "new.sqlite"])
def test_explain_names_no_tables_that_there_are_not(
    database: str, tmp_path: Path, tool: Tool
) -> None:
    path = database if database == "none" else str(tmp_path / database)
    said = tool.out("explain", "fill:3:f32", "--target", "avx2", "--db", path)
    assert "0 tables" not in said
    assert "found among" in said


def test_masks_are_not_ignored_however_a_kernel_is_called() -> None:
    kernel = morello.compile("add:3:f32", threads=1, target="avx2")
    a = np.ones(3, np.float32)
    masked = np.ma.masked_array(a, [True, False, False])
    out = np.zeros(3, np.float32)
    with pytest.raises(ArgumentError, match="whose mask would be ignored"):
        kernel(a, masked)
    with pytest.raises(ArgumentError, match="whose mask would be ignored"):
        kernel(masked, a, out)
    with pytest.raises(ArgumentError, match="whose mask would be ignored"):
        kernel(a, a, out=np.ma.masked_array(out, [True, False, False]))
    with pytest.raises(ArgumentError, match="whose mask would be ignored"):
        kernel.bind(a, masked, out)
    assert not out.any()
    assert np.array_equal(kernel(a, a.view(np.matrix).A1), [2, 2, 2])


def test_arrays_of_other_libraries_are_packed_as_they_are_called_with() -> None:
    class Holder:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array
            self.__array_interface__ = array.__array_interface__

    class Exporter:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array
            self.__dlpack__ = array.__dlpack__
            self.__dlpack_device__ = array.__dlpack_device__

    text = "matmul:4x5x6:f32:rhs=[0,2,1,2p8]"
    kernel = morello.compile(text, threads=1, target="avx2")
    array = np.arange(30, dtype=np.float32).reshape(5, 6)
    for kind in (Holder, Exporter):
        assert np.array_equal(kernel.pack(kind(array)), kernel.pack(array))
    with pytest.raises(ArgumentError, match="not a NumPy array but a list"):
        kernel.pack([[1.0]])
    with pytest.raises(ArgumentError, match="whose mask would be ignored"):
        kernel.pack(np.ma.masked_array(array))


def test_every_tool_works_where_the_working_folder_is_gone(tmp_path: Path) -> None:
    code = """
import os, sys, warnings
os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])
import morello
from morello.search.storage.overlay import DatabaseWarning
from morello.tools.morello import main
morello.compile("move:7x9:f32", threads=1, db="none", time_limit=0)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    morello.compile("move:7x9:f32", threads=1, db="gone.sqlite", time_limit=0)
assert [w.category for w in told] == [DatabaseWarning], told
assert "the working folder is gone" in str(told[0].message)
assert main(["run", "move:7x9:f32", "--threads", "1", "--db", "gone.sqlite"]) == 0
assert main(["emit", "move:7x9:f32", "--threads", "1", "--db", "none", "-o", "x"]) == 2
assert main(["run", "gone.mlir", "--db", "none"]) == 2
"""
    folder = tmp_path / "gone"
    folder.mkdir()
    assert "Traceback" not in python("-c", code, str(folder), check=True).stderr


def test_the_help_names_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    named = capsys.readouterr().out.partition("kinds:")[2].partition("\n\n")[0]
    assert {word.strip() for word in named.split(",")} == {*labels()}


def test_a_reproducer_that_cannot_be_written_is_no_defect(
    capfd: pytest.CaptureFixture[str],
) -> None:
    flag = "--mlir-generate-reproducer=/nonexistent/x.mlir"
    assert morello_opt.main(["/dev/null", flag, "-p", "builtin.module(cse)"]) != 0
    assert "/nonexistent/x.mlir: error: cannot write" in capfd.readouterr().err
