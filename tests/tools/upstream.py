"""Test files of other projects through `morello-opt`: how many of their commands pass.

    python -m tests.tools.upstream FOLDER [--filecheck PROGRAM]

runs the RUN lines of every ``.mlir`` file in a folder as they are written, with
`morello-opt` for ``mlir-opt``, and prints a line for each command, with what a failing
one said, and the sum. A failing one is compared with `torch-mlir-opt`, the mlir-opt of
the bindings' own version: where both print the same, the file was written for another
version. The files are not part of this repository.
"""

import argparse
import dataclasses
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from morello.mlir import BACKEND

SECONDS = 60
"""The most that a command may take."""

_RUN = re.compile(r"^.*?\bRUN:[ \t]*(.*?)[ \t]*$", re.MULTILINE)

_OTHER_TOOL = re.compile(
    r"(?<![\w./-])(mlir-(?!opt\b)[\w-]+|split-file|llc|opt|clang|lli)(?= )"
)

_TEST_PASS = re.compile(r"\s--?test-|[(,]test-")
"""Passes that only the build of MLIR's own tests has."""

_TEST_OP = re.compile(r"with an unregistered dialect|[dD]ialect [`']test'")
"""What is said of its ops."""

_SHELL = """\
set -o pipefail
not() { if [ "$1" = --crash ]; then shift; fi; if "$@"; then return 1; fi; }
"""


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of a command.

    Args:
        path: its file.
        command: as the file has it.
        outcome: ``pass``, ``fail``, ``same`` (it fails, and mlir-opt of this version
            prints what `morello-opt` prints) or ``other`` (it needs another tool, or
            ops or passes that only the build of MLIR's own tests has).
        reason: of a failing one, the first line that says why.
    """

    path: Path
    command: str
    outcome: str
    reason: str = ""


def commands_of(text: str) -> Iterator[str]:
    """The commands of a test file: its RUN lines, those that go on joined."""
    begun = ""
    for line in _RUN.findall(text):
        begun += line.removesuffix("\\")
        if not line.endswith("\\"):
            yield begun.strip()
            begun = ""


def substituted(command: str, path: Path, tools: dict[str, str], scratch: str) -> str:
    """A command for the shell: names of tools and lit's abbreviations written out.

    Args:
        command: as the file has it.
        path: the file.
        tools: what stands for the name of each tool, quoted.
        scratch: the name of a file that the commands of a test share.
    """
    names = "|".join(map(re.escape, tools))
    # Some projects write @mlir-opt, so that only what they mean is replaced.
    command_line = re.sub(
        rf"(?<![\w./%-])@?({names})(?![\w-])", lambda m: tools[m[1]], command
    )
    words = {
        "s": path,
        "S": path.parent,
        "p": path.parent,
        "t": scratch,
        "T": path.parent,
    }
    return re.sub(
        r"%/?([sSptT])(?![\w])", lambda match: str(words[match[1]]), command_line
    ).replace("%%", "%")


def run_file(path: Path, filecheck: str) -> Iterator[Result]:
    """The results of the commands of a file, in their order.

    Args:
        path: the file.
        filecheck: the program that compares.
    """
    text = path.read_text()
    fails = bool(re.search(r"\bXFAIL: *\*", text))
    ours = {"mlir-opt": _ours(), "FileCheck": filecheck, "filecheck": filecheck}
    with tempfile.TemporaryDirectory() as folder:
        scratch = f"{folder}/{path.name}.tmp"
        for command in commands_of(text):
            needed = _OTHER_TOOL.search(command) or _TEST_PASS.search(command)
            if needed:
                yield Result(path, command, "other", f"needs {needed[0].strip(' (,')}")
                continue
            run = _shell(substituted(command, path, ours, scratch))
            if (run.returncode == 0) != fails:
                yield Result(path, command, "pass")
                continue
            words = run.stderr if run.returncode else "passes, marked as XFAIL"
            if _TEST_OP.search(words):
                outcome = "other"
            elif _same_as_reference(command, path, ours, scratch):
                outcome = "same"
            else:
                outcome = "fail"
            yield Result(path, command, outcome, _first_error(words))


def _ours() -> str:
    return f"{shlex.quote(sys.executable)} -m morello.tools.morello_opt"


def _reference() -> str | None:
    """mlir-opt as the bindings' package brings it."""
    libraries = importlib.util.find_spec(f"{BACKEND}._mlir_libs")
    for place in (libraries and libraries.submodule_search_locations) or ():
        if (program := Path(place) / "torch-mlir-opt").exists():
            return shlex.quote(str(program))
    return None


def _shell(command: str) -> subprocess.CompletedProcess[str]:
    program = ["timeout", str(SECONDS), "bash", "-c", _SHELL + command]
    return subprocess.run(
        program, capture_output=True, text=True, check=False, errors="replace"
    )


def _same_as_reference(
    command: str, path: Path, tools: dict[str, str], scratch: str
) -> bool:
    """Whether mlir-opt of this version fails, too, and prints the same."""
    reference = _reference()
    if reference is None or "mlir-opt" not in command:
        return False
    whole = substituted(command, path, {**tools, "mlir-opt": reference}, scratch)
    if _shell(whole).returncode == 0:
        return False
    first = re.split(r"\|\s*@?(?i:filecheck)\b", command, maxsplit=1)[0]
    outputs = []
    for tool in (_ours(), reference):
        run = _shell(substituted(first, path, {"mlir-opt": tool}, scratch))
        outputs.append((run.returncode == 0, run.stdout, run.stderr))
    return outputs[0] == outputs[1]


def _first_error(text: str) -> str:
    lines = text.strip().splitlines()
    errors = (line for line in lines if "error" in line)
    return next(errors, lines[-1] if lines else "nothing is said").strip()


def main(arguments: Sequence[str]) -> int:
    """Print what came of every command; 1 if the folder has none."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.upstream")
    parser.add_argument("folder", type=Path, help="searched for .mlir files")
    parser.add_argument(
        "--filecheck",
        default=os.environ.get("FILECHECK") or shutil.which("filecheck"),
        help="LLVM's FileCheck; the package 'filecheck' lacks numeric variables",
    )
    options = parser.parse_args(arguments)
    results = []
    for path in sorted(options.folder.resolve().rglob("*.mlir")):
        for result in run_file(path, options.filecheck):
            results.append(result)
            name = path.relative_to(options.folder.resolve())
            print(f"{result.outcome:5} {name}: {result.command}")
            if result.reason:
                print(f"      {result.reason[:300]}", flush=True)
    return _sum(results)


def _sum(results: Sequence[Result]) -> int:
    counted = [result for result in results if result.outcome != "other"]
    passed = sum(result.outcome == "pass" for result in counted)
    same = sum(result.outcome == "same" for result in counted)
    files = len({result.path for result in counted})
    if not counted:
        print("no command of mlir-opt was found")
        return 1
    print(
        f"{files} files, {len(counted)} commands: {passed} pass as written "
        f"({100 * passed / len(counted):.0f} %), {same} more print what mlir-opt of "
        f"this version prints; {len(results) - len(counted)} need other tools, "
        "or ops or passes of MLIR's own tests"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
