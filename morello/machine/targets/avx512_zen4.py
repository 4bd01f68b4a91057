"""AVX-512 with VNNI and BF16 on AMD's Zen 4, whose 64-byte instructions take two turns.

So multiply-adds of f32 are no more than in 32-byte vectors, but dot products of bytes
and of bf16 are, and there are 32 registers. Multiply-adds and sums have ports of their
own. L1 has 32 KiB, L2 1 MiB, and the last-level cache is that of eight cores: 32 MiB.
"""

import dataclasses

from morello.machine.shipped import shipped
from morello.machine.targets.avx2 import AVX2
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16

AVX512_ZEN4 = dataclasses.replace(
    AVX512_VNNI_BF16,
    name="avx512-zen4",
    l1_lines=AVX2.l1_lines,
    l1_ways=AVX2.l1_ways,
    l2_lines=AVX2.l2_lines,
    l3_lines=AVX2.l3_lines,
    shared_ports=False,
    scheduler_entries=64,
    **shipped("avx512-zen4"),
    kernels=(
        *(k for k in AVX512_VNNI_BF16.kernels if k != "gemv_axpy_f16_prefetch_512"),
        "gemv_axpy_f16_panels_512",
    ),
)
