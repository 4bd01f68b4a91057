"""Forms of operands: dtype, memory level and layout; the shape is the Spec's."""

import dataclasses
import re
from typing import Any

from morello.errors import SpecError
from morello.spec.elements.dtypes import Dtype
from morello.spec.hashing import Interned
from morello.spec.tensors.layout import LINE_BYTES, Layout, ceil_div
from morello.spec.tensors.memories import Memory, register_files

_TEXT = re.compile(
    r"(?P<dtype>\w+)@(?P<level>\w+)(?P<layout>\[.*\])(?P<whole>!?)(v(?P<v>\d{1,9}))?"
)


@dataclasses.dataclass(frozen=True, order=True)
class TensorSpec(Interned):
    """The form of one operand.

    Text: ``f32@L1[0,1,2]``, ``f32@MEM[0,1]!`` (contiguous), ``f32@VRF[0,1,2]v8``.
    """

    dtype: Dtype
    level: Memory
    layout: Layout
    contiguous: bool = False
    """Whether the operand is known to be one gapless array. An argument is, until it is
    tiled along another dimension than its outermost; of packed layouts only the panels
    are known to be gapless."""
    vector_width: int = 0
    """Elements of a row of a register, for operands in registers; 0 elsewhere."""

    def __post_init__(self) -> None:
        in_registers = self.level.is_registers
        if in_registers != (self.vector_width > 0):
            raise SpecError(
                f"operand {self}: a vector width goes with level {register_files()} "
                "and no other",
                "write for example f32@VRF[0,1,2]v8",
            )
        if in_registers and not self.layout.is_row_major:
            raise SpecError(f"operand {self}: registers hold row-major tiles only")
        if in_registers and self.contiguous:
            raise SpecError(
                f"operand {self}: registers are no array that could be contiguous",
                "leave out the !",
            )
        if self.contiguous and self.layout.is_packed:
            raise SpecError(
                f"operand {self}: only an unpacked layout can be contiguous"
            )

    @classmethod
    def parse(cls, text: str) -> "TensorSpec":
        """The form written ``f32@L1[0,1,2]``.

        Raises:
            SpecError: the text is not a form of an operand.
        """
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise SpecError(
                f"'{text}' is not the form of an operand",
                "write it as dtype@level[layout], then ! if contiguous, v8 if in VRF",
            )
        return cls(
            Dtype.parse(match["dtype"]),
            Memory.parse(match["level"]),
            Layout.parse(match["layout"]),
            bool(match["whole"]),
            int(match["v"] or 0),
        )

    def __str__(self) -> str:
        whole = "!" if self.contiguous else ""
        width = f"v{self.vector_width}" if self.vector_width else ""
        return f"{self.dtype}@{self.level}{self.layout}{whole}{width}"

    @property
    def rank(self) -> int:
        """The number of logical dimensions."""
        return self.layout.rank

    def tiled(self, dim: int) -> "TensorSpec":
        """The form of a tile of the operand along a dimension."""
        if not self.contiguous or self.stays_gapless(dim):
            return self
        return dataclasses.replace(self, contiguous=False)

    def stays_gapless(self, dim: int) -> bool:
        """Whether tiles along a dimension are gapless: a range of the outermost is."""
        return self.contiguous and self.layout.dims[0].dim == dim

    def lines(self, sizes: tuple[Any, ...]) -> Any:
        """The cache lines of a tile of ``sizes`` (integers or arrays)."""
        if self.contiguous:
            size = self.layout.bytes(sizes, self.dtype.itemsize)
            return ceil_div(size, LINE_BYTES)
        return self.layout.lines(sizes, self.dtype.itemsize)

    def runs(self, sizes: tuple[Any, ...]) -> Any:
        """How many gapless runs a tile of ``sizes`` has, at most."""
        if self.contiguous:
            return 1
        return self.layout.runs(sizes, self.dtype.itemsize)[0]

    def run_bytes(self, sizes: tuple[Any, ...]) -> Any:
        """The bytes of each contiguous run."""
        if self.contiguous:
            return self.layout.bytes(sizes, self.dtype.itemsize)
        return self.layout.runs(sizes, self.dtype.itemsize)[1]

    def register_grid(self, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
        """The registers along each dimension that hold a tile of ``sizes``."""
        *outer, last = sizes
        if outer and self.level.rows > 1:
            outer[-1] = ceil_div(outer[-1], self.level.rows)
        return (*outer, ceil_div(last, self.vector_width))

    def amount(self, sizes: tuple[Any, ...]) -> Any:
        """The registers, or the cache lines, of a tile of ``sizes``."""
        if not self.level.is_registers:
            return self.lines(sizes)
        count: Any = 1
        for registers in self.register_grid(sizes):
            count = count * registers
        return count

    def brought_to(self, level: Memory) -> "TensorSpec":
        """The form of the operand as the hardware brings it to a cache."""
        whole = self.contiguous and not level.is_near
        return TensorSpec(self.dtype, level, self.layout, whole)
