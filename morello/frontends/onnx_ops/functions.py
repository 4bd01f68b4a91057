"""Ops of newer versions, and functions as the ops that define them.

`modern` brings a model to one version of the operators, and constants to one form, so
that rules know one form of each. `inlined` writes out ops that the standard defines by
others.
"""

import contextlib
import importlib
from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.folding import folded
from morello.frontends.onnx_ops.reads import schema_of, versions_of
from morello.frontends.onnx_ops.writing import NodeWriter, copied

VERSION = 18
"""The least version of the operators: axes of reductions are inputs from here on."""

_BROADCASTS = 7
"""The version of the operators from which on shapes are broadcast as NumPy does."""

_CONSTANTS = 8
"""A version of files whose initializers need not be inputs, too."""

_SCANS = 9
"""The version of the operators from which on `Scan` has no batch."""

_KNOWN = frozenset(
    {
        "Clip", "Elu", "Gelu", "GreaterOrEqual", "HardSigmoid", "HardSwish",
        "LayerNormalization", "LeakyRelu", "LessOrEqual", "LogSoftmax", "Mish",
        "Range", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
        "ReduceSumSquare", "Relu", "Selu", "Shrink", "Softmax", "Softplus",
        "ThresholdedRelu",
    }
)  # fmt: skip
"""Functions of the standard that torch-mlir has an op for."""


def modern(proto: Any) -> Any:
    """A model in operators of `VERSION` at least, without functions of its own.

    Args:
        proto: is not changed.

    Raises:
        CompileError: an op is of a version that cannot be converted.
    """
    if proto.functions:
        inliner: Any = importlib.import_module("onnx.inliner")
        proto = inliner.inline_local_functions(proto)
    proto = copied(proto)
    _write_tensors(proto.graph)
    for node in proto.graph.node:
        if node.domain == "com.microsoft" and node.op_type in _ADOPTED:
            node.domain = ""
    version = versions_of(proto).get("", VERSION)
    for node in proto.graph.node if version < _SCANS else ():
        if node.op_type == "Scan":  # the converter drops its batch
            raise CompileError(
                f"{node.name} (onnx.Scan) is of version {version} of the "
                f"operators, and {_SCANS} is the first one that is read here",
                "export the model with newer operators",
            )
    if version < _BROADCASTS:
        proto = _with_channels(proto)
    if proto.ir_version < _CONSTANTS:
        proto.ir_version = _CONSTANTS
    if version < VERSION:
        converter: Any = importlib.import_module("onnx.version_converter")
        with contextlib.suppress(RuntimeError, ValueError):  # then as it is
            converted = converter.convert_version(proto, VERSION)
            _say_defaults(converted.graph, proto.graph, version)
            has_one_axis = version >= _HARDMAX_HAS_ONE_AXIS
            return converted if has_one_axis else _FlatHardmax(converted).run()
    return proto


_ADOPTED = frozenset({"DequantizeLinear", "QuantizeLinear"})
"""Ops of onnxruntime that are those of the standard, of integers that it got later."""

_NUMBERS = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
"""The attributes by which a `Constant` says numbers, and the dtype of its tensor."""


def _write_tensors(graph: Any) -> None:
    """Write each `Constant` of numbers as one of a tensor, in place, in bodies too."""
    helper: Any = importlib.import_module("onnx.helper")
    arrays: Any = importlib.import_module("onnx.numpy_helper")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _write_tensors(attribute.g)
            elif node.op_type == "Constant" and attribute.name in _NUMBERS:
                numbers = helper.get_attribute_value(attribute)
                array = np.array(numbers, _NUMBERS[attribute.name])
                tensor = helper.make_attribute("value", arrays.from_array(array))
                attribute.CopyFrom(tensor)


def _with_channels(proto: Any) -> Any:
    """A model whose slopes of `PRelu`, one for each channel in old versions, have the
    axes that follow channels, too."""
    helper: Any = importlib.import_module("onnx.helper")
    inference: Any = importlib.import_module("onnx.shape_inference")
    graph = inference.infer_shapes(proto).graph
    ranks = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in (*graph.input, *graph.value_info)
    } | {held.name: len(held.dims) for held in graph.initializer}
    model = copied(proto)
    del model.graph.node[:]
    for node in proto.graph.node:
        if node.op_type == "PRelu" and ranks.get(node.input[1]) == 1:
            axes = list(range(1, ranks.get(node.input[0], 2) - 1))
            slope = f"{node.name}.slope"
            model.graph.node.append(
                helper.make_node("Unsqueeze", [node.input[1]], [slope], axes=axes)
            )
            changed = copied(node)
            changed.input[1] = slope
            node = changed
        model.graph.node.append(node)
    return model


_RESIZES_SAY_HOW = 11
_HARDMAX_HAS_ONE_AXIS = 13
"""The versions whose other meaning the converter does not know."""


def _say_defaults(new: Any, old: Any, version: int) -> None:
    """Write what nodes of old versions mean without saying it."""
    helper: Any = importlib.import_module("onnx.helper")
    resized = {
        node.output[0] for node in old.node if node.op_type in ("Resize", "Upsample")
    }
    for node in new.node:
        if version < _RESIZES_SAY_HOW and node.output[0] in resized:
            node.attribute.extend(
                [
                    helper.make_attribute(
                        "coordinate_transformation_mode", "asymmetric"
                    ),
                    helper.make_attribute("nearest_mode", "simple"),
                ]
            )


class _FlatHardmax(NodeWriter):
    """Writes each `Hardmax` of an old version as one along the last axis: it was over
    all axes that follow."""

    def run(self) -> Any:
        for node in self._model.graph.node:
            self._name = node.name
            if node.op_type != "Hardmax":
                self._nodes.append(node)
                continue
            axis = next((one.i for one in node.attribute if one.name == "axis"), 1)
            (x,), (y,) = node.input, node.output
            flat = self.op("Hardmax", self.op("Flatten", x, axis=axis), axis=1)
            self.op("Reshape", flat, self.op("Shape", x), output=y)
        return self.written()


def inlined(proto: Any) -> Any:
    """A model without functions of the standard that torch-mlir has no op for.

    Args:
        proto: its inputs have shapes. It is not changed.

    Returns:
        The same object where there are none.
    """
    versions = versions_of(proto)
    wanted = {
        (node.domain, node.op_type)
        for node in proto.graph.node
        if node.op_type not in _KNOWN and _is_function(node, versions)
    }
    if not wanted:
        return proto
    inliner: Any = importlib.import_module("onnx.inliner")
    inference: Any = importlib.import_module("onnx.shape_inference")
    with contextlib.suppress(RuntimeError, ValueError, inference.InferenceError):
        typed = inference.infer_shapes(_with_types(proto))
        _write_defaults(typed, wanted)
        return folded(
            inliner.inline_selected_functions(
                typed, sorted(wanted), inline_schema_functions=True
            )
        )
    return proto


def _is_function(node: Any, versions: dict[str, int]) -> bool:
    """Whether the standard defines an op by others."""
    schema = schema_of(node, versions)
    return bool(
        schema and (schema.has_function or schema.has_context_dependent_function)
    )


def _write_defaults(proto: Any, wanted: set[tuple[str, str]]) -> None:
    """Give functions the attributes they leave out: the inliner writes none where an op
    of the body refers to one."""
    versions = versions_of(proto)
    for node in proto.graph.node:
        schema = schema_of(node, versions)
        if (node.domain, node.op_type) in wanted and schema.has_function:
            names = {attribute.name for attribute in node.attribute}
            node.attribute.extend(
                attribute.default_value
                for name, attribute in schema.attributes.items()
                if name not in names and attribute.default_value.name
            )


def _with_types(proto: Any) -> Any:
    """A model that says the type of each constant, by which functions are chosen, and
    of inputs that are left out, which the inliner asks for, too."""
    helper: Any = importlib.import_module("onnx.helper")
    typed = copied(proto)
    typed.graph.value_info.extend(
        helper.make_tensor_value_info(held.name, held.data_type, held.dims)
        for held in proto.graph.initializer
    )
    typed.graph.value_info.append(helper.make_tensor_value_info("", 1, None))
    return typed
