"""Graphs as PyTorch computes them: the functions that its users call.

PyTorch is imported late, so that the variables which hold it to AVX2 are set first.
"""

import importlib
import os
from collections.abc import Callable, Mapping
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
    """Write a Spec of a short name as a call of PyTorch.

    Args:
        torch: the package.
        text: the Spec.
        arrays: its inputs, which are not copied; places of causal attention are set.

    Raises:
        KeyError: there is no function for the name.
    """
    label, _, *rest = text.split(":")
    tensors = [torch.from_numpy(array) for array in arrays]
    options = dict(part.split("=") for part in rest if "=" in part)
    functional = torch.nn.functional
    if label == "conv":
        return _convolution(torch, text, options, *tensors)
    gelu = "none" if options.get("gelu") == "erf" else "tanh"
    causal = options.get("causal") == "true"
    calls: dict[str, Callable[..., Call]] = {
        "softmax": lambda x: lambda: torch.softmax(x, -1),
        "log_softmax": lambda x: lambda: torch.log_softmax(x, -1),
        "layer_norm": lambda x, w, b: _norm(torch, "layer_norm", options, x, w, b),
        "rms_norm": lambda x, w: _norm(torch, "rms_norm", options, x, w),
        "gelu_matmul": lambda a, w, c: (
            lambda: functional.gelu(torch.addmm(c, a, w), approximate=gelu)
        ),
        "residual_matmul": lambda a, w, c: lambda: torch.addmm(c, a, w),
        "chain": lambda a, b, c: lambda: torch.mm(torch.mm(a, b), c),
        "attention": lambda *tensors: _attention(torch, causal, *tensors),
    }
    return calls[label](*tensors)


def _norm(
    torch: Any, name: str, options: Mapping[str, str], x: Any, *rest: Any
) -> Call:
    function = getattr(torch.nn.functional, name)
    shape, eps = x.shape[-1:], float(options.get("eps", 1e-5))
    return lambda: function(x, shape, *rest, eps=eps)


def _attention(torch: Any, causal: bool, *operands: Any) -> Call:
    if causal:  # PyTorch knows one order of places: theirs are written into the inputs
        keys, queries, *operands = operands
        torch.arange(len(keys), out=keys)
        torch.arange(len(queries), out=queries)
    heads = [(a if a.dim() > 2 else a[None])[None] for a in operands]
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(*heads, is_causal=causal)


def _convolution(
    torch: Any, text: str, options: Mapping[str, str], w: Any, x: Any
) -> Call:
    n, c, height, width, f, fh, fw = map(int, text.split(":")[1].split("x"))
    names = ("stride", 1), ("pad", 0), ("dilation", 1), ("groups", 1)
    stride, pad, dilation, groups = (int(options.get(*name)) for name in names)
    last = options.get("layout") == "nhwc"
    # Views: memory stays in its order, groups beside channels and filters.
    if last:
        images = x.reshape(n, height, width, c).permute(0, 3, 1, 2)
        if groups == f == c:
            filters = w.permute(2, 0, 1)[:, None]
        else:
            filters = w.reshape(f, fh, fw, c // groups).permute(0, 3, 1, 2)
    else:
        images = x.reshape(n, c, height, width)
        filters = w.reshape(f, c // groups, fh, fw)
    convolve = torch.nn.functional.conv2d

    def call() -> Any:
        result = convolve(images, filters, None, stride, pad, dilation, groups)
        return result.permute(0, 2, 3, 1) if last else result

    return call
