"""The C and LLVM IR of libraries around their kernels, as text.

`listing.txt` holds it: of the first library all, of others the lines that it lacks.
`python -m tests.aot.listing` writes it anew.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from morello._version import __version__
from morello.aot.entry_points import called
from morello.aot.library import Library
from morello.aot.stages import Stages
from morello.aot.variants import Variants
from morello.compiler.kernel import parameters
from morello.machine import AVX2, Target
from morello.machine.targets.avx512 import AVX512
from morello.runtime.calls.parameter import Parameter
from morello.spec import parse_spec

FILE = Path(__file__).with_name("listing.txt")

TEAM = dataclasses.replace(AVX2, threads=4)


def stages(text: str, target: Target, workspace: int) -> Stages:
    """Stages of a Spec that nobody has compiled."""
    mlir = "omp.parallel" if target.threads > 1 else ""
    spec = parse_spec(text, target.limits)
    return Stages("f", target, ((spec, None),), "", mlir, "", workspace, 0)


def library(
    text: str, name: str = "k", target: Target = AVX2, workspace: int = 0
) -> Library:
    """The library of a Spec."""
    steps = stages(text, target, workspace)
    return Library(steps, parameters(steps.spec), name)


def model() -> Library:
    """The library of a model whose arguments have names that C has not."""
    steps = stages("matmul:3x4x5:f32", AVX2, 192)
    names = ("x.1", "int", "x 1")
    renamed = [
        dataclasses.replace(parameter, name=name)
        for parameter, name in zip(parameters(steps.spec), names, strict=True)
    ]
    every: tuple[Parameter, ...] = tuple(renamed)
    return Library.of_model(steps, every, "k", "a model of three arguments")


MATMUL = "matmul:5x9x17:f32:lhs=[0,1,2,1p6]:out=ld?"
GRAPH = "graph=out y[m,n]=x[m,n]*w[n];out z[m]=sum(x)"
LIBRARIES = {
    "matmul": library(MATMUL, workspace=320),
    "rows": library("matmul:2x5x9x17:f32:lhs=ld12:rhs=ld?:out=ld?"),
    "names": library(MATMUL, "out_leading_dimension"),
    "integers": library("matmul_accum:9x32x20:u8,s8,s32:rhs=[0,2,1]", target=TEAM),
    "graph": library(f"compose:6x7:bf16,f32,bf16,f32:{GRAPH}"),
    "fill": library("fill:9x17:s16:value=lowest", workspace=1),
    "model": model(),
}


def variants() -> Variants:
    """A library for two targets; one of its kernels has a workspace."""
    text = "matmul:5x9x17:f32:rhs=[0,2,1,2p16]"
    return Variants.of((library(text, target=AVX512, workspace=128), library(text)))


def texts() -> Iterator[tuple[str, str]]:
    """The name and the text of each library."""
    for name, one in LIBRARIES.items():
        yield name, f"{one.header}\n{one.declarations}\n{one.around}"
    several = variants()
    yield "variants", f"{several.header}\n{several.around}"
    functions = called().splitlines()
    yield "called", "\n".join(line for line in functions if line[:6] == "define")


def table() -> str:
    """The text of `FILE`."""
    lines: list[str] = []
    first: set[str] = set()
    for name, text in texts():
        text = text.replace(f"Morello {__version__}", "Morello")
        lines_of_one = [line for line in text.splitlines() if line.strip()]
        lines += [f"== {name}", *(line for line in lines_of_one if line not in first)]
        first = first or {*lines_of_one}
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(table())
