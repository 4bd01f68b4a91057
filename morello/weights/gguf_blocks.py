"""The element types of GGUF files, a row each: the bits of a block, and its parts."""

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from morello.weights.scaled import Array, ScaledWeights, in_halves


@dataclasses.dataclass(frozen=True)
class Parts:
    """Integers and scales of unpacked blocks; the last dimension goes along k."""

    integers: Array
    """One for each element."""
    scales: Array
    """One for each group of integers, or for each block where there are multiples."""
    offsets: Array | None = None
    """Numbers that are added, as many as scales."""
    multiples: Array | None = None
    """Factors of the scale of a block, one for each group of integers."""
    offset_multiples: Array | None = None
    """Factors of the offset of a block, likewise."""
    zeros: int = 0
    bits: int = 4


@dataclasses.dataclass(frozen=True)
class BlockType:
    """A block type of GGUF: the layout of a block of neighbours along k."""

    name: str
    block: np.dtype[Any]
    """The bytes of a block, or of an element of a plain array."""
    elements: int = 1
    """Elements of a block."""
    parts: Callable[[Array], Parts] | None = None
    """The parts of an array of blocks; None of plain arrays."""

    def weights(self, blocks: Array) -> ScaledWeights:
        """Scaled weights, [..., k, n], of blocks [..., n, k / elements]."""
        assert self.parts is not None
        parts = self.parts(blocks)
        integers = _columns(parts.integers, blocks)

        def beside(part: Array | None) -> Array | None:
            whole = None if part is None else _columns(part, blocks)
            return None if whole is None else np.ascontiguousarray(whole)

        return ScaledWeights(
            in_halves(integers) if parts.bits == 4 else np.ascontiguousarray(integers),
            np.ascontiguousarray(_columns(parts.scales, blocks)),
            parts.zeros,
            beside(parts.offsets),
            beside(parts.multiples),
            beside(parts.offset_multiples),
            bits=parts.bits,
        )


_SHIFTS = np.array([0, 2, 4, 6], np.uint8)[:, None]
"""The places of integers of 2 bits in a byte."""


def _columns(part: Array, blocks: Array) -> Array:
    """A part of each block, [..., n, blocks, any], with k before n."""
    return part.reshape(*blocks.shape[:-1], -1).swapaxes(-1, -2)


def _halves(pairs: Array) -> Array:
    """The low halves of some bytes, then the high ones."""
    return np.concatenate((pairs & 15, pairs >> 4), axis=-1)


def _q4_0(blocks: Array) -> Parts:
    return Parts(_halves(blocks["pairs"]), blocks["scale"], zeros=8)


def _q4_1(blocks: Array) -> Parts:
    return Parts(_halves(blocks["pairs"]), blocks["scale"], blocks["least"])


def _fifths(blocks: Array) -> Array:
    """The integers of 5 bits of blocks of 32: the upper one is stored separately."""
    upper = np.unpackbits(blocks["upper"], axis=-1, bitorder="little")
    integers: Array = (_halves(blocks["pairs"]) | upper << 4).astype(np.int8)
    return integers


def _q5_0(blocks: Array) -> Parts:
    return Parts(_fifths(blocks) - np.int8(16), blocks["scale"], bits=8)


def _q5_1(blocks: Array) -> Parts:
    return Parts(_fifths(blocks), blocks["scale"], blocks["least"], bits=8)


def _quarters(blocks: Array) -> Array:
    """The integers of 2 bits of blocks of 256: byte i of each 32 has those of the
    places i, i + 32, i + 64 and i + 96."""
    quads: Array = blocks["quads"].reshape(*blocks.shape, 2, 1, 32)
    integers: Array = quads >> _SHIFTS & 3
    return integers


def _q2_k(blocks: Array) -> Parts:
    """Sixteen groups of 16, whose scales and least values are multiples of the block's
    by 4 bits."""
    integers, both = _quarters(blocks), blocks["groups"]
    offsets = -blocks["least"]
    return Parts(integers, blocks["scale"], offsets, both & 15, both >> 4)


def _q3_k(blocks: Array) -> Parts:
    """Sixteen groups of 16, whose scales are multiples of the block's by 6 bits; the
    upper bit of an integer is stored separately."""
    planes = np.arange(8, dtype=np.uint8).reshape(2, 4, 1)
    upper = blocks["upper"].reshape(*blocks.shape, 1, 1, 32) >> planes & 1
    packed = blocks["groups"]
    high = packed[..., None, 8:] >> _SHIFTS & 3
    groups = _halves(packed[..., :8]) | high.reshape(*blocks.shape, 16) << 4
    return Parts(
        _quarters(blocks) | upper << 2,
        blocks["scale"],
        multiples=groups.astype(np.int8) - np.int8(32),
        zeros=4,
    )


def _tq2_0(blocks: Array) -> Parts:
    return Parts(_quarters(blocks), blocks["scale"], zeros=1)


def _tq1_0(blocks: Array) -> Parts:
    """Three numbers: five of them are the digits to the base 3 of a fraction of 256."""
    fives = blocks["fives"]
    parts = ((fives[..., :32], 5), (fives[..., 32:], 5), (blocks["fours"], 4))
    digits = np.concatenate(
        [
            (bytes_[..., None, :] * _POWERS[:count]).reshape(*blocks.shape, -1)
            for bytes_, count in parts
        ],
        axis=-1,
    )
    integers = digits.astype(np.uint16) * 3 >> 8
    return Parts(integers.astype(np.uint8), blocks["scale"], zeros=1)


_POWERS = np.array([1, 3, 9, 27, 81], np.uint8)[:, None]


def _q1_0(blocks: Array) -> Parts:
    """The scale, or its negative where a bit is 0."""
    bits = np.unpackbits(blocks["bits"], axis=-1, bitorder="little")
    return Parts(bits << 1, blocks["scale"], zeros=1)


def _q8_0(blocks: Array) -> Parts:
    return Parts(blocks["integers"], blocks["scale"], bits=8)


def _of_eight_groups(blocks: Array) -> tuple[Array, Array]:
    """The multiples of 6 bits that scales and least values of groups are of the block's
    own."""
    packed = blocks["groups"]
    low, least, both = packed[..., :4], packed[..., 4:8], packed[..., 8:]
    scales = np.concatenate((low & 63, both & 15 | low >> 2 & 48), axis=-1)
    leasts = np.concatenate((least & 63, both >> 4 | least >> 2 & 48), axis=-1)
    return scales, leasts


def _q4_k(blocks: Array) -> Parts:
    """Eight groups of 32."""
    integers = _halves(blocks["pairs"].reshape(*blocks.shape, 4, 32))
    return Parts(integers, blocks["scale"], -blocks["least"], *_of_eight_groups(blocks))


def _q5_k(blocks: Array) -> Parts:
    """Eight groups of 32; the upper bit of an integer is stored separately."""
    low = _halves(blocks["pairs"].reshape(*blocks.shape, 4, 32))
    groups = np.arange(8, dtype=np.uint8)[:, None]
    upper = blocks["upper"][..., None, :] >> groups & 1
    integers = low.reshape(*blocks.shape, 8, 32) | upper << 4
    multiples = _of_eight_groups(blocks)
    scale, offset = blocks["scale"], -blocks["least"]
    return Parts(integers.astype(np.int8), scale, offset, *multiples, bits=8)


_CURVE: Array = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8
)
"""The values of the non-linear types that integers of 4 bits stand for."""

_FLOATS: Array = np.array(
    [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8
)
"""Twice the floats of 4 bits."""


def _iq4_nl(blocks: Array) -> Parts:
    return Parts(_CURVE[_halves(blocks["pairs"])], blocks["scale"], bits=8)


def _mxfp4(blocks: Array) -> Parts:
    """Floats of 4 bits, whose scales are powers of two: half of these."""
    scales = np.ldexp(np.float32(1), blocks["exponent"].astype(np.int32) - 128)
    integers = _FLOATS[_halves(blocks["pairs"])]
    return Parts(integers, scales.astype(ml_dtypes.bfloat16), bits=8)


def _nvfp4(blocks: Array) -> Parts:
    """Four groups of 16 floats of 4 bits, whose scales are floats of 8 bits without a
    sign: half of these, and 0 of NaN."""
    numbers = blocks["scales"].astype(np.int32)
    exponents = numbers >> 3 & 15
    fractions = (numbers & 7) + 8.0 * (exponents > 0)
    scales = np.ldexp(fractions * (numbers != 127), np.maximum(exponents, 1) - 11)
    integers = _FLOATS[_halves(blocks["pairs"].reshape(*blocks.shape, 4, 8))]
    return Parts(integers, scales.astype(np.float16), bits=8)


def _iq4_xs(blocks: Array) -> Parts:
    """Eight groups of 32, whose scales are multiples of the block's by 6 bits."""
    nibbles = _halves(blocks["pairs"].reshape(*blocks.shape, 8, 16))
    low = blocks["groups"][..., None] >> np.array([0, 4], np.uint8)
    high = blocks["upper"][..., None] >> np.arange(0, 16, 2, dtype=np.uint16) & 3
    groups = low.reshape(high.shape) & 15 | high.astype(np.uint8) << 4
    multiples = groups.astype(np.int8) - np.int8(32)
    return Parts(_CURVE[nibbles], blocks["scale"], multiples=multiples, bits=8)


def _q6_k(blocks: Array) -> Parts:
    """Unpack blocks of Q6_K: sixteen groups of 16 integers, the two upper bits of which
    are stored separately from the lower four."""
    pairs = blocks["pairs"].reshape(*blocks.shape, 2, 64)
    low = _halves(pairs).reshape(*blocks.shape, 2, 4, 32)
    upper = blocks["upper"].reshape(*blocks.shape, 2, 1, 32)
    integers = (low | (upper >> _SHIFTS & 3) << 4).astype(np.int8) - np.int8(32)
    groups = blocks["groups"]
    return Parts(integers, blocks["scale"], multiples=groups, bits=8)


def _plain(name: str, dtype: Any) -> BlockType:
    return BlockType(name, np.dtype(dtype))


def _fields(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    return np.dtype(list(fields))


_SCALE, _LEAST = ("scale", "<f2"), ("least", "<f2")

BLOCK_TYPES = {
    0: _plain("f32", "<f4"),
    1: _plain("f16", "<f2"),
    2: BlockType("q4_0", _fields(_SCALE, ("pairs", "u1", 16)), 32, _q4_0),
    3: BlockType("q4_1", _fields(_SCALE, _LEAST, ("pairs", "u1", 16)), 32, _q4_1),
    6: BlockType(
        "q5_0", _fields(_SCALE, ("upper", "u1", 4), ("pairs", "u1", 16)), 32, _q5_0
    ),
    7: BlockType(
        "q5_1",
        _fields(_SCALE, _LEAST, ("upper", "u1", 4), ("pairs", "u1", 16)),
        32,
        _q5_1,
    ),
    8: BlockType("q8_0", _fields(_SCALE, ("integers", "i1", 32)), 32, _q8_0),
    10: BlockType(
        "q2_K",
        _fields(("groups", "u1", 16), ("quads", "u1", 64), _SCALE, _LEAST),
        256,
        _q2_k,
    ),
    11: BlockType(
        "q3_K",
        _fields(("upper", "u1", 32), ("quads", "u1", 64), ("groups", "u1", 12), _SCALE),
        256,
        _q3_k,
    ),
    12: BlockType(
        "q4_K",
        _fields(_SCALE, _LEAST, ("groups", "u1", 12), ("pairs", "u1", 128)),
        256,
        _q4_k,
    ),
    13: BlockType(
        "q5_K",
        _fields(
            _SCALE,
            _LEAST,
            ("groups", "u1", 12),
            ("upper", "u1", 32),
            ("pairs", "u1", 128),
        ),
        256,
        _q5_k,
    ),
    14: BlockType(
        "q6_K",
        _fields(
            ("pairs", "u1", 128), ("upper", "u1", 64), ("groups", "i1", 16), _SCALE
        ),
        256,
        _q6_k,
    ),
    20: BlockType("iq4_nl", _fields(_SCALE, ("pairs", "u1", 16)), 32, _iq4_nl),
    23: BlockType(
        "iq4_xs",
        _fields(_SCALE, ("upper", "<u2"), ("groups", "u1", 4), ("pairs", "u1", 128)),
        256,
        _iq4_xs,
    ),
    24: _plain("i8", "i1"),
    25: _plain("i16", "<i2"),
    26: _plain("i32", "<i4"),
    27: _plain("i64", "<i8"),
    28: _plain("f64", "<f8"),
    30: _plain("bf16", ml_dtypes.bfloat16),
    34: BlockType(
        "tq1_0", _fields(("fives", "u1", 48), ("fours", "u1", 4), _SCALE), 256, _tq1_0
    ),
    35: BlockType("tq2_0", _fields(("quads", "u1", 64), _SCALE), 256, _tq2_0),
    39: BlockType(
        "mxfp4", _fields(("exponent", "u1"), ("pairs", "u1", 16)), 32, _mxfp4
    ),
    40: BlockType(
        "nvfp4", _fields(("scales", "u1", 4), ("pairs", "u1", 32)), 64, _nvfp4
    ),
    41: BlockType("q1_0", _fields(_SCALE, ("bits", "u1", 16)), 128, _q1_0),
}
"""The types that are read, by their numbers in files."""

OTHERS = {
    first + place: name
    for first, names in (
        (9, "q8_1"),
        (15, "q8_K iq2_xxs iq2_xs iq3_xxs iq1_s"),
        (21, "iq3_s iq2_s"),
        (29, "iq1_m"),
    )
    for place, name in enumerate(names.split())
}
"""The names of the types that are not."""
