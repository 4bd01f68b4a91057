"""A group as linalg on tensors: larger ops are taken apart by rules of PyTorch.

Some have rules of their own: the importer computes variances in f64, from a copy, and
by negative degrees of freedom, spreads images of transposed convolutions with zeros,
loses small values of elu, has another constant in gelu, and takes NaN for equal to
itself.
"""

import copy
import io
import math
import re
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.utils.fuser_utils import fuse_as_graphmodule
from torch.utils._pytree import tree_map

from morello.frontends.linalg.importer_output import check_linalg
from morello.frontends.linalg.signature import Declared, Signature
from morello.frontends.refusals import ModelError, Refusal
from morello.mlir import PassManager, ir
from morello.torch.ops import (
    AS_THEY_ARE,
    COMPUTED,
    EXACT,
    MOVES,
    NARROW,
    OF_AXES,
    is_upsampling,
)
from morello.torch.partition import is_take

NODE = "node"
"""The file of which each node of a lowered graph is a line."""

_PLACE = re.compile(rf"\b{NODE}:(\d+)(?::\d+)?")

TRACING = threading.Lock()
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
    """Attention without dropout; the second result is not read."""
    del dropout_p
    heads = query.shape[-3]
    if key.shape[-3] != heads:  # several heads of queries share one of keys
        key, value = (_repeated(tensor, heads) for tensor in (key, value))
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ key.mT * scale
    if is_causal:
        rows, columns = scores.shape[-2:]
        later = torch.ones(rows, columns, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    if attn_mask is None:
        return scores.softmax(-1) @ value, scores
    # Rows that are masked whole are 0.
    weights = torch.ops.aten._safe_softmax(scores + attn_mask, -1)
    return weights @ value, scores


def _repeated(tensor: Any, heads: int) -> Any:
    """Each head as often as makes so many."""
    batch, own, rows, columns = tensor.shape
    wide = tensor.unsqueeze(2).expand(batch, own, heads // own, rows, columns)
    return wide.reshape(batch, heads, rows, columns)


def _normalised(x: Any, axes: Sequence[int], eps: float) -> tuple[Any, Any, Any]:
    """Less its mean, over its deviation, in f32; with the mean and 1 over the
    deviation, which nobody reads."""
    mean = x.mean(axes, keepdim=True)
    centred = x - mean
    deviation = torch.rsqrt((centred * centred).mean(axes, keepdim=True) + eps)
    return centred * deviation, mean, deviation


def _scaled(x: Any, weight: Any, bias: Any, shape: Sequence[int]) -> Any:
    if weight is not None:
        x = x * weight.reshape(shape)
    if bias is not None:
        x = x + bias.reshape(shape)
    return x


def _layer_norm(
    x: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    normal, mean, deviation = _normalised(x, list(range(-len(shape), 0)), eps)
    return _scaled(normal, weight, bias, shape), mean, deviation


def _group_norm(
    x: Any, weight: Any, bias: Any, n: int, c: int, rest: int, groups: int, eps: float
) -> tuple[Any, Any, Any]:
    rows = x.reshape(n, groups, c // groups, rest)
    normal, mean, deviation = _normalised(rows, [2, 3], eps)
    shape = [1, groups, c // groups, 1]
    return _scaled(normal, weight, bias, shape).reshape(x.shape), mean, deviation


def _batch_norm(
    x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """By the statistics of the batch itself."""
    del training, momentum
    axes = [axis for axis in range(x.dim()) if axis != 1]
    normal, mean, deviation = _normalised(x, axes, eps)
    shape = [1, x.shape[1], *([1] * (x.dim() - 2))]
    return _scaled(normal, weight, bias, shape), mean, deviation


def _convolution(*arguments: Any) -> Any:
    """A transposed one that writes each element once, as a product of matrices."""
    if not is_upsampling(arguments):
        return NotImplemented
    x, filters, bias, *_ = arguments
    n, c, *places = x.shape
    taps = filters.shape[2:]
    rows = x.movedim(1, -1).reshape(-1, c)
    y = (rows @ filters.reshape(c, -1)).reshape(n, *places, filters.shape[1], *taps)
    rank = len(places)
    order = [0, rank + 1]
    for axis in range(rank):
        order += [axis + 1, rank + 2 + axis]
    sizes = [place * tap for place, tap in zip(places, taps, strict=True)]
    y = y.permute(order).reshape(n, filters.shape[1], *sizes)
    return y if bias is None else y + bias.reshape(-1, *([1] * rank))


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate != "tanh":
        return NotImplemented
    inner = x + 0.044715 * (x * x * x)
    return x * (0.5 * (torch.tanh(math.sqrt(2 / math.pi) * inner) + 1))


def _elu(x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    below = torch.expm1(x * input_scale) * (alpha * scale)
    return torch.where(x > 0, x * scale, below)


def _power(x: Any, exponent: Any) -> Any:
    """Roots, which eager takes for these powers: NaN of -inf."""
    if exponent == 0.5:
        return x.sqrt()
    return x.rsqrt() if exponent == -0.5 else NotImplemented


def _equal(x: Any, y: Any) -> Any:
    """With itself all but NaN is equal; the importer takes all for equal."""
    if x is not y or not x.is_floating_point():
        return NotImplemented
    return x.isnan().logical_not()


def _trunc(x: Any) -> Any:
    """With the sign of x where the result is zero."""
    return torch.where(x < 0, x.ceil(), x.floor())


def _hypot(x: Any, y: Any) -> Any:
    """By the ratio of the smaller to the larger, so that no square overflows."""
    x, y = x.abs(), y.abs()
    larger, smaller = torch.maximum(x, y), torch.minimum(x, y)
    ratio = smaller / torch.where(larger == 0, 1.0, larger)
    length = larger * torch.sqrt(ratio * ratio + 1)
    return torch.where((x == math.inf) | (y == math.inf), math.inf, length)


def _of_a_number(op: Any) -> Any:
    """A rule for what the importer takes of tensors with axes alone."""

    def rule(x: Any, *arguments: Any, **options: Any) -> Any:
        if x.dim():
            return NotImplemented
        results = op(x.reshape(1), *arguments, **options)
        return tree_map(lambda result: result.reshape(()), results)

    return rule


def _variance(
    x: Any,
    axes: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Any:
    """The mean square of the distance from the mean, by the degrees of freedom that
    are left: never fewer than none."""
    axes = axes or list(range(x.dim()))
    count = math.prod(x.shape[axis] for axis in axes)
    wide = x.float()
    centred = wide - wide.mean(axes, keepdim=True)
    left = max(count - (1 if correction is None else correction), 0)
    return ((centred * centred).sum(axes, keepdim=keepdim) / left).to(x.dtype)


def _variance_and_mean(x: Any, axes: Any = None, **options: Any) -> tuple[Any, Any]:
    every = axes or list(range(x.dim()))
    mean = x.mean(every, keepdim=options.get("keepdim", False))
    return _variance(x, axes, **options), mean


def _addmv(x: Any, matrix: Any, vector: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = alpha * torch.mv(matrix, vector)
    return product if beta == 0 else beta * x + product


def _fmax(x: Any, y: Any) -> Any:
    return torch.where(y.isnan(), x, torch.where(x.isnan(), y, torch.maximum(x, y)))


def _fmin(x: Any, y: Any) -> Any:
    return torch.where(y.isnan(), x, torch.where(x.isnan(), y, torch.minimum(x, y)))


def _fmod(x: Any, y: Any) -> Any:
    """By the remainder of the sizes, which the importer computes without a quotient."""
    rest = torch.remainder(abs(x), abs(y))
    return torch.where(x == 0, x - rest, torch.where(x < 0, -rest, rest))


def _scaled_product(x: Any, weights: Any, scales: Any) -> Any:
    """A product with rows of integers that have a scale each, rounded once."""
    wide = torch.mm(x.float(), weights.float().t())
    return (wide * scales.float()).to(x.dtype)


def _integer_product(x: Any, weights: Any) -> Any:
    """A product of bytes in s32."""
    return torch.mm(x.to(torch.int32), weights.to(torch.int32))


def _rules() -> dict[Any, Any]:
    from torch._decomp import get_decompositions
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    aten = torch.ops.aten
    extra = [aten.all, aten.dist, aten.logaddexp, aten.logaddexp2, aten.norm]
    return {
        **get_decompositions(extra),
        **get_decomposition_table(),
        aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
        aten._int_mm.default: _integer_product,
        aten.addmv.default: _addmv,
        aten.convolution.default: _convolution,
        aten.elu.default: _elu,
        aten.eq.Tensor: _equal,
        aten.fmax.default: _fmax,
        aten.fmin.default: _fmin,
        aten.fmod.Scalar: _fmod,
        aten.fmod.Tensor: _fmod,
        aten.gelu.default: _gelu,
        aten.hypot.default: _hypot,
        aten.trunc.default: _trunc,
        **{op: _of_a_number(op) for op in OF_AXES},
        aten.native_group_norm.default: _group_norm,
        aten.native_layer_norm.default: _layer_norm,
        aten.pow.Tensor_Scalar: _power,
        aten._weight_int8pack_mm.default: _scaled_product,
        aten.var.correction: _variance,
        aten.var_mean.correction: _variance_and_mean,
        aten._native_batch_norm_legit.no_stats: _batch_norm,
    }


def _reshape(graph: GraphModule) -> None:
    """Make views reshapes, in place: strides may be others than eager's here."""
    aten = torch.ops.aten
    for node in graph.graph.nodes:
        if node.target in (aten.view.default, aten._unsafe_view.default):
            node.target = aten.reshape.default
    graph.recompile()


def _cast(node: Node, dtype: torch.dtype) -> Node:
    """A cast of a node, where its graph inserts."""
    copied = torch.ops.aten._to_copy.default
    made = node.graph.call_function(copied, (node,), {"dtype": dtype})
    made.meta["val"] = node.meta["val"].to(dtype)
    return made


def _wide_bytes(graph: GraphModule) -> None:
    """Cast unsigned bytes to the dtype of a result, in place: torch-mlir widens them as
    if they had signs."""
    for node in list(graph.graph.nodes):
        if node.target not in MOVES | EXACT:
            continue
        dtype = getattr(node.meta["val"], "dtype", torch.uint8)
        if dtype is torch.uint8:
            continue
        wide = torch.int32 if dtype is torch.bool else dtype
        with graph.graph.inserting_before(node):
            for source in node.all_input_nodes:
                if getattr(source.meta.get("val"), "dtype", None) is torch.uint8:
                    node.replace_input_with(source, _cast(source, wide))
    graph.recompile()


def _in_f32(graph: GraphModule) -> None:
    """Make ops on narrow floats compute in f32, in place, as eager does, and round
    results."""
    for node in list(graph.graph.nodes):
        if node.target not in COMPUTED - AS_THEY_ARE:
            continue
        read = [n for n in node.all_input_nodes if _is_narrow(n)]
        with graph.graph.inserting_before(node):
            for source in read:
                node.replace_input_with(source, _cast(source, torch.float32))
        is_several = isinstance(node.meta["val"], (tuple, list))
        made = list(node.users) if is_several else [node]
        for result in made if read else []:
            if not _is_narrow(result):
                continue
            dtype = result.meta["val"].dtype
            result.meta["val"] = result.meta["val"].float()
            with graph.graph.inserting_after(result):
                rounded = _cast(result, dtype)
            result.replace_all_uses_with(rounded)
            rounded.replace_input_with(rounded, result)
    graph.recompile()


def _is_narrow(node: Node) -> bool:
    return getattr(node.meta.get("val"), "dtype", None) in NARROW


def lowered(graph: GraphModule, inputs: Sequence[Any]) -> GraphModule:
    """The graph in the ops that the importer knows.

    Args:
        graph: of a group; it is left as it is.
        inputs: tensors of the shapes of its arguments, without memory.
    """
    whole = copy.deepcopy(graph)
    _reshape(whole)
    _wide_bytes(whole)
    _in_f32(whole)
    plain = [torch.empty(t.shape, dtype=t.dtype) for t in inputs]  # never touched
    with TRACING, torch.no_grad():
        trace = make_fx(whole, decomposition_table=_rules(), tracing_mode="fake")
        module: GraphModule = trace(*plain)
    module.graph.eliminate_dead_code()
    for place, node in enumerate(module.graph.nodes):
        # What the importer takes for the place of a node.
        node.meta["stack_trace"] = f'File "{NODE}", line {place}, in group'
    return module


_TO_LINALG = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=},"
    "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true})"
)


def signature_of(graph: GraphModule) -> Signature:
    """The signs of a lowered graph's arguments and results, which linalg drops."""

    def declared(node: Any) -> Declared:
        value = node.meta["val"] if isinstance(node, Node) else None
        return Declared("", getattr(value, "dtype", None) is torch.uint8)

    output = graph.graph.output_node()
    return Signature(
        tuple(declared(node) for node in graph.graph.find_nodes(op="placeholder")),
        tuple(declared(node) for node in output.args[0]),
    )


def linalg_bytecode(graph: GraphModule) -> bytes:
    """A lowered graph as a module of linalg on tensors, whose locations are nodes.

    Raises:
        ModelError: the nodes that the importer does not take, or that have no
            counterpart in linalg.
    """
    try:
        module = _imported(graph)
    except Exception as error:  # the importer raises anything
        raise ModelError(_not_imported(graph, error)) from error
    check_linalg(module.operation, "group")
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()


def _imported(graph: GraphModule) -> Any:
    """A lowered graph as a module of linalg on tensors."""
    from torch_mlir import fx

    module = fx.stateless_fx_import(graph)
    with module.context:
        PassManager.parse(_TO_LINALG).run(module.operation)
    return module


def _not_imported(graph: GraphModule, error: Exception) -> tuple[Refusal, ...]:
    """The nodes that the importer does not take: diagnostics of passes name their
    places, or each is tried by itself."""
    nodes = list(graph.graph.nodes)
    calls = [n for n in nodes if n.op == "call_function" and not is_take(n)]
    refused = _placed(nodes, _text(error)) or [n for n in calls if _fails(graph, n)]
    return tuple(
        Refusal(
            str(node.target),
            f"{NODE}:{nodes.index(node)}",
            "torch-mlir does not take it with these arguments",
            "write it in other ops",
        )
        for node in refused or calls
    )


def _text(error: Exception) -> str:
    """The places of the diagnostics that an error has."""
    if not isinstance(error, ir.MLIRError):
        return ""
    return " ".join(str(diagnostic.location) for diagnostic in error.error_diagnostics)


def _fails(graph: GraphModule, node: Node) -> bool:
    """Whether the importer does not take a node by itself."""
    several = [user for user in node.users if is_take(user)]
    alone, *_ = fuse_as_graphmodule(
        graph, [node, *several], "alone", always_return_tuple=True
    )
    try:
        _imported(alone)
    except Exception:  # noqa: BLE001 (the importer raises anything)
        return True
    return False


def refused_nodes(graph: GraphModule, error: ModelError) -> list[Node]:
    """The nodes of a lowered graph that an error of reading it names."""
    text = " ".join(refusal.place for refusal in error.refusals)
    return _placed(list(graph.graph.nodes), text)


def _placed(nodes: list[Node], text: str) -> list[Node]:
    """The calls whose places a text has."""
    places = {int(number) for number in _PLACE.findall(text.replace('"', ""))}
    named = [node for i, node in enumerate(nodes) if i in places]
    return [node for node in named if node.op == "call_function"]


def told(graph: GraphModule, error: ModelError) -> str:
    """An error of reading a lowered graph, with its nodes by their names."""
    nodes = [str(node) for node in graph.graph.nodes]

    def name(match: re.Match[str]) -> str:
        place = int(match[1])
        return nodes[place] if place < len(nodes) else match[0]

    return _PLACE.sub(name, str(error).replace(f'"{NODE}"', NODE))
