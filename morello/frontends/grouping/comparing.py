"""Two kernels of a model, timed in turns: `is_faster`."""

import time
from collections.abc import Sequence

import numpy as np

from morello.compiler.kernel import Kernel
from morello.compiler.tuning.duel import beats
from morello.compiler.tuning.entry import Entry
from morello.compiler.tuning.timing import alone, no_collection, pinned
from morello.runtime.calls.parameter import Parameter
from morello.spec import Array


def is_faster(
    one: Kernel, other: Kernel, arguments: Sequence[Parameter], seconds: float
) -> bool:
    """Whether a kernel is faster than another beyond noise.

    Args:
        one, other: of the same model; where its calls expect certain elements, it is
            unknown, and not said.
        arguments: of the model.
        seconds: that this may take.
    """
    kernels = one, other
    if any(k.held is not None and k.held.argument_checks for k in kernels):
        return False
    rng = np.random.default_rng(0)
    arrays = [_drawn(rng, argument) for argument in arguments]
    first, second = (Entry([kernel.bind(*arrays)]) for kernel in kernels)
    serial = all(kernel.threads == 1 for kernel in kernels)
    with alone(), pinned(serial), no_collection():
        for entry in (first, second):
            entry.sample(0)
        return beats(first, second, time.perf_counter() + seconds)


def _drawn(rng: np.random.Generator, parameter: Parameter) -> Array:
    """Elements for an argument; integers, which may be places, are 0."""
    if np.issubdtype(parameter.dtype, np.integer):
        return np.zeros(parameter.shape, parameter.dtype)
    return rng.standard_normal(parameter.shape, np.float32).astype(parameter.dtype)
