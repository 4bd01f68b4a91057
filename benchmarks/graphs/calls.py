"""Kernels of a graph and PyTorch's functions as calls on the same inputs."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.graphs.torch_graphs import call_of
from morello.compiler.kernel import Kernel

Call = Callable[[], Any]


def calls_of(kernels: Sequence[Kernel]) -> tuple[list[Call], list[Any], list[Any]]:
    """Kernels of one Spec, bound to the same inputs.

    Returns:
        the calls; the inputs as they lie in memory; the output of each kernel.
    """
    spec = kernels[0].spec
    inputs = spec.random(np.random.default_rng(0))
    operands = [spec.to_physical(i, array) for i, array in enumerate(inputs)]
    shape = spec.physical_shape(len(spec.tensors) - 1)
    outs = [np.empty(shape, np.float32) for _ in kernels]
    calls = [
        kernel.bind(*operands, out) for kernel, out in zip(kernels, outs, strict=True)
    ]
    return calls, operands, outs


def beside_torch(
    torch: Any, text: str, kernels: Sequence[Kernel]
) -> tuple[list[Call], Call]:
    """Calls of kernels of one Spec, and PyTorch's on the same inputs.

    Raises:
        AssertionError: the results differ.
        KeyError: PyTorch has no function for it.
    """
    calls, inputs, outs = calls_of(kernels)
    other = call_of(torch, text, inputs)
    result = other().contiguous().numpy().reshape(outs[0].shape)
    for call, out in zip(calls, outs, strict=True):
        call()
        assert np.allclose(out, result, rtol=1e-3, atol=1e-3), text
    return calls, other


def enough_calls(call: Call, seconds: float) -> int:
    """How many calls take at least so long."""
    count = 1
    while seconds_of(call, count) * count < seconds:
        count *= 2
    return count


def seconds_of(call: Call, count: int) -> float:
    """Seconds of one of so many calls, after one more: others have taken the caches."""
    call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
