"""AVX2 on servers with Intel's Golden Cove cores and their successors.

L2 has 2 MiB, where 1.5 MiB of operands are taken to stay from call to call. Programs
count on 1 MiB: of a panel of 1 MiB a part comes from L3 each time
(kernels.md). Stores that wait for lines hold up loads, and spreading small
elements takes port 5: there is a kernel for each. Of the 48 KiB of L1, 12 ways, the
power of two is counted that 8 ways make. The last-level cache is one for all cores of a
socket: 128 MiB can be counted on.
"""

import dataclasses

from morello.machine.shipped import shipped
from morello.machine.targets.avx2 import AVX2

AVX2_GOLDEN_COVE = dataclasses.replace(
    AVX2,
    name="avx2-golden-cove",
    l2_lines=1 << 15,
    l3_lines=1 << 21,
    scheduler_entries=97,
    **shipped("avx2-golden-cove"),
    kernels=(
        *(kernel for kernel in AVX2.kernels if kernel != "gemv_axpy_f16_panels"),
        "gemm_panels",
        "gemv_axpy_prefetch",
        "gemm_outer",
        "gemv_axpy_bf16_prefetch",
        "gemv_axpy_f16_prefetch",
        "gemv_axpy_f16_rows",
        "gemv_dot_prefetch",
        "int_dot2_saturating_wide",
        "transpose_prefetch",
    ),
)
