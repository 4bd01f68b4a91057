"""Base class of the kinds that reduce each row to one element: `RowReduction`."""

import dataclasses

from morello.errors import SpecError
from morello.spec.dtypes import Dtype
from morello.spec.index_map import plain
from morello.spec.kind import Kind, require_equal
from morello.spec.operand import Operand

_OPERANDS = {
    accum: (
        Operand("src", plain(0, 1), is_read=True, is_written=False),
        Operand("out", plain(0), is_read=accum, is_written=True),
    )
    for accum in (False, True)
}


@dataclasses.dataclass(frozen=True, order=True)
class RowReduction(Kind):
    """out[m] = a function of all src[m,n], f32 or s32."""

    accum: bool = False
    """Whether what the output holds takes part."""

    @property
    def dims(self) -> tuple[str, ...]:
        """Rows, columns."""
        return ("m", "n")

    @property
    def operands(self) -> tuple[Operand, ...]:
        """src [m,n], out [m]."""
        return _OPERANDS[self.accum]

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Both operands have one dtype, f32 or s32."""
        require_equal(self.label, dtypes)
        if dtypes[0] not in (Dtype.F32, Dtype.S32):
            narrow = dtypes[0].computes_in and not self.accum
            also = f", or {dtypes[0]},f32" if narrow else ""
            raise SpecError(
                f"{self.label} has no dtype {dtypes[0]}", f"use f32 or s32{also}"
            )

    def flops(self, sizes: tuple[int, ...]) -> int:
        """A comparison or an addition for each element."""
        return sizes[0] * sizes[1]
