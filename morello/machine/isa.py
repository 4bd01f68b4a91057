"""A vector instruction set as a value: registers, and instructions by their meaning.

Whoever writes or counts vector code is given an `Isa`: kernels hold the one that they
are written for, the emitter of a kernel has the kernel's. So a second width is another
value beside `AVX2`, and rows of kernels that hold it.
"""

import dataclasses
import enum
from collections.abc import Mapping

from morello.spec import Dtype
from morello.spec.layout import LINE_BYTES


class Op(enum.Enum):
    """What an instruction does, whatever an instruction set calls it."""

    FMA = "fma"
    """``a * b + c`` of floats, rounded once."""
    DOT2 = "dot2"
    """Neighbouring s16 are multiplied, each two products added as s32."""
    DOT2_SATURATING = "dot2_saturating"
    """Neighbouring u8 and s8 are multiplied, each two added as s16, saturated."""
    MASK_LOAD = "mask_load"
    """The first elements of a vector are loaded, no byte after them is touched."""


@dataclasses.dataclass(frozen=True)
class Isa:
    """A vector instruction set."""

    name: str
    vector_bytes: int
    """Bytes of a vector register."""
    registers: int
    """Vector registers that code may name."""
    mask_registers: bool
    """Whether masks have registers of their own: else each takes a vector register."""
    mask_bytes: tuple[int, ...]
    """Bytes of the elements that `Op.MASK_LOAD` knows."""
    asm_register: str
    """What inline assembly calls any vector register."""
    instructions: Mapping[Op, str] = dataclasses.field(hash=False)
    """The LLVM intrinsic of each instruction that the instruction set has."""

    @property
    def block(self) -> int:
        """The most vectors that straight-line code copies, fills, loads or stores."""
        return self.registers

    @property
    def line_vectors(self) -> int:
        """Vectors of a cache line, at least 1."""
        return max(LINE_BYTES // self.vector_bytes, 1)

    def lanes(self, dtype: Dtype) -> int:
        """Elements of ``dtype`` in a vector register."""
        return self.vector_bytes // dtype.itemsize

    def has(self, op: Op) -> bool:
        """Whether it has an instruction."""
        return op in self.instructions

    def loads_masked(self, dtype: Dtype) -> bool:
        """Whether one instruction loads the first elements of a vector of ``dtype``."""
        return self.has(Op.MASK_LOAD) and dtype.itemsize in self.mask_bytes


AVX2 = Isa(
    name="avx2",
    vector_bytes=32,
    registers=16,
    mask_registers=False,
    mask_bytes=(4,),
    asm_register="x",
    instructions={
        Op.FMA: "llvm.fma",
        Op.DOT2: "llvm.x86.avx2.pmadd.wd",
        Op.DOT2_SATURATING: "llvm.x86.avx2.pmadd.ub.sw",
        Op.MASK_LOAD: "llvm.masked.load",
    },
)
"""AVX2 with FMA. It has masked stores, which are slow on some AMD cores: pieces take
their place. No kernel has elements of 8 bytes."""
