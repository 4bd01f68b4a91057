"""Specs that a kernel takes, found by asking it: what tests of every kernel run on.

Operands are tried in the layouts that some kernel asks for, in the levels that kernels
read, and in the dtypes of products and casts; so a new kernel, and a layout that it
asks for, are among them without being named here.
"""

import functools
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator

from morello.errors import SpecError
from morello.kernels import KERNELS
from morello.machine.avx2 import AVX2
from morello.spec import (
    Dtype,
    Fill,
    Kind,
    Layout,
    Level,
    Matmul,
    Max,
    Move,
    Spec,
    SpecKey,
    TensorSpec,
)
from tests.kernels.harness import EDGE, legal

KEYS = 4
"""How many keys of a kernel are drawn."""

SPECS = 10
"""How many Specs of each."""

PRODUCTS = (
    "f32,f32,f32",
    "s32,s32,s32",
    "bf16,bf16,f32",
    "f32,bf16,f32",
    "u8,s8,s32",
    "u8,s8,s16",
    "s16,s16,s32",
    "u8w,s8z,s32",
    "u8,s7,s32",
)
CASTS = (
    *("f32,f32", "bf16,bf16", "s16,s16", "u8,u8", "s7,s7", "s8z,s8z"),
    *("bf16,f32", "f32,bf16", "u8,s16", "u8,u8w", "s8,s8z"),
)
ONE = ("f32", "s32")

_LEVELS = {
    3: ("L1 L1 L1", "L1 L1 VRF", "L1 L1 MEM", "L1 MEM L1", "MEM L1 L1", "L1 L2 L1"),
    2: ("L1 L1", "L1 VRF", "VRF L1", "L1 MEM", "MEM MEM"),
    1: ("L1", "VRF"),
}
"""By the number of operands; one in registers is row-major."""

_KINDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    *((Matmul(a, s), PRODUCTS) for a, s in itertools.product((True, False), repeat=2)),
    (Max(accum=True), tuple(f"{d},{d}" for d in ONE)),
    *((Move(rank), CASTS) for rank in (2, 3)),
    (Fill(2), ONE),
)


def layouts(kind: Kind, operand: int) -> tuple[Layout, ...]:
    """Row-major, the other order of the last two, and what some kernel asks for."""
    if not isinstance(kind, Matmul):
        rank = len(kind.operands[operand].dims)
        plain = [Layout.row_major(rank)]
        plain += [Layout.parse("[1,0]")] if rank == 2 else []
        packed = layouts(Matmul(accum=True), 0) + layouts(Matmul(accum=True), 1)
        return tuple(dict.fromkeys([*plain, *packed] if rank == 3 else plain))
    found = [Layout.row_major(3), Layout.parse("[0,2,1]")]
    for dtypes in PRODUCTS:
        tensors = tuple(map(_row_major, dtypes.split(",")))
        for rhs in found[:2]:
            across = TensorSpec(tensors[1].dtype, Level.L1, rhs)
            key = SpecKey(kind, (tensors[0], across, tensors[2]))
            for kernel in KERNELS.values():
                found += [form.layout for form in kernel.forms(key, operand)]
    return tuple(dict.fromkeys(found))


def _row_major(dtype: str) -> TensorSpec:
    return TensorSpec(Dtype.parse(dtype), Level.L1, Layout.row_major(3))


def _keys() -> Iterator[SpecKey]:
    for kind, products in _KINDS:
        pools = [layouts(kind, i) for i in range(len(kind.operands))]
        legal_products = [p for p in products if _means(kind, p)]
        for dtypes, levels in itertools.product(legal_products, _LEVELS[len(pools)]):
            forms = [
                tuple(_forms(Dtype.parse(dtype), Level.parse(level), pool))
                for dtype, level, pool in zip(
                    dtypes.split(","), levels.split(), pools, strict=True
                )
            ]
            for tensors in itertools.product(*forms):
                yield SpecKey(kind, tensors)


def _means(kind: Kind, dtypes: str) -> bool:
    """Whether a kind has a meaning on some dtypes."""
    try:
        kind.check_dtypes(tuple(map(Dtype.parse, dtypes.split(","))))
    except SpecError:
        return False
    return True


def _forms(
    dtype: Dtype, level: Level, pool: tuple[Layout, ...]
) -> Iterator[TensorSpec]:
    if level is Level.VRF:
        width = AVX2.vector_width(dtype)
        yield TensorSpec(
            dtype, level, Layout.row_major(pool[0].rank), vector_width=width
        )
        return
    for layout in pool:
        yield TensorSpec(dtype, level, layout)
        if level in (Level.L2, Level.MEM) and not layout.is_packed:
            yield TensorSpec(dtype, level, layout, contiguous=True)


@functools.cache
def accepted() -> dict[str, tuple[SpecKey, ...]]:
    """The keys of each kernel."""
    found: dict[str, list[SpecKey]] = defaultdict(list)
    for key in _keys():
        for name, kernel in KERNELS.items():
            if kernel.accepts(key):
                found[name].append(key)
    return {name: tuple(keys) for name, keys in found.items()}


def drawn(
    name: str, wanted: Callable[[SpecKey], bool] = lambda key: True
) -> tuple[Spec, ...]:
    """Specs of several of the wanted keys, of edge sizes on one axis at a time.

    Of a kernel that takes none of those, of long rows.
    """
    rng = random.Random(name)
    keys = [key for key in accepted()[name] if wanted(key)]
    found: list[Spec] = []
    for key in rng.sample(keys, min(KEYS, len(keys))):
        specs = [s for s in _sized(key) if legal(name, s)]
        specs = specs or [s for s in _long(key) if legal(name, s)]
        found += rng.sample(specs, min(SPECS, len(specs)))
    return tuple(dict.fromkeys(found))


def _sized(key: SpecKey) -> Iterator[Spec]:
    count = len(key.kind.dims)
    batch = (1,) if isinstance(key.kind, Matmul) else ()
    for beside in ((1, 1, 1), (4, 6, 8), (6, 2, 16), (3, 33, 5)):
        base = (*batch, *beside)[:count]
        for axis, size in itertools.product(range(len(batch), count), EDGE):
            sizes = (*base[:axis], size, *base[axis + 1 :])
            yield Spec(key.kind, sizes, key.tensors, AVX2.limits)


def _long(key: SpecKey) -> Iterator[Spec]:
    """Products with one long axis, beside few on the others."""
    if not isinstance(key.kind, Matmul):
        return
    for axis, size in itertools.product(range(1, 4), (512, 1024, 1031, 2050, 4099)):
        for two in ((1, 9), (12, 1), (2, 13), (9, 3), (2, 5), (6, 2), (3, 12)):
            sizes = [1, *two]
            sizes.insert(axis, size)
            yield Spec(key.kind, tuple(sizes), key.tensors, AVX2.limits)
