"""``morello-opt`` from the outside: exit codes, messages, outputs, crashes."""

import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from morello._version import __version__
from morello.tools.morello_opt import main
from tests.child import printed, python
from tests.tables import rows
from tests.tool import Tool

ROOT = Path(__file__).resolve().parent.parent.parent
PLUGIN = ROOT / "lit" / "inputs" / "faulty_passes.py"
GOOD = "func.func @f() {\n  return\n}\n"
BAD = "func.func @f() -> i32 {\n  return\n}\n"
PRINTED = "module {\n  func.func @f() {\n    return\n  }\n}\n\n"
"""As mlir-opt prints it: a new line follows the module's own."""
CRASH = """\
func.func @f(%m: memref<10xf32>, %x: f32) {
  affine.for %i = 0 to 10 {
    affine.for %j = 0 to 10 {
      affine.store %x, %m[%j] : memref<10xf32>
    }
  }
  return
}
"""
CRASHING = "builtin.module(func.func(cse,affine-loop-unroll-jam{unroll-jam-factor=0}))"


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    return path


@pytest.fixture
def tool(capfd: pytest.CaptureFixture[str]) -> Tool:
    """``morello-opt``, and what MLIR prints."""
    return Tool(main, capfd)


OPT, OURS = ("-m", "morello.tools.morello_opt"), {"PYTHONPATH": str(ROOT)}


def run(*arguments: str | Path, text: str | bytes = "", cwd: Path | None = None) -> Any:
    data = text.encode() if isinstance(text, str) else text
    words = map(str, arguments)
    return python(*OPT, *words, env=OURS, text=False, input=data, cwd=cwd)


def test_standard_input_and_output() -> None:
    done = run(text=GOOD)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, PRINTED, b"")


def test_output_file(good: Path) -> None:
    assert main([str(good), "-o", "out.mlir"]) == 0
    assert Path("out.mlir").read_text() == PRINTED
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(Path("out.mlir").stat().st_mode) == 0o666 & ~mask
    assert sorted(path.name for path in Path.cwd().iterdir()) == [
        "good.mlir",
        "out.mlir",
    ]


def test_output_over_the_input_keeps_its_mode(good: Path) -> None:
    good.chmod(0o640)
    assert main([str(good), "-o", str(good)]) == 0
    assert good.read_text() == PRINTED
    assert stat.S_IMODE(good.stat().st_mode) == 0o640


def test_output_through_a_link(good: Path) -> None:
    Path("real.mlir").write_text("old")
    Path("link.mlir").symlink_to("real.mlir")
    assert main([str(good), "-o", "link.mlir"]) == 0
    assert Path("link.mlir").is_symlink()
    assert Path("real.mlir").read_text() == PRINTED


def test_output_to_a_device(good: Path) -> None:
    assert main([str(good), "-o", "/dev/null"]) == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_no_file_is_written_on_failure(good: Path) -> None:
    good.write_text(f"{GOOD}// -----\n{BAD}")
    Path("out.mlir").write_text("before")
    assert main([str(good), "--split-input-file", "-o", "out.mlir"]) == 1
    assert Path("out.mlir").read_text() == "before"


def test_good_pieces_are_printed_where_one_fails(good: Path, tool: Tool) -> None:
    good.write_text(f"{GOOD}// -----\n{BAD}// -----\n{GOOD}")
    captured = tool(str(good), "--split-input-file", code=1)
    assert captured.out == f"{PRINTED}// -----\n// -----\n{PRINTED}"
    assert "good.mlir:6:3: error: 'func.return' op" in captured.err


def test_parse_error_has_line_column_and_caret(good: Path, tool: Tool) -> None:
    good.write_text("func.func @f() {\n\t  retun\n}\n")
    err = tool.err(str(good))
    assert f"{good}:2:4: error: " in err
    assert "\t  retun\n\t  ^\n" in err


def test_standard_input_has_a_name() -> None:
    done = run(text=BAD)
    assert done.returncode == 1
    assert b"<stdin>:2:3: error: 'func.return' op has 0 operands" in done.stderr


def test_own_locations_are_kept(tool: Tool, good: Path) -> None:
    good.write_text(
        'func.func @f() -> i32 { return loc(callsite("g" at "a b.py":7:9)) }'
    )
    assert "a b.py:7:9: error: " in tool.err(str(good))
    good.write_text("func.func @f() -> i32 { return loc(unknown) }")
    assert "unknown location: error: " in tool.err(str(good))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\n\na\xff", "<stdin>:3: error: not UTF-8 text: byte 0xff at offset 3; save"),
        (b"ab\0", "<stdin>: error: this is a binary file (byte 2 is zero); give"),
        (b"ML\xefR\0", "<stdin>: error: "),
    ],
)
def test_input_that_is_no_text(data: bytes, what: str) -> None:
    done = run(text=data)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(what)


@pytest.mark.parametrize(("arguments", "what"), rows(__file__, "refused_flags"))
def test_usage_errors(arguments: str, what: str, good: Path, tool: Tool) -> None:
    Path("syntax.py").write_text("def\n")
    Path("rowless.py").write_text("")
    Path("clash.py").write_text(
        "from morello.passes.registry import Row\n"
        "ROWS = (Row('morello-check-lowered', 'clash', 'C'),)\n"
    )
    words = [word.replace("PLUGIN", str(PLUGIN)) for word in shlex.split(arguments)]
    captured = tool(*words, code=2)
    assert what in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_full_disk(good: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = python(*OPT, str(good), env=OURS, stdout=full)
    assert done.returncode == 2
    assert done.stderr == (
        "-: error: cannot write: No space left on device; "
        "give a file that can be written with -o\n"
    )


def test_reader_that_goes_away(good: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = python(*OPT, str(good), env=OURS, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_unregistered_dialects(good: Path, tool: Tool) -> None:
    good.write_text('"nowhere.op"() : () -> ()\n')
    assert main([str(good)]) == 1
    assert '"nowhere.op"()' in tool.out(str(good), "--allow-unregistered-dialect")


def test_pass_that_prints(good: Path, tool: Tool) -> None:
    good.write_text(
        "module attributes {transform.with_named_sequence} {\n"
        "transform.named_sequence @__transform_main(%a: !transform.any_op) {\n"
        "transform.print %a {name = 'here'} : !transform.any_op\n"
        "transform.yield } }".replace("'", '"')
    )
    pipeline = "builtin.module(transform-interpreter)"
    assert tool.out(str(good), "-p", pipeline).startswith("[[[ IR printer: here ]]]")
    failing = "builtin.module(transform-interpreter,test-fail)"
    captured = tool(str(good), "-p", failing, f"--load-pass-plugin={PLUGIN}", code=1)
    assert captured.out == ""
    assert "[[[ IR printer: here ]]]" in captured.err


def test_crash_in_upstream_is_contained(good: Path, tool: Tool) -> None:
    good.write_text(CRASH)
    captured = tool(str(good), "-p", CRASHING, "--crash-reproducer=again.mlir", code=1)
    message = (
        f"{good}: error: internal error in pass "
        "'func.func(affine-loop-unroll-jam{unroll-jam-factor=0})' (signal SIGFPE)"
    )
    assert message in captured.err
    assert "'again.mlir' reproduces it" in captured.err
    command = Path("again.mlir").read_text().split("\n")[0]
    assert message.replace(str(good), "again.mlir") in tool.err(
        *shlex.split(command.removeprefix("// "))[1:]
    )


def test_crash_goes_on_with_the_next_piece(good: Path, tool: Tool) -> None:
    good.write_text(f"{GOOD}// -----\n{CRASH}// -----\n{BAD}")
    words = [str(good), "--split-input-file", "-p", CRASHING]
    err = tool.err(*words, "--crash-reproducer=again.mlir")
    assert err.index("signal SIGFPE") < err.index(f"{good}:15:3: error: ")
    assert Path("again.mlir").read_text().endswith(CRASH)


def test_default_place_of_the_reproducer(
    good: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plugin = f"--load-pass-plugin={PLUGIN}"
    words = [str(good), "-p", "builtin.module(test-fail{how=abort})", plugin]
    assert main([*words, "--verify-each=false", "--allow-unregistered-dialect"]) == 1
    (place,) = Path.cwd().glob("good-crash-*.mlir")
    assert place.name in capfd.readouterr().err
    assert "faulty_passes.py" in place.read_text().split("Fatal Python error")[1]
    head = place.read_text().split("\n")[0]
    for word in (plugin, "--verify-each=false", "--allow-unregistered-dialect"):
        assert word in head


def test_the_reproducer_takes_no_name_that_is_taken(
    good: Path, tmp_path: Path, tool: Tool
) -> None:
    """Nor follows a link that someone has put there."""
    plugin = f"--load-pass-plugin={PLUGIN}"
    words = [str(good), "-p", "builtin.module(test-fail{how=abort})", plugin]
    name = f"good-crash-{os.getpid()}"
    Path(f"{name}.mlir").symlink_to(tmp_path / "elsewhere")
    Path(f"{name}-1.mlir").write_text("mine")
    assert f"'{name}-2.mlir' reproduces it" in tool.err(*words)
    assert not (tmp_path / "elsewhere").exists()
    assert Path(f"{name}-1.mlir").read_text() == "mine"
    assert "test-fail" in Path(f"{name}-2.mlir").read_text()


def test_reproducer_that_cannot_be_written(good: Path, tool: Tool) -> None:
    words = [str(good), "-p", "builtin.module(test-fail{how=abort})"]
    words += [f"--load-pass-plugin={PLUGIN}", "--crash-reproducer=no/where.mlir"]
    assert "no file that reproduces it could be written to 'no/where.mlir'" in (
        tool.err(*words)
    )


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("abort", "internal error in pass 'test-fail{how=abort}' (signal SIGABRT)"),
        (
            "raise",
            "internal error in pass 'test-fail{how=raise}' (KeyError: 'missing')",
        ),
        ("silent", "internal error in pass 'test-fail{how=silent}' (exit status 3)"),
        ("error", "error: no program exists; give more memory"),
        ("refuse", "good.mlir:1:1: error: this op is refused"),
    ],
)
def test_failures_of_our_passes(how: str, what: str, good: Path, tool: Tool) -> None:
    pipeline = f"builtin.module(cse,test-fail{{how={how}}},canonicalize)"
    words = [str(good), "-p", pipeline, f"--load-pass-plugin={PLUGIN}"]
    captured = tool(*words, "--crash-reproducer=again.mlir", code=1)
    assert what in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_crash_of_the_parser(good: Path, tool: Tool) -> None:
    good.write_text("module{" * 100_000 + "}" * 100_000)
    assert "internal error in parsing the input (signal SIGSEGV)" in (
        tool.err(str(good), "--crash-reproducer=again.mlir")
    )


def test_crash_of_a_plugin_ends_every_piece(good: Path, tool: Tool) -> None:
    Path("dying.py").write_text("import os\nos.abort()\n")
    good.write_text("// -----\n".join([GOOD] * 3))
    words = [str(good), "--split-input-file", "--load-pass-plugin=dying.py"]
    err = tool.err(*words, "--crash-reproducer=again.mlir")
    assert err.count("error in checking the pipeline") == 1


def test_crash_is_no_expected_diagnostic(good: Path, tool: Tool) -> None:
    good.write_text(CRASH)
    words = [str(good), "-p", CRASHING, "--crash-reproducer=again.mlir"]
    assert "unexpected error: internal error in pass" in tool.err(
        *words, "--verify-diagnostics"
    )


def test_interrupt_ends_the_child(good: Path) -> None:
    command = [sys.executable, *OPT, str(good), "--load-pass-plugin=slow.py"]
    Path("slow.py").write_text(
        "import os, time\n"
        "from pathlib import Path\n"
        "Path('pid.part').write_text(str(os.getpid()))\n"
        "Path('pid.part').rename('pid')\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(command, env={**os.environ, **OURS})
    deadline = time.monotonic() + 30
    while not Path("pid").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    child = int(Path("pid").read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_version_is_quick() -> None:
    best = 10.0
    for _ in range(3):
        start = time.monotonic()
        done = run("--version")
        best = min(best, time.monotonic() - start)
        assert done.stdout.decode() == f"morello-opt {__version__}\n"
    assert best < 0.5


def test_version_imports_no_mlir() -> None:
    code = (
        "import sys; from morello.tools.morello_opt import main; main(['--version']);"
        "print(any('mlir' in name.split('.')[0] for name in sys.modules))"
    )
    assert printed(code, **OURS).split("\n")[1] == "False"


def test_list_passes_derives_from_the_fields(
    good: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plugin = good.with_name("listed_passes.py")
    plugin.write_text(
        PLUGIN.read_text()
        .replace("faulty_passes", "listed_passes")
        .replace('    Row("test-gone", "listed_passes", "Gone"),\n', "")
    )
    words = ["--list-passes", f"--load-pass-plugin={plugin}"]
    text = " ".join(python(*OPT, *words, env=OURS, check=True).stdout.split())
    assert " test-fail Fail in the way that is asked for. " in text
    assert " times=<int> how often to refuse (default: 1) " in text
    assert " loud=<bool> say it in capitals (default: false) " in text


def test_show_dialects(tool: Tool) -> None:
    out = tool.out("--show-dialects")
    assert out.startswith("Available Dialects: ")
    names = out.removeprefix("Available Dialects: ").strip().split(",")
    assert names == sorted(names)
    assert {"func", "morello", "morello_transform", "transform", "xevm"} <= set(names)


def test_elision_and_ir_tree(good: Path, tool: Tool) -> None:
    good.write_text(
        "func.func @f() -> tensor<4xi32> {\n"
        "  %0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>\n"
        "  return %0 : tensor<4xi32>\n}\n"
    )
    assert "__elided__" in tool.out(str(good), "--mlir-elide-elementsattrs-if-larger=2")
    words = ["-p", "builtin.module(cse)", "--mlir-print-ir-after-all"]
    assert main([str(good), *words, "--mlir-print-ir-tree-dir=tree"]) == 0
    assert list(Path("tree").rglob("*cse.mlir"))


def test_verify_each(good: Path, tool: Tool) -> None:
    Path("breaking.py").write_text(
        "import dataclasses\n"
        "from morello.mlir import ir\n"
        "from morello.passes.base import Pass\n"
        "from morello.passes.registry import Row\n"
        "@dataclasses.dataclass(frozen=True)\n"
        "class Break(Pass):\n"
        "    '''Remove the terminator.'''\n"
        "    name = 'test-break'\n"
        "    def run(self, module):\n"
        "        f = module.regions[0].blocks[0].operations[0]\n"
        "        f.regions[0].blocks[0].operations[0].erase()\n"
        "ROWS = (Row('test-break', 'breaking', 'Break'),)\n"
    )
    words = [str(good), "-p", "builtin.module(test-break)"]
    words += ["--load-pass-plugin=breaking.py"]
    assert f"{good}:1:1: error: " in tool.err(*words)
    assert '"func.func"()' in tool.out(
        *words, "--verify-each=false", "--mlir-print-op-generic"
    )
