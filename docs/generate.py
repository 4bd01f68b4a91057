"""Fill what is generated in the docs: ``python docs/generate.py [--check]``.

A generated piece of a Markdown file stands between ``<!-- generated: NAME -->`` and
``<!-- end -->``; `PIECES` has one function a name. The schedule of the worked example
is also what a lit test expects, line by line: its CHECK lines are generated too.
``--check`` writes nothing and says what is stale.
"""

import argparse
import dataclasses
import difflib
import functools
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from morello.actions import ACTIONS
from morello.environment import VARIABLES
from morello.kernels import KERNELS
from morello.machine import find_target
from morello.machine.text import TARGETS
from morello.passes.pipelines.options import options_of
from morello.passes.registry import PASSES
from morello.search import Impl, best_program
from morello.spec import IndexMap, Kind, parse_spec
from morello.spec.kinds import KINDS, instances_of
from morello.spec.text.spellings import labels_of, option_names
from morello.tools.commands import COMMANDS
from morello.tools.flags import flag_fields
from morello.whole_files import write_whole

DOCS = Path(__file__).resolve().parent
LIT_TEST = DOCS.parent / "lit" / "docs" / "worked_example.mlir"

EXAMPLE = "matmul:6x64x33:f32:l1=128"
"""The Spec of the worked example."""


def _tool(name: str, *arguments: str, text: str | None = None) -> str:
    path = os.pathsep.join((os.environ["PATH"], str(Path(sys.executable).parent)))
    run = subprocess.run(
        [name, *arguments],
        input=text,
        capture_output=True,
        text=True,
        cwd=DOCS.parent,
        env={
            **os.environ,
            "PATH": path,
            "MORELLO_TARGET": "avx2",
            "MORELLO_DB": "none",
        },
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"{name} {' '.join(arguments)} has failed:\n{run.stderr}")
    return run.stdout.strip()


@functools.cache
def spec() -> str:
    """The module that holds the Spec of the worked example."""
    return _tool("morello", "emit", EXAMPLE, "--stage", "spec")


@functools.cache
def schedule() -> str:
    """The same with its schedule."""
    pipeline = "builtin.module(morello-synthesize)"
    return _tool("morello-opt", "-", "-p", pipeline, text=spec())


@functools.cache
def loops() -> str:
    """What the schedule makes of it."""
    pipeline = "builtin.module(morello-apply-schedule)"
    return _tool("morello-opt", "-", "-p", pipeline, text=schedule())


def _impl() -> Impl:
    target = find_target("avx2")
    return best_program(parse_spec(EXAMPLE, target.limits), target).impl


def _fenced(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def _sequence() -> str:
    """The named sequence alone: the function above it is that of the Spec."""
    lines = schedule().splitlines()
    start = next(i for i, line in enumerate(lines) if "named_sequence @" in line)
    return "\n".join(line.removeprefix("  ").rstrip() for line in lines[start:-1])


def _skeleton() -> str:
    """The ops of the program, without their attributes."""
    lines = []
    for line in loops().splitlines():
        short = re.sub(
            r' \{kernel = "(\w+)", .*, sizes = array<i64: ([^>]*)>.*',
            lambda found: f"  {found[1]} {found[2].replace(', ', 'x')}",
            line,
        )
        short = re.sub(r" \[1, 1, 1\] : memref.*", "", short)
        lines.append(short)
    return "\n".join(lines)


def _passes() -> str:
    return "\n\n".join(_pass(name) for name in PASSES.names())


def _pass(name: str) -> str:
    cls = PASSES.load(name)
    parts = [f"## `{name}`", inspect.cleandoc(cls.__doc__ or "")]
    options = options_of(cls)
    if options:
        parts.append("\n".join(f"- `{option}`: {option.text}" for option in options))
    return "\n\n".join(parts).replace("``", "`")


def _actions() -> str:
    return "\n\n".join(map(_action, ACTIONS))


def _action(cls: Any) -> str:
    module = inspect.cleandoc(sys.modules[cls.__module__].__doc__ or "")
    module = re.sub(r"::\n\n((?:    .*\n?|\n)+)", _code, module).rstrip()
    fields = ", ".join(
        f"`{field.name}` ({getattr(field.type, '__name__', field.type)}"
        f"{'' if field.default is dataclasses.MISSING else ', may be left out'})"
        for field in dataclasses.fields(cls)
    )
    head = f"## `morello_transform.{cls.name}`"
    return f"{head}\n\n{module}\n\nAttributes: {fields or 'none'}.".replace("``", "`")


def _code(match: "re.Match[str]") -> str:
    block = inspect.cleandoc(match[1]).rstrip()
    return f":\n\n~~~\n{block}\n~~~\n\n"


def _kinds() -> str:
    return "\n\n".join(map(_kind, KINDS))


def _kind(cls: type[Kind]) -> str:
    """A kind: its labels, operands, options and what it means."""
    kind = instances_of(cls)[-1]
    names = " and ".join(f"`{label}`" for label in labels_of(cls))
    operands = ", ".join(
        f"`{operand.name}[{','.join(_axis(kind, axis) for axis in operand.axes)}]`"
        for operand in kind.operands
    )
    options = ", ".join(f"`{name}`" for name in option_names(cls)) or "none"
    parts = (
        f"## {names}",
        inspect.cleandoc(sys.modules[cls.__module__].__doc__ or ""),
        inspect.cleandoc(cls.__doc__ or ""),
        f"Operands: {operands}. Options: {options}. For example `{cls.example}`.",
    )
    return "\n\n".join(parts).replace("``", "`")


def _axis(kind: Kind, axis: IndexMap) -> str:
    """How an operand is indexed along an axis: ``m``; a window ``2*oh+kh``."""
    terms = (
        f"{step}*{kind.dims[dim]}" if step > 1 else kind.dims[dim]
        for dim, step in axis.terms
    )
    text = "+".join(terms) or "0"
    return f"{text}//{axis.divisor}" if axis.is_divided else text


def _targets() -> str:
    rows = [
        "| target | CPU of LLVM | features | limits | kernels |",
        "|---|---|---|---|---|",
    ]
    for target in TARGETS.values():
        features = ", ".join(target.features)
        words = (f"`{target.name}`", target.cpu, features, f"`{target.limits}`")
        rows.append(f"| {' | '.join(words)} | {len(target.kernels)} |")
    return "\n".join(rows)


def _environment() -> str:
    rows = ["| variable | read by | |", "|---|---|---|"]
    rows += [f"| `{v.name}` | {v.reader} | {v.text} |" for v in VARIABLES]
    return "\n".join(rows)


def _kernels() -> str:
    rows = ["| kernel | computes |", "|---|---|"]
    for name, kernel in KERNELS.items():
        text = kernel.summary.replace("|", "\\|").replace("``", "`")
        rows.append(f"| `{name}` | {text} |")
    return "\n".join(rows)


def _commands() -> str:
    parts = []
    for command in COMMANDS.values():
        rows = ["| flag | |", "|---|---|"]
        for field in flag_fields(command.options):
            flag = field.metadata["flag"]
            word = flag.metavar
            if not flag.is_positional:
                word = f"--{field.name.replace('_', '-')} {flag.metavar}".strip()
            rows.append(f"| `{word}` | {flag.help} |")
        table = "\n".join(rows)
        notes = _fenced(command.notes.rstrip(), "text")
        summary = f"{command.summary[0].upper()}{command.summary[1:]}."
        parts.append(f"## `morello {command.name}`\n\n{summary}\n\n{table}\n\n{notes}")
    return "\n\n".join(parts)


def _explanation() -> str:
    """The tree and the alternatives; what the search did depends on how it works."""
    text = _tool(
        "morello", "explain", EXAMPLE, "--top", "4", "--at", "3", "--threads", "1"
    )
    header, *parts = text.split("\n\n")
    kept = "\n".join(header.splitlines()[:3])
    return _fenced("\n\n".join([kept, *parts]), "text")


PIECES: dict[str, Callable[[], str]] = {
    "spec": lambda: _fenced(spec(), "mlir"),
    "tree": lambda: _fenced(str(_impl()), "text"),
    "schedule": lambda: _fenced(_sequence(), "mlir"),
    "loops": lambda: _fenced(_skeleton(), "text"),
    "passes": _passes,
    "actions": _actions,
    "kinds": _kinds,
    "kernels": _kernels,
    "targets": _targets,
    "environment": _environment,
    "commands": _commands,
    "explanation": _explanation,
}
"""The generated pieces, by name."""

_PIECE = re.compile(
    r"(<!-- generated: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL
)


def filled(text: str) -> str:
    """A Markdown text with its generated pieces made anew."""
    return _PIECE.sub(lambda m: f"{m[1]}\n{PIECES[m['name']]()}\n\n{m[3]}", text)


def lit_test() -> str:
    """The lit test of the worked example."""
    checks = []
    for number, line in enumerate(schedule().splitlines()):
        directive = "CHECK-NEXT" if number else "CHECK"
        checks.append(f"// {directive}: {line.strip()}".rstrip())
    run = "%morello-opt %s -p 'builtin.module(morello-synthesize)' | FileCheck %s"
    return (
        "// The schedule of docs/internals/worked-example.md, written by "
        f"docs/generate.py.\n// RUN: {run}\n\n" + "\n".join(checks) + f"\n\n{spec()}\n"
    )


def results() -> Iterator[tuple[Path, str]]:
    """Every file that has generated pieces, and what it should hold."""
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text()
        if _PIECE.search(text):
            yield path, filled(text)
    yield LIT_TEST, lit_test()


def main() -> int:
    """Write the files; or compare them, and answer 1 where one is stale."""
    parser = argparse.ArgumentParser(description="Fill what is generated in the docs.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    stale = 0
    for path, text in results():
        held = path.read_text() if path.exists() else ""
        if held == text:
            continue
        stale += 1
        if not check:
            write_whole(path, text.encode())
        name = str(path.relative_to(DOCS.parent))
        print(f"{name}: {'is stale' if check else 'written'}")
        diff = difflib.unified_diff(
            held.splitlines(), text.splitlines(), name, "generated", lineterm=""
        )
        print("\n".join(diff))
    if stale and check:
        print("run: python docs/generate.py, then read what explains the pieces")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
