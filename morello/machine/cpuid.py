"""Bits of CPUID that say whether the CPU has the features that a kernel needs.

Intel's and AMD's manuals define the bits. AVX also needs support by the system: XCR0
says which registers the system saves.
"""

import dataclasses
from collections.abc import Iterable

from morello.errors import CompileError
from morello.machine.tile_permission import TILE_FEATURES

_A, _B, _C, _D = range(4)
"""EAX, EBX, ECX, EDX, in the order in which ``cpuid`` answers here."""

_EXTENDED = 0x80000000


@dataclasses.dataclass(frozen=True, order=True)
class Query:
    """A query of ``cpuid``: a leaf, a sub-leaf, and a register of the result."""

    leaf: int
    subleaf: int
    register: int


_1C, _1D = Query(1, 0, _C), Query(1, 0, _D)
_7B, _7C, _7D = Query(7, 0, _B), Query(7, 0, _C), Query(7, 0, _D)
_71A, _71D = Query(7, 1, _A), Query(7, 1, _D)
_XSAVE = Query(0xD, 1, _A)
_EXT_C, _EXT_D = Query(_EXTENDED + 1, 0, _C), Query(_EXTENDED + 1, 0, _D)

BITS: dict[str, tuple[Query, int]] = {
    "cx8": (_1D, 8),
    "cmov": (_1D, 15),
    "mmx": (_1D, 23),
    "fxsr": (_1D, 24),
    "sse": (_1D, 25),
    "sse2": (_1D, 26),
    "sse3": (_1C, 0),
    "pclmul": (_1C, 1),
    "ssse3": (_1C, 9),
    "fma": (_1C, 12),
    "cx16": (_1C, 13),
    "sse4.1": (_1C, 19),
    "sse4.2": (_1C, 20),
    "movbe": (_1C, 22),
    "popcnt": (_1C, 23),
    "aes": (_1C, 25),
    "xsave": (_1C, 26),
    "avx": (_1C, 28),
    "f16c": (_1C, 29),
    "rdrnd": (_1C, 30),
    "bmi": (_7B, 3),
    "avx2": (_7B, 5),
    "bmi2": (_7B, 8),
    "avx512f": (_7B, 16),
    "avx512dq": (_7B, 17),
    "rdseed": (_7B, 18),
    "adx": (_7B, 19),
    "avx512ifma": (_7B, 21),
    "clflushopt": (_7B, 23),
    "clwb": (_7B, 24),
    "avx512cd": (_7B, 28),
    "sha": (_7B, 29),
    "avx512bw": (_7B, 30),
    "avx512vl": (_7B, 31),
    "avx512vbmi": (_7C, 1),
    "avx512vbmi2": (_7C, 6),
    "gfni": (_7C, 8),
    "vaes": (_7C, 9),
    "vpclmulqdq": (_7C, 10),
    "avx512vnni": (_7C, 11),
    "avx512bitalg": (_7C, 12),
    "avx512vpopcntdq": (_7C, 14),
    "rdpid": (_7C, 22),
    "amx-bf16": (_7D, 22),
    "avx512fp16": (_7D, 23),
    "amx-tile": (_7D, 24),
    "amx-int8": (_7D, 25),
    "avxvnni": (_71A, 4),
    "avx512bf16": (_71A, 5),
    "avxifma": (_71A, 23),
    "avxvnniint8": (_71D, 4),
    "avxneconvert": (_71D, 5),
    "xsaveopt": (_XSAVE, 0),
    "xsavec": (_XSAVE, 1),
    "sahf": (_EXT_C, 0),
    "lzcnt": (_EXT_C, 5),
    "sse4a": (_EXT_C, 6),
    "prfchw": (_EXT_C, 8),
    "64bit": (_EXT_D, 29),
}
"""A feature as LLVM spells it: where ``cpuid`` says whether the CPU has it."""

_OSXSAVE = 27
"""The bit of leaf 1, ECX: the system lets programs read XCR0."""

_YMM = 0x6
_ZMM = 0xE6
_TILES = 0x60000
"""Registers that the system saves, as bits of XCR0."""


def _masks(features: Iterable[str]) -> dict[Query, int]:
    """The bits that must be set in each register.

    Raises:
        CompileError: a feature whose bit is not known.
    """
    masks: dict[Query, int] = {}
    for feature in features:
        if feature not in BITS:
            raise CompileError(
                f"no test at run time is known for the CPU feature {feature!r}",
                "build for a target without it",
            )
        query, bit = BITS[feature]
        masks[query] = masks.get(query, 0) | 1 << bit
    return masks


def _saved_registers(features: frozenset[str]) -> int:
    """The bits of XCR0 that features need."""
    tiles = _TILES if TILE_FEATURES & features else 0
    if any(feature.startswith("avx512") for feature in features):
        return tiles | _ZMM
    return tiles | (_YMM if {"avx", "fma", "f16c", "avx2"} & features else 0)


def needs(features: frozenset[str]) -> tuple[int, ...]:
    """The features that CPU and system must have: the words of the structure ``Needs``,
    which ``x86_64.c`` reads.

    Raises:
        CompileError: a feature whose bit is not known.
    """
    masks = _masks(features)
    registers = _saved_registers(features)
    if registers:
        masks[_1C] = masks.get(_1C, 0) | 1 << _OSXSAVE
    words = [registers, len(masks)]
    for query, mask in sorted(masks.items()):
        words += [query.leaf, query.subleaf, query.register, mask]
    return tuple(words)
