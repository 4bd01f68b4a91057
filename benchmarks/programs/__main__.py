"""Compile a folder of programs as a whole, and check what each computes.

    python -m benchmarks.programs FOLDER
    python -m benchmarks.programs FOLDER mlp.small softmax -o FILE.md

Every `DIALECT/NAME.SIZE.mlir` of the folder is one program of linalg or StableHLO. The
folder's `recipes.py` says what it computes, by three functions: `case(dialect, name)`,
`inputs(case, size)`, a dictionary of arrays in the order of the arguments, and
`check(case, size, result)`, the greatest error as a part of what is allowed.

Ends with 1 if a program is refused, has an op that is no Spec, or is wrong.
"""

import argparse
import dataclasses
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import morello
from benchmarks.graphs.calls import enough_calls, seconds_of
from morello.errors import MorelloError

LEAST = 0.02
"""Seconds of the calls that are timed, at least, after a first one."""


@dataclasses.dataclass(frozen=True)
class Row:
    """Result of a program."""

    name: str
    parts: int
    search: float
    """Seconds."""
    compile: float
    """Seconds of everything after the search."""
    call: float
    """Seconds of the best call."""
    error: float
    """Part of what is allowed."""

    def text(self) -> str:
        """Format the result as a row of the table."""
        return (
            f"| {self.name} | {self.parts} | {self.search:.2f} | {self.compile:.2f} | "
            f"{1e6 * self.call:.1f} | {self.error:.3f} |"
        )


HEAD = (
    "| program | parts | search, s | compile, s | best call, µs | error / allowed |\n"
    "|---|---|---|---|---|---|"
)


def main(words: Sequence[str] | None = None) -> int:
    """Run it; a line for each program as soon as it is done.

    Returns:
        How the process ends: 0 if all programs are right.
    """
    options = _options(words)
    recipes = _recipes(options.folder)
    files = sorted(options.folder.glob("*/*.mlir"), key=_order)
    chosen = [file for file in files if _is_named(file, options.names)]
    if not chosen:
        print("no program has such a name", file=sys.stderr)
        return 2
    lines, wrong = [HEAD], 0
    print(HEAD, flush=True)
    for file in chosen:
        try:
            line = _row(file, recipes, options).text()
        except (MorelloError, AssertionError) as error:
            told = " ".join(str(error).split())
            line, wrong = f"| {_name(file)} | {told} |", wrong + 1
        print(line, flush=True)
        lines.append(line)
    lines.append(f"\n{len(chosen)} programs, {len(chosen) - wrong} right")
    print(lines[-1])
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")
    return 1 if wrong else 0


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME", help="NAME or NAME.SIZE")
    parser.add_argument("--target", metavar="TARGET")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--db", default="none", metavar="PATH")
    parser.add_argument("--time-limit", type=float, metavar="S", help="of each part")
    parser.add_argument("-o", dest="output", type=Path, metavar="FILE")
    return parser.parse_intermixed_args(words)


def _recipes(folder: Path) -> Any:
    """The module beside the programs."""
    spec = importlib.util.spec_from_file_location("recipes", folder / "recipes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["recipes"] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module


def _order(file: Path) -> tuple[bool, Path]:
    """Small programs first, so that a fault is seen early."""
    return not file.stem.endswith(".small"), file


def _name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def _is_named(file: Path, names: Sequence[str]) -> bool:
    known = (file.stem, file.stem.rpartition(".")[0], _name(file))
    return not names or any(name in known for name in names)


def _row(file: Path, recipes: Any, options: argparse.Namespace) -> Row:
    """Compile, check and time one program.

    Raises:
        MorelloError: it is refused.
        AssertionError: it is wrong.
    """
    name, size = file.stem.rsplit(".", 1)
    case = recipes.case(file.parent.name, name)
    arrays = list(recipes.inputs(case, size).values())
    model = morello.from_mlir(file)  # refuses what is no Spec
    began = time.perf_counter()
    kernel = model.compile(
        target=options.target,
        threads=options.threads,
        db=options.db,
        time_limit=options.time_limit,
    )
    elapsed = time.perf_counter() - began
    result = kernel(*arrays)
    error = recipes.check(case, size, result)

    def call() -> None:
        kernel(*arrays, out=result)

    count = enough_calls(call, LEAST)
    best = min(seconds_of(call, count) for _ in range(5))
    searched = kernel.times.search
    parts = len(kernel.specs)
    return Row(_name(file), parts, searched, elapsed - searched, best, error)


if __name__ == "__main__":
    sys.exit(main())
