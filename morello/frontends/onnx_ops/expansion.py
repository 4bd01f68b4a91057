"""A graph of ONNX that is written again by rules: `Expansion`, and what rules get."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.reads import check_read, versions_of
from morello.frontends.onnx_ops.writing import NodeWriter, copied


class Expansion(NodeWriter):
    """Writes the nodes of a graph again.

    Args:
        proto: is not changed.
        final: the results of nodes that rules for the same op made: they stay. More are
            added.
        rules: by the names of ops.
        of_any_dtype: the ops whose rules are for other tensors than f32, too.
    """

    def __init__(
        self, proto: Any, final: set[str], rules: "Rules", of_any_dtype: frozenset[str]
    ) -> None:
        super().__init__(proto)
        self._onnx: Any = importlib.import_module("onnx")
        self._original = proto
        graph = self._inferred(self._model)
        self.held = {array.name: array for array in graph.initializer}
        """The constants, by name."""
        for node in graph.node:
            for attribute in node.attribute if node.op_type == "Constant" else ():
                if attribute.name == "value":
                    self.held[node.output[0]] = attribute.t
        self._makers = {name: node for node in graph.node for name in node.output}
        self._kinds = {name: array.data_type for name, array in self.held.items()}
        self._shapes = {name: tuple(array.dims) for name, array in self.held.items()}
        for value in (*graph.input, *graph.value_info, *graph.output):
            dims = value.type.tensor_type.shape.dim
            if value.type.tensor_type.HasField("shape"):
                self._shapes[value.name] = tuple(dim.dim_value for dim in dims)
            self._kinds[value.name] = value.type.tensor_type.elem_type
        self._kind = ""
        self._final = final
        self._rules, self._of_any_dtype = rules, of_any_dtype
        self.version = versions_of(proto).get("", 1)

    def _inferred(self, proto: Any) -> Any:
        try:
            return self._onnx.shape_inference.infer_shapes(proto, data_prop=True).graph
        except self._onnx.shape_inference.InferenceError:
            return proto.graph  # what is wrong is said when it is imported

    def run(self) -> Any:
        """The model in smaller ops; the same object where no rule applies."""
        changed = False
        for node in self._model.graph.node:
            op = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            rule, narrow = self._rules.get(op), self._narrow(node)
            if not self.has(node.input[0] if node.input else "", "FLOAT"):
                is_any = node.op_type in self._of_any_dtype
                narrow = 0 if is_any else narrow
                rule = rule if is_any or narrow else None
            if node.output[0] in self._final:
                rule = None
            self._name, self._kind = node.name, node.op_type
            count = len(self._nodes)
            wide = self._widened(node, narrow) if rule and narrow else node
            arguments = Arguments(self._helper, wide)
            results = self._results(rule, arguments) if rule else None
            if results is None:
                del self._nodes[count:]
                self._nodes.append(node)
                continue
            self._check(node, arguments, results)
            changed = True
            for name, result in zip(node.output, results, strict=False):
                if name and narrow and self._kinds.get(name, narrow) == narrow:
                    self.op("Cast", result, output=name, to=narrow)
                elif name:
                    self.op("Identity", result, output=name)
        if changed:
            self._nodes = self._without_unread()
        return self.written() if changed else self._original

    def _results(self, rule: "Rule", arguments: "Arguments") -> "Results":
        try:
            return rule(self, arguments)
        except UnknownError:
            return None

    def _narrow(self, node: Any) -> int:
        """The type of narrow floats that a node reads first; 0 of others."""
        kind = self._kinds.get(node.input[0], 0) if node.input else 0
        kinds = self._onnx.TensorProto
        is_narrow = kind in (kinds.FLOAT16, kinds.BFLOAT16)
        return kind if is_narrow and node.op_type not in _OF_NARROW else 0

    def _widened(self, node: Any, narrow: int) -> Any:
        """A node that reads f32 for floats of a narrow type, as its rule does."""
        copy = copied(node)
        for place, name in enumerate(node.input):
            if self._kinds.get(name) == narrow:
                copy.input[place] = wide = self.op("Cast", name, to=1)
                self._kinds[wide] = self._onnx.TensorProto.FLOAT
                if name in self._shapes:
                    self._shapes[wide] = self._shapes[name]
        return copy

    def _without_unread(self) -> list[Any]:
        """The nodes whose results are read; rules have replaced the others."""
        used, nodes = {value.name for value in self._model.graph.output}, []
        for node in reversed(self._nodes):
            if not used.isdisjoint(node.output):
                nodes.append(node)
                used.update(_read([node]))
        return nodes[::-1]

    def _check(self, node: Any, arguments: "Arguments", results: Sequence[str]) -> None:
        """Check that a rule has read all that a node has, and gives all its results.

        Raises:
            CompileError: it has not.
        """
        versions = versions_of(self._model)
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

    def dtype(self, name: str) -> np.dtype[Any]:
        """The dtype of a value.

        Raises:
            UnknownError: it is not known, or NumPy has none.
        """
        return _known(self.dtype_if_known(name))

    def dtype_if_known(self, name: str) -> np.dtype[Any] | None:
        """The dtype of a value; None where it is not known, or NumPy has none."""
        return self.dtype_of(self._kinds.get(name, 0))

    def dtype_of(self, kind: int) -> np.dtype[Any] | None:
        """The dtype of a type of ONNX; None of 0, and where NumPy has none."""
        if not kind:
            return None
        dtype = self._helper.tensor_dtype_to_np_dtype(kind)
        return dtype if isinstance(dtype, np.dtype) else None

    def code(self, dtype: np.dtype[Any]) -> int:
        """The number of a type in ONNX."""
        number: int = self._helper.np_dtype_to_tensor_dtype(dtype)
        return number

    def known(self, name: str) -> Any:
        """A constant.

        Raises:
            UnknownError: it is another value.
        """
        return _known(self.array(name))

    def array(self, name: str) -> Any:
        """A constant; None for another value."""
        held = self.held.get(name)
        return None if held is None else self.arrays.to_array(held)

    def maker(self, name: str) -> "Arguments | None":
        """The node that has a result; None where the model is given it."""
        node = self._makers.get(name)
        return None if node is None else Arguments(self._helper, node)

    def readers(self, name: str) -> set[str]:
        """The ops that read a value; one without a name reads results of the model."""
        nodes = self._model.graph.node
        kinds = {node.op_type for node in nodes if name in _read([node])}
        is_result = any(value.name == name for value in self._model.graph.output)
        return kinds | {""} if is_result else kinds

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value.

        Raises:
            UnknownError: it is not known.
        """
        return _known(self.shape_if_known(name))

    def shape_if_known(self, name: str) -> tuple[int, ...] | None:
        """The shape of a value; None where it is not known."""
        shape = self._shapes.get(name)
        return None if shape is None or 0 in shape else shape

    def extent(self, name: str, axis: int) -> int:
        """The size of a value along an axis; 0 where it is not known."""
        shape = self._shapes.get(name, ())
        return shape[axis] if shape else 0

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
        super()._add(kind, inputs, outputs, attributes)
        if kind == self._kind:
            self._final.add(outputs[0])

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


_OF_NARROW = frozenset({"Attention"})
"""Ops that the standard defines by others of narrow floats, too."""


def _read(nodes: Iterable[Any]) -> Iterator[str]:
    """The names that nodes and those in their bodies read."""
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            yield from _read(attribute.g.node)


class Arguments:
    """The inputs and attributes of a node."""

    def __init__(self, helper: Any, node: Any) -> None:
        self._node = node
        self.name: str = node.name
        self.kind: str = node.op_type
        self.count = len(node.input)
        self._attributes = {
            attribute.name: helper.get_attribute_value(attribute)
            for attribute in node.attribute
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
        """Value of an attribute, which is noted as read; else ``otherwise``."""
        self.attributes_read.add(name)
        return self._attributes.get(name, otherwise)

    def attributes(self, without: Sequence[str] = ()) -> dict[str, Any]:
        """The attributes that are given, but for some."""
        self.attributes_read.update(self._attributes)
        return {n: v for n, v in self._attributes.items() if n not in without}


class UnknownError(Exception):
    """A rule needs something of a value that is known only in a call: the op stays."""


_T = TypeVar("_T")


def _known(value: _T | None) -> _T:
    if value is None:
        raise UnknownError
    return value


Results = list[str] | None
"""The outputs of a node; None for arguments that a rule does not know."""

Rule = Callable[[Expansion, Arguments], Results]

Rules = Mapping[str, Rule]
"""The rule of each op, by its name."""
