"""Inputs and attributes that nothing reads are refused: `refuse_unread`.

`READ` says for each op what torch-mlir's importer reads of it; what a rule of ours
reads is counted while it runs. Everything else that a node has changes its result,
unless it has its default.
"""

import importlib
from collections.abc import Collection
from typing import Any

from morello.errors import CompileError

_SILENT = frozenset(
    {"consumed_inputs", "momentum", "round_mode", "saturate", "sorted", "stash_type"}
)
"""Attributes that change no result here: hints to old versions; what only training
returns; casts to 8-bit floats, which are refused; precision that is no less here."""

_POOL = "auto_pad ceil_mode dilations kernel_shape pads strides"
_CONV = "auto_pad dilations group kernel_shape pads strides"
_REDUCE = "axes keepdims noop_with_empty_axes"

READ: dict[str, str] = {
    "ArgMax": "axis keepdims select_last_index",
    "ArgMin": "axis keepdims select_last_index",
    "AveragePool": f"{_POOL} count_include_pad",
    "BatchNormalization": "epsilon training_mode",
    "BitShift": "direction",
    "BlackmanWindow": "output_datatype periodic",
    "Cast": "to",
    "CastLike": "",
    "Celu": "alpha",
    "CenterCropPad": "axes",
    "Clip": "max min",
    "Col2Im": "dilations pads strides",
    "Compress": "axis",
    "Concat": "axis",
    "Constant": "value value_float value_floats value_int value_ints",
    "ConstantOfShape": "value",
    "Conv": _CONV,
    "ConvInteger": _CONV,
    "ConvTranspose": "dilations group kernel_shape output_padding pads strides",
    "CumSum": "exclusive reverse",
    "DFT": "axis inverse onesided",
    "DeformConv": "dilations group kernel_shape offset_group pads strides",
    "DepthToSpace": "blocksize mode",
    "DequantizeLinear": "axis",
    "Dropout": "ratio",
    "Einsum": "equation",
    "Elu": "alpha",
    "EyeLike": "dtype k",
    "Flatten": "axis",
    "Gather": "axis",
    "GatherElements": "axis",
    "GatherND": "batch_dims",
    "Gelu": "approximate",
    "Gemm": "alpha beta transA transB",
    "GlobalLpPool": "p",
    "GridSample": "align_corners mode padding_mode",
    "GroupNormalization": "epsilon num_groups",
    "HammingWindow": "output_datatype periodic",
    "HannWindow": "output_datatype periodic",
    "HardSigmoid": "alpha beta",
    "Hardmax": "axis",
    "InstanceNormalization": "epsilon",
    "IsInf": "detect_negative detect_positive",
    "LRN": "alpha beta bias size",
    "LayerNormalization": "axis epsilon",
    "LeakyRelu": "alpha",
    "LogSoftmax": "axis",
    "LpNormalization": "axis p",
    "LpPool": f"{_POOL} p",
    "MaxPool": f"{_POOL}",
    "MaxRoiPool": "pooled_shape spatial_scale",
    "MaxUnpool": "kernel_shape pads strides",
    "MeanVarianceNormalization": "axes",
    "MelWeightMatrix": "output_datatype",
    "Mod": "fmod",
    "NegativeLogLikelihoodLoss": "ignore_index reduction",
    "NonMaxSuppression": "center_point_box",
    "OneHot": "axis",
    "Pad": "mode paddings pads value",
    "QLinearConv": "",
    "QuantizeLinear": "axis output_dtype",
    "RandomNormal": "dtype mean scale shape",
    "RandomNormalLike": "dtype mean scale",
    "RandomUniform": "dtype high low shape",
    "RandomUniformLike": "dtype high low",
    "Range": "",
    "ReduceL1": _REDUCE,
    "ReduceL2": _REDUCE,
    "ReduceLogSum": _REDUCE,
    "ReduceLogSumExp": _REDUCE,
    "ReduceMax": _REDUCE,
    "ReduceMean": _REDUCE,
    "ReduceMin": _REDUCE,
    "ReduceProd": _REDUCE,
    "ReduceSum": _REDUCE,
    "ReduceSumSquare": _REDUCE,
    "Reshape": "allowzero",
    "Resize": "coordinate_transformation_mode mode nearest_mode",
    "ReverseSequence": "batch_axis time_axis",
    "RoiAlign": "coordinate_transformation_mode mode output_height output_width "
    "sampling_ratio spatial_scale",
    "STFT": "onesided",
    "Scan": "num_scan_inputs",
    "Scatter": "axis",
    "ScatterElements": "axis reduction",
    "ScatterND": "reduction",
    "Selu": "alpha gamma",
    "Shape": "end start",
    "Shrink": "bias lambd",
    "Slice": "",
    "Softmax": "axis",
    "SoftmaxCrossEntropyLoss": "ignore_index reduction",
    "SpaceToDepth": "blocksize mode",
    "Split": "axis num_outputs",
    "Squeeze": "axes",
    "ThresholdedRelu": "alpha",
    "TopK": "axis largest",
    "Transpose": "perm",
    "Trilu": "upper",
    "Unique": "axis",
    "Unsqueeze": "axes",
    "Upsample": "mode",
    "com.microsoft.FusedMatMul": "transA transB transBatchA transBatchB",
    "com.microsoft.GroupQueryAttention": "do_rotary kv_num_heads num_heads "
    "rotary_interleaved scale",
    "com.microsoft.QLinearAveragePool": f"{_POOL} channels_last count_include_pad",
    "com.microsoft.QLinearConcat": "axis",
    "com.microsoft.QLinearGlobalAveragePool": "channels_last",
    "com.microsoft.QLinearLeakyRelu": "alpha",
    "com.microsoft.RotaryEmbedding": "interleaved is_packed_batching num_heads "
    "rotary_embedding_dim scale",
}
"""The attributes that torch-mlir reads, by op; an op that is not here has none."""

_UNREAD_INPUTS: dict[str, tuple[int, ...]] = {"Resize": (1,)}
"""By op, the positions of inputs that torch-mlir ignores."""


def refuse_unread(proto: Any) -> None:
    """Check that torch-mlir knows ops that are not of the standard, and reads all that
    nodes of a model have.

    Args:
        proto: its nodes have names.

    Raises:
        CompileError: the first node of which it does not.
    """
    empty = {held.name for held in proto.graph.initializer if 0 in held.dims}
    versions = versions_of(proto)
    for node in proto.graph.node:
        op = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        unread = set(_UNREAD_INPUTS.get(op, ()))
        inputs = [
            place
            for place, name in enumerate(node.input)
            if name in empty or place not in unread
        ]
        if op in READ or not node.domain:
            attributes = READ.get(op, "").split()
            check_read(node, versions, attributes, inputs)
        else:
            raise CompileError(
                f"{node.name} ({op}) is no op that is read here",
                "export the model with ops of the standard, or compute this op outside",
            )


def versions_of(proto: Any) -> dict[str, int]:
    """The version of the operators of each domain."""
    return {opset.domain: opset.version for opset in proto.opset_import}


def check_read(
    node: Any,
    versions: dict[str, int],
    attributes: Collection[str],
    inputs: Collection[int],
) -> None:
    """Check that all that a node has is read.

    Args:
        node: has a name.
        versions: of the operators, by their domain.
        attributes: those that are read.
        inputs: those that are read, by position.

    Raises:
        CompileError: an attribute or an input is not, and has not its default.
    """
    schema = schema_of(node, versions)
    for place, name in enumerate(node.input):
        if name and place not in inputs:
            formal = _input_name(schema, place)
            raise _refusal(node, f"the input {formal} is given ('{name}')")
    for attribute in node.attribute:
        if attribute.name in attributes or attribute.name in _SILENT:
            continue
        if attribute.HasField("g"):  # a body, which is imported
            continue
        if not _is_default(schema, attribute):
            value = _text(_value(attribute))
            raise _refusal(node, f"the attribute {attribute.name} is {value}")


def _refusal(node: Any, what: str) -> CompileError:
    return CompileError(
        f"{node.name} (onnx.{node.op_type}): {what}, which is not read here",
        "export the model without it, or compute this op outside of it",
    )


def schema_of(node: Any, versions: dict[str, int]) -> Any:
    """The definition of a node's op in the ONNX standard; None if it has none."""
    definitions: Any = importlib.import_module("onnx.defs")
    try:
        return definitions.get_schema(
            node.op_type, versions.get(node.domain, 1), node.domain
        )
    except definitions.SchemaError:
        return None


def _input_name(schema: Any, place: int) -> str:
    if schema is None or not schema.inputs:
        return str(place)
    return str(schema.inputs[min(place, len(schema.inputs) - 1)].name)


def _value(attribute: Any) -> Any:
    helper: Any = importlib.import_module("onnx.helper")
    return helper.get_attribute_value(attribute)


def _is_default(schema: Any, attribute: Any) -> bool:
    known = schema.attributes.get(attribute.name) if schema is not None else None
    if known is None or not known.default_value.name:
        return False
    return bool(_value(known.default_value) == _value(attribute))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return value.decode() if isinstance(value, bytes) else str(value)
