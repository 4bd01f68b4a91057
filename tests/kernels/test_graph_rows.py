"""A3 of graphs: `graph_rows` at every edge size, one axis at a time, in both widths."""

import ctypes
import dataclasses

import numpy as np
import pytest

import morello
from morello.kernels.graph.shape import together_of
from morello.spec import L1, Compose, Spec, parse_spec
from morello.spec.elements.arrays import ArrayElements
from morello.spec.functions import exp
from tests.kernels.harness import (
    EDGE,
    TWIN,
    check_random,
    compiled,
    isa_of,
    legal_cases,
    limits_of,
    skip_where_it_cannot_run,
)
from tests.tables import rows

GRAPHS = {
    "map": "y[m,n]=relu(x[m,n])*w[m]+b[n]",
    "row": "out l[m]+=sum(x[m,n]*w[n])",
    "column": "out l[n]+=sum(x[m,n]*w[m])",
    # What a pass of a softmax is; and taps that are written out, of several rows.
    "relative": "out p[m,n]=exp(x[m,n]-u[m]);out l[m]+=sum(p)",
    "taps": "y[m,n]=sum(w[i,n]*x[m+i,n])",
    # Windows that move along vectors by two elements.
    "steps": "y[m,n]=sum(w[i]*x[m,2*n+i])",
}

OTHER = {"m": 3, "n": 19, "i": 3}
"""The size of each axis beside the one that takes all sizes."""


def _spec(name: str, axis: str, size: int, kernel: str) -> Spec:
    sizes = [(OTHER | {axis: size})[dim] for dim in "mni"[: 2 + (name in TAPS)]]
    text = f"compose:{'x'.join(map(str, sizes))}:f32:graph={GRAPHS[name]}"
    limits = limits_of(kernel)
    parsed = parse_spec(text, limits)
    forms = (
        dataclasses.replace(tensor, level=L1, contiguous=False)
        for tensor in parsed.tensors
    )
    return dataclasses.replace(parsed, tensors=tuple(forms), serial=True)


TAPS = ("taps", "steps")

FULL = ("map", "row", "column")
"""Those that take all sizes; the loops of the others are the same."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("kernel", ["graph_rows", "graph_rows_512"])
def test_edge_sizes_of_each_axis(kernel: str, name: str) -> None:
    axes = "mni" if name in TAPS else "mn"
    edge = EDGE if kernel == "graph_rows" and name in FULL else TWIN
    specs = [_spec(name, axis, size, kernel) for axis in axes for size in edge]
    cases = legal_cases(kernel, tuple(specs))
    assert len(cases) == len(specs)
    check_random(cases)


@pytest.mark.parametrize("kernel", ["graph_rows", "graph_rows_512"])
def test_exp_has_the_bits_of_its_definition(kernel: str) -> None:
    """Of results that are denormal, zero and infinite, too, however it is scaled."""
    numbers = np.linspace(-110, 95, 4093, dtype=np.float32)
    last = [-np.inf, np.inf, np.nan, -104.67, -103.98, -103.97, -176, 88.73, 0, -0.0]
    numbers = np.concatenate([numbers, np.asarray(last, np.float32)])
    graph = "y[m,n]=exp(x[m,n])"
    whole = parse_spec(f"compose:1x{numbers.size}:f32:graph={graph}", limits_of(kernel))
    forms = (dataclasses.replace(t, level=L1) for t in whole.tensors)
    spec = dataclasses.replace(whole, tensors=tuple(forms), serial=True)
    cases = legal_cases(kernel, (spec,))
    skip_where_it_cannot_run(isa_of(cases))
    engine, result = compiled(cases), np.empty_like(numbers)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        engine.address("f0")
    )
    call(numbers.ctypes.data, result.ctypes.data)
    wanted = exp(ArrayElements(()), numbers)
    number = ~np.isnan(numbers)
    assert np.isnan(result[~number]).all()
    assert result[number].tobytes() == wanted[number].tobytes()


@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("kernel", ["graph_rows", "graph_rows_512"])
def test_a_nan_anywhere_in_a_row_is_found(kernel: str, reduction: str) -> None:
    """Where NaN are kept apart from the numbers, each of two vectors is looked at; and
    of zeros +0 is the greater one, in whichever order they come."""
    size = 4 * 64 + 3 * 16 + 7
    text = f"compose:{size}x{size}:f32:graph=y[m]={reduction}(x[m,n])"
    whole = parse_spec(text, limits_of(kernel))
    forms = (dataclasses.replace(t, level=L1) for t in whole.tensors)
    spec = dataclasses.replace(whole, tensors=tuple(forms), serial=True)
    cases = legal_cases(kernel, (spec,))
    skip_where_it_cannot_run(isa_of(cases))
    engine = compiled(cases)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        engine.address("f0")
    )
    numbers = np.random.default_rng(0).standard_normal((size, size), np.float32)
    result = np.empty(size, np.float32)
    call(numbers.ctypes.data, result.ctypes.data)
    assert np.array_equal(result, getattr(numbers, reduction)(axis=1))
    np.fill_diagonal(numbers, np.nan)
    call(numbers.ctypes.data, result.ctypes.data)
    assert np.isnan(result).all()
    zeros = np.full((size, size), -0.0 if reduction == "max" else 0.0, np.float32)
    np.fill_diagonal(zeros, -zeros[0, 0])
    call(zeros.ctypes.data, result.ctypes.data)
    assert (np.signbit(result) == (reduction == "min")).all()


def test_long_expressions_are_written_out_for_few_vectors() -> None:
    """What LLVM takes for each grows faster than their number: 0.9 s for 8 vectors."""
    text = "x[i]"
    for _ in range(30):
        text = f"tanh({text})+0.5"
    kernel = morello.compile(f"compose:48:f32:graph=out y[i]={text}", threads=1)
    assert len(kernel.llvm) < 250_000
    x = np.linspace(-1, 1, 48, dtype=np.float32)
    wanted = x
    for _ in range(30):
        wanted = np.tanh(wanted) + np.float32(0.5)
    np.testing.assert_allclose(kernel(x), wanted, rtol=1e-5)


WINDOWS = dict(rows(__file__, "windows"))
"""Windows of images that lie in memory."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kernel", ["graph_rows", "graph_rows_512"])
def test_windows_of_images_in_memory(kernel: str) -> None:
    """Rows side by side in groups of any size, the first and last with fewer taps."""
    specs = []
    for name, text in WINDOWS.items():
        taps = int(name[0]) if name[0].isdigit() else 3
        dtypes = "u8,s8,f32,s8" if "bytes" in name else "f32"
        for sizes in ("7x7x19", "6x25x8")[: 1 + name[0].isdigit()]:
            last = "x2" if name.endswith("two") else ""
            of_windows = f"compose:{sizes}x{taps}x{taps}{last}:{dtypes}:graph={text}"
            whole = parse_spec(of_windows, limits_of(kernel))
            specs.append(dataclasses.replace(whole, serial=True))
    cases = legal_cases(kernel, tuple(specs))
    assert len(cases) == len(specs)
    check_random(cases)


@pytest.mark.parametrize(("name", "together"), [("largest", 7), ("apart", 1)])
def test_windows_that_do_not_overlap_are_not_side_by_side(
    name: str, together: int
) -> None:
    spec = parse_spec(
        f"compose:7x7x19x3x3:f32:graph={WINDOWS[name]}", limits_of("graph_rows")
    )
    assert isinstance(spec.kind, Compose)
    assert together_of(spec.kind.graph, 2, spec.sizes, 8) == together
