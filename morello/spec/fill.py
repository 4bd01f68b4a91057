"""Fill: out = a constant."""

import dataclasses
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from morello.errors import SpecError
from morello.spec.elements.dtypes import Dtype
from morello.spec.elements.operations import Elements
from morello.spec.index_map import plain
from morello.spec.kind import Array, Arrays, Dtypes, ElementByElement, Sizes
from morello.spec.operand import Operand

FILL_VALUES = ("zero", "lowest", "highest")

_INTEGERS = range(-128, 256)
"""The integers that bytes have, which every float has, too."""

_NUMBERS = frozenset(str(number) for number in _INTEGERS if number)


@dataclasses.dataclass(frozen=True, order=True)
class Fill(ElementByElement):
    """Every element becomes zero, a neutral element, or an integer of a byte."""

    name: ClassVar[str] = "fill"
    example: ClassVar[str] = "fill:8x16:f32:value=lowest"
    moves_data: ClassVar[bool] = True
    rank: int = 2
    value: str = "zero"
    """``zero``; ``lowest``: -inf, or the least integer; ``highest``; or another integer
    that a byte has."""

    def __post_init__(self) -> None:
        if self.value not in FILL_VALUES and self.value not in _NUMBERS:
            raise SpecError(
                f"fill has no value '{self.value}'",
                f"use one of {', '.join(FILL_VALUES)}, or an integer from "
                f"{_INTEGERS[0]} to {_INTEGERS[-1]} but 0",
            )

    @property
    def operands(self) -> tuple[Operand, ...]:
        """out, over every dimension."""
        return _operands(self.rank)

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Every dtype can be filled with what it has.

        Raises:
            SpecError: it lacks an integer.
        """
        (dtype,) = dtypes
        if self.value in _NUMBERS and not dtype.is_float:
            least, most = (
                int(n) - dtype.zero_point for n in (dtype.lowest, dtype.highest)
            )
            if not least <= int(self.value) <= most:
                raise SpecError(
                    f"fill writes {self.value}, which {dtype} has not",
                    f"use an integer from {least} to {most}",
                )

    def flops(self, sizes: tuple[int, ...]) -> int:
        """None."""
        return 0

    def number(self, dtype: Dtype) -> float | int:
        """The constant, as ``dtype`` stores it."""
        if self.value == "zero":
            return dtype.zero_point
        if self.value in _NUMBERS:
            number = int(self.value)
            return float(number) if dtype.is_float else number + dtype.zero_point
        return dtype.lowest if self.value == "lowest" else dtype.highest

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """The constant."""
        return elements.constant(dtypes[0], self.number(dtypes[0]))

    def evaluate(self, sizes: Sizes, dtypes: Dtypes, arrays: Arrays) -> Array:
        """The constant, to be broadcast to the output."""
        return np.asarray(self.number(dtypes[0]), dtypes[0].numpy)


@lru_cache
def _operands(rank: int) -> tuple[Operand, ...]:
    every = plain(*range(rank))
    return (Operand("out", every, is_read=False, is_written=True),)
