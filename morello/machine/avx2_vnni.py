"""AVX2 with AVX-VNNI: clients since Alder Lake, and Zen 5.

``vpdpbusd`` is exact for all bytes, so the other products of u8 and s8 into s32 are
left out.
"""

import dataclasses

from morello.machine import isa
from morello.machine.avx2 import AVX2
from morello.machine.shipped import shipped

AVX2_VNNI = dataclasses.replace(
    AVX2,
    name="avx2-vnni",
    features=isa.AVX2_VNNI.features,
    isa=isa.AVX2_VNNI,
    **shipped("avx2-vnni"),
    kernels=(
        *(k for k in AVX2.kernels if k not in ("int_dot4", "int_dot2_float")),
        "int_dot4_exact_vnni",
    ),
)
