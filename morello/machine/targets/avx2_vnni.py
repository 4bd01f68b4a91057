"""AVX2 with AVX-VNNI: clients since Alder Lake, and Zen 5.

``vpdpbusd`` is exact for all bytes, so the other products of u8 and s8 into s32 are
left out.
"""

import dataclasses

from morello.machine import isa
from morello.machine.shipped import shipped
from morello.machine.targets.avx2 import AVX2

_LEFT_OUT = (
    "int_dot4",
    "int_dot2_float",
    "gemv_dot_bytes",
    "gemv_axpy_bytes",
    "scaled_bytes",
)

AVX2_VNNI = dataclasses.replace(
    AVX2,
    name="avx2-vnni",
    features=isa.AVX2_VNNI.features,
    isa=isa.AVX2_VNNI,
    **shipped("avx2-vnni"),
    kernels=(
        *(kernel for kernel in AVX2.kernels if kernel not in _LEFT_OUT),
        "int_dot4_exact_vnni",
        "int_dot4_signed_vnni",
        "int_dot4_unsigned_vnni",
        "int_dot4_signed_lhs_vnni",
        "graph_taps4_vnni",
        "scaled_bytes4_vnni",
        "gemv_dot4_vnni",
        "gemv_axpy4_vnni",
    ),
)
