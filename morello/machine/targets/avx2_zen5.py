"""AVX2 on AMD's Zen 5, also where a hypervisor hides AVX-512.

L1 has 48 KiB, 12 ways; L2 has 1 MiB. Multiply-adds have two ports, sums two others, and
shuffles are on neither of the latter, so that both overlap with products. Kernels that
ask for their lines stand beside those that do not: the costs decide.
"""

import dataclasses

from morello.machine.shipped import shipped
from morello.machine.targets.avx2 import AVX2

AVX2_ZEN5 = dataclasses.replace(
    AVX2,
    name="avx2-zen5",
    l1_lines=768,
    l1_ways=12,
    scheduler_entries=114,
    **shipped("avx2-zen5"),
    kernels=(
        *(kernel for kernel in AVX2.kernels if kernel != "gemv_axpy_f16_panels"),
        "gemm_panels",
        "gemm_outer",
        "gemv_axpy_prefetch",
        "gemv_axpy_bf16_prefetch",
        "gemv_axpy_f16_prefetch",
        "gemv_dot_prefetch",
        "int_dot2_saturating_wide",
        "transpose_prefetch",
    ),
)
