"""Models of ONNX for tests, and what ONNX's reference computes of them."""

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import morello

FLOAT = onnx.TensorProto.FLOAT
Shape = tuple[int | str, ...]

node = helper.make_node

HEAD = '<ir_version: 8, opset_import: ["" : 21]> g '


def model(
    nodes: list[Any],
    given: dict[str, Shape],
    results: dict[str, Shape | None],
    constants: dict[str, Any] | None = None,
    opset: int = 20,
) -> Any:
    """A model of f32; its result is ``y``.

    Args:
        nodes: in order.
        given: the shapes of its arguments.
        results: the shapes of its results; None for one that it does not say.
        constants: values, or shapes of values that are drawn.
        opset: the version of the operators.
    """
    rng = np.random.default_rng(0)
    held = [
        numpy_helper.from_array(
            rng.standard_normal(value).astype(np.float32)
            if isinstance(value, tuple)
            else value,
            name,
        )
        for name, value in (constants or {}).items()
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(n, FLOAT, s) for n, s in given.items()],
        [helper.make_tensor_value_info(n, FLOAT, s) for n, s in results.items()],
        held,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def drawn(shape: tuple[int, ...], seed: int = 1) -> Any:
    """An array of f32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def evaluated(proto: Any, *arrays: Any) -> Any:
    """The results of a model by the definitions of its parts."""
    return morello.from_onnx(proto.SerializeToString()).evaluate(*arrays)


def check_by_reference(
    proto: Any, *arrays: Any, rtol: float = 1e-4, atol: float = 1e-5
) -> None:
    """Check the results of a model, by the definitions of its parts."""
    names = [value.name for value in proto.graph.input]
    wanted = ReferenceEvaluator(proto).run(None, dict(zip(names, arrays, strict=True)))
    results = evaluated(proto, *arrays)
    results = results if isinstance(results, tuple) else (results,)
    for own, other in zip(results, wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=rtol, atol=atol)


def run(text: str, *arrays: Any, fallback: bool = False) -> Any:
    """The results of the kernel of a graph in ONNX's text."""
    data = onnx.parser.parse_model(HEAD + text).SerializeToString()
    read = morello.from_onnx(data, fallback=fallback)
    return read.compile(threads=1, time_limit=2)(*arrays)
