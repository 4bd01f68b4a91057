"""libxsmm: a kernel generated for each shape."""

import ctypes

from benchmarks.harness.backend import About, Backend, UnsupportedError
from benchmarks.harness.case import Case, Data
from benchmarks.harness.native import NativeReady, Operands, load
from benchmarks.peers.blas import text_of

_AVX2 = 1006
"""LIBXSMM_X86_AVX2."""


class Libxsmm(Backend):
    """f32 products by a generated kernel, on one thread.

    Args:
        library: path of the shared library.
    """

    name = "libxsmm"

    def __init__(self, threads: int, library: str = "") -> None:
        super().__init__(threads)
        self._path = library
        self.library: ctypes.CDLL

    def open(self) -> About:
        """Load the library."""
        self.library = load(self._path)
        self.library.libxsmm_init()
        arch = text_of(self.library, "libxsmm_get_target_arch")
        architecture = int(self.library.libxsmm_get_target_archid())
        version = ctypes.c_char_p.in_dll(self.library, "libxsmm_version").value or b""
        return About(
            f"libxsmm {version.decode()}", f"target {arch}", architecture <= _AVX2
        )

    def ready(self, case: Case, data: Data) -> NativeReady:
        """Generate a kernel; libxsmm thinks in columns, so lhs and rhs change places.

        Raises:
            UnsupportedError: not f32, prepacked, many threads, or no kernel.
        """
        if set(case.dtypes) != {"f32"} or case.rhs != "row":
            raise UnsupportedError("f32 of row-major operands is all it has")
        if self.threads > 1:
            raise UnsupportedError("a kernel runs on one thread")
        _, m, k, n = case.sizes
        dispatch = self.library.libxsmm_smmdispatch
        dispatch.restype = ctypes.c_void_p
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        kernel = dispatch(
            *map(ctypes.c_int, (n, m, k)),
            *(None, None, None),
            *(ctypes.byref(one), ctypes.byref(zero), None, None),
        )
        if not kernel:
            raise UnsupportedError("it generates no kernel for this shape")
        operands = Operands(case, data)
        lhs, rhs, out = operands.pointers()
        return NativeReady(operands, kernel, [rhs, lhs, out], case.sizes[0])
