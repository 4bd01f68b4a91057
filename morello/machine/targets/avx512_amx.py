"""AVX-512 with AMX: `AVX512_VNNI_BF16` on cores that have tiles, which is all of them.

A product of tiles of 16 rows takes 16 cycles, of bf16 twice and of bytes four times
what vectors do in that time. The system has to permit it (`tile_permission.py`).
No calibration has timed programs in tiles yet: costs of vectors and memory are those of
`AVX512_VNNI_BF16`, those of tiles come from a kernel of the same form.
"""

import dataclasses

from morello.machine import isa
from morello.machine.shipped import shipped
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16

AVX512_AMX = dataclasses.replace(
    AVX512_VNNI_BF16,
    name="avx512-amx",
    features=isa.AVX512_AMX.features,
    isa=isa.AVX512_AMX,
    **shipped("avx512-amx"),
    kernels=(
        *AVX512_VNNI_BF16.kernels,
        "tile_dot2_bf16_amx",
        "tile_dot4_exact_amx",
        "tile_dot4_signed_amx",
        "tile_dot4_unsigned_amx",
        "tile_dot4_signed_lhs_amx",
    ),
)
