"""PyTorch, called as its users call it: from Python, with the output given.

Runs in the environment that torch is installed in, so it imports nothing else.
"""

import functools
import importlib
from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks.harness.backend import (
    About,
    Backend,
    MissingError,
    Ready,
    UnsupportedError,
)
from benchmarks.harness.case import Array, Case, Data, aligned_copy

_INTEGERS = (("u8", "s8", "s32"), ("s8", "s8", "s32"))
"""Dtypes of ``torch._int_mm``."""


class TorchReady(Ready):
    """A call of torch.

    Args:
        call: computes the product once.
        out: the tensor that holds it.
    """

    in_python = True

    def __init__(
        self, call: Callable[[], Any], out: Any, dtype: str, note: str
    ) -> None:
        self._call = call
        self._out = out
        self.out_dtype = dtype
        self.note = note

    def run(self, calls: int) -> None:
        """Compute the product ``calls`` times."""
        call = self._call
        for _ in repeat(None, calls):
            call()

    def output(self) -> Array:
        """The output; bf16 as its bits."""
        torch = _torch()
        out = self._out
        if self.out_dtype == "bf16":
            out = out.view(torch.uint16)
        array: Array = out.numpy()
        return array if array.ndim == 3 else array[np.newaxis]


class Torch(Backend):
    """f32 products, bf16 products with a bf16 output, products by s8 in s32."""

    name = "torch"

    def open(self) -> About:
        """Import it."""
        torch = _torch()
        torch.set_num_threads(self.threads)
        capability = torch.backends.cpu.get_cpu_capability()
        # The MKL within answers to no variable; see the roof.
        return About(
            f"torch {torch.__version__}",
            f"capability {capability}",
            capability == "AVX2",
        )

    def ready(self, case: Case, data: Data) -> TorchReady:
        """Get a product ready.

        Raises:
            UnsupportedError: a product that torch has not.
        """
        if case.rhs == "open" or case.sums != "wrapping":
            raise UnsupportedError("no prepacked and no saturating products")
        if case.dtypes[0] == "bf16" and case.dtypes[1] == "bf16":
            return self._floats(case, data, "bf16", "output in bf16")
        if set(case.dtypes) == {"f32"}:
            return self._floats(case, data, "f32", "")
        if case.dtypes in _INTEGERS and case.sizes[0] == 1:
            return self._integers(case, data)
        raise UnsupportedError(f"it has no product {','.join(case.dtypes)}")

    def _floats(self, case: Case, data: Data, dtype: str, note: str) -> TorchReady:
        torch = _torch()
        b, m, _, n = case.sizes
        lhs = _tensor(data.lhs, case.dtypes[0])
        rhs = _tensor(data.rhs, case.dtypes[1])
        if case.rhs == "column":
            rhs = rhs.transpose(1, 2)
        out = torch.empty((b, m, n), dtype=lhs.dtype)
        if b == 1:
            left, right, into = lhs[0], rhs[0], out[0]
            return TorchReady(
                lambda: torch.mm(left, right, out=into), into, dtype, note
            )
        return TorchReady(lambda: torch.bmm(lhs, rhs, out=out), out, dtype, note)

    def _integers(self, case: Case, data: Data) -> TorchReady:
        torch = _torch()
        lhs = _tensor(data.lhs, case.dtypes[0])[0]
        rhs = _tensor(data.rhs, "s8")[0]
        if case.rhs == "column":
            rhs = rhs.t()
        out = torch.empty((case.sizes[1], case.sizes[3]), dtype=torch.int32)
        try:
            torch._int_mm(lhs, rhs, out=out)
        except RuntimeError as error:
            raise UnsupportedError(str(error).split("\n")[0]) from error
        return TorchReady(
            lambda: torch._int_mm(lhs, rhs, out=out), out, "s32", "torch._int_mm"
        )


@functools.cache
def _torch() -> Any:
    """The package, imported when it is first needed.

    Raises:
        MissingError: it is not installed.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingError(str(error)) from error


def _tensor(array: Array, dtype: str) -> Any:
    """A tensor of the values, at a multiple of 64 bytes."""
    torch = _torch()
    copy = torch.from_numpy(aligned_copy(array, dtype))
    return copy.view(torch.bfloat16) if dtype == "bf16" else copy
