"""Fill: out = a constant."""

import dataclasses
from typing import ClassVar

import numpy as np

from morello.errors import SpecError
from morello.spec.dtypes import Dtype
from morello.spec.kind import Array, Kind, Operand

FILL_VALUES = ("zero", "lowest")


@dataclasses.dataclass(frozen=True, order=True)
class Fill(Kind):
    """Every element becomes zero, or the neutral element of max."""

    name: ClassVar[str] = "fill"
    option_names: ClassVar[tuple[str, ...]] = ("value",)
    rank: int = 2
    value: str = "zero"
    """``zero``; or ``lowest``: -inf, or the least integer."""

    def __post_init__(self) -> None:
        if self.value not in FILL_VALUES:
            raise SpecError(
                f"fill has no value '{self.value}'", f"use {' or '.join(FILL_VALUES)}"
            )

    @property
    def dims(self) -> tuple[str, ...]:
        """``d0``, ``d1``, …"""
        return tuple(f"d{i}" for i in range(self.rank))

    @property
    def operands(self) -> tuple[Operand, ...]:
        """out, over every dimension."""
        every = tuple(range(self.rank))
        return (Operand("out", every, is_read=False, is_written=True),)

    @property
    def options(self) -> dict[str, str]:
        """``value=lowest``; zero goes without saying."""
        return {} if self.value == "zero" else {"value": self.value}

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Every dtype can be filled."""

    def flops(self, sizes: tuple[int, ...]) -> int:
        """None."""
        return 0

    def number(self, dtype: Dtype) -> float | int:
        """The constant, as ``dtype`` stores it."""
        return dtype.lowest if self.value == "lowest" else dtype.zero_point

    def evaluate(self, dtypes: tuple[Dtype, ...], arrays: tuple[Array, ...]) -> Array:
        """The constant, to be broadcast to the output."""
        return np.asarray(self.number(dtypes[0]), dtypes[0].numpy)
