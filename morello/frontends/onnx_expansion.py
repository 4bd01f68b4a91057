"""Ops of ONNX as smaller ones, where torch-mlir lacks the op: `expanded`.

The standard defines most of them by functions, which compute with shapes; here shapes
are numbers. `_RULES` has a rule for each op. A rule gives None for arguments that it
does not know, and the op stays, to be refused by its name.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends import onnx_pooling
from morello.frontends.onnx_ops import (
    attention,
    bits,
    deformed,
    dropout,
    places,
    pools,
    products,
    recurrent,
    resizing,
    running,
    sampling,
    slices,
    stable,
)
from morello.frontends.onnx_ops.folding import folded
from morello.frontends.onnx_ops.functions import inlined
from morello.frontends.onnx_ops.loops import without_loops
from morello.frontends.onnx_ops.reads import check_read


def expanded(proto: Any) -> Any:
    """A model without the ops that torch-mlir lacks, as far as there are rules.

    Args:
        proto: its inputs have shapes, its nodes names, which the new nodes have, too.
    """
    final: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        before = proto
        if any(node.op_type in _RULES for node in proto.graph.node):
            changed = Expansion(proto, final).run()
            proto = proto if changed is proto else folded(changed)
        proto = without_loops(inlined(proto))
        if proto is before:
            break
    return proto


_MOST_ROUNDS = 8
"""The most rounds of rules for nodes that rules and functions give."""


class Expansion:
    """Writes the nodes of a graph again.

    Args:
        proto: is not changed.
        final: the results of nodes that rules for the same op made: they stay. More are
            added.
    """

    def __init__(self, proto: Any, final: set[str]) -> None:
        self._onnx: Any = importlib.import_module("onnx")
        self._helper: Any = importlib.import_module("onnx.helper")
        self.arrays: Any = importlib.import_module("onnx.numpy_helper")
        self._given = proto
        self._made = type(proto)()
        self._made.CopyFrom(proto)
        graph = self._inferred(self._made)
        self.held = {array.name: array for array in graph.initializer}
        """The constants, by name."""
        for node in graph.node:
            for own in node.attribute if node.op_type == "Constant" else ():
                if own.name == "value":
                    self.held[node.output[0]] = own.t
        self._taken = {name for node in graph.node for name in node.output}
        self._taken |= {*self.held, *(value.name for value in graph.input)}
        self._kinds = {name: array.data_type for name, array in self.held.items()}
        self._shapes = {name: tuple(array.dims) for name, array in self.held.items()}
        for value in (*graph.input, *graph.value_info, *graph.output):
            dims = value.type.tensor_type.shape.dim
            if value.type.tensor_type.HasField("shape"):
                self._shapes[value.name] = tuple(dim.dim_value for dim in dims)
            self._kinds[value.name] = value.type.tensor_type.elem_type
        self._nodes: list[Any] = []
        self._name = ""
        self._kind = ""
        self._final = final
        versions = [own.version for own in proto.opset_import if not own.domain]
        self.version: int = max(versions, default=1)

    def _inferred(self, proto: Any) -> Any:
        try:
            return self._onnx.shape_inference.infer_shapes(proto, data_prop=True).graph
        except self._onnx.shape_inference.InferenceError:
            return proto.graph  # what is wrong is said when it is imported

    def run(self) -> Any:
        """The model in smaller ops; the same object where no rule applies."""
        changed = False
        for node in self._made.graph.node:
            rule = _RULES.get(node.op_type) if not node.domain else None
            if not self.has(node.input[0] if node.input else "", "FLOAT"):
                rule = rule if node.op_type in _OF_ANY_DTYPE else None
            if node.output[0] in self._final:
                rule = None
            self._name, self._kind = node.name, node.op_type
            count = len(self._nodes)
            arguments = Arguments(self._helper, node)
            results = rule(self, arguments) if rule else None
            if results is None:
                del self._nodes[count:]
                self._nodes.append(node)
                continue
            self._check(node, arguments, results)
            changed = True
            for own, result in zip(node.output, results, strict=False):
                if own:
                    self.op("Identity", result, output=own)
        if not changed:
            return self._given
        nodes = list(self._nodes)
        del self._made.graph.node[:]
        self._made.graph.node.extend(nodes)
        return self._made

    def _check(self, node: Any, arguments: "Arguments", results: Sequence[str]) -> None:
        """Check that a rule has read all that a node has, and gives all its results.

        Raises:
            CompileError: it has not.
        """
        versions = {own.domain: own.version for own in self._made.opset_import}
        check_read(node, versions, arguments.attributes_read, arguments.inputs_read)
        for name in node.output[len(results) :]:
            if name:
                raise CompileError(
                    f"{node.name} (onnx.{node.op_type}): its result '{name}' is not "
                    "computed here",
                    "export the model without it",
                )

    def has(self, name: str, kind: str) -> bool:
        """Whether a value has elements of a type of ONNX."""
        wanted: int = getattr(self._onnx.TensorProto, kind)
        return self._kinds.get(name) == wanted

    def dtype(self, name: str) -> np.dtype[Any] | None:
        """The dtype of a value; None where it is not known, or NumPy has none."""
        kind = self._kinds.get(name)
        if not kind:
            return None
        found = self._helper.tensor_dtype_to_np_dtype(kind)
        return found if isinstance(found, np.dtype) else None

    def array(self, name: str) -> Any:
        """A constant; None for another value."""
        held = self.held.get(name)
        return None if held is None else self.arrays.to_array(held)

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Of a value; None where it is not known."""
        found = self._shapes.get(name)
        return None if found is None or 0 in found else found

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """A new node, and its result."""
        name = output or self._fresh(kind)
        self._add(kind, inputs, [name], attributes)
        return name

    def several(
        self,
        kind: str,
        inputs: Sequence[str],
        wanted: Sequence[bool],
        **attributes: Any,
    ) -> list[str]:
        """The results of a new node that has several; "" for those not wanted."""
        names = [self._fresh(kind) if is_wanted else "" for is_wanted in wanted]
        self._add(kind, inputs, names, attributes)
        return names

    def _add(
        self,
        kind: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: dict[str, Any],
    ) -> None:
        self._nodes.append(
            self._helper.make_node(kind, inputs, outputs, name=self._name, **attributes)
        )
        if kind == self._kind:
            self._final.add(outputs[0])

    def constant(self, array: Any) -> str:
        """A new constant."""
        name = self._fresh("constant")
        self._made.graph.initializer.append(
            self.arrays.from_array(np.asarray(array), name)
        )
        return name

    def number(self, value: float) -> str:
        """A new constant of f32."""
        return self.constant(np.float32(value))

    def numbers(self, *values: int) -> str:
        """New places or sizes."""
        return self.constant(np.array(values, np.int64))

    def mean(self, value: str, axes: Sequence[int]) -> str:
        """Along axes, which stay."""
        return self.reduced("ReduceMean", value, axes)

    def reduced(self, kind: str, value: str, axes: Sequence[int]) -> str:
        """A reduction along axes, which stay."""
        return self.op(kind, value, self.numbers(*axes))

    def reshape(self, value: str, *shape: int) -> str:
        """A value in another shape."""
        return self.op("Reshape", value, self.numbers(*shape))

    def cut(
        self, value: str, start: int, end: int, step: int = 1, axis: int = -1
    ) -> str:
        """A slice along an axis."""
        places = (self.numbers(n) for n in (start, end, axis, step))
        return self.op("Slice", value, *places)

    def _fresh(self, kind: str) -> str:
        name = f"{self._name}.{kind}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


class Arguments:
    """The inputs and attributes of a node."""

    def __init__(self, helper: Any, node: Any) -> None:
        self._node = node
        self.name: str = node.name
        self.kind: str = node.op_type
        self._attributes = {
            own.name: helper.get_attribute_value(own) for own in node.attribute
        }
        self.outputs = [bool(name) for name in node.output]
        self.attributes_read: set[str] = set()
        self.inputs_read: set[int] = set()

    def input(self, place: int) -> str:
        """The name of an input; "" if there is none."""
        self.inputs_read.add(place)
        inputs = self._node.input
        return inputs[place] if place < len(inputs) else ""

    def output(self, place: int) -> str:
        """The name of an output."""
        name: str = self._node.output[place]
        return name

    def get(self, name: str, otherwise: Any) -> Any:
        """An attribute."""
        self.attributes_read.add(name)
        return self._attributes.get(name, otherwise)

    def attributes(self, without: Sequence[str] = ()) -> dict[str, Any]:
        """The attributes that are given, but for some."""
        self.attributes_read.update(self._attributes)
        return {n: v for n, v in self._attributes.items() if n not in without}


Results = list[str] | None
"""What the outputs of a node are; None for arguments that a rule does not know."""


def _softsign(to: Expansion, own: Arguments) -> Results:
    x = own.input(0)
    return [to.op("Div", x, to.op("Add", to.op("Abs", x), to.number(1)))]


def _swish(to: Expansion, own: Arguments) -> Results:
    x = own.input(0)
    scaled = to.op("Mul", x, to.number(own.get("alpha", 1.0)))
    return [to.op("Mul", x, to.op("Sigmoid", scaled))]


def _rms_norm(to: Expansion, own: Arguments) -> Results:
    """x over the root of the mean of its squares, times a weight."""
    x, weight = own.input(0), own.input(1)
    shape = to.shape(x)
    if shape is None:
        return None
    axes = to.numbers(*range(own.get("axis", -1) % len(shape), len(shape)))
    mean = to.op("ReduceMean", to.op("Mul", x, x), axes)
    root = to.op("Sqrt", to.op("Add", mean, to.number(own.get("epsilon", 1e-5))))
    return [to.op("Mul", to.op("Div", x, root), weight)]


def _even_response(to: Expansion, own: Arguments) -> Results:
    """LRN over an even number of channels, of which torch-mlir takes the wrong ones."""
    x, size = own.input(0), own.get("size", 1)
    shape = to.shape(x)
    if size % 2 or shape is None or size > _MOST_CHANNELS:
        return None
    before = (size - 1) // 2
    edges = [np.zeros((shape[0], n, *shape[2:]), np.float32) for n in (before, size)]
    zeros = [to.constant(edge) for edge in edges if edge.size]
    squares = to.op("Concat", *zeros[:-1], to.op("Mul", x, x), zeros[-1], axis=1)
    parts = [to.cut(squares, n, n + shape[1], axis=1) for n in range(size)]
    scaled = to.op(
        "Mul", to.op("Sum", *parts), to.number(own.get("alpha", 1e-4) / size)
    )
    bottom = to.op("Add", scaled, to.number(own.get("bias", 1.0)))
    return [to.op("Div", x, to.op("Pow", bottom, to.number(own.get("beta", 0.75))))]


_MOST_CHANNELS = 16


def _wrapped_pad(to: Expansion, own: Arguments) -> Results:
    """Elements from the other end: rows that are picked, axis by axis.

    Raises:
        CompileError: how many is known only in a call; torch-mlir would not end.
    """
    if own.get("mode", b"constant") != b"wrap":
        return None
    x = own.input(0)
    shape, pads = to.shape(x), to.array(own.input(1))
    axes: Any = range(len(shape or ()))
    if own.input(3):
        axes = to.array(own.input(3))
    if shape is None or pads is None or axes is None:
        raise CompileError(
            f"{own.name} (onnx.Pad) wraps by numbers that are known only in a call",
            "make 'pads' and 'axes' constants",
        )
    half = len(pads) // 2
    for axis, before, after in zip(axes, pads[:half], pads[half:], strict=True):
        places = np.arange(-before, shape[axis] + after) % shape[axis]
        if before or after:
            x = to.op("Gather", x, to.constant(places), axis=int(axis))
    return [x]


def _rotary(to: Expansion, own: Arguments) -> Results:
    """Pairs of elements turned by the angles of their places."""
    x, places = own.input(0), own.input(3)
    shape = to.shape(x)
    if shape is None:
        return None
    heads = own.get("num_heads", 0)
    whole = shape
    if len(shape) == 3:
        if not heads:
            return None
        whole = (*shape[:2], heads, shape[2] // heads)
        x = to.reshape(x, *whole)
    turned = own.get("rotary_embedding_dim", 0) or whole[-1]
    axis = to.numbers(2 if len(shape) == 3 else 1)
    tables = [own.input(1), own.input(2)]
    if places:
        tables = [to.op("Gather", table, places) for table in tables]
    cosines, sines = (to.op("Unsqueeze", table, axis) for table in tables)
    if own.get("interleaved", 0):
        first, second = (to.cut(x, start, turned, 2) for start in (0, 1))
    else:
        middle = turned // 2
        first, second = to.cut(x, 0, middle), to.cut(x, middle, turned)
    parts = [
        to.op("Sub", to.op("Mul", first, cosines), to.op("Mul", second, sines)),
        to.op("Add", to.op("Mul", first, sines), to.op("Mul", second, cosines)),
    ]
    if own.get("interleaved", 0):
        last = to.numbers(-1)
        pairs = (to.op("Unsqueeze", part, last) for part in parts)
        parts = [
            to.reshape(to.op("Concat", *pairs, axis=-1), *whole[:-1], turned),
        ]
    if turned < whole[-1]:
        parts.append(to.cut(x, turned, whole[-1]))
    found = to.op("Concat", *parts, axis=-1) if len(parts) > 1 else parts[0]
    return [to.reshape(found, *shape)]


_OF_ANY_DTYPE = frozenset(
    {
        "BitShift",
        "Compress",
        "CumProd",
        "CumSum",
        "Dropout",
        "Gather",
        "GatherElements",
        "GatherND",
        "OneHot",
        "Pad",
        "Slice",
        "Split",
    }
)
"""Ops whose rules do not compute with elements."""

_RULES: dict[str, Callable[[Expansion, Arguments], Results]] = {
    "Attention": attention.attention,
    "DepthToSpace": onnx_pooling.depth_to_space,
    "GatherElements": onnx_pooling.picked,
    "LRN": _even_response,
    "MeanVarianceNormalization": onnx_pooling.normalised,
    "Pad": _wrapped_pad,
    "ReduceProd": onnx_pooling.product_along,
    "RMSNormalization": _rms_norm,
    "RotaryEmbedding": _rotary,
    "Slice": slices.within,
    "Softsign": _softsign,
    "Swish": _swish,
    **bits.RULES,
    **deformed.RULES,
    **dropout.RULES,
    **places.RULES,
    **pools.RULES,
    **products.RULES,
    **recurrent.RULES,
    **resizing.RULES,
    **running.RULES,
    **sampling.RULES,
    **stable.RULES,
}
