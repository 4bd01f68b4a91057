"""Parameters that are inputs of a graph, where its results have sizes: `implied`.

The shape that a `Reshape` takes is that of its result, the axes of a sum are those that
its result lacks. `implied` makes them constants, and says what a call has to check.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from morello.frontends.expected import Expected
from morello.frontends.onnx_ops.writing import NodeWriter, copied

Shape = tuple[int, ...]
Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Call:
    """A node whose parameter is looked for."""

    shape: Shape
    """The shape of its first input."""
    results: tuple[Shape, ...]
    options: dict[str, Any]


def implied(proto: Any) -> tuple[Any, tuple[Expected, ...]]:
    """A model with parameters that follow from shapes as constants.

    Args:
        proto: its inputs have shapes. It is not changed.

    Returns:
        The model, whose inputs stay, and what these have to be in a call.
    """
    held = {array.name for array in proto.graph.initializer}
    inputs = [value for value in proto.graph.input if value.name not in held]
    uses = [name for node in proto.graph.node for name in node.input]
    shapes: dict[str, Shape] = {}
    model, expected = proto, []
    for place, value in enumerate(inputs):
        reader = _reader(proto, value.name)
        if _is_empty(value) and value.name in uses:
            model = _settled(model, value.name, _without_elements(value))
        elif uses.count(value.name) == 1 and reader is not None:
            shapes = shapes or _shapes(proto)
            parameter = _parameter(*reader, shapes)
            if parameter is None:
                continue
            if isinstance(parameter, Choice):
                model = _Choosing(model).run(value.name, parameter)
            else:
                model = _settled(model, value.name, parameter.value)
            expected.append(
                Expected(place, value.name, parameter.accepts, parameter.text)
            )
    return model, tuple(expected)


def _is_empty(value: Any) -> bool:
    """Whether an input has no elements, so that it is known."""
    dims = value.type.tensor_type.shape.dim
    return any(dim.HasField("dim_value") and dim.dim_value == 0 for dim in dims)


def _without_elements(value: Any) -> Array:
    helper: Any = importlib.import_module("onnx.helper")
    kind = value.type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    return np.zeros([dim.dim_value for dim in kind.shape.dim], dtype)


def _reader(proto: Any, name: str) -> tuple[Any, int] | None:
    """The node that reads an input as a parameter, and the position."""
    for node in proto.graph.node:
        for slot in _SLOTS.get(node.op_type, ()) if not node.domain else ():
            if slot < len(node.input) and node.input[slot] == name:
                return node, slot
    return None


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter that follows from shapes."""

    value: Array
    accepts: Callable[[Array], bool]
    """Whether another value means this one."""

    @property
    def text(self) -> str:
        """The value, for messages."""
        return str(self.value.tolist())


@dataclasses.dataclass(frozen=True)
class Choice:
    """Axes that may be each of several sets, as far as shapes say."""

    rank: int
    sets: tuple[tuple[int, ...], ...]
    accepts: Callable[[Array], bool]

    @property
    def text(self) -> str:
        """The sets, for messages."""
        return " or ".join(str(list(axes)) for axes in self.sets)


def _settled(proto: Any, name: str, value: Array) -> Any:
    """A model in which what reads an input reads a constant."""
    helper: Any = importlib.import_module("onnx.numpy_helper")
    model, constant = copied(proto), f"{name}.implied"
    model.graph.initializer.append(helper.from_array(value, constant))
    for node in model.graph.node:
        node.input[:] = [constant if read == name else read for read in node.input]
    return model


class _Choosing(NodeWriter):
    def run(self, name: str, choice: Choice) -> Any:
        """A model that computes a reduction for each set of axes, and takes one of
        them.

        A set is known by the sum of powers of two of its axes.
        """
        for node in list(self._model.graph.node):
            if name not in node.input:
                self._nodes.append(node)
                continue
            self._name = node.name
            places = [2**i for i in range(choice.rank)] * 2
            powers, rank = self.constant(places), self.constant(choice.rank)
            each = self.op("Add", self.op("Cast", name, to=7), rank)
            code = self.op("ReduceSum", self.op("Gather", powers, each), keepdims=0)
            options = {
                attribute.name: self._helper.get_attribute_value(attribute)
                for attribute in node.attribute
            }
            y = ""
            for axes in choice.sets:
                reduced = self.constant(np.array(axes, np.int64))
                inputs = [reduced if value == name else value for value in node.input]
                one = self.op(node.op_type, *inputs, **options)
                number = self.constant(sum(2**axis for axis in axes))
                is_read = self.op("Equal", code, number)
                y = self.op("Where", is_read, one, y) if y else one
            self.op("Identity", y, output=node.output[0])
        return self.written()


def _parameter(
    node: Any, slot: int, shapes: dict[str, Shape]
) -> Parameter | Choice | None:
    """The parameter of a node that follows from shapes; None where none does."""
    helper: Any = importlib.import_module("onnx.helper")
    results = tuple(shapes[name] for name in node.output if name in shapes)
    if len(results) != len(node.output) or node.input[0] not in shapes:
        return None
    options = {
        attribute.name: helper.get_attribute_value(attribute)
        for attribute in node.attribute
    }
    call = Call(shapes[node.input[0]], results, options)
    return _SLOTS[node.op_type][slot](call)


def _shapes(proto: Any) -> dict[str, Shape]:
    """The shapes that are declared or follow, by the name of the value."""
    inference: Any = importlib.import_module("onnx.shape_inference")
    try:
        graph = inference.infer_shapes(proto, data_prop=True).graph
    except inference.InferenceError:
        return {}  # what is wrong is said when it is imported
    shapes = {array.name: tuple(array.dims) for array in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        if kind.HasField("shape") and all(
            dim.HasField("dim_value") for dim in kind.shape.dim
        ):
            shapes[value.name] = tuple(dim.dim_value for dim in kind.shape.dim)
    return shapes


def _exactly(value: Array, array: Array) -> bool:
    return bool(np.array_equal(value, array))


def _fixed(*values: int) -> Parameter:
    """A parameter that has one spelling."""
    value = np.array(values, np.int64)
    return Parameter(value, functools.partial(_exactly, value))


def _reshape(call: Call) -> Parameter:
    (result,) = call.results
    keeps = not call.options.get("allowzero", 0)
    accepts = functools.partial(_reshapes, call.shape, result, keeps)
    return Parameter(np.array(result, np.int64), accepts)


def _reshapes(shape: Shape, result: Shape, keeps: bool, array: Array) -> bool:
    """Whether a shape, in which 0 may keep a size and -1 is the rest, is one."""
    sizes = [int(size) for size in array]
    if keeps:
        sizes = [
            shape[i] if size == 0 and i < len(shape) else size
            for i, size in enumerate(sizes)
        ]
    if sizes.count(-1) == 1:
        rest = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = math.prod(shape) // rest if rest else 0
    return tuple(sizes) == result


def _expand(call: Call) -> Parameter:
    (result,) = call.results
    return Parameter(
        np.array(result, np.int64), functools.partial(_expands, call.shape, result)
    )


def _expands(shape: Shape, result: Shape, array: Array) -> bool:
    try:
        return np.broadcast_shapes(shape, tuple(int(n) for n in array)) == result
    except ValueError:
        return False


def _tile(call: Call) -> Parameter | None:
    (result,) = call.results
    if 0 in (*result, *call.shape) or len(result) != len(call.shape):
        return None
    return _fixed(*(new // old for new, old in zip(result, call.shape, strict=True)))


def _axes(rank: int, axes: Sequence[int], empty: tuple[int, ...] = ()) -> Parameter:
    """Axes in any order, counted from either end."""
    accepts = functools.partial(_same_axes, rank, frozenset(axes), empty)
    return Parameter(np.array(sorted(axes), np.int64), accepts)


def _same_axes(
    rank: int, axes: frozenset[int], empty: tuple[int, ...], array: Array
) -> bool:
    positions = [int(axis) % rank for axis in array.reshape(-1)] if rank else []
    return frozenset(positions or empty) == axes


def _inserted(call: Call) -> Parameter | None:
    (result,) = call.results
    return _only(_insertions(call.shape, result), len(result))


def _removed(call: Call) -> Parameter | None:
    (result,) = call.results
    return _only(_insertions(result, call.shape), len(call.shape))


def _insertions(less: Shape, more: Shape) -> Iterator[tuple[int, ...]]:
    """The axes of one element that one shape has in addition to another."""
    for axes in itertools.combinations(range(len(more)), len(more) - len(less)):
        rest = tuple(size for i, size in enumerate(more) if i not in axes)
        if rest == less and all(more[axis] == 1 for axis in axes):
            yield axes


def _only(choices: Iterator[tuple[int, ...]], rank: int) -> Parameter | None:
    """Axes; of several that give one shape any, as elements stay in order."""
    first = next(choices, None)
    if first is None:
        return None
    every = frozenset(map(frozenset, (first, *choices)))
    accepts = functools.partial(_one_of, rank, every)
    return Parameter(np.array(first, np.int64), accepts)


def _one_of(rank: int, every: frozenset[frozenset[int]], array: Array) -> bool:
    return frozenset(int(axis) % rank for axis in array.reshape(-1)) in every


def _reduced(call: Call) -> Parameter | Choice | None:
    """The axes of a reduction, from the shapes of its input and its result."""
    (result,) = call.results
    rank = len(call.shape)
    every = tuple(range(rank))
    empty = () if call.options.get("noop_with_empty_axes", 0) else every
    if call.options.get("keepdims", 1):
        gone = [i for i in every if result[i] != call.shape[i]]
        ones = [i for i in every if call.shape[i] == 1]
        if not gone and not ones:
            return None if empty else _fixed()
        accepts = functools.partial(
            _axes_but, rank, frozenset(gone), frozenset(ones), empty
        )
        return Parameter(np.array(sorted({*gone, *ones}), np.int64), accepts)
    fits = tuple(
        axes
        for axes in itertools.combinations(every, rank - len(result))
        if tuple(call.shape[i] for i in every if i not in axes) == result
    )
    if len(fits) == 1:
        return _axes(rank, fits[0], empty)
    if not 1 < len(fits) <= _MOST_CHOICES:
        return None
    accepts = functools.partial(_one_of, rank, frozenset(map(frozenset, fits)))
    return Choice(rank, fits, accepts)


_MOST_CHOICES = 4
"""Sets of axes, each of which is a reduction."""


def _axes_but(
    rank: int,
    axes: frozenset[int],
    ones: frozenset[int],
    empty: tuple[int, ...],
    array: Array,
) -> bool:
    positions = [int(axis) % rank for axis in array.reshape(-1)]
    if not positions and not empty:
        return False  # no reduction at all, which may square or not
    return frozenset(positions or empty) - ones == axes - ones


def _split(call: Call) -> Parameter:
    axis = call.options.get("axis", 0) % len(call.shape)
    return _fixed(*(result[axis] for result in call.results))


def _sizes(call: Call) -> Parameter | None:
    (result,) = call.results
    policy = call.options.get("keep_aspect_ratio_policy", b"stretch")
    if policy != b"stretch":
        return None
    return _fixed(*(result[axis] for axis in _resized_axes(call)))


def _resized_axes(call: Call) -> list[int]:
    rank = len(call.shape)
    return [axis % rank for axis in call.options.get("axes", range(rank))]


def _factors(call: Call) -> Parameter:
    """Factors that are the ratios of sizes."""
    (result,) = call.results
    value = np.array(
        [result[axis] / call.shape[axis] for axis in _resized_axes(call)], np.float32
    )
    return Parameter(value, functools.partial(_close, value))


def _close(value: Array, array: Array) -> bool:
    return value.shape == array.shape and bool(np.allclose(value, array, 1e-6, 0))


def _image(call: Call) -> Parameter:
    """The size of the grid of an affine map, whose batch and channels are not in it."""
    (result,) = call.results
    value = np.array([result[0], 1, *result[1:-1]], np.int64)
    return Parameter(value, functools.partial(_same_image, value))


def _same_image(value: Array, array: Array) -> bool:
    return value.shape == array.shape and bool(
        (value == array)[[0, *range(2, len(value))]].all()
    )


def _depth(call: Call) -> Parameter:
    axis = call.options.get("axis", -1) % len(call.results[0])
    value = np.array(call.results[0][axis], np.int64)
    return Parameter(value, functools.partial(_one_number, value))


def _one_number(value: Array, array: Array) -> bool:
    return array.size == 1 and int(array.reshape(-1)[0]) == int(value)


def _one_axis(call: Call) -> Parameter | Choice | None:
    """The axis of sums so far."""
    rank = len(call.shape)
    if rank == 1:
        return Parameter(
            np.array([0], np.int64),
            functools.partial(_same_axes, 1, frozenset({0}), ()),
        )
    return _axis_of(rank, range(rank))


def _transformed(call: Call) -> Parameter | Choice | None:
    """The axis of a transform, along which sizes may differ."""
    (result,) = call.results
    rank = len(call.shape)
    axes = range(rank - 1)
    return _axis_of(
        rank,
        [a for a in axes if all(call.shape[i] == result[i] for i in axes if i != a)],
    )


def _axis_of(rank: int, axes: Sequence[int]) -> Parameter | Choice | None:
    """One axis of several."""
    if not 0 < len(axes) <= _MOST_CHOICES:
        return None
    every = frozenset(frozenset({axis}) for axis in axes)
    accepts = functools.partial(_one_of, rank, every)
    return Choice(rank, tuple((axis,) for axis in axes), accepts)


_SLOTS: dict[str, dict[int, Callable[[Call], Parameter | Choice | None]]] = {
    "AffineGrid": {1: _image},
    "CenterCropPad": {1: _sizes},
    "CumProd": {1: _one_axis},
    "CumSum": {1: _one_axis},
    "DFT": {2: _transformed},
    "Expand": {1: _expand},
    "OneHot": {1: _depth},
    "Reshape": {1: _reshape},
    "Resize": {2: _factors, 3: _sizes},
    "Split": {1: _split},
    "Squeeze": {1: _removed},
    "Tile": {1: _tile},
    "Unsqueeze": {1: _inserted},
    "Upsample": {1: _factors},
    **{
        f"Reduce{kind}": {1: _reduced}
        for kind in (
            "L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum",
            "SumSquare",
        )
    },
}  # fmt: skip
"""The parameters of an op that follow from shapes, by the position of the input."""
