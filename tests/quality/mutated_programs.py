"""Programs and graphs of strangers, mutated as `mutated_inputs.py` says."""

import functools
import random
import sys
from pathlib import Path

import morello
from morello.errors import MorelloError
from morello.tools.morello import main
from tests.quality.mutated_inputs import INPUTS, Inputs, mutate_text, quietly

_PROGRAMS = Path(__file__).parents[1] / "frontends" / "programs"

_GRAPHS = (
    "softmax:5x33:f32", "layer_norm:4x16:f32", "gelu_matmul:4x8x16:f32",
    "chain:4x8x8x8:f32", "attention:2x8x8x4x4:f32:causal=true",
    "conv:1x3x8x8x4x3x3:f32", "mean:2x3x4:f32:axis=0,2", "log_softmax:3x9:bf16",
    "compose:8x33:f32:graph=y[m]=sum(x[m,n])",
    "compose:8x9x10:f32:graph=t[m,n]=sum(a[m,k]*b[k,n]);y[m,n]=exp(t[m,n])",
    "compose:8x33:f32:graph=c[m,n]=where(less(x[m,n],y[m,n]),x[m,n],0.5);z[m]=max(c[m,n])",
    "compose:4x6:f32:graph=y[m,n]=x[m,n]+b[n]:x0=ld?:v0=ld9",
)  # fmt: skip


def _prepare_graphs(place: Path) -> None:
    quietly(main, "emit", "--stage", "spec", "softmax:5x33:f32")


def _prepare_programs(place: Path) -> None:
    """What all cases import and load."""
    for text in _texts():
        morello.from_mlir(text)


@functools.cache
def _texts() -> list[str]:
    return [path.read_text() for path in sorted(_PROGRAMS.rglob("*.mlir"))]


def _run_program(place: Path, rng: random.Random) -> int:
    """A program of linalg or StableHLO, whose parts are asked for."""
    texts = _texts()
    text = mutate_text(rng.choice(texts), rng, texts)
    try:
        print(morello.from_mlir(text))
    except MorelloError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _run_graph(place: Path, rng: random.Random) -> int:
    """The text of a graph."""
    text = mutate_text(rng.choice(_GRAPHS), rng, _GRAPHS).replace("\0", "0")
    return main(["emit", "--stage", "spec", "--", text])


ALL_INPUTS = {
    **INPUTS,
    "mutated_graphs": Inputs(_prepare_graphs, _run_graph),
    "mutated_programs": Inputs(_prepare_programs, _run_program),
}
"""By the name of the soak."""
