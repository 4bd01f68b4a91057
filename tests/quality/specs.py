"""Random Specs of every kind, as functions take them: operands in MEM."""

import random

from morello.machine import AVX2
from morello.spec import (
    Dtype,
    Fill,
    Kind,
    Layout,
    Matmul,
    Max,
    Move,
    Spec,
    TensorSpec,
    argument_tensor,
)
from tests.search.goals import random_dtypes

KINDS: tuple[Kind, ...] = (
    Matmul(accum=False),
    Matmul(accum=False),
    Matmul(accum=True),
    Matmul(accum=True),
    Matmul(accum=False, saturating=True),
    Max(accum=False),
    Max(accum=True),
    Move(1),
    Move(2),
    Move(3),
    Fill(1, "lowest"),
    Fill(2),
    Fill(3, "lowest"),
)
"""Matmul twice: its space is the largest."""

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
"""By rank; row-major is what is asked for most."""


def random_spec(rng: random.Random) -> Spec:
    """A Spec of any kind with arguments of any layout; about one size in two is odd."""
    kind = rng.choice(KINDS)
    dtypes = random_dtypes(rng, kind)
    tensors = tuple(
        _random_form(rng, dtype, len(o.dims))
        for o, dtype in zip(kind.operands, dtypes, strict=True)
    )
    return Spec(kind, _random_sizes(rng, kind), tensors, AVX2.limits)


def _random_form(rng: random.Random, dtype: Dtype, rank: int) -> TensorSpec:
    return argument_tensor(dtype, Layout.parse(rng.choice(LAYOUTS[rank])))


def _random_sizes(rng: random.Random, kind: Kind) -> tuple[int, ...]:
    """Small, but for one dimension that may be long; the batch is 1 to 3."""
    sizes = [_random_size(rng) for _ in kind.dims]
    if isinstance(kind, Matmul):
        sizes[0] = rng.choice((1, 1, 1, 2, 3))
    if rng.random() < 0.3:
        longest = rng.randrange(1 if isinstance(kind, Matmul) else 0, len(sizes))
        sizes[longest] = rng.randint(48, 130)
    return tuple(sizes)


def _random_size(rng: random.Random) -> int:
    if rng.random() < 0.3:
        return rng.choice((1, 2, 3, 4, 6, 8, 12, 16, 24, 32))
    return rng.randint(1, 37)
