"""Partial results of shares, merged, are the results."""

from typing import Any

import numpy as np
import pytest

from morello.machine import AVX2
from morello.spec import Kind, Reform, parse_spec
from morello.spec.graphs.partials import merging
from morello.spec.structure import neutral_of
from tests.graphs.tiles import Values, outputs_of

pytestmark = pytest.mark.quick

STATE = "out m[r]=max(x[r,n]);p[r,n]=exp(x-m);out l[r]=sum(p)"

GRAPHS = {
    "sum": "out l[r]=sum(x[r,n])",
    "least": "out l[r]=min(x[r,n])",
    "state": STATE,
    "sums alone": STATE.replace("out m", "m"),
    "products": f"{STATE};out o[r,e]=sum(p*v[n,e])",
    "twice relative": f"{STATE};out z[r]=sum(p*p)",
    "not relative": f"{STATE};out z[r]=sum(x*x)",
    "two maxima": ("m[r]=max(x[r,n]);u[r]=max(w[r,n]);out l[r]=sum(exp(x-m)*exp(w-u))"),
}

ROWS, COLUMNS, SHARE = 5, 11, 4


def _inputs(kind: Kind, sizes: tuple[int, ...]) -> Values:
    """Rows with the maximum in each share, and one whose maxima grow."""
    rng = np.random.default_rng(3)
    arrays: Values = {}
    for i, operand in enumerate(kind.operands):
        if not operand.is_written:
            array = rng.standard_normal(operand.sizes(sizes), np.float32)
            if array.shape == (ROWS, COLUMNS):
                array[0, 0] = array[1, 5] = array[2, 10] = 60
                array[3] = np.linspace(-40, 40, COLUMNS)
                array[4, :3] = -np.inf
            arrays[kind.values[i]] = array
    return arrays


def _state(form: Reform, sizes: tuple[int, ...]) -> Values:
    neutral = {"zero": 0, "lowest": -np.inf, "highest": np.inf}
    kind = form.kind
    return {
        kind.values[i]: np.full(
            kind.operands[i].sizes(sizes), neutral[neutral_of(kind, i)], np.float32
        )
        for i in kind.written
    }


@pytest.mark.parametrize("name", GRAPHS)
def test_merged_shares_are_what_the_graph_means(name: str) -> None:
    spec = parse_spec(
        f"compose:{'x'.join(map(str, _sizes(GRAPHS[name])))}:f32:graph={GRAPHS[name]}",
        AVX2.limits,
    )
    kind, sizes = spec.kind, spec.sizes
    graph, form = kind.as_graph, kind.reform
    assert graph is not None
    assert form is not None
    inner = form.kind.as_graph
    assert inner is not None
    dim = kind.reductions[0]
    whole_inputs = _inputs(kind, sizes)
    with np.errstate(all="ignore"):
        whole = outputs_of(graph, sizes, whole_inputs)
    parts: dict[int, list[np.ndarray[Any, Any]]] = {}
    inner_dim = form.dims.index(dim)
    for first in range(0, sizes[dim], SHARE):
        count = min(SHARE, sizes[dim] - first)
        small = [sizes[d] for d in form.dims]
        small[inner_dim] = count
        held = _state(form, tuple(small))
        for i, at in enumerate(form.operands):
            operand = form.kind.operands[i]
            if operand.is_written:
                continue
            array = whole_inputs[kind.values[at]]
            if inner_dim in operand.dims:
                axis = operand.axis(inner_dim)
                array = np.take(array, range(first, first + count), axis)
            held[form.kind.values[i]] = array
        with np.errstate(all="ignore"):
            for value, array in outputs_of(inner, tuple(small), held).items():
                parts.setdefault(form.kind.values.index(value), []).append(array)
    partial = tuple(sorted(parts))
    both = tuple((i, False) for i in partial if form.operands[i] >= 0)
    combined = merging(form.kind, partial, both)
    merged = {-1 - i: np.stack(arrays) for i, arrays in parts.items()}
    graph = combined.part.graph
    inputs = {v: merged[at] for v, at in enumerate(combined.part.values) if at < 0}
    every = (*(sizes[d] for d in form.dims), len(parts[partial[0]]))
    with np.errstate(all="ignore"):
        results = outputs_of(graph, tuple(every[d] for d in combined.part.dims), inputs)
    assert len(results) == len(whole)
    for value, array in results.items():
        at = form.operands[combined.part.values[value]]
        np.testing.assert_allclose(array, whole[kind.values[at]], rtol=1e-5)


def _sizes(text: str) -> tuple[int, ...]:
    """In the order in which the graphs above use r, n and e."""
    return (ROWS, COLUMNS, 3) if "e]" in text else (ROWS, COLUMNS)
