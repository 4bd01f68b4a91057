"""``morello`` from the outside: help, versions, usage errors, signals, pipes."""

import contextlib
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from morello._version import __version__
from morello.spec import Fill
from morello.tools.commands import COMMANDS
from morello.tools.morello import main
from tests.child import python
from tests.tool import Tool

ROOT = Path(__file__).resolve().parent.parent.parent
OURS, MORELLO = {"PYTHONPATH": str(ROOT)}, ("-m", "morello")

USAGE = {
    "": "no command; use one of run, bench, emit",
    "runn fill:3": "argument COMMAND: invalid choice: 'runn'",
    "runn fill:4": "morello --help lists the arguments; did you mean 'run'?",
    "run fill:3 --thread 2": "did you mean '--threads'?",
    "emit fill:3 --stage asmm": "did you mean 'asm'?",
    "db inof": "did you mean 'info'?",
    "run": "the following arguments are required: SPEC; morello run --help",
    "run fill:3 fill:4": "unknown flag or one Spec too many: fill:4",
    "run fill:3 --html x": "lists the arguments; it is a flag of explain",
    "run fill:3 --bogus": "unknown flag or one Spec too many: --bogus",
    "run fill:3 --seed -1": "'-1' is not an integer from 0 up; morello run --help",
    "run fill:3 --threads 0": "'0' is not an integer from 1 up",
    "run fill:3 --threads 2.5": "'2.5' is not an integer from 1 up",
    "run fill:3 --target z80": "argument --target: unknown target 'z80'; use one of",
    "run move:3 --input src": "'src' is not written NAME=VALUE",
    "run move:3 --input =x": "'=x' is not written NAME=VALUE",
    "run fill:3 --schedule= ": "'': cannot read: the name is empty",
    "run fill:3 -o= ": "'': cannot write: the name is empty",
    "run fill:3 --schedule /no/such": "/no/such: cannot read: No such file",
    "run move:3 --input src=/no/such": "input 'src': cannot read /no/such: No such",
    "run fill:3 -o /no/such/x": "/no/such/x: cannot write: its directory does not",
    "bench fill:3 --seconds 0": "'0' is not a number of seconds between 0 and 86400",
    "bench fill:3 --seconds nan": "'nan' is not a number of seconds between",
    "bench fill:3 --seconds soon": "'soon' is not a number of seconds between",
    "emit fill:3": "the following arguments are required: --stage; morello emit",
    "emit fill:3 --stage c": "argument --stage: invalid choice: 'c'",
    "emit fill:3 --stage asm -o /": "/: cannot write: is a directory",
    "emit fill:3 --stage spec --schedule x": "the stage 'spec' comes before a schedule",
}

REFUSED = {
    "run fill": "'fill' is not a Spec; write kind:sizes",
    "run foo:3": "unknown kind 'foo' in the Spec 'foo:3'; use one of matmul,",
    "run matmul:4x4": "has 2 sizes, but matmul has 3 or 4; give mxkxn",
    "bench fill:0": "size 0 of dimension d0 of fill is not between 1 and",
    "emit fill:3:f64 --stage asm": "unknown dtype 'f64'; use one of f32,",
    "run fill:4:out=[0]@L1": "operand 'out' is in L1, but the arguments of a kernel",
    "bench move:900000x90000": "of memory, and this machine has",
    "run matmul:8x8x8:u8,s8,s32:l1=0:l2=0": "no program exists for matmul:1x8x8x8 u8",
    "run fill:4 --schedule /dev/null": "/dev/null: the input is empty; give a module",
    "run fill:3 --input out=x": "--input out=x: fill reads no operand 'out'; it reads",
}


@pytest.mark.parametrize("line", USAGE)
def test_wrong_usage(line: str, tool: Tool) -> None:
    out, err = tool(*line.split(), code=2)
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("morello: error: ")
    assert USAGE[line] in err


@pytest.mark.parametrize("line", REFUSED)
def test_refused(line: str, tool: Tool) -> None:
    out, err = tool(*line.split(), code=1)
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("morello: error: ")
    assert REFUSED[line] in err


def test_out_of_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def evaluate(*_: object) -> None:
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(Fill, "evaluate", evaluate)
    assert main(["run", "fill:3"]) == 1
    expected = "morello: error: out of memory: Unable to allocate 9 TiB\n"
    assert capsys.readouterr() == ("", expected)


def test_version(tool: Tool) -> None:
    assert tool("--version") == (f"morello {__version__}\n", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    out, err = capsys.readouterr()
    assert (end.value.code, err) == (0, "")
    assert out.startswith(f"usage: morello {name}")
    assert f"examples:\n  morello {name} " in out


HELP = [
    ["morello.tools.morello", "--help"],
    *(["morello.tools.morello", name, "--help"] for name in COMMANDS),
    ["morello.tools.morello_opt", "--help"],
    ["morello.tools.morello_opt", "--list-passes"],
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_prints_where_output_is_ascii(words: list[str]) -> None:
    """In the C locale without UTF-8 mode nothing but ASCII can be written."""
    module, *flags = words
    ascii_only = {
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii",
    }
    script = f"import sys; from {module} import main; sys.exit(main({flags!r}))"
    done = python("-c", script, env=OURS | ascii_only, text=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.decode("ascii").splitlines()) > 5


@pytest.mark.parametrize("flags", [["--help"], ["--version"], ["bench", "--help"]])
def test_information_needs_neither_mlir_nor_numpy(flags: list[str]) -> None:
    script = (
        "import sys\n"
        "from morello.tools.morello import main\n"
        "try:\n"
        f"    code = main({flags!r})\n"
        "except SystemExit as end:\n"
        "    code = end.code\n"
        "heavy = {'numpy', 'torch_mlir', 'mlir', 'llvmlite', 'ml_dtypes'}\n"
        "sys.exit(code or ', '.join(heavy & set(sys.modules)))\n"
    )
    done = python("-c", script, env=OURS)
    assert not done.stderr.strip("\n")
    assert done.stdout


def test_module_form() -> None:
    done = python(*MORELLO, "run", "foo:3", env=OURS)
    assert done.returncode == 1
    assert done.stderr.startswith("morello: error: Spec column 1: unknown kind")


def started(*words: str, stderr: int) -> "subprocess.Popen[bytes]":
    """A command that runs, whose output is read."""
    return subprocess.Popen(
        [sys.executable, *MORELLO, *words],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, **OURS},
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("line", ["--help", "emit fill:4x4 --stage asm", "run fill:3"])
def test_closed_pipe_is_quiet(line: str) -> None:
    process = started(*line.split(), stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("flags", [["--version"], ["run", "fill:3"]])
def test_full_device(flags: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = python(*MORELLO, *flags, env=OURS, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("morello: error: -: cannot write: No space left")


def by_shell(line: str) -> "subprocess.CompletedProcess[bytes]":
    """The end of a command line of Python that a shell starts."""
    line = f"{shlex.quote(sys.executable)} {line}"
    environment = {**os.environ, **OURS}
    return subprocess.run(["sh", "-c", line], capture_output=True, env=environment)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "line",
    [
        "morello run fill:3 >&-",
        "morello.tools.morello_opt <&-",
        "morello.tools.morello_opt /dev/null <&- >&-",
        "morello.tools.morello_opt --help >&-",
    ],
)
def test_closed_standard_stream(line: str) -> None:
    done = by_shell(f"-m {line}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert re.fullmatch(rb".*-: (error: )?cannot \w+: the stream is .*\n", done.stderr)


def test_closed_standard_error() -> None:
    done = by_shell("-m morello run foo:3 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def rest_of(terminal: int) -> bytes:
    """The text that a terminal still holds when nobody writes to it any more."""
    parts = []
    with os.fdopen(terminal, "rb", 0) as file, contextlib.suppress(OSError):
        while part := file.read(4096):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.sampled(2)
def test_terminal_shows_progress_and_interrupt_is_quiet() -> None:
    ours, theirs = pty.openpty()
    process = started("bench", "fill:3x5", "--seconds", "600", stderr=theirs)
    os.close(theirs)
    seen = b""
    while b"timing fill:3x5:f32" not in seen:
        seen += os.read(ours, 1024)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    seen += rest_of(ours)
    assert (process.returncode, out) == (130, b"")
    assert b"searching for fill:3x5:f32" in seen
    assert seen.endswith(b"\r\033[K")
    assert b"Traceback" not in seen


@pytest.mark.sampled(2)
def test_an_interrupt_of_the_search_ends_it_and_not_the_command() -> None:
    ours, theirs = pty.openpty()
    words = ["emit", "matmul:96x80x64:f32", "--stage", "schedule"]
    process = started(*words, stderr=theirs)
    os.close(theirs)
    seen = b""
    while b" tables, " not in seen:
        seen += os.read(ours, 1024)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    seen += rest_of(ours)
    assert process.returncode == 0
    assert b"morello_transform.select" in out
    assert b"the search for matmul:96x80x64:f32 was stopped" in seen
    assert b"Traceback" not in seen


@pytest.mark.sampled(2)
def test_a_time_limit_gives_a_program_of_the_smaller_space() -> None:
    words = ["run", "matmul:96x80x72:f32", "--time-limit", "0.01"]
    done = python(*MORELLO, *words, env=OURS)
    assert done.returncode == 0
    assert "exact" in done.stdout
    assert "the search for matmul:96x80x72:f32 was stopped" in done.stderr
