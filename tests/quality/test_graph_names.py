"""A2 of graphs: every name as machine code, in f32 and bf16, and on AVX-512."""

import random

import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.spec import Dtype, parse_spec
from morello.spec.elements.dtypes import FLOATS
from morello.spec.graphs.names import SHORT_NAMES
from morello.spec.text.labels import REDUCTIONS
from tests.graphs.test_programs import GRAPHS
from tests.kernels.harness import skip_where_it_cannot_run
from tests.quality.graph_programs import (
    WIDE,
    check_program,
    check_wide_graphs,
    in_narrow,
)
from tests.quality.programs import build_programs
from tests.quality.walks import random_program

F32 = (
    "log_softmax:3x9:f32", "softmax_max_and_sum:3x19:f32", "softmax_unscaled:3x9:f32",
    "softmax_complete:3x19:f32", "rms_norm:3x19:f32", "residual_matmul:5x7x9:f32",
    "sum:3x4x9:f32:axis=0,2", "mean:3x19:f32", "min:5x9:f32:axis=0",
    "max:3x4x9:f32:axis=all",
)  # fmt: skip
"""Names that `tests/graphs/test_programs.py` has not."""

NARROW = (
    "softmax:3x19:f32",
    "gelu_matmul:5x7x9:f32",
    "attention:3x9x2x3:f32:causal=true",
    "conv:1x5x6x7x5x3x3:f32:groups=5:layout=nhwc",
    "conv:1x2x5x6x3x3x2:f32",
)
"""Graphs that are run with inputs and maps in narrow floats. Maps by themselves are in
`tests/compiler/test_pointwise.py`."""


def test_no_name_is_left_out() -> None:
    named = {text.split(":")[0] for text in (*F32, *GRAPHS.values())}
    assert named >= {*SHORT_NAMES, *REDUCTIONS}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_random_programs_of_names(dtype: Dtype) -> None:
    texts = F32 if dtype is Dtype.F32 else NARROW
    specs = [parse_spec(text, AVX2.limits) for text in texts]
    if dtype.computes_in:
        specs = [in_narrow(spec, dtype) for spec in specs]
        assert all(spec.dtypes[0] is dtype for spec in specs)
    impls = [random_program(spec, random.Random(str(spec))) for spec in specs]
    for program in build_programs(impls, [str(spec) for spec in specs]):
        check_program(program, 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ["softmax:3x19:f32", "gelu_matmul:5x7x9:bf16"])
def test_searched_programs_in_vectors_of_64_bytes(text: str) -> None:
    skip_where_it_cannot_run(WIDE.isa)
    spec = parse_spec(text, WIDE.limits)
    solution = Solver(WIDE.at(spec)).solve(spec)
    (program,) = build_programs([solution.impl], [text], WIDE)
    check_program(program, 0)


def test_half_a_vector_of_bf16_is_stored() -> None:
    """LLVM made a call of it that no process has, where the other half was not used."""
    skip_where_it_cannot_run(WIDE.isa)
    assert check_wide_graphs([930149]) == 1
