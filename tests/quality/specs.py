"""Random Specs of every kind, as functions take them: operands in MEM."""

import random

from morello.machine import AVX2
from morello.spec import Dtype, Kind, Layout, Operand, Spec, TensorSpec, argument_tensor
from morello.spec.kinds import instances
from morello.spec.mixes import legal_mixes
from tests.named_kinds import reuses_inputs
from tests.search.goals import layouts, random_dtypes

KINDS = (*instances(), *(kind for kind in instances() if reuses_inputs(kind)))
"""Every kind; twice those that reuse their inputs, whose space is the largest."""

LAYOUTS = {
    1: ("[0]", "[0,0p4]", "[0,0oe8]"),
    2: ("[0,1]", "[0,1]", "[1,0]", "[1,0,1p4]", "[0,1,0p6]", "[0,1,1oe8]"),
    3: (
        "[0,1,2]",
        "[0,1,2]",
        "[0,2,1]",
        "[0,2,1,2p16]",
        "[0,1,2,1p6]",
        "[2,0,1]",
        "[0,1,2,2oe4]",
        "[0,1,2,1p6,2p2]",
        "[0,2,1,2p16,1p2]",
    ),
}
"""By rank; row-major twice, since most arguments are."""


SMALL = (5, 3, 7, 4)
"""Sizes of a small Spec: no operand has two alike."""


def small_spec(kind: Kind) -> Spec:
    """Of a few elements, row-major, of the first dtypes that the kind has."""
    sizes = ((1,) * kind.optional_dims + SMALL)[: len(kind.dims)]
    tensors = tuple(
        argument_tensor(dtype, Layout.row_major(operand.rank))
        for operand, dtype in zip(kind.operands, legal_mixes(kind)[0], strict=True)
    )
    return Spec(kind, sizes, tensors, AVX2.limits)


def random_spec(rng: random.Random) -> Spec:
    """A Spec of any kind with arguments of any layout; about one size in two is odd."""
    kind = rng.choice(KINDS)
    dtypes = random_dtypes(rng, kind)
    tensors = tuple(
        _random_form(rng, dtype, o)
        for o, dtype in zip(kind.operands, dtypes, strict=True)
    )
    return Spec(kind, _random_sizes(rng, kind), tensors, AVX2.limits)


def _random_form(rng: random.Random, dtype: Dtype, operand: Operand) -> TensorSpec:
    return argument_tensor(dtype, rng.choice(layouts(operand, LAYOUTS)))


def _random_sizes(rng: random.Random, kind: Kind) -> tuple[int, ...]:
    """Small, but for one dimension that may be long; the batch is 1 to 3."""
    sizes = [_random_size(rng) for _ in kind.dims]
    for batch in range(kind.optional_dims):
        sizes[batch] = rng.choice((1, 1, 1, 2, 3))
    if rng.random() < 0.3:
        longest = rng.randrange(kind.optional_dims, len(sizes))
        sizes[longest] = rng.randint(48, 130)
    return tuple(sizes)


def _random_size(rng: random.Random) -> int:
    if rng.random() < 0.3:
        return rng.choice((1, 2, 3, 4, 6, 8, 12, 16, 24, 32))
    return rng.randint(1, 37)
