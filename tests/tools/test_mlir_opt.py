"""``morello-opt`` next to mlir-opt: the same flags give the same bytes.

The bindings' package brings ``torch-mlir-opt``: mlir-opt's own driver of the same
version, with fewer dialects and passes.
"""

import difflib
import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from morello.mlir import BACKEND
from morello.tools.morello_opt import main
from morello.tools.opt.flags import flag_names
from morello.tools.opt.refused import REFUSED
from tests.tool import Tool

FILES = {
    "empty.mlir": " \n",
    "expected.mlir": """\
  // expected-error@+1 {{nothing}} and words after it
func.func @f() { return }
// expected-warning @-1 {{never}}\x20
// expected-note-re @below {{a.*b}}
func.func @g() -> i32 { return }
func.func @h() { return } // expected-error {{here}} expected-warning {{too}}
""",
    "calls.mlir": """\
func.func private @g(%a: i32) -> i32 {
  %c = arith.constant 1 : i32
  %d = arith.addi %a, %c : i32
  return %d : i32
}
func.func @f(%a: i32) -> i32 {
  %0 = func.call @g(%a) : (i32) -> i32
  return %0 : i32
}
""",
    "plain.mlir": """\
func.func @f(%a: i32) -> i32 {
  %c = arith.constant 1 : i32
  %d = arith.constant 1 : i32
  %e = arith.addi %c, %d : i32
  return %e : i32
}
""",
    "two.mlir": """\
#map = affine_map<(d0) -> (d0 * 4)>
module @named {
  func.func @f(%i: index, %m: memref<4xf32, #map>) -> index {
    %0 = arith.muli %i, %i : index
    %1 = arith.muli %i, %i : index
    %2 = arith.addi %0, %1 : index
    return %2 : index
  }
  func.func @g(%i: index, %m: memref<4xf32, #map>) -> index {
    %c = arith.constant 3 : index
    %d = arith.addi %c, %c : index
    return %d : index
  }
}
""",
    "pieces.mlir": """\
func.func @f() { return }
// --- no marker
// -----
func.func @g() -> i32 { return }
 // ----- func.func @h() { %0 = "foo.bar"() : () -> i32 return }
// ------
func.func @i() { %c = arith.constant 1 : i32 return }
// -----""",
}

FILES["mine.irdl.mlir"] = """\
irdl.dialect @mine {
  irdl.operation @op {
    %0 = irdl.is i32
    irdl.operands(x: %0)
    irdl.results(y: %0)
  }
}
"""
FILES["mine.mlir"] = """\
func.func @f(%a: i32) {
  %0 = "mine.op"(%a) : (i32) -> i32
  return
}
// -----
func.func @f(%a: i64) {
  %0 = "mine.op"(%a) : (i64) -> i32
  return
}
"""

CASES = (
    "plain.mlir",
    "plain.mlir --cse",
    "plain.mlir -cse --canonicalize=top-down=false",
    "plain.mlir -canonicalize -cse --dump-pass-pipeline",
    "plain.mlir --dump-pass-pipeline",
    "plain.mlir --pass-pipeline any(cse)",
    "plain.mlir --verify-roundtrip --cse",
    "plain.mlir -mlir-elide-elementsattrs-if-larger 2 -o -",
    "plain.mlir --mlir-print-debuginfo=true --mlir-print-local-scope=0",
    "plain.mlir --no-implicit-module --pass-pipeline=func.func(cse,canonicalize) "
    "--mlir-print-ir-after-all",
    "plain.mlir --no-implicit-module -canonicalize --dump-pass-pipeline",
    "two.mlir --no-implicit-module --verify-roundtrip --cse",
    "two.mlir --cse --canonicalize --mlir-print-ir-before-all "
    "--mlir-print-ir-after-all",
    "two.mlir -p builtin.module(func.func(cse),func.func(canonicalize)) "
    "--mlir-print-ir-after=cse --dump-pass-pipeline",
    "two.mlir --pass-pipeline=builtin.module(func.func(cse,canonicalize)) "
    "--mlir-print-ir-before=canonicalize,cse --mlir-print-ir-module-scope",
    "two.mlir --pass-pipeline=builtin.module(any(cse),any(canonicalize),func.func(cse))"
    " --mlir-print-ir-after-all",
    "two.mlir --cse --cse --mlir-print-ir-after-all --mlir-print-ir-after-change",
    "two.mlir --cse -canonicalize -mlir-print-ir-after=cse "
    "-mlir-print-ir-before=canonicalize -mlir-print-ir-after-change",
    "two.mlir --cse --mlir-print-ir-after-failure",
    "two.mlir --cse -mlir-print-ir-after-change --color",
    "mine.mlir --irdl-file=mine.irdl.mlir --split-input-file",
    "mine.mlir --irdl-file=two.mlir -mlir-diagnostic-verbosity-level=errors",
    "two.mlir --cse --mlir-print-ir-after-all --mlir-print-debuginfo",
    "two.mlir --cse --mlir-print-op-generic --mlir-print-ir-before-all",
    "two.mlir --mlir-print-skip-regions",
    "two.mlir --mlir-pretty-debuginfo --mlir-print-debuginfo",
    "expected.mlir -verify-diagnostics",
    "expected.mlir -verify-diagnostics=only-expected",
    "calls.mlir --inline --mlir-print-ir-after=inline --mlir-print-ir-after-change",
    "empty.mlir -canonicalize --mlir-print-ir-after-all",
    "pieces.mlir -split-input-file -allow-unregistered-dialect",
    "pieces.mlir --split-input-file --output-split-marker=//== -cse "
    "-dump-pass-pipeline -allow-unregistered-dialect=true",
    "pieces.mlir -split-input-file -mlir-print-op-on-diagnostic=false",
    "pieces.mlir -split-input-file --mlir-disable-diagnostic-notes",
)


@pytest.fixture
def tool(capfd: pytest.CaptureFixture[str]) -> Tool:
    """``morello-opt``, and what MLIR prints."""
    return Tool(main, capfd)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)


def mlir_opt(*arguments: str) -> "subprocess.CompletedProcess[str]":
    libraries = importlib.util.find_spec(f"{BACKEND}._mlir_libs")
    assert libraries is not None
    assert libraries.submodule_search_locations is not None
    program = Path(libraries.submodule_search_locations[0]) / "torch-mlir-opt"
    threads = "--mlir-disable-threading"  # which would print in any order
    return subprocess.run(
        [program, *arguments, threads], capture_output=True, text=True, check=False
    )


def difference(theirs: str, ours: str) -> str:
    lines = (text.splitlines(keepends=True) for text in (theirs, ours))
    return "".join(difflib.unified_diff(*lines, "mlir-opt", "morello-opt"))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("case", CASES)
def test_the_output_is_that_of_mlir_opt(
    case: str, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = case.split(" ")
    theirs = mlir_opt(*arguments)
    code = main([*arguments, "--mlir-disable-threading"])
    ours = capfd.readouterr()
    assert not difference(theirs.stdout, ours.out)
    assert not difference(theirs.stderr, ours.err)
    assert code == theirs.returncode


def test_every_flag_of_mlir_opt_is_taken_or_refused_with_a_reason(tool: Tool) -> None:
    """But passes, and the options of LLVM that every tool has."""
    listed = mlir_opt("--help").stdout.partition("Passes:")
    general = listed[0] + listed[2].partition("\n  --")[2]
    shown = r"^  --?((?:mlir|emit|log|remark|irdl|load)[\w-]+)"
    theirs = set(re.findall(shown, general, re.M))
    assert len(theirs) > 40
    assert theirs <= {*flag_names(), *REFUSED}
    for name in sorted(REFUSED):
        assert f"-{name} is a flag of mlir-opt" in tool.err(
            "plain.mlir", f"-{name}=1", code=2
        )


def test_a_pipeline_is_found_among_comments_and_entries(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("held.mlir").write_text(
        FILES["plain.mlir"]
        + """
{-#
  external_resources: {
    mlir_reproducer: {
      verify_each: true,  // pipeline: "not this one"
      // "nor": this
      pipeline: "builtin.module(func.func(cse))",
      disable_threading: true
    }
  }
#-}
"""
    )
    case = ("held.mlir", "--run-reproducer", "--dump-pass-pipeline")
    theirs, code = mlir_opt(*case), main([*case, "--mlir-disable-threading"])
    ours = capfd.readouterr()
    assert not difference(theirs.stdout, ours.out)
    assert not difference(theirs.stderr, ours.err)
    assert code == theirs.returncode == 0


def test_help_lists_the_dialects(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["-h"])
    listed = capfd.readouterr().out.partition("Available Dialects: ")[2].split(", ")
    assert {"affine", "builtin", "func", "memref", "morello"} <= set(listed)


def test_a_dialect_that_exists_is_not_defined_again(tool: Tool) -> None:
    Path("again.mlir").write_text(FILES["mine.irdl.mlir"].replace("mine", "arith"))
    for path, words in (("again.mlir", "which there is already"), ("none", "no file")):
        assert words in tool.err("plain.mlir", f"--irdl-file={path}")


def test_the_tree_of_dumps_is_that_of_mlir_opt() -> None:
    arguments = [
        "two.mlir",
        "-p",
        "builtin.module(func.func(cse,canonicalize),any(cse),canonicalize)",
        "--mlir-print-ir-before-all",
        "--mlir-print-ir-after-all",
        "-o",
        "/dev/null",
    ]
    assert mlir_opt(*arguments, "--mlir-print-ir-tree-dir=theirs").returncode == 0
    assert main([*arguments, "--mlir-print-ir-tree-dir=ours"]) == 0
    trees = [
        {path.relative_to(top): path.read_text() for path in Path(top).rglob("*.mlir")}
        for top in ("theirs", "ours")
    ]
    assert len(trees[0]) == 14
    assert trees[0] == trees[1]


def test_the_log_of_passes_is_that_of_mlir_opt(tool: Tool) -> None:
    arguments = ["two.mlir", "-p", "builtin.module(func.func(cse,canonicalize),cse)"]
    theirs = mlir_opt(*arguments, "--log-actions-to=-").stdout
    ours = tool.out(*arguments, "--log-actions-to=-")
    lines = [
        [
            line.partition("] ")[2]
            for line in text.splitlines()
            if "`pass-execution`" in line
        ]
        for text in (theirs, ours)
    ]
    assert len(lines[1]) == 12
    assert lines[0] == lines[1]
    assert main([*arguments, "--log-actions-to=log", "-o", "/dev/null"]) == 0
    assert Path("log").read_text().count("completed") == 6


def test_each_reads_the_bytecode_and_the_reproducers_of_the_other(tool: Tool) -> None:
    words = ["plain.mlir", "--emit-bytecode", "-o"]
    assert main([*words, "ours.bc"]) == 0
    assert mlir_opt(*words, "theirs.bc").returncode == 0
    words = ["plain.mlir", "-cse", "-o", "/dev/null", "--mlir-generate-reproducer"]
    assert main([*words, "ours.mlir"]) == 0
    assert mlir_opt(*words, "theirs.mlir").returncode == 0
    again = [(f"{who}.bc", "-cse") for who in ("ours", "theirs")]
    again += [(f"{who}.mlir", "--run-reproducer") for who in ("ours", "theirs")]
    wanted = mlir_opt("plain.mlir", "-cse").stdout
    for arguments in again:
        assert mlir_opt(*arguments).stdout == wanted
        assert tool.out(*arguments) == wanted


def test_flags_have_the_nesting_that_a_pass_needs(tool: Tool) -> None:
    words = ["two.mlir", "-o", "/dev/null", "--dump-pass-pipeline"]
    passes = ["--affine-loop-tile=tile-size=4", "-morello-check-lowered", "--cse"]
    err = " ".join(tool.err(*words, *passes).split())
    assert (
        "Pass Manager with 3 passes: builtin.module( func.func( affine-loop-ti" in err
    )
    assert "), morello-check-lowered, cse ) " in err
    assert "error: 'func.func' is not lowered to the llvm dialect" in err


def test_our_passes_are_named_by_their_classes(tool: Tool) -> None:
    words = ["two.mlir", "-morello-entry-points", "--mlir-print-ir-before-all"]
    err = tool.err(*words, code=0)
    head = "// -----// IR Dump Before EntryPoints: morello-entry-points //----- //\n"
    assert err.startswith(f"{head}#map = affine_map<(d0) -> (d0 * 4)>\nmodule @named")


def test_our_passes_run_on_any_module_and_on_nothing_else(tool: Tool) -> None:
    assert main(["plain.mlir", "-p", "any(morello-entry-points,cse)"]) == 0
    words = ["plain.mlir", "--no-implicit-module"]
    assert "'morello-entry-points' runs on 'builtin.module', not on 'func.func'" in (
        tool.err(*words, "-p", "any(morello-entry-points)")
    )
    assert "cannot be nested in 'func.func'" in tool.err(
        *words, "-p", "func.func(morello-entry-points)", code=2
    )
    assert "a pipeline is anchored on func.func; write" in tool.err(
        *words, "-p", "builtin.module(cse)", code=2
    )


def test_timing_and_statistics_go_with_dumps(tool: Tool) -> None:
    words = ["two.mlir", "-cse", "-mlir-print-ir-after-all", "-mlir-timing"]
    display = "-mlir-pass-statistics-display=list"
    err = tool.err(*words, "-mlir-pass-statistics", display, code=0)
    assert "IR Dump After CSEPass" in err
    assert "Execution time report" in err
    assert "Pass statistics report" in err


def test_debug_flags_are_taken(tool: Tool) -> None:
    assert "arith.constant" in tool.out(
        "plain.mlir", "-cse", "-debug-only=pattern-match,cse", "--debug"
    )
