"""Graphs as PyTorch computes them: the functions that its users call.

PyTorch is imported late, so that the variables which hold it to AVX2 are set first.
"""

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[], Any]

HELD = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}
"""Variables that hold PyTorch, oneDNN and MKL to AVX2."""


def torch_for(threads: int) -> Any:
    """The package, held to AVX2 and to some threads.

    Raises:
        ImportError: it is not installed.
    """
    os.environ.update(HELD)
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return torch


def call_of(torch: Any, text: str, arrays: list[Array]) -> Call:
    """What computes a Spec of a short name.

    Args:
        torch: the package.
        text: the Spec.
        arrays: its inputs, which are not copied.

    Raises:
        KeyError: there is no function for the name.
    """
    label = text.split(":")[0]
    given = [torch.from_numpy(array) for array in arrays]
    if label == "conv":
        return _convolution(torch, text, *given)
    calls: dict[str, Callable[..., Call]] = {
        "softmax": lambda x: lambda: torch.softmax(x, -1),
        "layer_norm": lambda x, w, b: _norm(torch, "layer_norm", x, w, b),
        "rms_norm": lambda x, w: _norm(torch, "rms_norm", x, w),
        "gelu_matmul": lambda a, w, c: (
            lambda: torch.nn.functional.gelu(torch.addmm(c, a, w), approximate="tanh")
        ),
        "residual_matmul": lambda a, w, c: lambda: torch.addmm(c, a, w),
        "chain": lambda a, b, c: lambda: torch.mm(torch.mm(a, b), c),
        "attention": lambda q, k, v: _attention(torch, q, k, v),
    }
    return calls[label](*given)


def _norm(torch: Any, name: str, x: Any, *rest: Any) -> Call:
    function = getattr(torch.nn.functional, name)
    shape = x.shape[-1:]
    return lambda: function(x, shape, *rest, eps=1e-5)


def _attention(torch: Any, *given: Any) -> Call:
    heads = [(a if a.dim() > 2 else a[None])[None] for a in given]
    return lambda: torch.nn.functional.scaled_dot_product_attention(*heads)


def _convolution(torch: Any, text: str, w: Any, x: Any) -> Call:
    options = dict(part.split("=") for part in text.split(":") if "=" in part)
    stride, pad, groups = (
        int(options.get(name, default))
        for name, default in (("stride", 1), ("pad", 0), ("groups", 1))
    )
    last = options.get("layout") == "nhwc"
    images = x if x.dim() > 3 else x[None]
    if last:  # views: memory stays in channels-last order
        images = images.permute(0, 3, 1, 2)
        w = w.permute(2, 0, 1) if groups > 1 else w.permute(0, 3, 1, 2)
    filters = w[:, None] if w.dim() == 3 else w
    convolve = torch.nn.functional.conv2d

    def call() -> Any:
        found = convolve(images, filters, stride=stride, padding=pad, groups=groups)
        return found.permute(0, 2, 3, 1) if last else found

    return call
