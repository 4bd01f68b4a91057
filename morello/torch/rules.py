"""Rules that take larger ops of PyTorch apart, in ops that the importer knows.

PyTorch has rules for most. Some have rules of their own: the importer computes
variances in f64, from a copy, and by negative degrees of freedom, loses small values of
elu, has another constant in gelu, and takes NaN for equal to itself.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_map

from morello.torch.larger_ops import (
    integers,
    orders,
    pools,
    quantized,
    resizing,
    scatters,
    windows,
)
from morello.torch.larger_ops.packed_products import packed_product
from morello.torch.larger_ops.recurrent import lstm_layer
from morello.torch.larger_ops.samples import samples
from morello.torch.ops import COMPARED, OF_AXES


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
    """Attention without dropout; the second result is not read.

    Of narrow floats it is computed in f32, but for what softmax gives the second
    product, which is rounded as eager's is.
    """
    del dropout_p
    dtype = query.dtype
    query, key, value = query.float(), key.float(), value.float()
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
        weights = scores.softmax(-1)
    else:  # rows that are masked whole are 0
        weights = torch.ops.aten._safe_softmax(scores + attn_mask.float(), -1)
    return (weights.to(dtype).float() @ value).to(dtype), scores


def _repeated(tensor: Any, heads: int) -> Any:
    """Each head as often as makes so many."""
    batch, count, rows, columns = tensor.shape
    wide = tensor.unsqueeze(2).expand(batch, count, heads // count, rows, columns)
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


def _convolution(
    x: Any,
    filters: Any,
    bias: Any,
    steps: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    is_transposed: bool,
    extra: Sequence[int],
    groups: int,
) -> Any:
    """Groups of a transposed convolution, each by itself: torch-mlir refuses those of
    one channel."""
    if not is_transposed or groups == 1:
        return NotImplemented
    options = steps, padding, dilation, True, extra, 1
    pairs = zip(x.chunk(groups, 1), filters.chunk(groups), strict=True)
    y = torch.cat([torch.convolution(*pair, None, *options) for pair in pairs], 1)
    return y if bias is None else y + bias.reshape(-1, *[1] * len(steps))


def _bags(
    table: Any,
    places: Any,
    offsets: Any,
    scales_gradients: bool = False,
    mode: int = 0,
    is_sparse: bool = False,
    factors: Any = None,
    has_end: bool = False,
    ignored: int = -1,
) -> tuple[Any, Any, Any, Any]:
    """Sums or means of equally many rows of a table, in f32; only the first result is
    read."""
    del scales_gradients, is_sparse, has_end
    bags = len(offsets)
    places = places.reshape(bags, -1)
    rows = torch.nn.functional.embedding(places, table).float()
    if factors is not None:
        rows = rows * factors.reshape(bags, -1, 1).float()
    if ignored < 0:
        result = rows.sum(1) if mode == 0 else rows.mean(1)
        return result.to(table.dtype), offsets, offsets, offsets
    counts = places != ignored
    result = torch.where(counts.unsqueeze(-1), rows, 0.0).sum(1)
    if mode:
        result = result / counts.sum(1, keepdim=True).clamp(min=1)
    return result.to(table.dtype), offsets, offsets, offsets


def _roll(x: Any, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """A roll by shifts that are less than the axes; without axes, of all elements in a
    row."""
    if not dims:
        return torch.roll(x.reshape(-1), shifts, 0).reshape(x.shape)
    pairs = list(zip(shifts, dims, strict=True))
    moved = [
        (shift if abs(shift) < x.shape[dim] else shift % x.shape[dim], dim)
        for shift, dim in pairs
        if shift % x.shape[dim]
    ]
    if moved == pairs:
        return NotImplemented
    return torch.roll(x, *map(list, zip(*moved, strict=True))) if moved else x.clone()


def _as_strided(x: Any, shape: Sequence[int], *others: Any) -> Any:
    """Strides are others here, of the same elements."""
    del others
    return x.reshape(shape)


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate != "tanh":
        return NotImplemented
    inner = x + 0.044715 * (x * x * x)
    return x * (0.5 * (torch.tanh(math.sqrt(2 / math.pi) * inner) + 1))


def _elu(x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    below = torch.expm1(x * input_scale) * (alpha * scale)
    return torch.where(x < 0, below, x * scale)


def _celu(x: Any, alpha: Any = 1.0) -> Any:
    return _elu(x, alpha, 1, 1 / alpha)


def _leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    """A choice: the importer's sum is NaN where a slope is infinite."""
    return NotImplemented if math.isfinite(slope) else torch.where(x > 0, x, x * slope)


def _power(x: Any, exponent: Any) -> Any:
    """Roots, which eager takes for these powers: NaN of -inf."""
    if not x.is_floating_point():
        return integers.power(x, exponent)
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


def _padded(x: Any, around: Sequence[int], value: Any = 0) -> Any:
    """With what is cut off cut first: MLIR takes a tensor of equal shape for itself,
    though its elements move."""
    if min(around) >= 0:
        return NotImplemented
    for place, cut in enumerate(around):
        if cut < 0:
            axis = x.dim() - 1 - place // 2
            x = x.narrow(axis, 0 if place % 2 else -cut, x.shape[axis] + cut)
    return torch.constant_pad_nd(x, [max(wide, 0) for wide in around], value)


def _addmv(x: Any, matrix: Any, vector: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = alpha * torch.mv(matrix, vector)
    return product if beta == 0 else beta * x + product


def _distances(x: Any, y: Any, power: float, mode: Any = None) -> Any:
    """The distances of each row from each row of another matrix."""
    del mode
    apart = x.unsqueeze(-2) - y.unsqueeze(-3)
    return torch.linalg.vector_norm(apart, power, -1)


def _blocks(tensors: Sequence[Any]) -> Any:
    """Matrices along a diagonal, with zeros around them."""
    tensors = [torch.atleast_2d(tensor) for tensor in tensors]
    width, begin, rows = sum(tensor.shape[1] for tensor in tensors), 0, []
    for tensor in tensors:
        end = begin + tensor.shape[1]
        rows.append(torch.constant_pad_nd(tensor, [begin, width - end]))
        begin = end
    return torch.cat(rows)


def _rounded(x: Any, *, decimals: int) -> Any:
    """The nearest numbers of so many decimal places."""
    unit = 10.0 ** abs(decimals)
    return (x * unit).round() / unit if decimals >= 0 else (x / unit).round() * unit


def _with_diagonal(x: Any, offset: int = 0, one: int = -2, other: int = -1) -> Any:
    """Zeros around a diagonal that has the last axis of a tensor."""
    places = torch.arange(x.shape[-1] + abs(offset))
    x = torch.constant_pad_nd(x, [max(-offset, 0), max(offset, 0)])
    on_diagonal = places.unsqueeze(1) + offset == places
    return torch.where(on_diagonal, x.unsqueeze(-1), 0).movedim((-2, -1), (one, other))


def _fmax(x: Any, y: Any) -> Any:
    return torch.where(y.isnan(), x, torch.where(x.isnan(), y, torch.maximum(x, y)))


def _fmin(x: Any, y: Any) -> Any:
    return torch.where(y.isnan(), x, torch.where(x.isnan(), y, torch.minimum(x, y)))


def _fmod(x: Any, y: Any) -> Any:
    """`fmod` as the remainder of the sizes with the sign of x: the importer has no
    quotient."""
    rest = torch.remainder(abs(x), abs(y))
    return torch.where(x == 0, x - rest, torch.where(x < 0, -rest, rest))


def _three(
    x: Any,
    y: Any,
    z: Any,
    x_axes: Sequence[int],
    y_axes: Sequence[int],
    z_axes: Sequence[int],
    sums: Sequence[int],
    unrolled: int = 1,
) -> Any:
    """A sum of products of three tensors (`_trilinear`), after their axes are
    inserted."""
    del unrolled

    def wide(tensor: Any, axes: Sequence[int]) -> Any:
        for axis in axes:
            tensor = tensor.unsqueeze(axis)
        return tensor

    return (wide(x, x_axes) * wide(y, y_axes) * wide(z, z_axes)).sum(sums)


def rules() -> dict[Any, Any]:
    """The rule of each op that is taken apart, by the op."""
    from torch._decomp import get_decompositions
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    aten = torch.ops.aten
    decomposed = torch.ops.quantized_decomposed
    every = get_decompositions([aten.all.default])[aten.all.default]
    extra = [aten.dist, aten.logaddexp, aten.logaddexp2, aten.norm]
    extra += [aten._weight_norm_interface, aten.affine_grid_generator]
    extra += [aten.vdot, aten.rot90]
    extra += [aten.nll_loss2d_forward]
    (sampled,) = get_decompositions([aten.grid_sampler_2d.default]).values()
    resized: dict[Any, Any] = {aten.grid_sampler_2d.default: samples(sampled)}
    for op, neighbours in resizing.NEIGHBOURS.items():
        (plain,) = get_decompositions([op.default]).values()
        rule = resizing.between(neighbours, plain)
        resized |= {op.default: rule, op.vec: resizing.by_factors(rule)}
    return {
        **get_decompositions(extra),
        **get_decomposition_table(),
        **resized,
        aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
        aten._adaptive_avg_pool2d.default: pools.means,
        aten._adaptive_avg_pool3d.default: pools.means,
        aten.adaptive_max_pool2d.default: pools.greatest,
        aten.adaptive_max_pool3d.default: pools.greatest,
        aten.max_pool3d_with_indices.default: pools.greatest_in_space,
        aten._cdist_forward.default: _distances,
        aten.__lshift__.Scalar: integers.shifted_left,
        aten.__rshift__.Scalar: integers.shifted_right,
        aten.all.default: integers.of_truths(aten.all.default, every),
        aten.all.dim: integers.of_truths(aten.all.dim),
        aten.any.default: integers.of_truths(aten.any.default),
        aten.any.dim: integers.of_truths(aten.any.dim),
        aten.any.dims: integers.of_truths(aten.any.dims),
        aten.clamp.Tensor: integers.within,
        aten.clamp_max.Tensor: lambda x, most: integers.within(x, None, most),
        aten.clamp_min.Tensor: integers.within,
        aten.cummax.default: orders.running_extreme(is_greatest=True),
        aten.cummin.default: orders.running_extreme(is_greatest=False),
        aten._upsample_bicubic2d_aa.default: resizing.cubic,
        aten._upsample_bilinear2d_aa.default: resizing.linear,
        aten.block_diag.default: _blocks,
        aten.round.decimals: _rounded,
        aten._trilinear.default: _three,
        aten.diag_embed.default: _with_diagonal,
        aten.kthvalue.default: orders.of_rank,
        aten.max.dim: orders.extreme_and_place(aten.amax.default),
        aten.min.dim: orders.extreme_and_place(aten.amin.default),
        aten.leaky_relu.default: _leaky_relu,
        aten.median.default: orders.whole_median,
        aten.median.dim: orders.median,
        aten.scatter.src: scatters.elements_put,
        aten.scatter.value: scatters.elements_put,
        aten.scatter_add.default: scatters.elements_added,
        aten.scatter_reduce.two: scatters.means_added,
        aten.sign.default: integers.sign,
        aten._int_mm.default: quantized.integer_product,
        aten._embedding_bag.default: _bags,
        aten._embedding_bag_forward_only.default: _bags,
        aten.addmv.default: _addmv,
        aten.amax.default: integers.extreme(torch.max),
        aten.amin.default: integers.extreme(torch.min),
        aten.bucketize.Tensor: orders.intervals,
        aten.argmax.default: orders.place_of_extreme(aten.amax.default),
        aten.argmin.default: orders.place_of_extreme(aten.amin.default),
        aten.as_strided.default: _as_strided,
        aten.celu.default: _celu,
        aten.col2im.default: windows.folded,
        aten.constant_pad_nd.default: _padded,
        aten.convolution.default: _convolution,
        aten.cumprod.default: orders.running_product,
        aten.cumsum.default: orders.running_sum,
        aten.elu.default: _elu,
        aten.eq.Tensor: _equal,
        aten.fmax.default: _fmax,
        aten.fmin.default: _fmin,
        aten.fmod.Scalar: _fmod,
        aten.fmod.Tensor: _fmod,
        aten.gelu.default: _gelu,
        aten.histc.default: orders.counts,
        aten.hypot.default: _hypot,
        aten.index_add.default: scatters.rows_added,
        aten.index_copy.default: scatters.rows_copied,
        aten.index_fill.int_Scalar: scatters.rows_filled,
        aten.index_put.default: scatters.rows_put,
        aten.masked_scatter.default: scatters.numbers_put,
        aten.mkldnn_rnn_layer.default: lstm_layer,
        aten.add.Tensor: integers.sum_of_truths,
        aten.neg.default: integers.negative,
        aten.roll.default: _roll,
        aten.searchsorted.Tensor: orders.places_among,
        aten.sort.default: orders.sorted_plainly,
        aten.sort.stable: orders.sorted_stably,
        aten.take.default: scatters.taken,
        aten.topk.default: orders.greatest,
        aten.trunc.default: _trunc,
        **{op: _of_a_number(op) for op in OF_AXES},
        **{op: integers.compared(op) for op in COMPARED},
        aten.native_group_norm.default: _group_norm,
        aten.native_layer_norm.default: _layer_norm,
        aten.zero.default: torch.zeros_like,
        aten.pow.Tensor_Scalar: _power,
        aten._weight_int4pack_mm_for_cpu.default: packed_product,
        aten._weight_int8pack_mm.default: quantized.scaled_product,
        decomposed.dequantize_per_channel.default: quantized.dequantized_channels,
        decomposed.dequantize_per_tensor.default: quantized.dequantized,
        decomposed.dequantize_per_tensor.tensor: quantized.dequantized,
        decomposed.quantize_per_channel.default: quantized.quantized_channels,
        decomposed.quantize_per_tensor.default: quantized.quantized,
        decomposed.quantize_per_tensor.tensor: quantized.quantized,
        aten.var.correction: _variance,
        aten.var_mean.correction: _variance_and_mean,
        aten._native_batch_norm_legit.no_stats: _batch_norm,
    }
