"""A layer of an LSTM, which PyTorch has as one op, as products and gates of steps."""

from collections.abc import Sequence
from typing import Any

import torch

_LSTM = 2
"""The mode of the op for LSTMs, among recurrent layers."""


def why_not(arguments: Sequence[Any]) -> str:
    """Why a layer is not taken; empty if it is."""
    batch_sizes, mode, _, layers, _, is_bidirectional = arguments[8:14]
    if arguments[15]:
        return "under training"
    if mode != _LSTM or layers != 1 or is_bidirectional or batch_sizes:
        return "no single layer of an LSTM over sequences of one length"
    return ""


def lstm_layer(
    x: Any,
    inner: Any,
    outer: Any,
    bias: Any,
    outer_bias: Any,
    hidden: Any,
    cell: Any,
    is_reversed: bool,
    *others: Any,
) -> tuple[Any, Any, Any, Any]:
    """A layer in one direction; the fourth result is not read.

    Args:
        x: (steps, batch, width).
        inner: weights of what is read, a row for each gate of each unit.
        outer: weights of the hidden state.
        bias: a number for each row of ``inner``.
        outer_bias: the same for ``outer``.
        hidden: state before the first step, (1, batch, units).
        cell: the same of the cells.
        is_reversed: the last step is the first.
        others: `why_not` has looked at these.
    """
    del others
    rows = torch.matmul(x, inner.t()) + (bias + outer_bias)
    h, c = hidden[0], cell[0]
    results: dict[int, Any] = {}
    steps = range(len(x))
    for step in reversed(steps) if is_reversed else steps:
        gates = rows[step] + torch.mm(h, outer.t())
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        results[step] = h
    whole = torch.stack([results[step] for step in steps])
    return whole, h.unsqueeze(0), c.unsqueeze(0), h
