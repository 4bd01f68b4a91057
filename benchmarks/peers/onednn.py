"""oneDNN by its functions for matrices, held to AVX2 by ``ONEDNN_MAX_CPU_ISA``."""

import ctypes

from benchmarks.harness.backend import About, Backend, UnsupportedError
from benchmarks.harness.case import Case, Data
from benchmarks.harness.loops import Argument, Constant, Pointer, float32, int64
from benchmarks.harness.native import NativeReady, Operands, address, load

_AVX2 = 0x7
"""dnnl_cpu_isa_avx2, a set of bits: those of what it includes are set too."""


def _letter(letter: str) -> Constant:
    """A C ``char``."""
    return Constant("i8", ord(letter))


class _Version(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
    )


class OneDnn(Backend):
    """f32 and int8 products of operands as they are.

    Args:
        library: path of ``libdnnl.so.3``.
    """

    name = "onednn"

    def __init__(self, threads: int, library: str = "") -> None:
        super().__init__(threads)
        self._path = library
        self.library: ctypes.CDLL

    def open(self) -> About:
        """Load the library."""
        self.library = load(self._path)
        self.library.dnnl_version.restype = ctypes.POINTER(_Version)
        number = self.library.dnnl_version().contents
        isa = int(self.library.dnnl_get_effective_cpu_isa())
        version = f"oneDNN {number.major}.{number.minor}.{number.patch}"
        said = "effective ISA AVX2" if isa == _AVX2 else f"effective ISA {isa:#x}"
        return About(version, said, isa == _AVX2)

    def ready(self, case: Case, data: Data) -> NativeReady:
        """Get a product ready.

        Raises:
            UnsupportedError: not f32 or u8·s8 in s32, or an operand to be packed.
        """
        integers = case.dtypes == ("u8", "s8", "s32")
        if case.rhs == "open" or not (integers or set(case.dtypes) == {"f32"}):
            raise UnsupportedError("f32 and u8,s8,s32 as they are is all it has here")
        b, m, k, n = case.sizes
        operands = Operands(case, data)
        lhs, rhs, out = operands.pointers()
        column = case.rhs == "column"
        co = ctypes.c_int32(0)
        zero: list[Argument] = [Constant("i8", 0)] if integers else []
        arguments: list[Argument] = [
            *(_letter("N"), _letter("T" if column else "N")),
            *([_letter("F")] if integers else []),
            *(int64(m), int64(n), int64(k), float32(1)),
            *(lhs, int64(k), *zero, rhs, int64(k if column else n), *zero),
            *(float32(0), out, int64(n)),
            *([Pointer(ctypes.addressof(co))] if integers else []),
        ]
        name = "dnnl_gemm_u8s8s32" if integers else "dnnl_sgemm"
        function = address(self.library, name)
        return NativeReady(operands, function, arguments, b, name, co)
