"""The element types of tensors."""

import enum
from typing import Any

import ml_dtypes
import numpy as np

from morello.errors import SpecError


class Dtype(enum.Enum):
    """An element type; the value is its name in every text form."""

    F32 = "f32"
    BF16 = "bf16"
    U8 = "u8"
    S8 = "s8"
    U16 = "u16"
    S16 = "s16"
    U32 = "u32"
    S32 = "s32"
    U8W = "u8w"
    """A u8 in 16 bits, as it is. Programs give it to factors; arguments have none."""
    S8Z = "s8z"
    """An s8 in 16 bits, with 128 added (zero point 128), so that it has no sign."""
    S7 = "s7"
    """An s8 between -64 and 63, as programs have found at run time that one is."""

    @classmethod
    def parse(cls, text: str) -> "Dtype":
        """The dtype called ``text``.

        Raises:
            SpecError: no dtype has this name. The message lists those of arguments.
        """
        try:
            return cls(text)
        except ValueError:
            names = ", ".join(d.value for d in cls if d.is_given)
            raise SpecError(f"unknown dtype '{text}'", f"use one of {names}") from None

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype that holds it."""
        return _NUMPY[self]

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return int(self.numpy.itemsize)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self in (Dtype.F32, Dtype.BF16)

    @property
    def is_signed(self) -> bool:
        """Whether it is an integer with a sign."""
        return self in (Dtype.S7, Dtype.S8, Dtype.S16, Dtype.S32, Dtype.S8Z)

    @property
    def part_of(self) -> "Dtype | None":
        """The dtype of whose values it has some, in the same bits; None of most."""
        return _PARTS.get(self)

    @property
    def is_given(self) -> bool:
        """Whether arguments may have it: others are what programs bring factors to."""
        return self.byte is None and self.part_of is None

    @property
    def part(self) -> "Dtype | None":
        """The dtype that has some of its values, in the same bits; None of most."""
        return next((d for d, whole in _PARTS.items() if whole is self), None)

    @property
    def byte(self) -> "Dtype | None":
        """The dtype of 8 bits whose values it holds in 16; None of all others."""
        return _BYTES.get(self)

    @property
    def zero_point(self) -> int:
        """What is stored for 0; every number is stored with as much added."""
        return 128 if self is Dtype.S8Z else 0

    def widens_to(self, other: "Dtype") -> bool:
        """Whether ``other`` is wider and holds every value of this dtype."""
        if self.is_float or other.is_float:
            return self is Dtype.BF16 and other is Dtype.F32
        if self.part_of or other.part_of:
            return False  # what was found to have few bits is to be used so
        if self.byte or other.byte:
            return other.byte is self
        return other.itemsize > self.itemsize and (
            other.is_signed or not self.is_signed
        )

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
        if self.byte:
            return self.byte.lowest + self.zero_point
        if self.part_of:
            return int(self.part_of.lowest) // 2
        return -(1 << (8 * self.itemsize - 1)) if self.is_signed else 0

    def __str__(self) -> str:
        return self.value

    def __lt__(self, other: "Dtype") -> bool:
        return self.value < other.value


_NUMPY: dict[Dtype, np.dtype[np.generic]] = {
    Dtype.F32: np.dtype(np.float32),
    Dtype.BF16: np.dtype(ml_dtypes.bfloat16),
    Dtype.U8: np.dtype(np.uint8),
    Dtype.S8: np.dtype(np.int8),
    Dtype.U16: np.dtype(np.uint16),
    Dtype.S16: np.dtype(np.int16),
    Dtype.U32: np.dtype(np.uint32),
    Dtype.S32: np.dtype(np.int32),
    Dtype.U8W: np.dtype(np.uint16),
    Dtype.S8Z: np.dtype(np.uint16),
    Dtype.S7: np.dtype(np.int8),
}

_BYTES = {Dtype.U8W: Dtype.U8, Dtype.S8Z: Dtype.S8}

_PARTS = {Dtype.S7: Dtype.S8}
"""A dtype with half of the values of another: of k bits, where that has k + 1."""
