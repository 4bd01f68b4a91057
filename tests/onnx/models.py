"""Models of ONNX for tests, and what ONNX's reference computes of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import morello
from morello.frontends.model import Model

FLOAT = onnx.TensorProto.FLOAT
Shape = tuple[int | str, ...]
Form = Shape | int | np.ndarray[Any, Any] | None
"""A shape of f32, an element type of any shape, an array that has both, or nothing but
that it is of f32."""

node = helper.make_node

HEAD = '<ir_version: 8, opset_import: ["" : 21]> g '


def model(
    nodes: list[Any],
    arguments: Mapping[str, Form],
    results: Mapping[str, Form],
    constants: Mapping[str, Any] | None = None,
    opset: int = 20,
) -> Any:
    """A model of ONNX.

    Args:
        nodes: in order.
        arguments: their forms.
        results: those of its results.
        constants: values, or shapes of values that are drawn.
        opset: the version of the operators.
    """
    rng = np.random.default_rng(0)
    held = []
    for name, value in (constants or {}).items():
        if isinstance(value, tuple):
            value = rng.standard_normal(value).astype(np.float32)
        if not isinstance(value, onnx.TensorProto):
            value = numpy_helper.from_array(np.asarray(value), name)
        held.append(value)
    inputs, outputs = (
        [_info(*one) for one in of.items()] for of in (arguments, results)
    )
    graph = helper.make_graph(nodes, "graph", inputs, outputs, held)
    versions = {node.domain: 1 for node in nodes} | {"": opset}
    opsets = [helper.make_opsetid(*version) for version in versions.items()]
    return helper.make_model(graph, opset_imports=opsets)


def _info(name: str, form: Form) -> Any:
    kind, shape = FLOAT, form
    if isinstance(form, np.ndarray):
        kind, shape = helper.np_dtype_to_tensor_dtype(form.dtype), form.shape
    elif isinstance(form, int):
        kind, shape = form, None
    return helper.make_tensor_value_info(name, kind, shape)


def drawn(shape: tuple[int, ...], seed: int = 1) -> Any:
    """An array of f32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def read(proto: Any, **options: Any) -> Model:
    """The parts of a model; options as `morello.from_onnx` has them."""
    return morello.from_onnx(proto.SerializeToString(), **options)


def evaluated(proto: Any, *arrays: Any) -> Any:
    """The results of a model by the definitions of its parts."""
    return read(proto).evaluate(*arrays)


def check_by_reference(
    proto: Any, *arrays: Any, rtol: float = 1e-4, atol: float = 1e-5
) -> None:
    """Check the results of a model, by the definitions of its parts."""
    names = [value.name for value in proto.graph.input]
    wanted = ReferenceEvaluator(proto).run(None, dict(zip(names, arrays, strict=True)))
    results = evaluated(proto, *arrays)
    results = results if isinstance(results, tuple) else (results,)
    for result, other in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, other, rtol=rtol, atol=atol)


def numbered(text: str, number: int) -> Any:
    """A node of ONNX's text, whose names end in a number."""
    layer = onnx.parser.parse_node(text)
    for names in (layer.input, layer.output):
        names[:] = [name and f"{name}_{number}" for name in names]
    return layer


def parsed(text: str) -> Any:
    """A model of a graph in ONNX's text."""
    return onnx.parser.parse_model(HEAD + text)


def run(text: str, *arrays: Any, fallback: bool = False) -> Any:
    """The results of the kernel of a graph in ONNX's text."""
    graph = read(parsed(text), fallback=fallback)
    return graph.compile(threads=1, time_limit=2)(*arrays)
