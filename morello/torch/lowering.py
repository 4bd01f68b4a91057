"""A group as linalg on tensors: larger ops are taken apart by rules of PyTorch.

Two have rules of their own: PyTorch's of attention asks whether a row is masked whole,
and the importer computes the variance of layer norm in f64, from a copy.
"""

import copy
import math
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

_LOCK = threading.Lock()
"""Tracing sets states of the process."""


def _attention(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, Any]:
    """Attention without a mask but the causal one; the second result is not read."""
    del dropout_p, attn_mask
    scores = query @ key.mT * (scale or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        rows, columns = scores.shape[-2:]
        later = torch.ones(rows, columns, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    return scores.softmax(-1) @ value, scores


def _layer_norm(
    x: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    """Layer norm in f32; the mean and the reciprocal deviation are not read."""
    axes = list(range(-len(shape), 0))
    mean = x.mean(axes, keepdim=True)
    centred = x - mean
    deviation = torch.rsqrt((centred * centred).mean(axes, keepdim=True) + eps)
    found = centred * deviation
    if weight is not None:
        found = found * weight
    if bias is not None:
        found = found + bias
    return found, mean, deviation


def _rules() -> dict[Any, Any]:
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    aten = torch.ops.aten
    return {
        **get_decomposition_table(),
        aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
        aten.native_layer_norm.default: _layer_norm,
    }


def _reshape(graph: GraphModule) -> None:
    """Make views reshapes, in place: strides may be others than eager's here."""
    aten = torch.ops.aten
    for node in graph.graph.nodes:
        if node.target in (aten.view.default, aten._unsafe_view.default):
            node.target = aten.reshape.default
    graph.recompile()


def lowered(graph: GraphModule, inputs: Sequence[Any]) -> GraphModule:
    """The graph in the ops that the importer knows.

    Args:
        graph: of a group; it is left as it is.
        inputs: tensors of the shapes of its arguments, without memory.
    """
    whole = copy.deepcopy(graph)
    _reshape(whole)
    plain = [torch.empty(tensor.shape) for tensor in inputs]  # never touched
    with _LOCK, torch.no_grad():
        trace = make_fx(whole, decomposition_table=_rules(), tracing_mode="fake")
        found: GraphModule = trace(*plain)
    found.graph.eliminate_dead_code()
    return found


def linalg_text(graph: GraphModule) -> str:
    """A lowered graph as a module of linalg on tensors.

    Raises:
        Exception: the importer does not know an op; it has no class for that.
    """
    from torch_mlir import fx

    return str(fx.stateless_fx_import(graph, output_type="linalg-on-tensors"))
