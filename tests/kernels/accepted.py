"""Specs that a kernel takes, found by asking it: what tests of every kernel run on.

Operands are tried in the layouts that some kernel asks for, in the levels that kernels
read, and in the dtypes that kernels are made for (`Kernel.mixes`); so a new kind or
kernel, and a layout that it asks for, are among them without being named here.
"""

import contextlib
import dataclasses
import functools
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator

from morello.errors import SpecError
from morello.kernels import KERNELS
from morello.machine.isa import AVX2 as AVX2_ISA
from morello.spec import (
    L1,
    L2,
    MEM,
    VRF,
    Compose,
    Dtype,
    Kind,
    Layout,
    Limits,
    Matmul,
    Memory,
    Spec,
    SpecKey,
    TensorSpec,
)
from morello.spec.graphs.text import parse_graph
from morello.spec.kinds import instances
from morello.spec.mixes import legal_mixes
from tests.kernels.harness import EDGE, legal, limits_of

KEYS = 4
"""How many keys of a kernel are drawn."""

SPECS = 10
"""How many Specs of each; a third of it of kernels that differ in the width alone."""

_LEVELS = {
    4: ("L1 L1 L1 L1", "VRF L1 L1 L1"),
    3: ("L1 L1 L1", "L1 L1 VRF", "L1 L1 MEM", "L1 MEM L1", "MEM L1 L1", "L1 L2 L1"),
    2: ("L1 L1", "L1 VRF", "VRF L1", "L1 MEM", "MEM MEM"),
    1: ("L1", "VRF"),
}
"""By the number of operands; one in registers is row-major."""

PLAIN = (Dtype.F32, Dtype.S32)

_SCALED = {
    "y[m,n]=sum(d[m,k//32]*a[m,k]*(s[k//32,n]*(q[k/2,n]-8)))": (
        Dtype.F32, Dtype.S8, Dtype.F32, Dtype.U8, Dtype.F32
    ),
    "y[m,n]=sum(a[m,k]*(s[k//32,n]*(q[k/2,n]-8)))": (
        Dtype.F32, Dtype.F32, Dtype.U8, Dtype.F32
    ),
}  # fmt: skip
"""A graph of five operands, which is no instance of its kind: too many tests would be
of it."""

_WINDOWS = "y[h,w,c]=sum(x[h,w+j,c]*f[j,c])"
"""A filter over an image, channel by channel."""


@functools.cache
def mixes(kind: Kind) -> tuple[tuple[Dtype, ...], ...]:
    """f32 or s32 alone, and what kernels are made for, where the kind means something.

    Of one or two operands, every mix of the dtypes that occur there.
    """
    of_kernels = {mix for kernel in KERNELS.values() for mix in kernel.mixes}
    count = len(kind.operands)
    if count < 3:
        seen = {*PLAIN, *itertools.chain(*of_kernels)}
        return tuple(m for m in legal_mixes(kind) if seen.issuperset(m))
    wanted = {*((dtype,) * count for dtype in PLAIN), *of_kernels}
    return tuple(m for m in legal_mixes(kind) if m in wanted)


@functools.cache
def layouts(
    kind: Kind, operand: int, some: tuple[tuple[Dtype, ...], ...]
) -> tuple[Layout, ...]:
    """Row-major, the other order of the last two, and what some kernel asks for, of
    products with one of the given mixes of dtypes."""
    if not isinstance(kind, Matmul):
        rank = kind.operands[operand].rank
        plain = [Layout.row_major(rank)]
        plain += [Layout.parse("[1,0]")] if rank == 2 else []
        if rank == 3:
            product = Matmul(accum=True)
            plain += [
                one for i in (0, 1) for one in layouts(product, i, mixes(product))
            ]
        return tuple(dict.fromkeys(plain))
    choices = [Layout.row_major(3), Layout.parse("[0,2,1]")]
    for mix in some:
        tensors = tuple(map(_row_major, mix))
        for rhs in choices[:2]:
            across = TensorSpec(tensors[1].dtype, L1, rhs)
            key = SpecKey(kind, (tensors[0], across, tensors[2]))
            for kernel in KERNELS.values():
                choices += [form.layout for form in kernel.forms(key, operand)]
    return tuple(dict.fromkeys(choices))


def _row_major(dtype: Dtype) -> TensorSpec:
    return TensorSpec(dtype, L1, Layout.row_major(3))


def _keys() -> Iterator[SpecKey]:
    for kind in instances():
        count = len(kind.operands)
        for mix, levels in itertools.product(mixes(kind), _LEVELS[count]):
            pools = [layouts(kind, i, (mix,)) for i in range(count)]
            forms = [
                tuple(_forms(dtype, Memory.parse(level), pool))
                for dtype, level, pool in zip(mix, levels.split(), pools, strict=True)
            ]
            for tensors in itertools.product(*forms):
                if len(tensors) == 3 or any(not t.layout.is_packed for t in tensors):
                    yield SpecKey(kind, tensors)
    for text, mix in _SCALED.items():
        yield from _scaled(Compose.of(parse_graph(text)), mix)
    windows, s8, u8 = Compose.of(parse_graph(_WINDOWS)), Dtype.S8, Dtype.U8
    for pair in ((u8, s8), (s8, u8), (s8, s8)):
        for level in (L1, MEM):
            forms = (
                TensorSpec(dtype, level, Layout.row_major(operand.rank))
                for dtype, operand in zip(
                    (*pair, Dtype.F32), windows.operands, strict=True
                )
            )
            yield SpecKey(windows, tuple(forms))


def _scaled(kind: Kind, mix: tuple[Dtype, ...]) -> Iterator[SpecKey]:
    """Keys of a product of scaled integers, which are the operand before the last, in
    panels."""
    for far in (L1, L2, MEM):
        levels = (*(L1 for _ in mix[:-3]), far, far, L1)
        plain = tuple(
            TensorSpec(dtype, level, Layout.row_major(2))
            for dtype, level in zip(mix, levels, strict=True)
        )
        key = SpecKey(kind, plain)
        forms = {
            form.layout
            for kernel in KERNELS.values()
            for form in kernel.forms_beforehand(key, len(mix) - 2)
        }
        for layout in sorted(forms, key=str):
            packed = dataclasses.replace(plain[-2], layout=layout)
            yield SpecKey(kind, (*plain[:-2], packed, plain[-1]))


def _forms(
    dtype: Dtype, level: Memory, pool: tuple[Layout, ...]
) -> Iterator[TensorSpec]:
    if level is VRF:
        plain = Layout.row_major(pool[0].rank)
        for nbytes in sorted({kernel.isa.vector_bytes for kernel in KERNELS.values()}):
            width = nbytes // dtype.itemsize
            yield TensorSpec(dtype, level, plain, vector_width=width)
        return
    for layout in pool:
        yield TensorSpec(dtype, level, layout)
        if level in (L2, MEM) and not layout.is_packed:
            yield TensorSpec(dtype, level, layout, contiguous=True)


@functools.cache
def accepted() -> dict[str, tuple[SpecKey, ...]]:
    """The keys of each kernel."""
    by_name: dict[str, list[SpecKey]] = defaultdict(list)
    for key in _keys():
        for name, kernel in KERNELS.items():
            if kernel.accepts(key):
                by_name[name].append(key)
    return {name: tuple(keys) for name, keys in by_name.items()}


def drawn(
    name: str,
    wanted: Callable[[SpecKey], bool] = lambda key: True,
    like: str | None = None,
) -> tuple[Spec, ...]:
    """Specs of several of the wanted keys, of edge sizes on one axis at a time.

    Of a kernel that takes none of those, of long rows. The keys are those of the kernel
    ``like``, if it is given.
    """
    rng, limits = random.Random(name), limits_of(name)
    keys = [key for key in accepted()[like or name] if wanted(key)]
    sample: list[Spec] = []
    for key in rng.sample(keys, min(KEYS, len(keys))):
        specs = [s for s in _sized(key, limits) if legal(name, s)]
        specs = specs or [s for s in _long(key, limits) if legal(name, s)]
        most = SPECS if KERNELS[name].isa == AVX2_ISA else SPECS // 3
        sample += rng.sample(specs, min(most, len(specs)))
    return tuple(dict.fromkeys(sample))


def _sized(key: SpecKey, limits: Limits) -> Iterator[Spec]:
    count = len(key.kind.dims)
    batch = (1,) if isinstance(key.kind, Matmul) else ()
    for beside in ((1, 1, 1, 1), (4, 6, 8, 3), (6, 2, 16, 1), (3, 33, 5, 2)):
        base = (*batch, *beside)[:count]
        for axis, size in itertools.product(range(len(batch), count), EDGE):
            sizes = (*base[:axis], size, *base[axis + 1 :])
            with contextlib.suppress(SpecError):  # half a byte is no size
                yield Spec(key.kind, sizes, key.tensors, limits)


def _long(key: SpecKey, limits: Limits) -> Iterator[Spec]:
    """Products with one long axis, beside few on the others."""
    if not isinstance(key.kind, Matmul):
        return
    for axis, size in itertools.product(range(1, 4), (512, 1024, 1031, 2050, 4099)):
        for two in ((1, 9), (12, 1), (2, 13), (9, 3), (2, 5), (6, 2), (3, 12)):
            sizes = [1, *two]
            sizes.insert(axis, size)
            yield Spec(key.kind, tuple(sizes), key.tensors, limits)
