"""Move: dst = src, element by element; layouts, levels and dtypes may differ."""

import dataclasses
from functools import lru_cache
from typing import Any, ClassVar

from morello.errors import SpecError
from morello.spec.elements.casts import cast
from morello.spec.elements.dtypes import Dtype, Encoding
from morello.spec.elements.operations import Elements
from morello.spec.index_map import plain
from morello.spec.kind import Array, Arrays, Dtypes, ElementByElement, Sizes
from morello.spec.operand import Operand


@dataclasses.dataclass(frozen=True, order=True)
class Move(ElementByElement):
    """A copy, a change of layout, or a cast; any of them at once.

    Within one dtype bit patterns are kept, NaN payloads too. A wider dtype holds the
    same values (bf16 in f32: the same bits, then zeros). An integer that is too wide is
    cut off: the value modulo 2^bits. A float is rounded to the nearest bf16 or f16, to
    the even one of two; what is too large becomes infinite; a NaN keeps its sign and
    the upper bits of its payload and becomes quiet.
    """

    name: ClassVar[str] = "move"
    example: ClassVar[str] = "move:8x16:f32:dst=[1,0]"
    moves_data: ClassVar[bool] = True
    copies: ClassVar[bool] = True
    rank: int = 2

    @property
    def operands(self) -> tuple[Operand, ...]:
        """src and dst, both over every dimension."""
        return _operands(self.rank)

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Both are floats, or both are integers, or integers become a float that has
        all of them; bytes in 16 bits come from bytes."""
        src, dst = dtypes
        if (src.byte or dst.byte) and dst not in (src, *_wide(src)):
            raise SpecError(
                f"{self.label} has no cast from {src} to {dst}",
                "u8w is made of u8, s8z of s8, and neither is made into another dtype",
            )
        if (src.part_of or dst.part_of) and src is not dst:
            raise SpecError(
                f"{self.label} has no cast from {src} to {dst}",
                "an s7 is an s8 whose range was checked; it is copied as it is",
            )
        if src.is_float is not dst.is_float and not src.widens_to(dst):
            raise SpecError(
                f"{self.label} has no cast from {src} to {dst}",
                "cast floats to floats, integers to integers, and those of at most 16 "
                "bits to f32",
            )

    def flops(self, sizes: tuple[int, ...]) -> int:
        """Zero: a move only copies or casts."""
        return 0

    def evaluate(self, sizes: Sizes, dtypes: Dtypes, arrays: Arrays) -> Array:
        """src as the dtype of dst."""
        return cast(arrays[0], *dtypes)

    def element(self, elements: Elements, dtypes: tuple[Dtype, ...]) -> Any:
        """Element of src, cast to the dtype of dst."""
        return elements.convert(elements.read(0), *dtypes)


@lru_cache
def _operands(rank: int) -> tuple[Operand, ...]:
    every = plain(*range(rank))
    return (
        Operand("src", every, is_read=True, is_written=False),
        Operand("dst", every, is_read=False, is_written=True),
    )


def _wide(dtype: Dtype) -> tuple[Dtype, ...]:
    """The dtypes that hold the bytes of this one in 16 bits."""
    return tuple(wide for wide in Encoding if wide.byte is dtype)
