"""Where and how one operand of a Spec lies: its shape is the Spec's."""

import dataclasses
import enum
import re
from typing import Any

from morello.errors import SpecError
from morello.spec.dtypes import Dtype
from morello.spec.hashing import HashedOnce
from morello.spec.layout import LINE_BYTES, Layout, ceil_div
from morello.suggestions import did_you_mean


class Level(enum.IntEnum):
    """A memory, nearest to the arithmetic first."""

    VRF = 0
    """Vector registers."""
    L1 = 1
    """First-level data cache."""
    L2 = 2
    """Second-level cache."""
    MEM = 3
    """Everything beyond: the last-level cache and DRAM."""

    @classmethod
    def parse(cls, text: str) -> "Level":
        """The level called ``text``.

        Raises:
            SpecError: no level has this name.
        """
        if text not in cls.__members__:
            raise SpecError(
                f"unknown memory level '{text}'",
                f"use one of {', '.join(cls.__members__)}"
                + did_you_mean(text, cls.__members__),
            )
        return cls[text]

    @property
    def is_cache(self) -> bool:
        """Whether the hardware, not the program, decides what it holds."""
        return self in (Level.L1, Level.L2)

    def __str__(self) -> str:
        return self.name


_TEXT = re.compile(
    r"(?P<dtype>\w+)@(?P<level>\w+)(?P<layout>\[.*\])(?P<whole>!?)(v(?P<v>\d{1,9}))?"
)


@dataclasses.dataclass(frozen=True, order=True)
class TensorSpec(HashedOnce):
    """The form of one operand.

    Text: ``f32@L1[0,1,2]``, ``f32@MEM[0,1]!`` (contiguous), ``f32@VRF[0,1,2]v8``.
    """

    dtype: Dtype
    level: Level
    layout: Layout
    contiguous: bool = False
    """Whether the operand is known to be one gapless array. An argument is, until it is
    tiled along another dimension than its outermost; of packed layouts only the panels
    are known to be gapless."""
    vector_width: int = 0
    """Elements a register, for operands in `Level.VRF`; 0 elsewhere."""

    __hash__ = HashedOnce.__hash__

    def __post_init__(self) -> None:
        in_registers = self.level is Level.VRF
        if in_registers != (self.vector_width > 0):
            raise SpecError(
                f"operand {self}: a vector width goes with level VRF and no other",
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
            Level.parse(match["level"]),
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
        """The form of a tile of it along a dimension."""
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
        """The bytes of each of these runs."""
        if self.contiguous:
            return self.layout.bytes(sizes, self.dtype.itemsize)
        return self.layout.runs(sizes, self.dtype.itemsize)[1]

    def registers(self, sizes: tuple[Any, ...]) -> Any:
        """The vector registers that hold a tile of ``sizes``."""
        count: Any = 1
        for size in sizes[:-1]:
            count = count * size
        return count * ceil_div(sizes[-1], self.vector_width)
