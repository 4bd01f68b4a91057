"""Inputs of ONNX's ops that files of models hold as initializers.

The backend tests give shapes, axes, bounds and zero points as inputs of the graph.
"""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import numpy_helper

# Places of such inputs, by op.
PLACES: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BatchNormalization": (1, 2, 3, 4),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Clip": (1, 2),
    "Col2Im": (1, 2),
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "Conv": (1, 2),
    "ConvInteger": (2, 3),
    "CumSum": (1,),
    "DFT": (1, 2),
    "DequantizeLinear": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "Gather": (1,),
    "GatherElements": (1,),
    "GatherND": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0, 1),
    "MatMulInteger": (2, 3),
    "MaxUnpool": (1, 2),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1, 2),
    "Pad": (1, 2, 3),
    "Pow": (1,),
    "QLinearConv": (1, 2, 3, 4, 5, 6, 7),
    "QLinearMatMul": (1, 2, 3, 4, 5, 6, 7),
    "QuantizeLinear": (1, 2),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 2, 3),
    "Scatter": (1,),
    "ScatterElements": (1,),
    "ScatterND": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "TensorScatter": (2,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}


def arguments_of(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs of a model that no initializer fills."""
    filled = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in filled]


def names_of_parameters(model: onnx.ModelProto) -> set[str]:
    """The names of the values at the places that `PLACES` has."""
    return {
        node.input[place]
        for node in model.graph.node
        for place in PLACES.get(node.op_type, ())
        if place < len(node.input)
    }


def frozen(
    model: onnx.ModelProto, inputs: Sequence[object]
) -> tuple[onnx.ModelProto, list[object]]:
    """A model with its parameters as initializers, and the inputs that are left.

    Where all inputs are parameters, those of more than one axis stay: a graph computes
    something."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    names, arguments = names_of_parameters(model), arguments_of(model)
    whole = len(names) == len(arguments)
    left = []
    for argument, value in zip(arguments, inputs, strict=False):
        constant = isinstance(value, np.ndarray) and not (whole and value.ndim > 1)
        if argument.name in names and constant:
            tensor = numpy_helper.from_array(value, argument.name)
            changed.graph.initializer.append(tensor)
            changed.graph.input.remove(argument)
        else:
            left.append(value)
    return changed, left
