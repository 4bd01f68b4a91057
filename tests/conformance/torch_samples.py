"""PyTorch's ops with samples of their arguments, in the dtype of a run."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

# Results that are random, or of memory that nothing has written.
_RANDOM = """
dropout rrelu multinomial bernoulli normal rand uniform cauchy exponential empty
fractional
"""
# Families that no group takes, but for those of them that models use.
_SELDOM = ("fft", "special", "linalg", "sparse", "_refs", "jiterator", "torch.ops")
_USED = """
special.erf special.expit special.log_softmax special.softmax special.xlog1py
special.i0e linalg.norm linalg.vector_norm linalg.matrix_norm linalg.multi_dot
linalg.cross linalg.solve linalg.inv linalg.cholesky linalg.det
"""
# Ops that models seldom have, as patterns.
_RARE = """
item geometric allclose broadcast_shapes broadcast_tensors combinations cartesian_prod
cholesky_* unsafe_* conj* resolve_* view_as_complex complex cummin equal *_copy
diagonal_scatter select_scatter slice_scatter as_strided_scatter masked_scatter stft i0
frexp geqrf gradient isin kthvalue linspace.* logspace* lu lu_* matrix_exp nanmedian
quantile nanquantile as_strided.* native_group_norm _upsample_* *_backward.* igamma*
max_pool2d_with_indices_backward mode mvlgamma.*_[35] ormqr qr round.* sgn
split.list_args __rmod__ signbit isposinf isneginf isreal svd* pca_lowrank
polygamma.*_[1234] reshape_as atleast_3d pinverse index_fill index_reduce.*
_unsafe_masked_* unique_consecutive put bool byte char double int long short cdouble
cfloat chalf ones zeros full eye scalar_tensor _chunk_cat histogram* searchsorted msort
resize_* trapz cumulative_trapezoid zero_ H mH to_sparse logdet nonzero* norm.nuc
grid_sampler_* argwhere hash_tensor diagflat scatter_reduce.* _segment_reduce.*
signal.* masked.prod masked.cum* masked.arg* masked.median masked.softmin
masked.logaddexp bmm.*
"""


def name_of(op: OpInfo) -> str:
    """The name of an op with that of its variant."""
    variant = op.variant_test_name
    return f"{op.name}.{variant}" if variant else str(op.name)


def ops(dtype: torch.dtype) -> dict[str, OpInfo]:
    """Deterministic ops of a dtype, by name."""
    by_name = {}
    for op in op_db:
        name = name_of(op)
        seldom = name.startswith(_SELDOM) and name not in _USED.split()
        random = any(part in op.name for part in _RANDOM.split())
        if op.supports_dtype(dtype, "cpu") and not seldom and not random:
            by_name.setdefault(name, op)
    return by_name


def is_rare(name: str) -> bool:
    """Whether models seldom have an op of this name."""
    return any(fnmatchcase(name, pattern) for pattern in _RARE.split())


def samples_of(op: OpInfo, dtype: torch.dtype, count: int) -> dict[int, SampleInput]:
    """Some samples of an op, evenly from all, by their places. Tensors without elements
    are left out where there are others."""
    samples = list(enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)))
    full = [
        (place, s) for place, s in samples if all(t.numel() for t in tensors(_all(s)))
    ]
    chosen = full or samples
    step = max(1, len(chosen) // count)
    return dict(chosen[::step][:count])


def _all(sample: SampleInput) -> list[object]:
    return [sample.input, *sample.args, *sample.kwargs.values()]


def tensors(value: object) -> list[torch.Tensor]:
    """The tensors of tuples and lists, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in tensors(part)]
    return []


def cast(value: Any, before: torch.dtype, after: torch.dtype) -> Any:
    """A copy of arguments with tensors and dtypes of one dtype as another."""
    if isinstance(value, torch.Tensor):
        return value.to(after) if value.dtype == before else value.clone()
    if isinstance(value, (tuple, list)):
        parts = [cast(part, before, after) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: cast(part, before, after) for key, part in value.items()}
    return after if isinstance(value, torch.dtype) and value == before else value


def called(op: OpInfo, between: bool) -> Callable[[Any, Any, Any], Any]:
    """An op as a function of its input, arguments and keywords.

    Between two others, it reads a product, and a sum reads its results, so that views
    and masks stand within a group."""
    if not between:
        return lambda x, args, kwargs: op.op(x, *args, **kwargs)
    return lambda x, args, kwargs: _each(
        op.op(_each(x, lambda t: t * 1.5), *args, **kwargs), lambda t: t * 2 + 1
    )


def _each(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A function of the tensors of numbers in a value."""
    if isinstance(value, torch.Tensor):
        return function(value) if value.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return [_each(part, function) for part in value]
    return value


def shown(sample: SampleInput) -> str:
    """Shapes and other arguments of a sample, in some words."""
    shapes = [tuple(t.shape) for t in tensors([sample.input, *sample.args])]
    rest = [a for a in sample.args if not isinstance(a, (torch.Tensor, Sequence))]
    keywords = {
        key: tuple(v.shape) if isinstance(v, torch.Tensor) else v
        for key, v in sample.kwargs.items()
    }
    return f"{shapes} {rest} {keywords}"[:150]
