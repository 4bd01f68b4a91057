"""Recurrences step by step: LSTM, GRU and RNN.

What does not depend on states is one product over all steps.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results

_MOST_STEPS = 256
"""Most steps of a recurrence: each is some parts of a model."""

_PARAMETERS: dict[str, dict[str, float]] = {
    "Affine": {"alpha": 1.0, "beta": 0.0},
    "Elu": {"alpha": 1.0},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "LeakyRelu": {"alpha": 0.01},
    "Relu": {},
    "ScaledTanh": {"alpha": 1.0, "beta": 1.0},
    "Sigmoid": {},
    "Softplus": {},
    "Softsign": {},
    "Tanh": {},
    "ThresholdedRelu": {"alpha": 1.0},
}
"""Activations, with the attributes that they have."""

_SPELLED = {name.lower(): name for name in _PARAMETERS}
"""The names of activations, which a model may write in other letters."""

_ACTIVATIONS = {
    "GRU": ["Sigmoid", "Tanh"],
    "LSTM": ["Sigmoid", "Tanh", "Tanh"],
    "RNN": ["Tanh"],
}
_GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}

State = tuple[str, ...]
"""The hidden state, and the cell of an LSTM."""


def stepped(to: Expansion, node: Arguments) -> Results:
    """All directions of a recurrence, step by step.

    Raises:
        CompileError: a size is known only in a call, an activation is unknown, or there
            are too many steps.
    """
    is_by_batch = bool(node.get("layout", 0))
    direction = node.get("direction", b"forward")
    ways = {b"forward": [0], b"reverse": [1], b"bidirectional": [0, 1]}[direction]
    x = node.input(0)
    if is_by_batch:
        x = to.op("Transpose", x, perm=[1, 0, 2])
    sizes = _sizes(to, node, is_by_batch)
    sequences, states = [], []
    for number, is_back in enumerate(ways):
        functions = _functions(to, node, number, len(ways))
        cell = _Cell(to, node, number, functions, sizes, is_by_batch)
        rows = cell.run(x, bool(is_back))
        sequences.append(rows[0])
        states.append(rows[1])
    y = to.op("Concat", *sequences, axis=1)
    finals = [to.op("Concat", *each, axis=0) for each in zip(*states, strict=True)]
    if is_by_batch:
        y = to.op("Transpose", y, perm=[2, 0, 1, 3])
        finals = [to.op("Transpose", final, perm=[1, 0, 2]) for final in finals]
    return [y, *finals]


@dataclasses.dataclass(frozen=True)
class _Sizes:
    """Sizes of a recurrence: its steps, sequences, and elements of a state."""

    steps: int
    batch: int
    state: int


def _sizes(to: Expansion, node: Arguments, is_by_batch: bool) -> _Sizes:
    shape, weights = (to.shape_if_known(node.input(place)) for place in range(2))
    if shape is None or weights is None:
        raise _refusal(
            node,
            "has inputs whose sizes are known only in a call",
            "give their sizes by 'shapes'",
        )
    steps, batch = shape[:2][::-1] if is_by_batch else shape[:2]
    if steps > _MOST_STEPS:
        raise _refusal(
            node,
            f"has {steps} steps, and at most {_MOST_STEPS} are written out",
            "call a model of fewer steps several times, with its last states",
        )
    size = weights[1] // _GATES[node.kind]
    hidden_size = node.get("hidden_size", size)
    if hidden_size != size:
        raise _refusal(
            node,
            f"has hidden_size={hidden_size}, and weights of {weights[1]} rows, not "
            f"{hidden_size * _GATES[node.kind]}",
            "export the model again",
        )
    return _Sizes(steps, batch, size)


def _refusal(node: Arguments, what: str, remedy: str) -> CompileError:
    return CompileError(f"{node.name} (onnx.{node.kind}) {what}", remedy)


def _functions(
    to: Expansion, node: Arguments, number: int, count: int
) -> list[Callable[[str], str]]:
    """The activations of a direction."""
    names = [name.decode() for name in node.get("activations", [])]
    names = names or _ACTIVATIONS[node.kind] * count
    numbers = {
        name: list(node.get(f"activation_{name}", [])) for name in ("alpha", "beta")
    }
    functions: list[Callable[[str], str]] = []
    for spelling in names:
        name = _SPELLED.get(spelling.lower(), "")
        if not name:
            raise _refusal(
                node,
                f"has the activation '{spelling}', which is not known",
                f"use one of {', '.join(_PARAMETERS)}",
            )
        options = {
            key: numbers[key].pop(0) if numbers[key] else default
            for key, default in _PARAMETERS[name].items()
        }

        def function(x: str, name: str = name, options: Any = options) -> str:
            return _activated(to, x, name, options)

        functions.append(function)
    size = len(functions) // count
    return functions[number * size : (number + 1) * size]


def _activated(to: Expansion, x: str, name: str, options: Any) -> str:
    match name:
        case "Affine":
            scaled = to.op("Mul", x, to.number(options["alpha"]))
            return to.op("Add", scaled, to.number(options["beta"]))
        case "ScaledTanh":
            inner = to.op("Tanh", to.op("Mul", x, to.number(options["beta"])))
            return to.op("Mul", inner, to.number(options["alpha"]))
    return to.op(name, x, **options)


@dataclasses.dataclass
class _Cell:
    """One direction of a recurrence.

    Args:
        to: gets the nodes.
        node: the node.
        number: of the direction.
        functions: the activations.
        sizes: of the recurrence.
        is_by_batch: whether states have the sequences first.
    """

    to: Expansion
    node: Arguments
    number: int
    functions: list[Callable[[str], str]]
    sizes: _Sizes
    is_by_batch: bool

    def run(self, x: str, is_back: bool) -> tuple[str, list[str]]:
        """The hidden states of all steps, and the last states, each with an axis for
        the direction. A sequence that is over keeps its state, and gives zeros."""
        to, steps, batch = self.to, self.sizes.steps, self.sizes.batch
        size = self.sizes.state
        self.recurrent = self._weights(2)
        self.bias = self._bias()
        self.is_linear = bool(self.node.get("linear_before_reset", 0))
        inputs = to.op("MatMul", x, self._weights(1))
        if self.bias:
            inputs = to.op("Add", inputs, self._input_bias())
        state = self._first()
        rows: dict[int, str] = {}
        zeros = to.constant(np.zeros((batch, size), np.float32))
        for step in range(steps)[:: -1 if is_back else 1]:
            row = to.reshape(to.cut(inputs, step, step + 1, axis=0), batch, -1)
            after = self._after(row, state)
            runs = self._runs(step)
            if not runs:
                state, rows[step] = after, after[0]
                continue
            rows[step] = to.op("Where", runs, after[0], zeros)
            state = tuple(
                to.op("Where", runs, new, old)
                for new, old in zip(after, state, strict=True)
            )
        shaped = [to.reshape(rows[i], 1, 1, batch, size) for i in range(steps)]
        finals = [to.reshape(last, 1, batch, size) for last in state]
        return to.op("Concat", *shaped, axis=0), finals

    def _runs(self, step: int) -> str:
        """Whether each sequence has a step; empty where all have it."""
        to, lengths = self.to, self.node.input(4)
        if not lengths:
            return ""
        known = to.array(lengths)
        if known is None:
            numbers = to.op("Cast", lengths, to=to.code(np.dtype(np.float32)))
            longer = to.op("Greater", numbers, to.number(step))
            return to.reshape(longer, self.sizes.batch, 1)
        if (known > step).all():
            return ""
        return to.constant((known > step).reshape(self.sizes.batch, 1))

    def _bias(self) -> tuple[str, ...]:
        """The biases of inputs and of states; empty where there are none."""
        part = self._part(3)
        width = _GATES[self.node.kind]
        if not part:
            return ()
        first, second = self._split(part, 2, width)
        return first, second

    def _input_bias(self) -> str:
        """The biases that the gates get with the inputs: all but one of a GRU whose
        states are reset after their product."""
        to = self.to
        first, second = self.bias
        if self.node.kind == "GRU" and self.is_linear:
            both = to.cut(second, 0, 2 * self.sizes.state)
            zeros = to.constant(np.zeros((1, self.sizes.state), np.float32))
            second = to.op("Concat", both, zeros, axis=-1)
        return to.op("Add", first, second)

    def _after(self, row: str, state: State) -> State:
        match self.node.kind:
            case "LSTM":
                return self._lstm(row, *state)
            case "GRU":
                return (self._gru(row, *state),)
        (activation,) = self.functions
        return (activation(self._clipped(self._gates(row, state[0]))),)

    def _lstm(self, row: str, hidden: str, cell: str) -> State:
        to = self.to
        inner, outer, last = self.functions
        i, o, f, c = self._split(self._gates(row, hidden), 4)
        peep = self._part(7)
        if peep:
            of_i, of_o, of_f = self._split(peep, 3)
            i, f = (
                to.op("Add", gate, to.op("Mul", weight, cell))
                for gate, weight in ((i, of_i), (f, of_f))
            )
        i = inner(self._clipped(i))
        if self.node.get("input_forget", 0):
            f = to.op("Sub", to.number(1.0), i)
        else:
            f = inner(self._clipped(f))
        new = to.op("Mul", i, outer(self._clipped(c)))
        cell = to.op("Add", to.op("Mul", f, cell), new)
        if peep:
            o = to.op("Add", o, to.op("Mul", of_o, cell))
        return to.op("Mul", inner(self._clipped(o)), last(cell)), cell

    def _gru(self, row: str, hidden: str) -> str:
        to, size = self.to, self.sizes.state
        inner, outer = self.functions
        row_zr, row_h = to.cut(row, 0, 2 * size), to.cut(row, 2 * size, 3 * size)
        of_zr = to.cut(self.recurrent, 0, 2 * size)
        of_h = to.cut(self.recurrent, 2 * size, 3 * size)
        sums = to.op("Add", row_zr, to.op("MatMul", hidden, of_zr))
        z, r = (inner(self._clipped(gate)) for gate in self._split(sums, 2))
        if self.is_linear:
            product = to.op("MatMul", hidden, of_h)
            if self.bias:
                last = to.cut(self.bias[1], 2 * size, 3 * size)
                product = to.op("Add", product, last)
            rest = to.op("Mul", r, product)
        else:
            rest = to.op("MatMul", to.op("Mul", r, hidden), of_h)
        new = outer(self._clipped(to.op("Add", row_h, rest)))
        left = to.op("Mul", to.op("Sub", to.number(1.0), z), new)
        return to.op("Add", left, to.op("Mul", z, hidden))

    def _gates(self, row: str, hidden: str) -> str:
        return self.to.op("Add", row, self.to.op("MatMul", hidden, self.recurrent))

    def _clipped(self, value: str) -> str:
        limit = self.node.get("clip", 0.0)
        if not limit:
            return value
        low, high = self.to.number(-limit), self.to.number(limit)
        return self.to.op("Clip", value, low, high)

    def _split(self, value: str, count: int, width: int = 1) -> list[str]:
        """Parts of the last axis, each of so many hidden states."""
        step = width * self.sizes.state
        return [self.to.cut(value, n * step, (n + 1) * step) for n in range(count)]

    def _part(self, place: int) -> str:
        """An input of this direction; empty where there is none."""
        value = self.node.input(place)
        if not value:
            return ""
        return self.to.cut(value, self.number, self.number + 1, axis=0)

    def _weights(self, place: int) -> str:
        """A matrix of this direction, transposed."""
        matrix = self.to.op("Squeeze", self._part(place), self.to.numbers(0))
        return self.to.op("Transpose", matrix, perm=[1, 0])

    def _first(self) -> State:
        """The states before the first step."""
        to, shape = self.to, (self.sizes.batch, self.sizes.state)
        states = []
        for place in (5, 6) if self.node.kind == "LSTM" else (5,):
            value = self.node.input(place)
            if value and self.is_by_batch:
                value = to.op("Transpose", value, perm=[1, 0, 2])
            if value:
                part = to.cut(value, self.number, self.number + 1, axis=0)
                states.append(to.reshape(part, *shape))
            else:
                states.append(to.constant(np.zeros(shape, np.float32)))
        return tuple(states)


RULES = {"GRU": stepped, "LSTM": stepped, "RNN": stepped}
