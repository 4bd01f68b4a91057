"""The ops of ATen that may be in a group."""

from typing import Any

import torch
from torch.fx import Node

aten: Any = torch.ops.aten

DTYPES = (torch.float32, torch.bfloat16)
"""Of the tensors that a group reads and writes."""

VIEWS = frozenset(
    (
        aten.view.default,
        aten._unsafe_view.default,
        aten.permute.default,
        aten.transpose.int,
        aten.t.default,
        aten.unsqueeze.default,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.expand.default,
        aten.select.int,
        aten.slice.Tensor,
    )
)
"""Ops that compute nothing."""

SPLITS = frozenset(
    (
        aten.split.Tensor,
        aten.split_with_sizes.default,
        aten.unsafe_split.Tensor,
        aten.unsafe_split_with_sizes.default,
    )
)
"""Those with a list of results."""

PLAIN = frozenset(
    (
        aten.mm.default,
        aten.bmm.default,
        aten.addmm.default,
        aten.baddbmm.default,
        aten.convolution.default,
        aten.cat.default,
        aten.constant_pad_nd.default,
        aten.clone.default,
        aten.pixel_shuffle.default,
        aten.pixel_unshuffle.default,
        aten.repeat.default,
        aten.replication_pad1d.default,
        aten.replication_pad2d.default,
        aten.roll.default,
        aten.stack.default,
        aten._to_copy.default,
    )
)
"""Computed ops that are taken in bf16 as they are: data movement, and products, which
add up in f32. All others compute in f32."""

MULTIPLE = frozenset(
    (
        aten._scaled_dot_product_flash_attention_for_cpu.default,
        aten.native_group_norm.default,
        aten.native_layer_norm.default,
        aten._native_batch_norm_legit.no_stats,
        aten._native_batch_norm_legit_no_training.default,
        aten.log_sigmoid_forward.default,
        aten.max_pool2d_with_indices.default,
    )
)
"""Ops with several results, of which the first alone may be read."""

COMPUTED = (
    MULTIPLE
    | PLAIN
    | frozenset(
        (
            aten.avg_pool2d.default,
            aten._safe_softmax.default,
            aten._softmax.default,
            aten._log_softmax.default,
            aten.add.Tensor,
            aten.sub.Tensor,
            aten.rsub.Scalar,
            aten.mul.Tensor,
            aten.add.Scalar,
            aten.sub.Scalar,
            aten.mul.Scalar,
            aten.div.Scalar,
            aten.div.Tensor,
            aten.neg.default,
            aten.abs.default,
            aten.ceil.default,
            aten.clamp.default,
            aten.elu.default,
            aten.erf.default,
            aten.exp.default,
            aten.floor.default,
            aten.gelu.default,
            aten.hardsigmoid.default,
            aten.hardswish.default,
            aten.hardtanh.default,
            aten.leaky_relu.default,
            aten.log.default,
            aten.mish.default,
            aten.pow.Tensor_Scalar,
            aten.reciprocal.default,
            aten.relu.default,
            aten.round.default,
            aten.rsqrt.default,
            aten.sigmoid.default,
            aten.silu.default,
            aten.softplus.default,
            aten.sqrt.default,
            aten.tanh.default,
            aten.maximum.default,
            aten.minimum.default,
            aten.sum.dim_IntList,
            aten.mean.default,
            aten.mean.dim,
            aten.var.correction,
            aten.amax.default,
            aten.amin.default,
            aten._adaptive_avg_pool2d.default,
            aten._prelu_kernel.default,
            aten.celu.default,
            aten.clamp_min.default,
            aten.dot.default,
            aten.expm1.default,
            aten.glu.default,
            aten.huber_loss.default,
            aten.linalg_vector_norm.default,
            aten.log1p.default,
            aten.log2.default,
            aten.log10.default,
            aten.logsumexp.default,
            aten.mse_loss.default,
            aten.mv.default,
            aten.pow.Scalar,
            aten.pow.Tensor_Tensor,
            aten.sin.default,
            aten.cos.default,
            aten.atan.default,
            aten.exp2.default,
            aten.sign.default,
            aten.trunc.default,
            aten.smooth_l1_loss.default,
            aten.std.correction,
            aten.sum.default,
        )
    )
)
"""Ops that `morello.from_mlir` knows once they are linalg."""


def takes(node: Node) -> bool:
    """Whether such an op is known with its arguments that are no tensors."""
    match node.target:
        case aten._scaled_dot_product_flash_attention_for_cpu.default:
            return len(node.args) < 4 or node.args[3] == 0.0  # without dropout
        case aten.convolution.default:
            return not node.args[6] or is_upsampling(node.args)
        case aten._to_copy.default:
            return set(node.kwargs) <= {"dtype"}
        case aten.roll.default:
            return len(node.args) > 2 and bool(node.args[2])
        case aten._adaptive_avg_pool2d.default:
            shape = node.all_input_nodes[0].meta["val"].shape[-2:]
            return all(a % b == 0 for a, b in zip(shape, node.args[1], strict=True))
        case aten.constant_pad_nd.default:
            value = node.args[2] if len(node.args) > 2 else 0
            return value == 0 and all(n >= 0 for n in node.args[1])
        case aten.max_pool2d_with_indices.default | aten.avg_pool2d.default:
            return not any(argument is True for argument in node.args[4:6])
    return True


def is_upsampling(arguments: Any) -> bool:
    """Whether a transposed convolution writes each element once: its steps are the size
    of its filters."""
    _, filters, _, steps, padding, dilation, is_transposed, extra, groups = arguments
    shape = filters.meta["val"].shape if isinstance(filters, Node) else filters.shape
    return (
        bool(is_transposed)
        and list(shape[2:]) == list(steps)
        and not any(padding)
        and not any(extra)
        and all(n == 1 for n in dilation)
        and groups == 1
    )
