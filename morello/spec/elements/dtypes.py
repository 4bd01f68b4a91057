"""The element types of tensors: dtypes, and encodings of an operand.

A `Dtype` is what a user gives and lists: iterate over the class. An `Encoding` holds
the values of a dtype, or some of them, in bits that kernels like better; programs bring
operands to one, arguments never have it. `ELEMENT_TYPES` has both.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from morello.errors import SpecError
from morello.lazy import cached_property
from morello.suggestions import did_you_mean


class _Listed(type):
    """Iterating over the class gives its members."""

    def __iter__(cls) -> Iterator[Any]:
        return (t for t in ELEMENT_TYPES if type(t) is cls)


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dtype(metaclass=_Listed):
    """An element type; there is one object of each."""

    F32: ClassVar["Dtype"]
    BF16: ClassVar["Dtype"]
    F16: ClassVar["Dtype"]
    U8: ClassVar["Dtype"]
    S8: ClassVar["Dtype"]
    U16: ClassVar["Dtype"]
    S16: ClassVar["Dtype"]
    U32: ClassVar["Dtype"]
    S32: ClassVar["Dtype"]

    value: str
    """The name in every text form."""
    numpy: np.dtype[Any]
    """The NumPy dtype that holds it."""
    is_float: bool = False
    is_signed: bool = False
    """Whether it is an integer with a sign."""
    computes_in: "Dtype | None" = None
    """The wider float that values of a narrow float are computed in; None of others."""
    mantissa: int = 23
    """Bits of the mantissa of a float."""
    is_upper_half: bool = False
    """Whether its bits are the first ones of the float that it is computed in."""

    zero_point: ClassVar[int] = 0
    """The number that stands for 0; every other is stored with as much added."""

    @classmethod
    def parse(cls, text: str) -> "Dtype":
        """The dtype or encoding called ``text``.

        Raises:
            SpecError: none has this name; the message lists the dtypes.
        """
        if text not in _BY_NAME:
            names = ", ".join(d.value for d in Dtype)
            meant = did_you_mean(text, (d.value for d in Dtype), _ELSEWHERE)
            raise SpecError(f"unknown dtype '{text}'", f"use one of {names}{meant}")
        return _BY_NAME[text]

    @cached_property
    def itemsize(self) -> int:
        """Bytes an element."""
        return int(self.numpy.itemsize)

    @property
    def part_of(self) -> "Dtype | None":
        """The dtype of whose values it has some, in the same bits; None of most."""
        return None

    @property
    def byte(self) -> "Dtype | None":
        """The dtype of 8 bits whose values it holds in 16; None of all others."""
        return None

    @property
    def part(self) -> "Dtype | None":
        """The encoding of some of its values, in the same bits; None of most."""
        return next((e for e in Encoding if e.part_of is self), None)

    def widens_to(self, other: "Dtype") -> bool:
        """Whether ``other`` is wider and holds every value of this dtype."""
        if self.is_float:
            return other is self.computes_in
        if self.part_of or other.part_of:
            return False  # what was found to have few bits is to be used so
        if other.is_float:
            return not self.byte and 8 * self.itemsize <= other.mantissa
        if self.byte or other.byte:
            return other.byte is self
        return other.itemsize > self.itemsize and (
            other.is_signed or not self.is_signed
        )

    def is_read_as(self, number: "Dtype") -> bool:
        """Whether graphs that compute in f32 or s32 read integers of this dtype: they
        are widened, or s32 becomes the nearest f32."""
        is_rounded = self is Dtype.S32 and number is Dtype.F32
        return not self.is_float and (is_rounded or self.widens_to(number))

    @property
    def rounding(self) -> str:
        """The function of elements that rounds to a narrow float, or a byte; none of
        others."""
        is_narrow = self.computes_in or self in BYTES
        return f"round_{self.value}" if is_narrow else ""

    @property
    def narrowing(self) -> str:
        """The function of elements that rounds to an upper half of f32, before or after
        what scales the elements."""
        return f"narrow_{self.value}" if self.is_upper_half else ""

    def is_rounded_by(self, function: str) -> bool:
        """Whether a function of elements rounds to this dtype."""
        return bool(function) and function in (self.rounding, self.narrowing)

    @property
    def mlir(self) -> str:
        """The MLIR element type; integers are signless there."""
        return self.value if self.is_float else f"i{self.itemsize * 8}"

    def stored(self, values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """Integers as this dtype stores them, cut off to its bits."""
        zero = self.zero_point
        return (values.astype(np.int64) + zero if zero else values).astype(self.numpy)

    def values(self, stored: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """The numbers that are stored: an array of int64 where 0 is not 0."""
        zero = self.zero_point
        return stored.astype(np.int64) - zero if zero else stored

    @property
    def lowest(self) -> float | int:
        """The neutral element of max, as it is stored: -inf, or the least integer."""
        if self.is_float:
            return float("-inf")
        return -(1 << (8 * self.itemsize - 1)) if self.is_signed else 0

    @property
    def highest(self) -> float | int:
        """The neutral element of min, as it is stored: inf, or the greatest integer."""
        if self.is_float:
            return float("inf")
        return (1 << (8 * self.itemsize - self.is_signed)) - 1

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.value.upper()}"

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: "Dtype") -> bool:
        return self.value < other.value

    def __reduce__(self) -> tuple[Any, ...]:
        return Dtype.parse, (self.value,)


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Encoding(Dtype):
    """How a program holds values of a dtype: wider, or found to be in a small range."""

    U8W: ClassVar["Encoding"]
    """A u8 in 16 bits, as it is."""
    S8Z: ClassVar["Encoding"]
    """An s8 in 16 bits, with 128 added (zero point 128), so that it has no sign."""
    S7: ClassVar["Encoding"]
    """An s8 between -64 and 63, as programs have found at run time that one is."""

    of: Dtype
    """The dtype whose values it holds."""
    zero_point: int = 0  # type: ignore[misc]
    """The number that stands for 0."""

    __hash__ = Dtype.__hash__

    @property
    def byte(self) -> Dtype | None:
        """The dtype of 8 bits whose values it holds in 16; None of all others."""
        return self.of if self.itemsize > self.of.itemsize else None

    @property
    def part_of(self) -> Dtype | None:
        """The dtype of whose values it has some, in the same bits; None of most."""
        return None if self.itemsize > self.of.itemsize else self.of

    @property
    def lowest(self) -> float | int:
        """The neutral element of max, as it is stored."""
        if self.byte:
            return self.byte.lowest + self.zero_point
        return int(self.of.lowest) // 2

    @property
    def highest(self) -> float | int:
        """The neutral element of min, as it is stored."""
        if self.byte:
            return self.byte.highest + self.zero_point
        return int(self.of.highest) // 2


def narrow_float(value: str, numpy: Any) -> Dtype:
    """A float of fewer bits than f32, as the NumPy dtype has it."""
    limits, wide = ml_dtypes.finfo(numpy), np.finfo(np.float32)
    return Dtype(
        value=value,
        numpy=np.dtype(numpy),
        is_float=True,
        computes_in=Dtype.F32,
        mantissa=limits.nmant,
        is_upper_half=limits.nexp == wide.nexp,
    )


def _integer(value: str) -> Dtype:
    signed, bits = value[0] == "s", int(value[1:])
    numpy = np.dtype(f"{'int' if signed else 'uint'}{bits}")
    return Dtype(value=value, numpy=numpy, is_signed=signed)


Dtype.F32 = Dtype(value="f32", numpy=np.dtype(np.float32), is_float=True)
Dtype.BF16 = narrow_float("bf16", ml_dtypes.bfloat16)
Dtype.F16 = narrow_float("f16", np.float16)
Dtype.U8, Dtype.S8 = _integer("u8"), _integer("s8")
Dtype.U16, Dtype.S16 = _integer("u16"), _integer("s16")
Dtype.U32, Dtype.S32 = _integer("u32"), _integer("s32")

_WORD = np.dtype(np.uint16)

Encoding.U8W = Encoding(value="u8w", numpy=_WORD, of=Dtype.U8)
Encoding.S8Z = Encoding(
    value="s8z", numpy=_WORD, is_signed=True, of=Dtype.S8, zero_point=128
)
Encoding.S7 = Encoding(value="s7", numpy=np.dtype(np.int8), is_signed=True, of=Dtype.S8)

ELEMENT_TYPES: tuple[Dtype, ...] = (
    Dtype.F32,
    Dtype.BF16,
    Dtype.F16,
    Dtype.U8,
    Dtype.S8,
    Dtype.U16,
    Dtype.S16,
    Dtype.U32,
    Dtype.S32,
    Encoding.U8W,
    Encoding.S8Z,
    Encoding.S7,
)
"""Every dtype, then every encoding."""


def computed_in(dtypes: tuple[Dtype, ...]) -> Dtype:
    """The dtype that values of graphs have between operands of some dtypes: an output,
    of which the last is one, is a float, or a byte that a float is rounded to, or none
    is."""
    is_rounded = dtypes[-1].is_float or dtypes[-1] in BYTES
    return Dtype.F32 if is_rounded else Dtype.S32


BYTES = (Dtype.U8, Dtype.S8)
"""The dtypes of 8 bits, to which maps of floats may round."""

FLOATS = tuple(d for d in Dtype if d.is_float)
"""The float dtypes, f32 first."""

NARROW_FLOATS = tuple(d for d in FLOATS if d.computes_in)
"""The float dtypes that compute in f32."""

UPPER_HALVES = tuple(d for d in NARROW_FLOATS if d.is_upper_half)
"""The upper halves of f32."""

FLOAT_NAMES = " or ".join((", ".join(d.value for d in FLOATS[:-1]), FLOATS[-1].value))
"""Their names in a sentence."""

_ELSEWHERE = {
    **dict.fromkeys(("float32", "fp32", "float"), "f32"),
    **dict.fromkeys(("bfloat16", "bfloat"), "bf16"),
    **dict.fromkeys(("float16", "fp16", "half"), "f16"),
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32)},
    **{f"{name}{bits}": f"s{bits}" for name in ("i", "int") for bits in (8, 16, 32)},
    "int": "s32",
}
"""Dtypes by their names in NumPy, C and MLIR."""

_BY_NAME = {t.value: t for t in ELEMENT_TYPES}
