"""Ops of onnxruntime as those of the standard: `standard`.

Nothing says the types of their results, and so those of what reads them, until they are
written so: what is computed in f32 has the type of an input again by ``CastLike``.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.reads import check_read
from morello.frontends.onnx_ops.writing import NodeWriter
from morello.weights.scaled import unpacked

_FLOAT, _UINT8 = 1, 2
"""The numbers of types in ONNX."""

_DOMAIN = "com.microsoft"


def standard(proto: Any) -> Any:
    """A model with the ops of `_ROWS` in ops of the standard; the same object where it
    has none.

    Args:
        proto: is not changed.

    Raises:
        CompileError: an op has an attribute or a result that is not read here, or a
            table is no constant, or has blocks along the axis of a lookup.
    """
    return _Writer(proto).run() if any(map(_row, proto.graph.node)) else proto


class _Writer(NodeWriter):
    def run(self) -> Any:
        self.held = {array.name: array for array in self._model.graph.initializer}
        for node in self._model.graph.node:
            row = _row(node)
            if row is None:
                self._nodes.append(node)
                continue
            self._name = node.name
            write, attributes = row
            check_read(node, {}, attributes, range(len(node.input)))
            write(self, node, {one.name: one for one in node.attribute})
        return self.written()

    def wide(self, x: str) -> str:
        return self.op("Cast", x, to=_FLOAT)

    def sum_of(self, *terms: str) -> str:
        """The sum of the terms that are given."""
        total, *others = filter(None, terms)
        for term in others:
            total = self.op("Add", total, term)
        return total

    def bytes_of(self, name: str, bits: int) -> str:
        """A constant of numbers that share bytes along the last axis, a byte each."""
        return self.constant(unpacked(self.arrays.to_array(self.held[name]), bits))


_Attributes = dict[str, Any]


def _of_elements(
    function: Callable[[_Writer, str, _Attributes], str],
) -> Callable[[_Writer, Any, _Attributes], None]:
    """The row of a function of the sum of all inputs, in f32."""

    def write(to: _Writer, node: Any, attributes: _Attributes) -> None:
        x = to.sum_of(*map(to.wide, filter(None, node.input)))
        y = function(to, x, attributes)
        to.op("CastLike", y, node.input[0], output=node.output[0])

    return write


def _gelu(to: _Writer, x: str, attributes: _Attributes) -> str:
    del attributes
    inner = to.op("Erf", to.op("Mul", x, to.number(math.sqrt(0.5))))
    half = to.op("Mul", x, to.number(0.5))
    return to.op("Mul", half, to.op("Add", inner, to.number(1)))


def _gelu_by_tanh(to: _Writer, x: str, attributes: _Attributes) -> str:
    del attributes
    cube = to.op("Mul", to.op("Mul", x, x), to.op("Mul", x, to.number(0.044715)))
    root = to.number(math.sqrt(2 / math.pi))
    inner = to.op("Tanh", to.op("Mul", to.op("Add", x, cube), root))
    half = to.op("Mul", x, to.number(0.5))
    return to.op("Mul", half, to.op("Add", inner, to.number(1)))


def _gelu_by_sigmoid(to: _Writer, x: str, attributes: _Attributes) -> str:
    alpha = attributes["alpha"].f if "alpha" in attributes else 1.702
    return to.op("Mul", x, to.op("Sigmoid", to.op("Mul", x, to.number(alpha))))


def _layer_norm(to: _Writer, node: Any, attributes: _Attributes) -> None:
    """A norm of a sum, along the last axis."""
    x, skip, scale, shift, bias = (*node.input, "", "")[:5]
    parts = [to.wide(part) for part in (scale, shift) if part]
    _normalised(
        to,
        node,
        (x, skip, bias),
        lambda total: to.op(
            "LayerNormalization", total, *parts, axis=-1,
            epsilon=attributes["epsilon"].f if "epsilon" in attributes else 1e-12,
        ),
    )  # fmt: skip


def _rms_norm(to: _Writer, node: Any, attributes: _Attributes) -> None:
    """A norm without a mean, of a sum, along the last axis."""
    x, skip, scale, bias = (*node.input, "")[:4]
    _normalised(
        to,
        node,
        (x, skip, bias),
        lambda total: _by_mean_square(to, total, scale, attributes),
    )


def _rms_norm_alone(to: _Writer, node: Any, attributes: _Attributes) -> None:
    """A norm without a mean, along the last axis."""
    _refuse_results(node, 1)
    axis = attributes["axis"].i if "axis" in attributes else -1
    if axis != -1:
        raise _refusal(node, f"the axis {axis}", "the axis -1")
    x, scale = node.input
    y = _by_mean_square(to, to.wide(x), scale, attributes)
    to.op("CastLike", y, scale, output=node.output[0])


def _by_mean_square(to: _Writer, x: str, scale: str, attributes: _Attributes) -> str:
    epsilon = attributes["epsilon"].f if "epsilon" in attributes else 1e-5
    axes = to.constant(np.array([-1], np.int64))
    mean = to.op("ReduceMean", to.op("Mul", x, x), axes)
    root = to.op("Sqrt", to.op("Add", mean, to.number(epsilon)))
    return to.op("Mul", to.op("Div", x, root), to.wide(scale))


def _normalised(
    to: _Writer, node: Any, terms: tuple[str, ...], norm: Callable[[str], str]
) -> None:
    """The norm of a sum, which is the last result, too.

    Raises:
        CompileError: its mean or deviation is a result.
    """
    if any(node.output[1:3]):
        raise _refusal(node, "its mean or deviation as a result", "no such result")
    total = to.sum_of(*(to.wide(term) for term in terms if term))
    to.op("CastLike", norm(total), node.input[0], output=node.output[0])
    if len(node.output) > _SUM and node.output[_SUM]:
        to.op("CastLike", total, node.input[0], output=node.output[_SUM])


_SUM = 3
"""The place of the sum among the results of a norm."""


def _lookup(to: _Writer, node: Any, attributes: _Attributes) -> None:
    """Lookups in tables of scaled integers, of these and of their scales."""
    numbers = {name: attribute.i for name, attribute in attributes.items()}
    table, places, scales, *zeros = filter(None, node.input)
    if table not in to.held:
        raise _refusal(node, "a table that is no constant", "an initializer")
    rank = len(to.held[table].dims)
    axis, along = (
        numbers.get(name, default) % rank
        for name, default in (("gather_axis", 0), ("quantize_axis", 1))
    )
    if axis == along:
        raise _refusal(node, "blocks along its axis", "blocks along another")
    parts = [table, scales, *zeros]
    middle = []
    if to.held[table].data_type == _UINT8:
        bits = numbers.get("bits", 4)
        parts = [to.bytes_of(table, bits), scales]
        parts += [to.bytes_of(zero, bits) for zero in zeros]
        if not zeros:
            middle = [to.constant(np.array(1 << (bits - 1), np.uint8))]
    to.op(
        "DequantizeLinear",
        *(to.op("Gather", part, places, axis=axis) for part in parts),
        *middle,
        output=node.output[0],
        axis=along - rank if along > axis else along,
        block_size=numbers.get("block_size", 128),
    )


def _refusal(node: Any, what: str, remedy: str) -> CompileError:
    return CompileError(
        f"{node.name or node.output[0]} (onnx.{node.op_type}) has {what}",
        f"give it {remedy}",
    )


def _refuse_results(node: Any, count: int) -> None:
    if any(node.output[count:]):
        raise _refusal(node, f"{len(node.output)} results", f"{count}")


_Row = tuple[Callable[[_Writer, Any, _Attributes], None], tuple[str, ...]]

_ROWS: dict[str, _Row] = {
    "BiasGelu": (_of_elements(_gelu), ()),
    "FastGelu": (_of_elements(_gelu_by_tanh), ()),
    "GatherBlockQuantized": (
        _lookup,
        ("bits", "block_size", "gather_axis", "quantize_axis"),
    ),
    "Gelu": (_of_elements(_gelu), ()),
    "QuickGelu": (_of_elements(_gelu_by_sigmoid), ("alpha",)),
    "SimplifiedLayerNormalization": (_rms_norm_alone, ("axis", "epsilon")),
    "SkipLayerNormalization": (_layer_norm, ("epsilon",)),
    "SkipSimplifiedLayerNormalization": (_rms_norm, ("epsilon",)),
}
"""The writer of each op, and the attributes that it reads."""

_UNDER_THE_STANDARD = frozenset({"SimplifiedLayerNormalization"})
"""Ops that onnxruntime has in the domain of the standard, too."""


def _row(node: Any) -> _Row | None:
    is_its = node.domain == _DOMAIN or node.op_type in _UNDER_THE_STANDARD
    return _ROWS.get(node.op_type) if is_its else None
