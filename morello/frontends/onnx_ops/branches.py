"""`If` by data as both branches and a choice of their results: `without_branches`.

An op of ONNX has no effect but its results, so that both branches may be computed. What
only one of them computes costs time in each call.
"""

import importlib
from typing import Any

from morello.errors import CompileError
from morello.frontends.onnx_ops.writing import NodeWriter


def without_branches(proto: Any) -> Any:
    """A model whose graph has no `If`.

    Args:
        proto: its inputs have shapes, its nodes names. It is not changed.

    Raises:
        CompileError: the branches give other shapes.
    """
    while any(node.op_type == "If" for node in proto.graph.node):
        proto = _Flattening(proto).run()
    return proto


class _Flattening(NodeWriter):
    def run(self) -> Any:
        choices = []
        for node in list(self._model.graph.node):
            if node.op_type != "If":
                self._nodes.append(node)
                continue
            self._name = node.name
            branches = {attribute.name: attribute.g for attribute in node.attribute}
            results = [
                self.inlined(branches[name], name, {})
                for name in ("then_branch", "else_branch")
            ]
            for output, one, other in zip(node.output, *results, strict=True):
                self.op("Where", node.input[0], one, other, output=output)
                choices.append((node.name, one, other))
        flat = self.written()
        _check_shapes(flat, choices)
        return flat


def _check_shapes(proto: Any, choices: list[tuple[str, str, str]]) -> None:
    """Refuse a choice among values of other shapes.

    Raises:
        CompileError: the first one.
    """
    inference: Any = importlib.import_module("onnx.shape_inference")
    graph = inference.infer_shapes(proto, data_prop=True).graph
    shapes = {held.name: list(held.dims) for held in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        shapes[value.name] = [dim.dim_value for dim in dims]
    for name, *values in choices:
        one, other = (shapes.get(value, []) for value in values)
        if one != other:
            raise CompileError(
                f"{name} (onnx.If) has branches whose results have the shapes {one} "
                f"and {other}, and which one is taken is known only in a call",
                "make its condition a constant: constants={'name of the input': value}",
            )
