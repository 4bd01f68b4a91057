"""MKL, with the override that lets CPUs of others have its code for AVX2."""

import ctypes
from pathlib import Path

from benchmarks.harness.backend import About, UnsupportedError
from benchmarks.harness.case import Case, Data
from benchmarks.harness.loops import Argument, Constant, Pointer, float32, int32
from benchmarks.harness.native import NativeReady, Operands, load
from benchmarks.peers.blas import NO_TRANS, ROW_MAJOR, TRANS, Cblas

_BRANCH_AVX2 = 10
"""MKL_CBWR_AVX2: what code the library would run by its own choice."""
_BRANCHES = {3: "compatible", 9: "AVX", 10: "AVX2", 12: "AVX-512", 13: "AVX-512 E1"}
_FIXED_OFFSET = int32(173)
"""CblasFixOffset: one offset for the whole output."""
_MATRIX_B = int32(162)
"""CblasBMatrix."""
_PACKED = int32(151)
"""CblasPacked, in place of a transposition."""

_NO_OFFSET = ctypes.c_int32(0)
"""The number added to an integer output; it is read through a pointer."""

_PRODUCTS = {
    ("f32", "f32", "f32"): "gemm_f32",
    ("bf16", "bf16", "f32"): "gemm_bf16bf16f32",
    ("u8", "s8", "s32"): "gemm_s8u8s32",
}


class Mkl(Cblas):
    """f32, bf16 and int8 products, of B as it is or packed by MKL.

    Args:
        library: path of ``libmkl_rt.so.2`` or ``.3``.
    """

    name = "mkl"

    def about(self) -> About:
        """Version of the library, and the code path that it chooses by itself."""
        text = ctypes.create_string_buffer(200)
        self.library.mkl_get_version_string(text, 200)
        branch = int(self.library.mkl_cbwr_get_auto_branch())
        said = f"code path {_BRANCHES.get(branch, branch)}"
        words = text.value.decode().split()
        version = words[words.index("Version") + 1] if "Version" in words else "?"
        return About(f"MKL {version}", said, branch == _BRANCH_AVX2)

    def path(self) -> str:
        """The library, with what it loads by name beside it."""
        folder = Path(super().path()).parent
        load(folder / "libiomp5.so")
        return super().path()

    def ready(self, case: Case, data: Data) -> NativeReady:
        """Get a product ready.

        Raises:
            UnsupportedError: MKL has no such product.
        """
        product = _PRODUCTS.get(case.dtypes)
        if product is None or case.sums != "wrapping":
            raise UnsupportedError(f"it has no product {','.join(case.dtypes)}")
        if case.rhs == "open":
            return self._packed(case, data, product)
        if product == "gemm_f32":
            return self._strided(case, data)
        if case.sizes[0] != 1:
            raise UnsupportedError("no batches but of f32")
        operands = Operands(case, data)
        trans = TRANS if case.rhs == "column" else NO_TRANS
        arguments = product_arguments(case, operands, operands.pointers()[1], trans)
        return NativeReady(operands, self.symbol(product), arguments)

    def _strided(self, case: Case, data: Data) -> NativeReady:
        if case.sizes[0] == 1:
            return super().ready(case, data)
        b, m, k, n = case.sizes
        operands = Operands(case, data)
        lhs, rhs, out = (Pointer(p.address) for p in operands.pointers())
        column = case.rhs == "column"
        arguments: list[Argument] = [
            *(ROW_MAJOR, NO_TRANS, TRANS if column else NO_TRANS),
            *(int32(m), int32(n), int32(k), float32(1)),
            *(lhs, int32(k), int32(m * k)),
            *(rhs, int32(k if column else n), int32(k * n)),
            *(float32(0), out, int32(n), int32(m * n), int32(b)),
        ]
        function = self.symbol("sgemm_batch_strided")
        return NativeReady(operands, function, arguments, 1, "sgemm_batch_strided")

    def _packed(self, case: Case, data: Data, product: str) -> NativeReady:
        """B packed by MKL, outside of the time taken."""
        if case.sizes[0] != 1:
            raise UnsupportedError("no batches of packed operands")
        _, m, k, n = case.sizes
        product = product.replace("gemm_f32", "sgemm")
        operands = Operands(case, data)
        sizes = (_MATRIX_B, int32(m), int32(n), int32(k))
        sized = getattr(self.library, f"cblas_{product}_pack_get_size")
        sized.restype = ctypes.c_size_t
        memory = ctypes.create_string_buffer(sized(*(int(s.value) for s in sizes)) + 64)
        start = ctypes.addressof(memory)
        packed = Pointer(start + -start % 64)
        alpha = [float32(1)] if product == "sgemm" else []
        arguments: list[Argument] = [ROW_MAJOR, _MATRIX_B, NO_TRANS, *sizes[1:], *alpha]
        arguments += [operands.pointers()[1], int32(n), packed]
        pack = NativeReady(operands, self.symbol(f"{product}_pack"), arguments)
        pack.run(1)
        compute = self.symbol(f"{product}_compute")
        arguments = product_arguments(case, operands, packed, _PACKED)
        if product == "sgemm":
            arguments.remove(float32(1))
        return NativeReady(operands, compute, arguments, 1, "packed by MKL", memory)


def product_arguments(
    case: Case, operands: Operands, rhs: Pointer, trans: Constant
) -> list[Argument]:
    """Arguments of ``gemm_bf16bf16f32``, ``gemm_s8u8s32`` and ``sgemm_compute``."""
    _, m, k, n = case.sizes
    lhs, _, out = operands.pointers()
    zero = Constant("i8", 0)
    column = case.rhs == "column"
    integers = case.dtypes[2] == "s32"
    offset: list[Argument] = [_FIXED_OFFSET] if integers else []
    of_lhs: list[Argument] = [zero] if integers else []
    co = [Pointer(ctypes.addressof(_NO_OFFSET))] if integers else []
    return [
        *(ROW_MAJOR, NO_TRANS, trans),
        *offset,
        *(int32(m), int32(n), int32(k)),
        *(float32(1), lhs, int32(k)),
        *of_lhs,
        *(rhs, int32(k if column else n)),
        *of_lhs,
        *(float32(0), out, int32(n)),
        *co,
    ]
