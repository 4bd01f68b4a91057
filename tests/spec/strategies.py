"""Hypothesis strategies: layouts, forms of operands, Specs."""

import dataclasses

from hypothesis import strategies as st

from morello.spec import (
    ELEMENT_TYPES,
    MEMORIES,
    VRF,
    Dtype,
    Kind,
    Layout,
    Limits,
    Operand,
    PhysicalDim,
    Spec,
    TensorSpec,
    argument_tensor,
)
from morello.spec.kinds import instances
from morello.spec.mixes import legal_mixes

DTYPES = st.sampled_from(ELEMENT_TYPES)
PACKS = st.sampled_from([(2, False), (3, False), (4, True), (6, False), (16, False)])


@st.composite
def layouts(draw: st.DrawFn, rank: int | None = None) -> Layout:
    """An order of whole dimensions, and packs of some, each inside its own."""
    rank = draw(st.integers(1, 4)) if rank is None else rank
    dims = [PhysicalDim(d) for d in draw(st.permutations(range(rank)))]
    for dim in draw(st.sets(st.integers(0, rank - 1), max_size=2)):
        place = dims.index(PhysicalDim(dim))
        pack, odd_even = draw(PACKS)
        at = draw(st.integers(place + 1, len(dims)))
        dims.insert(at, PhysicalDim(dim, pack, odd_even))
    return Layout(tuple(dims))


@st.composite
def shapes(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    return tuple(draw(st.integers(1, 13)) for _ in range(rank))


@st.composite
def tensors(
    draw: st.DrawFn, rank: int | None = None, dtype: Dtype | None = None
) -> TensorSpec:
    """A form of an operand at any level."""
    dtype = dtype or draw(DTYPES)
    layout = draw(layouts(rank))
    level = draw(st.sampled_from(MEMORIES))
    if level is VRF:
        width = draw(st.sampled_from([4, 8, 16]))
        return TensorSpec(dtype, level, Layout.row_major(layout.rank), False, width)
    whole = argument_tensor(dtype, layout)
    contiguous = whole.contiguous and draw(st.booleans())
    return dataclasses.replace(whole, level=level, contiguous=contiguous)


LIMITS = st.builds(
    Limits.of,
    vrf=st.integers(0, 32),
    l1=st.integers(0, 1024),
    l2=st.integers(0, 1 << 20),
)


@st.composite
def kinds(draw: st.DrawFn) -> tuple[Kind, tuple[Dtype, ...]]:
    """A kind, and dtypes that it has."""
    kind = draw(st.sampled_from(instances()))
    return kind, draw(st.sampled_from(legal_mixes(kind)))


def may_have(operand: Operand, tensor: TensorSpec) -> bool:
    """Whether an operand may have a form: windows are neither packed nor registers."""
    packed = tensor.layout.is_packed or tensor.level is VRF
    return operand.is_plain or not packed


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    kind, dtypes = draw(kinds())
    forms = tuple(
        draw(tensors(operand.rank, dtype).filter(lambda t, o=operand: may_have(o, t)))
        for operand, dtype in zip(kind.operands, dtypes, strict=True)
    )
    sizes = tuple(draw(st.integers(1, 40)) for _ in kind.dims)
    return Spec(kind, sizes, forms, draw(LIMITS))
