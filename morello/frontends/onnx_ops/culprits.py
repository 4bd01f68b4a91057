"""Why a model cannot be imported, in a sentence: `reason`.

Where a pass fails, torch-mlir leaves all ops as they were, and its diagnostics may have
no place. Each node is therefore imported by itself.
"""

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from morello.frontends.refusals import place_of
from morello.mlir import ir

_MOST = 3
"""Nodes that a sentence lists."""


def reason(
    proto: Any, error: Exception, source: str, fails: Callable[[Any], bool]
) -> str:
    """A sentence that says what torch-mlir cannot import, for an error message.

    Args:
        proto: has the types of all values.
        error: of the whole model.
        source: the name of the file.
        fails: whether a model cannot be imported.
    """
    if not isinstance(error, ir.MLIRError):
        return str(error).splitlines()[0]
    causes = [_described(node, proto) for node in _failing(proto, fails)]
    if not causes:  # nothing says the types of what others than the standard define
        causes = [_described(node, proto) for node in proto.graph.node if node.domain]
    if not causes:
        causes = [_placed(error, source)]
    more = f" and {len(causes) - _MOST} more" if len(causes) > _MOST else ""
    listed = ", ".join(causes[:_MOST])
    return f"torch-mlir does not know {listed}{more} with these arguments"


def invalid(error: Exception) -> str:
    """The reason for which ONNX's checker rejects a model, with the node's name."""
    text = str(error).strip()
    match = _INVALID.search(text)
    if match is None:
        return text
    op, name, why = match.groups()
    return f"{name or 'a node'} (onnx.{op}): {why.strip().rstrip('.')}"


_INVALID = re.compile(
    r"\(op_type:\s*(\w+)(?:, node name: ([^)]*))?\):\s*(?:\[\w+\] )?([^\n]+)"
)


def _failing(proto: Any, fails: Callable[[Any], bool]) -> Iterator[Any]:
    """The nodes that cannot be imported by themselves. Equal ones are tried once."""
    kinds = _kinds(proto)
    known: dict[Any, bool] = {}
    for node in proto.graph.node:
        if node.op_type == "Constant":
            continue
        alone = _alone(node, proto, kinds)
        if alone is None:
            continue
        key = _without_names(alone)
        if key not in known:
            known[key] = fails(alone)
        if known[key]:
            yield node


def _without_names(alone: Any) -> bytes:
    """A model of one node as bytes in which its values have numbers for names."""
    bare = type(alone)()
    bare.CopyFrom(alone)
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        return numbers.setdefault(name, str(len(numbers))) if name else ""

    for node in reversed(bare.graph.node):  # the node, then its constants
        node.name = ""
        node.input[:] = map(number, node.input)
        node.output[:] = map(number, node.output)
    for value in (*bare.graph.input, *bare.graph.output, *bare.graph.initializer):
        value.name = number(value.name)
    written: bytes = bare.SerializeToString(deterministic=True)
    return written


def _alone(node: Any, proto: Any, kinds: dict[str, Any]) -> Any:
    """A model of one node; None where a type is not known.

    Args:
        kinds: the values whose types are known.
    """
    helper: Any = importlib.import_module("onnx.helper")
    names = [name for name in dict.fromkeys(node.input) if name]
    constants = [
        other
        for other in proto.graph.node
        if other.op_type == "Constant" and other.output[0] in names
    ]
    held = [array for array in proto.graph.initializer if array.name in names]
    known = {constant.output[0] for constant in constants} | {
        array.name for array in held
    }
    inputs = [name for name in names if name not in known]
    outputs = [name for name in node.output if name]
    if any(name not in kinds for name in (*inputs, *outputs)):
        return None
    graph = helper.make_graph(
        [*constants, node],
        "part",
        [kinds[name] for name in inputs],
        [kinds[name] for name in outputs],
        held,
    )
    alone = helper.make_model(graph, opset_imports=proto.opset_import)
    alone.ir_version = proto.ir_version
    return alone


def _kinds(proto: Any) -> dict[str, Any]:
    """The values whose types are known, by name."""
    graph = proto.graph
    return {
        value.name: value
        for value in (*graph.value_info, *graph.input, *graph.output)
        if value.type.tensor_type.HasField("shape")
    }


def _described(node: Any, proto: Any) -> str:
    """A node with the types of what it reads."""
    onnx: Any = importlib.import_module("onnx")
    kinds = _kinds(proto)
    held = {array.name: array for array in proto.graph.initializer}
    types = []
    for name in filter(None, node.input):
        if name in held:
            number, dims = held[name].data_type, list(held[name].dims)
        elif name in kinds:
            kind = kinds[name].type.tensor_type
            number = kind.elem_type
            dims = [dim.dim_value or "?" for dim in kind.shape.dim]
        else:
            continue
        text = onnx.TensorProto.DataType.Name(number).lower()
        types.append(f"{text}[{','.join(map(str, dims))}]")
    return f"{node.name} (onnx.{node.op_type} of {', '.join(types)})"


def _placed(error: ir.MLIRError, source: str) -> str:
    """The place of the first diagnostic."""
    for diagnostic in error.error_diagnostics:
        return place_of(diagnostic.location, source)
    return "the graph"
