"""Random goals: small Specs of every kind, at any level, in any layout and limits."""

import dataclasses
import random

from morello.machine import AVX2
from morello.spec import (
    L1,
    L2,
    MEM,
    VRF,
    Dtype,
    Kind,
    Layout,
    Limits,
    Memory,
    Operand,
    Spec,
    TensorSpec,
    argument_tensor,
)
from morello.spec.kinds import instances
from morello.spec.mixes import legal_mixes

PEELS = dataclasses.replace(AVX2, first_part=1)
"""The target of small goals: reductions are peeled however short they are."""

LAYOUTS = {
    1: ("[0]", "[0,0p4]"),
    2: ("[0,1]", "[1,0]", "[1,0,1p4]", "[0,1,0p6]", "[0,1,1oe8]"),
    3: (
        "[0,1,2]",
        "[0,2,1]",
        "[0,2,1,2p16]",
        "[0,1,2,1p6]",
        "[0,1,2,1p4]",
        "[0,1,2,2oe4]",
        "[0,1,2,1p6,2p2]",
        "[0,2,1,2p16,1p2]",
    ),
}
"""By rank: row-major, column-major, packed panels, odd-even, panels of pairs."""

KINDS = instances()
"""Every kind with each of its options."""

LEVELS: tuple[tuple[Memory, ...], ...] = ((MEM,), (L2,), (L1,), (L1, L2), (MEM, L2, L1))
"""What the operands of one goal may lie in."""

FEW_DIMS = 4
"""Kinds of so many dimensions have small sizes."""

FEW_NODES = 3
"""Graphs of more nodes have few goals."""

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20)
FEW_SIZES = (1, 1, 2, 3, 4, 5, 6, 7, 16)


def random_limits(rng: random.Random) -> Limits:
    """Tight ones more often than roomy ones."""
    return Limits.of(
        vrf=rng.choice((4, 7, 12, 16)),
        l1=rng.choice((0, 2, 5, 16, 64, 128, 512)),
        l2=rng.choice((0, 8, 1024, 16384)),
    )


def random_sizes(rng: random.Random, kind: Kind) -> tuple[int, ...]:
    """Small sizes, odd ones too; the least for kinds of four dimensions and more."""
    if len(kind.dims) < FEW_DIMS:
        return tuple(rng.choice(SIZES) for _ in kind.dims)
    rest = [rng.choice(FEW_SIZES) for _ in kind.dims[kind.optional_dims :]]
    return (*(rng.choice((1, 1, 1, 2)) for _ in range(kind.optional_dims)), *rest)


def goals_of(kind: Kind, few: int, many: int) -> int:
    """How many goals of a kind a test takes: ``few`` of kinds of many dimensions, whose
    sizes are small; fewer yet of three dimensions, whose sizes are not. Graphs of many
    nodes have as many Specs below each goal."""
    graph = kind.as_graph
    if graph is not None and len(graph.nodes) > FEW_NODES:
        return many // 4
    if len(kind.dims) >= FEW_DIMS:
        return few
    return max(few // 3, 2) if len(kind.dims) == FEW_DIMS - 1 else many


def layouts(operand: Operand, texts: dict[int, tuple[str, ...]]) -> list[Layout]:
    """Those of the layouts of its rank that an operand may have."""
    choices = map(Layout.parse, texts[operand.rank])
    return [layout for layout in choices if operand.is_plain or not layout.is_packed]


def random_form(
    rng: random.Random, dtype: Dtype, operand: Operand, level: Memory
) -> TensorSpec:
    """A form at a level: of a gapless array or of a tile of one."""
    rank = operand.rank
    if level is VRF:
        width = AVX2.lanes(VRF, dtype)
        return TensorSpec(dtype, level, Layout.row_major(rank), vector_width=width)
    form = argument_tensor(dtype, rng.choice(layouts(operand, LAYOUTS)))
    contiguous = form.contiguous and rng.random() < 0.7
    return dataclasses.replace(form, level=level, contiguous=contiguous)


def random_dtypes(rng: random.Random, kind: Kind) -> tuple[Dtype, ...]:
    """One dtype of 32 bits for all as often as any legal mix."""
    same = (rng.choice((Dtype.F32, Dtype.S32)),) * len(kind.operands)
    legal = legal_mixes(kind)
    return same if same in legal and rng.random() < 0.5 else rng.choice(legal)


def random_goal(rng: random.Random, kind: Kind) -> Spec:
    """A small Spec of a kind."""
    dtypes = random_dtypes(rng, kind)
    levels = [rng.choice(rng.choice(LEVELS)) for _ in kind.operands]
    if rng.random() < 0.15:
        levels[kind.written[-1]] = VRF
    forms = tuple(
        random_form(rng, dtype, operand, level)
        for operand, dtype, level in zip(kind.operands, dtypes, levels, strict=True)
    )
    sizes, limits = random_sizes(rng, kind), random_limits(rng)
    return Spec(kind, sizes, forms, limits, serial=rng.random() < 0.8)
