"""AVX-512 with VNNI and BF16: servers with Intel's Golden Cove cores and successors.

L2 has 2 MiB, of which programs count on half, and the last-level cache is one for all
cores of a socket: 128 MiB can be counted on. ``vpdpbusd`` is exact for all bytes, so
the other products of u8 and s8 into s32 are left out.
"""

import dataclasses

from morello.machine import isa
from morello.machine.shipped import shipped
from morello.machine.targets.avx512 import AVX512

_LEFT_OUT = ("int_dot4_512", "gemv_dot_bytes", "gemv_axpy_bytes", "scaled_bytes_512")

AVX512_VNNI_BF16 = dataclasses.replace(
    AVX512,
    name="avx512-vnni-bf16",
    features=isa.AVX512_VNNI_BF16.features,
    isa=isa.AVX512_VNNI_BF16,
    l2_lines=1 << 15,
    l3_lines=1 << 21,
    **shipped("avx512-vnni-bf16"),
    kernels=(
        *(kernel for kernel in AVX512.kernels if kernel not in _LEFT_OUT),
        "int_dot4_exact_512",
        "int_dot4_signed_512",
        "int_dot4_unsigned_512",
        "int_dot4_signed_lhs_512",
        "graph_taps4_512",
        "dot2_bf16_512",
        "scaled_bytes4_512",
        "gemv_dot4_512",
        "gemv_dot4_prefetch_512",
        "gemv_axpy4_512",
        "gemv_axpy4_prefetch_512",
    ),
)
