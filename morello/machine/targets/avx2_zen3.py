"""AVX2 on AMD's Zen 3: half of a Zen 4's L2, and adders of floats that share a port.

L2 has 512 KiB, where 384 KiB of operands are taken to stay from call to call.
``vaddps`` has ports 2 and 3, of which ``vpmaddwd`` needs the latter: sums of bytes on
the adders of floats take longer here than those of `int_dot2`, so this target does
not have that kernel.
"""

import dataclasses

from morello.machine.shipped import shipped
from morello.machine.targets.avx2 import AVX2

AVX2_ZEN3 = dataclasses.replace(
    AVX2,
    name="avx2-zen3",
    l2_lines=1 << 13,
    scheduler_entries=64,
    **shipped("avx2-zen3"),
    kernels=(
        *(kernel for kernel in AVX2.kernels if kernel != "int_dot2_float"),
        "gemv_axpy_streams",
        "gemv_axpy_bf16_streams",
        "gemv_dot_streams",
    ),
)
