"""Recurrences step by step, where torch-mlir does not read all that they have:
peepholes, lengths of sequences, clipping, other activations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from morello.frontends.nodes.tensors import Array

if TYPE_CHECKING:
    from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results

_MOST_STEPS = 32

_PLAIN = frozenset({"Relu", "Sigmoid", "Tanh"})
"""Activations that torch-mlir has."""

_PARAMETERS: dict[str, dict[str, float]] = {
    "Elu": {"alpha": 1.0},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "LeakyRelu": {"alpha": 0.01},
    "Relu": {},
    "Sigmoid": {},
    "Softplus": {},
    "Softsign": {},
    "Tanh": {},
    "ThresholdedRelu": {"alpha": 1.0},
}
"""The attributes of activations that are ops."""

_ACTIVATIONS = {
    "GRU": ["Sigmoid", "Tanh"],
    "LSTM": ["Sigmoid", "Tanh", "Tanh"],
    "RNN": ["Tanh"],
}
_GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}

State = tuple[str, ...]
"""The hidden state, and the cell of an LSTM."""


def is_plain(to: Expansion, own: Arguments) -> bool:
    """Whether torch-mlir reads all that a recurrence has."""
    names = [name.decode() for name in own.get("activations", [])]
    numbers = own.get("activation_alpha", []) or own.get("activation_beta", [])
    has_more = own.get("clip", 0.0) or own.get("input_forget", 0)
    return not (
        own.input(4) or own.input(7) or has_more or numbers or {*names} - _PLAIN
    )


def stepped(to: Expansion, own: Arguments) -> Results:
    """All directions of a recurrence, step by step."""
    shape, w_shape = to.shape(own.input(0)), to.shape(own.input(1))
    is_by_batch = bool(own.get("layout", 0))
    for name in ("clip", "hidden_size", "input_forget", "linear_before_reset"):
        own.get(name, 0)
    for place in range(8):
        own.input(place)
    if shape is None or w_shape is None:
        return None
    steps, batch = shape[:2][::-1] if is_by_batch else shape[:2]
    lengths: Any = to.array(own.input(4)) if own.input(4) else np.full(batch, steps)
    if lengths is None or steps > _MOST_STEPS:
        return None
    direction = own.get("direction", b"forward")
    ways = {b"forward": [0], b"reverse": [1], b"bidirectional": [0, 1]}[direction]
    x = own.input(0)
    if is_by_batch:
        x = to.op("Transpose", x, perm=[1, 0, 2])
    sequences, states = [], []
    for number, is_back in enumerate(ways):
        functions = _functions(to, own, number, len(ways))
        if functions is None:
            return None
        cell = _Cell(to, own, number, functions, w_shape[1] // _GATES[own.kind])
        rows = cell.run(x, steps, lengths, bool(is_back), is_by_batch)
        sequences.append(rows[0])
        states.append(rows[1])
    y = to.op("Concat", *sequences, axis=1)
    finals = [to.op("Concat", *each, axis=0) for each in zip(*states, strict=True)]
    if is_by_batch:
        y = to.op("Transpose", y, perm=[2, 0, 1, 3])
        finals = [to.op("Transpose", final, perm=[1, 0, 2]) for final in finals]
    return [y, *finals]


def _functions(
    to: Expansion, own: Arguments, number: int, count: int
) -> list[Callable[[str], str]] | None:
    """The activations of a direction; None where one is not known."""
    names = [name.decode() for name in own.get("activations", [])]
    names = names or _ACTIVATIONS[own.kind] * count
    numbers = {
        name: list(own.get(f"activation_{name}", [])) for name in ("alpha", "beta")
    }
    functions: list[Callable[[str], str]] = []
    for name in names:
        if name not in _PARAMETERS:
            return None
        options = {
            key: numbers[key].pop(0) if numbers[key] else default
            for key, default in _PARAMETERS[name].items()
        }

        def function(x: str, name: str = name, options: Any = options) -> str:
            return to.op(name, x, **options)

        functions.append(function)
    size = len(functions) // count
    return functions[number * size : (number + 1) * size]


@dataclasses.dataclass
class _Cell:
    """One direction of a recurrence.

    Args:
        to: gets the nodes.
        own: the node.
        number: of the direction.
        functions: the activations.
        size: of the hidden state.
    """

    to: Expansion
    own: Arguments
    number: int
    functions: list[Callable[[str], str]]
    size: int

    def run(
        self, x: str, steps: int, lengths: Array, is_back: bool, is_by_batch: bool
    ) -> tuple[str, list[str]]:
        """The hidden states of all steps, and the last states, each with an axis for
        the direction. A sequence that is over keeps its state, and gives zeros."""
        to = self.to
        batch = len(lengths)
        self.recurrent = self._weights(2)
        self.bias = self._part(3)
        inputs = to.op("MatMul", x, self._weights(1))
        state = self._first(batch, is_by_batch)
        rows: dict[int, str] = {}
        zeros = to.constant(np.zeros((batch, self.size), np.float32))
        for step in range(steps)[:: -1 if is_back else 1]:
            row = to.reshape(to.cut(inputs, step, step + 1, axis=0), batch, -1)
            after = self._after(row, state)
            if (lengths > step).all():
                state, rows[step] = after, after[0]
                continue
            runs = to.constant((lengths > step).reshape(batch, 1))
            rows[step] = to.op("Where", runs, after[0], zeros)
            state = tuple(
                to.op("Where", runs, new, old)
                for new, old in zip(after, state, strict=True)
            )
        shaped = [to.reshape(rows[i], 1, 1, batch, self.size) for i in range(steps)]
        finals = [to.reshape(own, 1, batch, self.size) for own in state]
        return to.op("Concat", *shaped, axis=0), finals

    def _after(self, row: str, state: State) -> State:
        match self.own.kind:
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
                to.op("Add", gate, to.op("Mul", own, cell))
                for gate, own in ((i, of_i), (f, of_f))
            )
        i = inner(self._clipped(i))
        if self.own.get("input_forget", 0):
            f = to.op("Sub", to.number(1.0), i)
        else:
            f = inner(self._clipped(f))
        new = to.op("Mul", i, outer(self._clipped(c)))
        cell = to.op("Add", to.op("Mul", f, cell), new)
        if peep:
            o = to.op("Add", o, to.op("Mul", of_o, cell))
        return to.op("Mul", inner(self._clipped(o)), last(cell)), cell

    def _gru(self, row: str, hidden: str) -> str:
        to = self.to
        inner, outer = self.functions
        own = self._split(row, 3)
        if self.bias:
            both = self._split(self.bias, 6)
            own = [to.op("Add", a, b) for a, b in zip(own, both, strict=False)]
            later = both[3:]
        of = self._split(self.recurrent, 3)
        parts = [to.op("MatMul", hidden, weights) for weights in of]
        if self.bias:
            parts[:2] = [to.op("Add", a, b) for a, b in zip(parts, later, strict=False)]
        z, r = (inner(self._clipped(to.op("Add", own[n], parts[n]))) for n in range(2))
        if self.own.get("linear_before_reset", 0):
            if self.bias:
                parts[2] = to.op("Add", parts[2], later[2])
            rest = to.op("Mul", r, parts[2])
        else:
            rest = to.op("MatMul", to.op("Mul", r, hidden), of[2])
            if self.bias:
                rest = to.op("Add", rest, later[2])
        new = outer(self._clipped(to.op("Add", own[2], rest)))
        left = to.op("Mul", to.op("Sub", to.number(1.0), z), new)
        return to.op("Add", left, to.op("Mul", z, hidden))

    def _gates(self, row: str, hidden: str) -> str:
        to = self.to
        total = to.op("Add", row, to.op("MatMul", hidden, self.recurrent))
        if not self.bias:
            return total
        for half in self._split(self.bias, 2, _GATES[self.own.kind]):
            total = to.op("Add", total, half)
        return total

    def _clipped(self, value: str) -> str:
        limit = self.own.get("clip", 0.0)
        if not limit:
            return value
        low, high = self.to.number(-limit), self.to.number(limit)
        return self.to.op("Clip", value, low, high)

    def _split(self, value: str, count: int, width: int = 1) -> list[str]:
        """Parts of the last axis, each of so many hidden states."""
        step = width * self.size
        return [self.to.cut(value, n * step, (n + 1) * step) for n in range(count)]

    def _part(self, place: int) -> str:
        """An input of this direction; empty where there is none."""
        value = self.own.input(place)
        if not value:
            return ""
        return self.to.cut(value, self.number, self.number + 1, axis=0)

    def _weights(self, place: int) -> str:
        """A matrix of this direction, transposed."""
        matrix = self.to.op("Squeeze", self._part(place), self.to.numbers(0))
        return self.to.op("Transpose", matrix, perm=[1, 0])

    def _first(self, batch: int, is_by_batch: bool) -> State:
        """The states before the first step."""
        to = self.to
        states = []
        for place in (5, 6) if self.own.kind == "LSTM" else (5,):
            value = self.own.input(place)
            if value and is_by_batch:
                value = to.op("Transpose", value, perm=[1, 0, 2])
            if value:
                part = to.cut(value, self.number, self.number + 1, axis=0)
                states.append(to.reshape(part, batch, self.size))
            else:
                states.append(to.constant(np.zeros((batch, self.size), np.float32)))
        return tuple(states)
