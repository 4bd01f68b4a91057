"""AVX-512 with VNNI and BF16 on AMD's Zen 5, whose vectors are 64 bytes throughout.

L1 has 48 KiB, 12 ways; L2 has 1 MiB, half of Golden Cove's, and the last-level cache is
that of eight cores: 32 MiB. Multiply-adds have two ports and sums two others, so that
widening and shuffles do not take the place of products.
"""

import dataclasses

from morello.machine.shipped import shipped
from morello.machine.targets.avx512 import AVX512
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16

AVX512_ZEN5 = dataclasses.replace(
    AVX512_VNNI_BF16,
    name="avx512-zen5",
    l2_lines=AVX512.l2_lines,
    l3_lines=AVX512.l3_lines,
    shared_ports=False,
    scheduler_entries=114,
    **shipped("avx512-zen5"),
)
