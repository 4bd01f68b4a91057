"""Libraries with the interface of CBLAS: OpenBLAS as NumPy brings it, and BLIS."""

import ctypes
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmarks.harness.backend import About, Backend, MissingError, UnsupportedError
from benchmarks.harness.case import Case, Data
from benchmarks.harness.loops import Argument, Constant, float32, int32
from benchmarks.harness.native import NativeReady, Operands, address, load

ROW_MAJOR = int32(101)
NO_TRANS = int32(111)
TRANS = int32(112)


def sgemm_arguments(case: Case, operands: Operands, integer: str) -> list[Argument]:
    """Arguments of ``cblas_sgemm``; ``integer`` is the type of sizes."""
    _, m, k, n = case.sizes
    lhs, rhs, out = operands.pointers()
    column = case.rhs == "column"

    def size(value: int) -> Constant:
        return Constant(integer, value)

    return [
        *(ROW_MAJOR, NO_TRANS, TRANS if column else NO_TRANS),
        *(size(m), size(n), size(k), float32(1)),
        *(lhs, size(k), rhs, size(k if column else n)),
        *(float32(0), out, size(n)),
    ]


def sgemv_arguments(case: Case, operands: Operands, integer: str) -> list[Argument]:
    """Arguments of ``cblas_sgemv``, for a product with one row or one column."""
    _, m, k, n = case.sizes
    lhs, rhs, out = operands.pointers()
    column = case.rhs == "column"
    # The matrix as it lies, and whether its rows are what is summed over.
    if n == 1:
        matrix, vector, rows, columns, trans = lhs, rhs, m, k, False
    else:
        rows, columns = (n, k) if column else (k, n)
        matrix, vector, trans = rhs, lhs, not column

    def size(value: int) -> Constant:
        return Constant(integer, value)

    return [
        *(ROW_MAJOR, TRANS if trans else NO_TRANS, size(rows), size(columns)),
        *(float32(1), matrix, size(columns), vector, size(1)),
        *(float32(0), out, size(1)),
    ]


class Cblas(Backend):
    """f32 products by a CBLAS library; one with a vector by ``sgemv``, as NumPy does.

    Args:
        library: path of the shared library.
    """

    prefix: ClassVar[str] = "cblas_"
    suffix: ClassVar[str] = ""
    integer: ClassVar[str] = "i32"

    def __init__(self, threads: int, library: str = "") -> None:
        super().__init__(threads)
        self._path = library
        self.library: ctypes.CDLL

    def open(self) -> About:
        """Load the library."""
        self.library = load(self.path())
        return self.about()

    def path(self) -> str:
        """Path of the library."""
        return self._path

    @abstractmethod
    def about(self) -> About:
        """Description of the library by itself."""

    def symbol(self, name: str) -> int:
        """The address of a function of CBLAS."""
        return address(self.library, f"{self.prefix}{name}{self.suffix}")

    def ready(self, case: Case, data: Data) -> NativeReady:
        """Get an f32 product ready."""
        if set(case.dtypes) != {"f32"} or case.rhs == "open":
            raise UnsupportedError("f32 on operands as they are is all it has")
        operands = Operands(case, data)
        vector = 1 in (case.sizes[1], case.sizes[3])
        name = "sgemv" if vector else "sgemm"
        arguments = sgemv_arguments if vector else sgemm_arguments
        values = arguments(case, operands, self.integer)
        return NativeReady(operands, self.symbol(name), values, case.sizes[0], name)


class OpenBlas(Cblas):
    """The OpenBLAS that NumPy brings, called without NumPy around it."""

    name = "openblas"
    prefix = "scipy_cblas_"
    suffix = "64_"
    integer = "i64"

    def path(self) -> str:
        """The library beside NumPy."""
        folder = Path(np.__file__).resolve().parents[1] / "numpy.libs"
        paths = sorted(folder.glob("libscipy_openblas64_*.so"))
        if not paths:
            raise MissingError("this NumPy brings no OpenBLAS")
        return str(paths[0])

    def about(self) -> About:
        """Version of the library, and the core that it has chosen kernels for."""
        core = text_of(self.library, "scipy_openblas_get_corename64_")
        config = text_of(self.library, "scipy_openblas_get_config64_")
        version = f"{' '.join(config.split()[:2])} of NumPy {np.__version__}"
        return About(version, f"core name {core}", core in ("Haswell", "Zen"))


class Blis(Cblas):
    """BLIS with the interface of CBLAS."""

    name = "blis"
    ZEN3: ClassVar[int] = 6
    """The kernels for AVX2, in the numbering of BLIS 0.9."""

    def about(self) -> About:
        """Version of the library, and the configuration that it runs."""
        self.library.bli_init()
        number = int(self.library.bli_arch_query_id())
        self.library.bli_arch_string.restype = ctypes.c_char_p
        name = self.library.bli_arch_string(number).decode()
        version = text_of(self.library, "bli_info_get_version_str")
        return About(f"BLIS {version}", f"configuration {name}", name == "zen3")


def text_of(library: ctypes.CDLL, symbol: str) -> str:
    """Call a function without arguments that returns text."""
    function = getattr(library, symbol)
    function.restype = ctypes.c_char_p
    text: bytes = function()
    return text.decode()
