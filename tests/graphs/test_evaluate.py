"""The bound of each function holds between its definition in f32 and the function."""

import numpy as np
import pytest

from morello.spec.functions import FUNCTIONS
from morello.spec.graphs.evaluate import bounded, evaluate
from morello.spec.graphs.text import parse_graph

pytestmark = pytest.mark.quick

NUMBERS = np.linspace(-12, 12, 4001, dtype=np.float32)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bound_of_a_function_holds(name: str) -> None:
    other = NUMBERS[::-1] + np.float32(0.3001)
    inputs = [NUMBERS, other, np.round(NUMBERS)][: FUNCTIONS[name][0]]
    if name in ("log", "log10", "log1p", "log2", "pow", "sqrt", "rsqrt"):
        inputs[0] = np.abs(NUMBERS) + np.float32(0.01)
    elif name in ("acos", "asin", "atanh"):
        inputs[0] = NUMBERS / np.float32(12.01)
    elif name == "acosh":
        inputs[0] = np.abs(NUMBERS) + np.float32(1.01)
    arguments = ",".join(f"x{i}[m]" for i in range(len(inputs)))
    sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}.get(name)
    body = f"x0[m]{sign}x1[m]" if sign else f"{name}({arguments})"
    graph = parse_graph(f"y[m]={body}")
    (result,) = evaluate(graph, NUMBERS.shape, inputs)
    wide = [array.astype(np.float64) for array in inputs]
    ((number, bound),) = bounded(graph, NUMBERS.shape, wide)
    assert np.all(np.abs(result - number) <= bound)
    # It is no excuse: most results are far better than one in a thousand, but for those
    # that are rounded to bf16.
    most = 2.0**-7 if name == "narrow_bf16" else 1e-3
    assert np.median(bound / np.maximum(np.abs(number), 1e-6)) < most
