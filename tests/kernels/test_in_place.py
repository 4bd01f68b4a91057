"""Kernels of maps write each element after all that is read of its place: their output
may be an input, as a cut in place has it."""

import ctypes

import numpy as np
import pytest

from morello.spec import Compose
from morello.spec.graphs import canonical, parse_graph
from tests.kernels.harness import EDGE, Case, compiled, legal, spec

pytestmark = pytest.mark.quick

SUM = Compose.of(canonical(parse_graph("y[m,n]=x[m,n]+c[m,n]")).graph)
LONG = Compose.of(canonical(parse_graph("y[m,n]=exp(x[m,n])*c[m,n]")).graph)


@pytest.mark.parametrize("kernel", ["map_rows", "graph_rows"])
@pytest.mark.parametrize("kind", [SUM, LONG], ids=["short", "long"])
def test_an_output_may_be_an_input(kernel: str, kind: Compose) -> None:
    specs = [spec(kind, (1, n), *["f32@L1[0,1]"] * 3) for n in EDGE]
    cases = [Case(kernel, one) for one in specs if legal(kernel, one)]
    assert len(cases) > len(EDGE) // 2
    engine = compiled(cases, opt=0)
    rng = np.random.default_rng(0)
    for i, case in enumerate(cases):
        x = rng.integers(-4, 5, case.spec.sizes).astype(np.float32)
        c = rng.integers(1, 5, case.spec.sizes).astype(np.float32)
        expected = x + c if kind is SUM else np.exp(x) * c
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(engine.address(f"f{i}"))
        call(x.ctypes.data, c.ctypes.data, x.ctypes.data)
        np.testing.assert_allclose(x, expected, rtol=1e-6 * (kind is LONG))
