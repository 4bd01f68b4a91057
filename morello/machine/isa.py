"""A vector instruction set as a value: registers, and instructions by their meaning.

Whoever writes or counts vector code is given an `Isa`: kernels hold the one that they
are written for, the emitter of a kernel has the kernel's. So a second width is another
value beside `AVX2`, and rows of kernels that hold it.
"""

import dataclasses
import enum
from collections.abc import Mapping

from morello.spec import Dtype
from morello.spec.tensors.layout import LINE_BYTES


class Op(enum.Enum):
    """Instructions by meaning, independent of their names in an instruction set."""

    FMA = "fma"
    """``a * b + c`` of floats, rounded once."""
    DOT2 = "dot2"
    """Neighbouring s16 are multiplied, each two products added as s32."""
    DOT2_SATURATING = "dot2_saturating"
    """Neighbouring u8 and s8 are multiplied, each two added as s16, saturated."""
    DOT4 = "dot4"
    """Neighbouring u8 and s8 are multiplied, each four products added to an s32."""
    DOT2_BF16 = "dot2_bf16"
    """Neighbouring bf16 are multiplied, each two products added to an f32, one after
    the other; denormals count as zero."""
    TILE_DOT_BF16 = "tile_dot_bf16"
    """Rows of a tile of bf16 by columns of one of pairs: products with even k are added
    up, those with odd k, both sums, and that to a tile of f32; denormals count as
    zero."""
    TILE_DOT_U8S8 = "tile_dot_u8s8"
    """Rows of a tile of u8 by columns of one of quads of s8, added to a tile of s32."""
    TILE_DOT_S8S8 = "tile_dot_s8s8"
    """`TILE_DOT_U8S8`, of s8 and s8."""
    TILE_DOT_U8U8 = "tile_dot_u8u8"
    """`TILE_DOT_U8S8`, of u8 and u8."""
    TILE_DOT_S8U8 = "tile_dot_s8u8"
    """`TILE_DOT_U8S8`, of s8 and u8."""
    TILE_ZERO = "tile_zero"
    """A tile becomes zero."""
    TILE_LOAD = "tile_load"
    """The rows of a tile are loaded, each so many bytes after the one before."""
    TILE_STORE = "tile_store"
    """The rows of a tile are stored likewise."""
    TILE_CONFIGURE = "tile_configure"
    """Each tile gets a number of rows and of bytes in a row; all become zero."""
    TILE_RELEASE = "tile_release"
    """The thread has no tiles any more, and the system none to save."""
    SCALE = "scale"
    """Floats times 2 to the power of whole floats, rounded once; lanes that a mask
    leaves out are zero and take no time, whatever they would become."""
    RANGE = "range"
    """The greater or the lesser of floats: +0 is greater than -0, a number beside a NaN
    is taken."""
    LOOKUP = "lookup"
    """Floats of a register, each chosen by the lowest bits of a word."""
    LOOKUP_BYTES = "lookup_bytes"
    """Bytes of a table of 16, each chosen by a byte of a vector, from 0 to 15."""
    MASK_LOAD = "mask_load"
    """The first elements of a vector are loaded, no byte after them is touched."""
    MASK_STORE = "mask_store"
    """The first elements of a vector are stored, no byte after them is touched."""


@dataclasses.dataclass(frozen=True)
class Isa:
    """A vector instruction set."""

    name: str
    cpu: str
    """The processor that LLVM generates code for."""
    features: tuple[str, ...]
    """CPU features that the code needs."""
    suffix: str
    """The end of the names of kernels that are written in it."""
    vector_bytes: int
    """Bytes of a vector register."""
    registers: int
    """Vector registers that code may name."""
    broadcasts_general: bool
    """Whether one instruction copies a general register to all lanes."""
    mask_registers: bool
    """Whether masks have registers of their own: else each takes a vector register."""
    mask_bytes: tuple[int, ...]
    """Bytes of the elements that `Op.MASK_LOAD` and `Op.MASK_STORE` know."""
    asm_register: str
    """The name of any vector register in inline assembly."""
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

    @property
    def multiplies_broadcasts(self) -> bool:
        """Whether products of 32 bits read one element of memory for all lanes: by the
        encoding that has masks."""
        return self.mask_registers

    def lanes(self, dtype: Dtype) -> int:
        """Elements of ``dtype`` in a vector register."""
        return self.vector_bytes // dtype.itemsize

    def has(self, op: Op) -> bool:
        """Whether it has an instruction."""
        return op in self.instructions

    def loads_masked(self, dtype: Dtype) -> bool:
        """Whether one instruction loads the first elements of a vector of ``dtype``."""
        return self.has(Op.MASK_LOAD) and dtype.itemsize in self.mask_bytes

    def stores_masked(self, dtype: Dtype) -> bool:
        """Whether one instruction stores the first elements of such a vector."""
        return self.has(Op.MASK_STORE) and dtype.itemsize in self.mask_bytes

    def having(
        self, name: str, features: tuple[str, ...], suffix: str, **more: str
    ) -> "Isa":
        """A copy of the set with more instructions, by the names of their `Op`."""
        added = {Op(op): intrinsic for op, intrinsic in more.items()}
        return dataclasses.replace(
            self,
            name=name,
            features=(*self.features, *features),
            suffix=suffix,
            instructions={**self.instructions, **added},
        )


AVX2 = Isa(
    name="avx2",
    cpu="haswell",
    features=("avx2", "fma"),
    suffix="",
    vector_bytes=32,
    registers=16,
    broadcasts_general=False,
    mask_registers=False,
    mask_bytes=(4,),
    asm_register="x",
    instructions={
        Op.FMA: "llvm.fma",
        Op.DOT2: "llvm.x86.avx2.pmadd.wd",
        Op.DOT2_SATURATING: "llvm.x86.avx2.pmadd.ub.sw",
        Op.LOOKUP_BYTES: "llvm.x86.avx2.pshuf.b",
        Op.MASK_LOAD: "llvm.masked.load",
    },
)
"""AVX2 with FMA. It has masked stores, which are slow on some AMD cores: pieces take
their place. No kernel has elements of 8 bytes."""

AVX2_VNNI = AVX2.having(
    "avx2-vnni",
    ("avxvnni",),
    "_vnni",
    # AVX-VNNI and AVX-512 VNNI with VL share the intrinsic; the features choose.
    dot4="llvm.x86.avx512.vpdpbusd.256",
)
"""AVX2 with AVX-VNNI."""

AVX512 = Isa(
    name="avx512",
    cpu="x86-64-v4",
    features=("avx512f", "avx512bw", "avx512dq", "avx512vl"),
    suffix="_512",
    vector_bytes=64,
    registers=32,
    broadcasts_general=True,
    mask_registers=True,
    mask_bytes=(1, 2, 4),
    asm_register="v",
    instructions={
        Op.FMA: "llvm.fma",
        Op.DOT2: "llvm.x86.avx512.pmaddw.d.512",
        Op.DOT2_SATURATING: "llvm.x86.avx512.pmaddubs.w.512",
        Op.SCALE: "llvm.x86.avx512.mask.scalef.ps.512",
        Op.RANGE: "llvm.x86.avx512.mask.range.ps.512",
        Op.LOOKUP: "llvm.x86.avx512.permvar.sf.512",
        Op.MASK_LOAD: "llvm.masked.load",
        Op.MASK_STORE: "llvm.masked.store",
    },
)
"""AVX-512 F, BW, DQ and VL. Masked stores take one instruction on every CPU."""

AVX512_VNNI_BF16 = AVX512.having(
    "avx512-vnni-bf16",
    ("avx512vnni", "avx512bf16"),
    "_512",
    dot4="llvm.x86.avx512.vpdpbusd.512",
    dot2_bf16="llvm.x86.avx512bf16.dpbf16ps.512",
)
"""AVX-512 with VNNI and BF16."""

AVX512_AMX = AVX512_VNNI_BF16.having(
    "avx512-amx",
    ("amx-tile", "amx-bf16", "amx-int8"),
    "_amx",
    tile_dot_bf16="llvm.x86.tdpbf16ps",
    tile_dot_u8s8="llvm.x86.tdpbusd",
    tile_dot_s8s8="llvm.x86.tdpbssd",
    tile_dot_u8u8="llvm.x86.tdpbuud",
    tile_dot_s8u8="llvm.x86.tdpbsud",
    tile_zero="llvm.x86.tilezero",
    tile_load="llvm.x86.tileloadd64",
    tile_store="llvm.x86.tilestored64",
    tile_configure="llvm.x86.ldtilecfg",
    tile_release="llvm.x86.tilerelease",
)
"""AVX-512 with AMX: eight tiles of 16 rows of 64 bytes, which code names by number.

LLVM can allocate tiles itself, but its scheduler then renames them to ones that the
configuration lacks, and unoptimised code with them makes it abort."""
