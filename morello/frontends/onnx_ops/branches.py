"""`If` by data as both branches and a choice of their results: `without_branches`.

An op of ONNX has no effect but its results, so that both branches may be computed. What
only one of them computes costs time in each call.
"""

import importlib
from typing import Any

from morello.errors import CompileError


def without_branches(proto: Any) -> Any:
    """A model whose graph has no `If`.

    Args:
        proto: its inputs have shapes, its nodes names. It is not changed.

    Raises:
        CompileError: the branches give other shapes.
    """
    while any(node.op_type == "If" for node in proto.graph.node):
        proto = _flattened(proto)
    return proto


def _flattened(proto: Any) -> Any:
    """A model in which the nodes of branches stand before their choices."""
    helper: Any = importlib.import_module("onnx.helper")
    flat = type(proto)()
    flat.CopyFrom(proto)
    del flat.graph.node[:]
    choices = []
    for node in proto.graph.node:
        if node.op_type != "If":
            flat.graph.node.append(node)
            continue
        branches = {own.name: own.g for own in node.attribute}
        results = [
            inlined_body(flat.graph, branches[name], f"{node.name}.{name}", {})
            for name in ("then_branch", "else_branch")
        ]
        for output, one, other in zip(node.output, *results, strict=True):
            inputs = [node.input[0], one, other]
            flat.graph.node.append(
                helper.make_node("Where", inputs, [output], name=node.name)
            )
            choices.append((node.name, one, other))
    _check_shapes(flat, choices)
    return flat


def inlined_body(
    graph: Any, branch: Any, prefix: str, inputs: dict[str, str]
) -> list[str]:
    """Add the nodes of a body to a graph.

    Args:
        graph: is changed.
        branch: the body.
        prefix: of the names of its values.
        inputs: what its inputs are, by name.

    Returns:
        The names of its results.
    """
    own = [name for node in branch.node for name in node.output if name]
    own += [held.name for held in branch.initializer]
    names = inputs | {name: f"{prefix}.{name}" for name in own}
    for held in branch.initializer:
        graph.initializer.add().CopyFrom(held)
        graph.initializer[-1].name = names[held.name]
    for node in branch.node:
        graph.node.append(_renamed(node, names))
        graph.node[-1].name = f"{prefix}.{node.name}" if node.name else ""
    return [names.get(value.name, value.name) for value in branch.output]


def _renamed(node: Any, names: dict[str, str]) -> Any:
    """A node, and those of its own graphs, with other names of values."""
    copy = type(node)()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    copy.output[:] = [names.get(name, name) for name in node.output]
    for attribute in copy.attribute:
        inner = [_renamed(own, names) for own in attribute.g.node]
        del attribute.g.node[:]
        attribute.g.node.extend(inner)
        for value in attribute.g.output:
            value.name = names.get(value.name, value.name)
    return copy


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
