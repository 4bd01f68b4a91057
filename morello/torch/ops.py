"""The ops of ATen that may be in a group."""

from collections.abc import Callable
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers its ops
from torch.fx import Node

from morello.spec.functions import ROWS
from morello.torch.larger_ops import recurrent
from morello.torch.larger_ops.packed_products import packed_columns
from morello.torch.places import is_of_floats, lookups_of

aten: Any = torch.ops.aten

NARROW = (torch.bfloat16, torch.float16)
"""Floats that are stored, and computed in f32."""

FLOATS = (torch.float32, *NARROW)
"""Dtypes of floats that a group computes."""

COUNTS = (torch.bool, torch.int32, torch.int64)
"""Dtypes of masks and places, which a group computes, too."""

NARROW_INTEGERS = (torch.uint8, torch.int8, torch.int16)
"""Dtypes that are read by ops whose results are wider."""

INTEGERS = (*COUNTS, *NARROW_INTEGERS)
"""Dtypes of integers that are moved, and cast."""


def overload(name: str) -> Any:
    """An overload by its name; ``default`` is left out."""
    op, _, variant = name.partition(".")
    return getattr(getattr(aten, op), variant or "default")


def _ops(names: str) -> frozenset[Any]:
    return frozenset(map(overload, names.split()))


VIEWS = _ops("""
    _unsafe_view alias as_strided detach diagonal expand permute reshape select.int
    slice.Tensor squeeze squeeze.dim squeeze.dims t transpose.int unfold unsqueeze view
    view_as_complex view_as_real
""")
"""Ops that compute nothing."""

SPLITS = _ops("""
    split.Tensor split_with_sizes unbind.int unsafe_split.Tensor unsafe_split_with_sizes
""")
"""Ops with a list of results."""

CREATED = _ops("""
    arange arange.start arange.start_step empty.memory_format empty_like eye eye.m full
    full_like linspace new_empty new_full new_ones new_zeros ones ones_like
    scalar_tensor zeros zeros_like
""")
"""Tensors of constants: they compute nothing by themselves."""

PRODUCTS = _ops("""
    _int_mm _trilinear addmm addr baddbmm bmm convolution dot linalg_cross mm mv vdot
""")

MOVES = _ops("""
    block_diag cat channel_shuffle clone constant_pad_nd copy diagonal_copy embedding
    expand_copy fill.Scalar fill.Tensor flip gather im2col index.Tensor index_copy
    index_fill.int_Scalar index_put index_select lift_fresh_copy masked_fill.Scalar
    masked_fill.Tensor masked_scatter permute_copy pixel_shuffle pixel_unshuffle
    reflection_pad1d reflection_pad2d reflection_pad3d repeat replication_pad1d
    replication_pad2d replication_pad3d roll rot90 scatter.src scatter.value
    select_copy.int select_scatter slice_scatter squeeze_copy squeeze_copy.dim stack
    t_copy take tril triu unfold_copy unsqueeze_copy where.self zero
""")
"""Ops that change no element."""

NUMBERS = {
    torch.ops.aten.full.default: None,
    torch.ops.aten.full_like.default: None,
    torch.ops.aten.scalar_tensor.default: None,
    torch.ops.aten.zeros.default: 0,
    torch.ops.aten.zeros_like.default: 0,
    torch.ops.aten.ones.default: 1,
    torch.ops.aten.ones_like.default: 1,
}
"""Ops that make tensors of one number: which, or None for their last argument."""

COMPARED = _ops("eq.Scalar ge.Scalar gt.Scalar le.Scalar lt.Scalar ne.Scalar")
"""Comparisons with numbers."""

EXACT = COMPARED | _ops("""
    abs add.Scalar add.Tensor amax amin argmax argmin bitwise_and.Tensor bitwise_not
    bitwise_or.Tensor bitwise_xor.Tensor clamp clamp.Tensor clamp_max clamp_max.Tensor
    clamp_min clamp_min.Tensor count_nonzero count_nonzero.dim_IntList cummax cummin
    cumprod cumsum eq.Tensor ge.Tensor gt.Tensor index_add kthvalue le.Tensor
    logical_and logical_not logical_or logical_xor lt.Tensor max max.dim maximum median
    median.dim min min.dim minimum mul.Scalar mul.Tensor ne.Tensor neg
    pow.Tensor_Scalar remainder.Scalar
    remainder.Tensor rsub.Scalar scatter_add sign sort sort.stable sub.Scalar sub.Tensor
    sum sum.dim_IntList topk
""")
"""Ops that are taken of places and masks, too."""

WHOLE = _ops("__lshift__.Scalar __rshift__.Scalar floor_divide isin.Tensor_Tensor")
"""Ops that are taken of places and masks alone: of floats eager's are quicker."""

TRUTHS = _ops("all all.dim any any.dim any.dims")
"""Ops of masks, and of numbers by which of them are not zero."""

FIRST_OF_SEVERAL = _ops("""
    _embedding_bag _embedding_bag_forward_only _native_batch_norm_legit.no_stats
    _native_batch_norm_legit_no_training _scaled_dot_product_flash_attention_for_cpu
    _weight_norm_interface adaptive_max_pool2d adaptive_max_pool3d kthvalue
    log_sigmoid_forward max_pool2d_with_indices max_pool3d_with_indices median.dim
    native_group_norm native_layer_norm
""")
"""Ops with several results, of which the first alone may be read."""

FIRST_THREE = _ops("mkldnn_rnn_layer")

READ = {**dict.fromkeys(FIRST_OF_SEVERAL, 1), **dict.fromkeys(FIRST_THREE, 3)}
"""How many of the results of an op may be read, where that is not all."""

_QUANTIZED: Any = torch.ops.quantized_decomposed

QUANTIZED = frozenset(
    (
        _QUANTIZED.quantize_per_tensor.default,
        _QUANTIZED.quantize_per_tensor.tensor,
        _QUANTIZED.quantize_per_channel.default,
    )
)
"""Ops that make integers of floats, by scales and zero points."""

DEQUANTIZED = frozenset(
    (
        _QUANTIZED.dequantize_per_tensor.default,
        _QUANTIZED.dequantize_per_tensor.tensor,
        _QUANTIZED.dequantize_per_channel.default,
    )
)
"""Their inverses."""

FUNCTIONS = _ops(" ".join(name for row in ROWS.values() for name in row.aten))
"""Functions of elements, by their rows in the table."""

COMPUTED = (
    QUANTIZED
    | DEQUANTIZED
    | READ.keys()
    | PRODUCTS
    | MOVES
    | TRUTHS
    | EXACT
    | FUNCTIONS
    | WHOLE
    | _ops("""
    _adaptive_avg_pool2d _adaptive_avg_pool3d _cdist_forward _log_softmax
    _native_batch_norm_legit_functional _prelu_kernel _safe_softmax _softmax
    _softmax_backward_data _to_copy _unsafe_index.Tensor _upsample_bicubic2d_aa
    _upsample_bilinear2d_aa _weight_int4pack_mm_for_cpu _weight_int8pack_mm addcdiv
    addcmul addmv affine_grid_generator aminmax avg_pool1d avg_pool2d avg_pool3d
    binary_cross_entropy_with_logits bucketize.Tensor celu col2im deg2rad diag_embed
    dist div.Scalar div.Tensor_mode elu fmod.Scalar frac gelu glu grid_sampler_2d
    hardshrink hardsigmoid hardswish hardtanh heaviside histc huber_loss hypot isinf
    isnan isneginf isposinf leaky_relu lerp.Scalar lerp.Tensor linalg_vector_norm
    logaddexp logaddexp2 logit logsumexp mean mean.dim mish mse_loss nan_to_num nansum
    nll_loss2d_forward nll_loss_forward norm.Scalar norm.ScalarOpt_dim pow.Scalar prod
    prod.dim_int rad2deg reciprocal renorm round.decimals rsub.Tensor scatter_reduce.two
    searchsorted.Tensor sgn sinc smooth_l1_loss soft_margin_loss softplus softshrink
    special_entr special_xlog1py std.correction std_mean.correction threshold trace
    upsample_bicubic2d upsample_bicubic2d.vec upsample_bilinear2d
    upsample_bilinear2d.vec upsample_linear1d upsample_linear1d.vec
    upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec
    upsample_trilinear3d upsample_trilinear3d.vec var.correction var_mean.correction
    xlogy.Tensor
""")
)
"""Ops that `morello.from_mlir` knows once they are linalg."""

FLOATED = FUNCTIONS | _ops("""
    clamp clamp.Tensor clamp_max clamp_max.Tensor clamp_min clamp_min.Tensor deg2rad
    mean mean.dim pow.Scalar pow.Tensor_Scalar rad2deg reciprocal xlogy.Tensor
""")
"""Ops whose integers become floats first, where the result is one."""

OF_AXES = _ops("aminmax _softmax _safe_softmax")
"""Ops that the importer does not take of tensors without axes, or never ends with."""

_BAGS = _ops("_embedding_bag _embedding_bag_forward_only")

_ATTENTION = _ops("_scaled_dot_product_flash_attention_for_cpu")

AS_THEY_ARE = PRODUCTS | MOVES | _BAGS | _ATTENTION | _ops("_to_copy")
"""Ops that are taken of narrow floats as they are: data movement, products, which add
up in f32, attention, whose second product has narrow factors, too, and bags, of which
only the rows that are looked up become f32. All others compute in f32."""

KNOWN = VIEWS | SPLITS | CREATED | COMPUTED


WEIGHT = "morello_weight"
"""The key in the metadata of a graph's arguments that are parameters and buffers."""


def _packed(node: Node) -> str:
    weights = node.all_input_nodes[1:]
    if not all(WEIGHT in weight.meta or weight.op == "get_attr" for weight in weights):
        return "with weights that a call gives, which would be unpacked in each"
    return "" if packed_columns() else "packed otherwise than for AVX2 and AVX-512"


_ARANGES = _ops("arange arange.start arange.start_step")


def _bags(node: Node) -> str:
    _, places, offsets, *options = node.args
    assert isinstance(places, Node)
    assert isinstance(offsets, Node)
    if options[1:2] == [_MAXIMUM]:
        return "its maximum leaves NaN out"
    if offsets.target not in _ARANGES or options[4:5] == [True]:
        return "of bags whose sizes are data"
    begins = range(*offsets.args)
    (count,) = places.meta["val"].shape
    is_even = begins.start == 0 and len(begins) * begins.step == count
    return "" if is_even else "of bags of several sizes"


_MAXIMUM = 2
"""The mode of bags."""


def _strided(node: Node) -> str:
    value, source = node.meta["val"], node.all_input_nodes[0].meta["val"]
    is_same = (
        value.shape == source.shape
        and value.storage_offset() == source.storage_offset()
        and all(
            one == other
            for n, one, other in zip(
                value.shape, value.stride(), source.stride(), strict=True
            )
            if n > 1
        )
    )
    return "" if is_same else "of other elements than it is given"


def _put(node: Node) -> str:
    _, indices, values, *adds = node.args
    assert isinstance(indices, list | tuple)
    assert isinstance(values, Node)
    dims = [dim for dim, places in enumerate(indices) if places is not None]
    if indices[dims[0]].meta["val"].dtype is torch.bool:
        is_one = dims == [0] and not any(adds) and values.meta["val"].numel() == 1
        return "" if is_one else "of several numbers where a mask is true"
    is_dense = dims == list(range(dims[0], dims[0] + len(dims)))
    return "" if is_dense else "at places along axes that are apart"


def _converted(node: Node) -> str:
    """Why a tensor is not copied: one that groups take lies on the CPU already."""
    others = {*node.kwargs} - {"dtype", "layout", "device", "non_blocking"}
    plain = (None, False, torch.preserve_format, torch.contiguous_format)
    is_plain = all(node.kwargs[name] in plain for name in others)
    return "" if is_plain else "to another memory format"


def _quotient(node: Node) -> str:
    value, divisor = node.meta["val"], node.args[1]
    if value.is_floating_point():
        is_floored = node.kwargs.get("rounding_mode") == "floor"
        return "of floats rounded down" if is_floored else ""
    is_known = type(divisor) is int and divisor != 0  # True is divided by in floats
    return "" if is_known else "by what may be 0, where eager raises an error"


def _power(node: Node) -> str:
    if node.meta["val"].is_floating_point():
        return ""
    is_count = type(node.args[1]) is int and node.args[1] >= 0  # of True: truths
    return "" if is_count else "of integers by a negative power"


def _shift(node: Node) -> str:
    bits, most = node.args[1], torch.iinfo(torch.int32).bits - 2
    is_within = isinstance(bits, int) and 0 <= bits <= most
    return "" if is_within else f"by fewer than no bits, or more than {most}"


def _unless(is_known: Callable[[Node], bool], reason: str) -> Callable[[Node], str]:
    return lambda node: "" if is_known(node) else reason


def _counted(node: Node) -> str:
    least, most = (*node.args[2:], 0, 0)[:2]
    return "" if least < most else "between the least and the greatest element"


_REASONS: dict[Any, Callable[[Node], str]] = {
    aten._scaled_dot_product_flash_attention_for_cpu.default: _unless(
        lambda node: len(node.args) < 4 or node.args[3] == 0.0, "with dropout"
    ),
    aten._embedding_bag.default: _bags,
    aten._embedding_bag_forward_only.default: _bags,
    aten._to_copy.default: _converted,
    aten._weight_int4pack_mm_for_cpu.default: _packed,
    aten.as_strided.default: _strided,
    aten.logsumexp.default: _unless(
        lambda node: bool(node.all_input_nodes[0].meta["val"].dim()), "of a number"
    ),
    aten.div.Tensor_mode: _quotient,
    aten.floor_divide.default: _quotient,
    aten.remainder.Scalar: _quotient,
    aten.remainder.Tensor: _quotient,
    **dict.fromkeys(
        _ops("index_add index_copy index_fill.int_Scalar"),
        _unless(lambda node: bool(node.meta["val"].dim()), "of a number"),
    ),
    aten.histc.default: _counted,
    aten.index_put.default: _put,
    aten.pow.Tensor_Scalar: _power,
    aten.__lshift__.Scalar: _shift,
    aten.__rshift__.Scalar: _shift,
    aten.searchsorted.Tensor: _unless(
        lambda node: node.kwargs.get("sorter") is None, "by an order of their own"
    ),
    aten.masked_scatter.default: _unless(
        lambda node: node.args[2].meta["val"].numel() > 0, "from no numbers"
    ),
    aten.mkldnn_rnn_layer.default: lambda node: recurrent.why_not(node.args),
}


_Dtypes = tuple[torch.dtype, ...]


def dtypes_of(op: Any) -> tuple[_Dtypes, _Dtypes]:
    """The dtypes that the first tensor that an op reads may have, and all others."""
    moved = VIEWS | SPLITS | CREATED | MOVES | {aten._to_copy.default}
    if op in moved | EXACT | FLOATED:
        return FLOATS + INTEGERS, FLOATS + INTEGERS
    if op in WHOLE:
        return COUNTS, COUNTS
    if op is aten._weight_int4pack_mm_for_cpu.default:
        return FLOATS, (*FLOATS, torch.uint8)
    if op is aten._weight_int8pack_mm.default:
        return FLOATS, (*FLOATS, torch.int8)
    if op is aten._int_mm.default:
        return INTEGERS, INTEGERS
    if op in QUANTIZED:
        return FLOATS, FLOATS + INTEGERS
    if op in DEQUANTIZED:
        return INTEGERS, FLOATS + INTEGERS
    return FLOATS + COUNTS if op in TRUTHS else FLOATS, FLOATS + COUNTS


def _narrow_result(node: Node) -> torch.dtype | None:
    """The dtype of a result of narrow integers; None where there is none."""
    value: Any = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else (value,)
    dtypes = [getattr(one, "dtype", None) for one in values]
    return next((dtype for dtype in dtypes if dtype in NARROW_INTEGERS), None)


def refused(node: Node) -> str:
    """Why an op of `COMPUTED` is not known with its arguments; empty if it is."""
    narrow = _narrow_result(node) if node.target in EXACT else None
    if narrow is not None:
        return f"with results of {narrow}"
    if node.target in FLOATED - EXACT and node.meta["val"].dtype in INTEGERS:
        return f"of {node.meta['val'].dtype}"
    if any(is_of_floats(lookup.places, KNOWN) for lookup in lookups_of(node)):
        return "at places that are computed of floats"
    reason = _REASONS.get(node.target)
    return reason(node) if reason else ""
